// Any count, any alignment, in place, and both shapes of the packet loop.
#include "emulator_fixture.h"

using namespace coll::emu;
using namespace coll::emu::test;

namespace {

constexpr std::uint32_t kAll = ~0u; // ranks

AllReduce job(const std::string &file, const std::string &sync, const Step &step) {
  AllReduce job;
  job.file = file;
  job.sync = sync;
  job.ranks = 4;
  job.lines = 2100;
  job.mailboxes = file == "twoshot_ll.cu" ? 2 : 1;
  job.copies = file == "twoshot_ll.cu" ? 1 : 2;
  job.steps.assign(2, step);
  return job;
}

} // namespace

TEST(EmulatorCounts, TailsAndMisalignment) {
  for (const std::uint64_t count : {0, 1, 7, 127, 4099})
    for (const unsigned misaligned : {0u, 1u, 3u}) {
      SCOPED_TRACE("count " + std::to_string(count) + " misaligned by " + std::to_string(misaligned));
      Step step = {count, 2, 64};
      step.misalignedElements = misaligned;
      expectGood(job("oneshot_ll.cu", "ll", step), 4);
      expectGood(job("oneshot_barrier.cu", "barrier", step), 4);
      expectGood(job("twoshot_ll.cu", "ll", step), 4);
    }
}

TEST(EmulatorCounts, InPlace) {
  Step step = {1000, 2, 64};
  step.inplace = true;
  expectGood(job("oneshot_ll.cu", "ll", step), 8);
  expectGood(job("twoshot_ll.cu", "ll", step), 8);
}

TEST(EmulatorCounts, OnePacketForEachThread) {
  expectGood(job("oneshot_ll.cu", "ll", {256, 2, 64, kAll}), 8);
  expectGood(job("oneshot_barrier.cu", "barrier", {512, 2, 64, kAll}), 8);
  expectGood(job("twoshot_ll.cu", "ll", {1024, 2, 64, kAll}), 8);
}

// Ranks may be aligned differently: one takes the quick path, and its peers need not.
TEST(EmulatorCounts, RanksOnDifferentPaths) {
  for (const char *file : {"oneshot_ll.cu", "twoshot_ll.cu"}) expectGood(job(file, "ll", {128, 2, 64, 0b0110}), 8);
}

// Control: a tail that the path for whole packets does not know of is caught by the red zone, not by luck.
TEST(EmulatorCounts, WholePacketsPastTheEndAreCaught) {
  const Outcome outcome = run(job("oneshot_ll.cu", "ll", {255, 2, 64, kAll}), Policy::fair());
  EXPECT_EQ(outcome.result.status, Result::Fault);
  EXPECT_NE(outcome.result.report.find("load of 8 bytes outside: `x` of rank"), std::string::npos) << outcome;
}
