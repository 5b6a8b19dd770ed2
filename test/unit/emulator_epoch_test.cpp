// Epochs: grids that change from launch to launch, and the wrap of 32 bits.
#include "emulator_fixture.h"

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
