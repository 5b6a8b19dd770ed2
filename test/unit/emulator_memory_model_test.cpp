// The memory model finds what it is made to find, and nothing in kernels that are right.
#include "emulator_fixture.h"

using namespace coll::emu;
using namespace coll::emu::test;

namespace {

AllReduce oneshotLl() {
  AllReduce job;
  job.file = "oneshot_ll.cu";
  job.steps.assign(4, {64, 1, 32}); // a packet for each thread: with more, a thread's next send would be a credit
  return job;
}

AllReduce oneshotBarrier() {
  AllReduce job;
  job.file = "oneshot_barrier.cu";
  job.sync = "barrier";
  job.steps.assign(4, {128, 2, 16});
  return job;
}

AllReduce oneshotFlag(std::vector<std::string> defects) {
  AllReduce job = oneshotBarrier();
  job.file = "oneshot_flag.cu";
  job.defects = std::move(defects);
  return job;
}

} // namespace

TEST(EmulatorLl, TwoCopiesAreRight) {
  expectGood(oneshotLl(), 200);
}

TEST(EmulatorLl, TwoCopiesAreRightFairly) {
  const Outcome outcome = run(oneshotLl(), Policy::fair());
  EXPECT_TRUE(outcome.good()) << outcome;
}

TEST(EmulatorLl, OneCopyIsFound) {
  AllReduce job = oneshotLl();
  job.copies = 1;
  EXPECT_GT(countBad(job, 20), 3);
}

TEST(EmulatorLl, EightByteWordsMayArriveApart) {
  expectGood(oneshotLl(), 20, Atomicity::Bytes16);
  expectGood(oneshotLl(), 20, Atomicity::Bytes8);
}

TEST(EmulatorLl, TornLinesAreFound) {
  AllReduce job = oneshotLl();
  job.defects = {"TORN_LINES"};
  EXPECT_GT(countBad(job, 20), 10);
}

TEST(EmulatorLl, TwoShotNeedsOneCopy) {
  AllReduce job;
  job.file = "twoshot_ll.cu";
  job.copies = 1;
  job.mailboxes = 2;
  job.steps.assign(4, {1024, 2, 32});
  expectGood(job, 40);
}

TEST(EmulatorBarrier, IsRight) {
  expectGood(oneshotBarrier(), 80);
}

TEST(EmulatorBarrier, WithoutItIsFound) {
  AllReduce job = oneshotBarrier();
  job.defects = {"NO_BARRIER"};
  EXPECT_GT(countBad(job, 8), 4);
}

TEST(EmulatorBarrier, OneCopyIsFound) {
  AllReduce job = oneshotBarrier();
  job.copies = 1;
  EXPECT_GT(countBad(job, 40), 3);
}

TEST(EmulatorFlag, IsRight) {
  expectGood(oneshotFlag({}), 80);
}
TEST(EmulatorFlag, RelaxedFlagIsFound) {
  EXPECT_GT(countBad(oneshotFlag({"FLAG_RELAXED"}), 20), 5);
}
TEST(EmulatorFlag, FlagBeforeDataIsFound) {
  EXPECT_GT(countBad(oneshotFlag({"FLAG_FIRST"}), 20), 5);
}
TEST(EmulatorFlag, MissingCtaSyncIsFound) {
  EXPECT_GT(countBad(oneshotFlag({"NO_CTA_SYNC"}), 20), 5);
}
TEST(EmulatorFlag, MissingAcquireIsFound) {
  EXPECT_GT(countBad(oneshotFlag({"WAIT_RELAXED"}), 20), 3);
}

TEST(Emulator, ASeedReplaysExactly) {
  for (int seed = 0; seed < 8; ++seed) {
    const Outcome first = run(oneshotLl(), Policy::adversarial(seed)),
                  second = run(oneshotLl(), Policy::adversarial(seed));
    EXPECT_EQ(first.result.statistics.steps, second.result.statistics.steps);
    EXPECT_EQ(first.result.statistics.loads, second.result.statistics.loads);
  }
}

TEST(Emulator, EveryScheduleFindsAnEarlyRead) {
  AllReduce job = oneshotBarrier();
  job.defects = {"NO_BARRIER"};
  for (int schedule = 0; schedule < 4; ++schedule) {
    int bad = 0;
    for (int i = 0; i < 4; ++i) bad += !run(job, Policy::adversarial(schedule + 4 * i)).good();
    EXPECT_GT(bad, 0) << name(Policy::adversarial(schedule).schedule);
  }
}
