// Any count, any alignment, in place, and every entry point.
#include "emulator_fixture.h"

using namespace coll::emu;
using namespace coll::emu::test;

namespace {

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

TEST(EmulatorCounts, EntriesForWholePackets) {
  expectGood(job("oneshot_ll.cu", "ll", {256, 2, 64, "allreduce_one"}), 8);
  expectGood(job("oneshot_ll.cu", "ll", {1024, 2, 64, "allreduce_whole"}), 8);
}

// Control: a tail that the whole-packet entry does not know of is caught by the red zone, not by luck.
TEST(EmulatorCounts, WholePacketsPastTheEndAreCaught) {
  const Outcome outcome = run(job("oneshot_ll.cu", "ll", {255, 2, 64, "allreduce_whole"}), Policy::fair());
  EXPECT_EQ(outcome.result.status, Result::Fault);
  EXPECT_NE(outcome.result.report.find("load of 8 bytes outside: `x` of rank"), std::string::npos) << outcome;
}
