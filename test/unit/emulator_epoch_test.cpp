// Epochs: grids that change from launch to launch, and the wrap of 32 bits.
#include "emulator_fixture.h"

#include <algorithm>

using namespace coll::emu;
using namespace coll::emu::test;

namespace {

std::vector<Step> changingGrids() {
  std::vector<Step> steps;
  for (int i = 0; i < 8; ++i) {
    const unsigned grids[] = {2, 3, 1, 4, 2, 1, 3, 2}, blocks[] = {32, 64, 32, 16, 64, 96, 32, 64};
    steps.push_back({std::uint64_t(100 + 9 * i), grids[i], blocks[i]});
  }
  return steps;
}

AllReduce job(const std::string &file, const std::string &sync, std::uint32_t epoch) {
  AllReduce job;
  job.file = file;
  job.sync = sync;
  job.ranks = 3;
  job.lines = 96;
  job.epoch = epoch;
  job.steps = changingGrids();
  return job;
}

} // namespace

TEST(EmulatorEpoch, GridsMayChange) {
  expectGood(job("oneshot_ll.cu", "ll", 0), 40);
  expectGood(job("oneshot_barrier.cu", "barrier", 0), 40);
}

TEST(EmulatorEpoch, Wraps) {
  expectGood(job("oneshot_ll.cu", "ll", 0xfffffffc), 40);
  expectGood(job("oneshot_barrier.cu", "barrier", 0xfffffffc), 40);
}

// The words of a CTA that no launch has had for 2^31 launches are far behind, not ahead.
TEST(EmulatorEpoch, BarrierHoldsAfterALongTime) {
  expectGood(job("oneshot_barrier.cu", "barrier", 0x80000010), 40);
}

TEST(EmulatorEpoch, WrapWithoutClearingIsFound) {
  AllReduce plain = job("oneshot_ll.cu", "ll", 0xfffffffc);
  plain.defects = {"NO_WRAP"};
  EXPECT_GT(countBad(plain, 8), 4);
}

// A thread without a packet is through at once; it must not move the epoch that its CTA mates have yet to read.
TEST(EmulatorEpoch, ThreadsWithoutPacketsWait) {
  AllReduce few = job("oneshot_ll.cu", "ll", 0);
  few.steps.assign(4, {5, 1, 32});
  expectGood(few, 40);
  few.defects = {"EARLY_EPOCH"};
  EXPECT_GT(countBad(few, 20), 4);
}

// On the quick path they meet before their first wait, all of them with a packet or not.
TEST(EmulatorEpoch, QuickPathSettles) {
  for (std::uint64_t count : {128, 100}) {
    AllReduce full = job("oneshot_ll.cu", "ll", 0);
    full.steps.assign(4, {count, 1, 64});
    expectGood(full, 40);
    full.defects = {"EARLY_EPOCH"};
    EXPECT_GT(countBad(full, 40), 0) << count;
  }
}

namespace {

AllReduce threeCtas(const std::string &sync) {
  AllReduce job;
  job.file = "oneshot_" + sync + ".cu";
  job.sync = sync;
  job.ranks = 3;
  job.steps.assign(3, {96, 3, 32});
  return job;
}

int countDeadlocks(const AllReduce &job, unsigned residentCtas, std::string &report) {
  int found = 0;
  for (int seed = 0; seed < 12; ++seed) {
    Policy policy = Policy::adversarial(seed);
    policy.residentCtas = residentCtas;
    const Outcome outcome = run(job, policy);
    EXPECT_TRUE(outcome.good() || outcome.result.status == Result::Deadlock) << outcome;
    if (outcome.good()) continue;
    ++found;
    report = outcome.result.report;
  }
  return found;
}

} // namespace

// CTA c of a rank waits for CTA c of another at a barrier, and may have its place.
TEST(EmulatorResidency, CtasThatWaitForAbsentOnesAreADeadlock) {
  std::string report;
  EXPECT_EQ(countDeadlocks(threeCtas("barrier"), 3, report), 0);
  EXPECT_GT(countDeadlocks(threeCtas("barrier"), 1, report), 3);
  EXPECT_NE(report.find("not there yet, as 1 at a time have a place"), std::string::npos) << report;
}

// Where all ranks give CTAs their places in the same order, those that wait for each other are there together.
TEST(EmulatorResidency, OneAfterTheOtherInTheSameOrderEnds) {
  AllReduce job = threeCtas("barrier");
  Policy policy = Policy::fair();
  policy.residentCtas = 1;
  const Outcome outcome = run(job, policy);
  EXPECT_TRUE(outcome.good()) << outcome;
}

TEST(Emulator, ATraceTellsTheLastEvents) {
  AllReduce job = threeCtas("ll");
  Policy policy = Policy::adversarial(5);
  EXPECT_EQ(run(job, policy).result.trace, "");
  policy.trace = 20;
  const std::string trace = run(job, policy).result.trace;
  EXPECT_EQ(std::count(trace.begin(), trace.end(), '\n'), 20) << trace;
  EXPECT_NE(trace.find("'s mailbox `box`"), std::string::npos) << trace;
  EXPECT_EQ(trace, run(job, policy).result.trace);
}
