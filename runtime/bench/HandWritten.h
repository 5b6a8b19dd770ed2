// Kernels that somebody wrote by hand, as rivals: one file of CUDA, compiled when `coll bench` starts. What a kernel is
// given stands in rival.cuh, which is put before the file's text.
//
// A file says in comments what it holds:
//   // collective allreduce, types f32 bf16
//   // kernel ll: packet 8, area 16, copies 2
//   // kernel sentinel: packet 16, area 16, copies 3, fill -0.0
// A packet is what a thread, or `threads T` of them together, moves at a time, in bytes of the vector; it takes `area`
// bytes of scratch for each rank and copy. The scratch is filled with the word of `fill`, or 0, before each size. `ctas C`
// is for a kernel that is quicker in no more than so many CTAs.
#pragma once

#include "coll/Compiler.h"
#include "coll/Result.h"

namespace coll::bench {

struct HandKernel {
  std::string name; ///< of the `extern "C" __global__` function
  std::uint64_t packet = 16, area = 16, threads = 1, copies = 2;
  unsigned ctas = ~0u; ///< the most, unless a shape is asked for
  std::uint32_t fill = 0;
  bool fillNegativeZero = false; ///< of the type

  std::uint32_t fillFor(DType type) const {
    return !fillNegativeZero ? fill : type == DType::BF16 ? 0x80008000u : 0x80000000u;
  }
};

struct HandWritten {
  std::string file, text, collective;
  std::vector<DType> types;
  std::vector<HandKernel> kernels;

  /// Reads the comments. Error::BadInput with the line that makes no sense.
  static Result<HandWritten> parse(const std::string &file, const std::string &text);

  /// The whole text for a type and a number of ranks, as Jit compiles it.
  Kernel compileable(DType type, int ranks) const;
  std::vector<std::string> names() const;
};

/// The most ranks that rival.cuh has room for.
constexpr int kHandRanks = 8;

} // namespace coll::bench
