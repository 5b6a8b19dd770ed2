// What the emulator's tests share: compiling a test kernel and running an all-reduce on it.
#pragma once

#include "emulator/Emulator.h"

#include <gtest/gtest.h>

#include <functional>

namespace coll::emu::test {

/// Compiles test/emu/kernels/<file> with `defines` ("COPIES 1") before it. Fails the test if it cannot.
std::shared_ptr<const KernelModule> kernel(const std::string &file, const std::vector<std::string> &defines,
                                           const std::vector<std::string> &entries);

/// One launch of an all-reduce, the same on all ranks but for the grid.
struct Step {
  std::uint64_t count = 0;
  unsigned grid = 1;
  unsigned block = 32;
  std::uint32_t onePacket = 0;     ///< bit r: rank r takes the path for one packet a thread
  unsigned misalignedElements = 0; ///< of the inputs; outputs are one element further
  bool inplace = false;
};

/// An all-reduce by one kernel, launched several times.
struct AllReduce {
  std::string file;
  int ranks = 8;
  std::uint64_t lines = 64;
  unsigned copies = 2;
  std::string sync = "ll"; ///< decides the layout of the mailboxes
  DType dtype = DType::I32; ///< or F32, F16, BF16
  std::vector<std::string> defects;
  std::vector<Step> steps;
  std::uint32_t epoch = 0;
  bool multicast = false; ///< the kernel gets the address of all regions
  int mailboxes = 1;
  /// The bits of element i of a rank's input to a launch. By default numbers whose sums are exact and, among floats,
  /// zeros of both signs and NaNs.
  std::function<std::uint32_t(int rank, std::size_t step, std::uint64_t i)> input;

  Manifest manifest() const;
};

/// What became of a run: the machine's verdict, and how many outputs were not the sum.
struct Outcome {
  Result result;
  std::uint64_t wrong = 0;
  std::string firstWrong;

  bool good() const { return result.status == Result::Ok && wrong == 0; }
};
std::ostream &operator<<(std::ostream &out, const Outcome &outcome);

/// Runs it once. Every launch has buffers of its own, and every output is compared.
Outcome run(const AllReduce &job, const Policy &policy);

/// How many of the seeds 0 .. seeds-1 are not good.
int countBad(const AllReduce &job, int seeds, Atomicity atomicity = Atomicity::Element);

/// Expects all of the seeds to be good; the failure message tells how to replay.
void expectGood(const AllReduce &job, int seeds, Atomicity atomicity = Atomicity::Element);

} // namespace coll::emu::test
