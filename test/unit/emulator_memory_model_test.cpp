// The memory model finds what it is made to find, and nothing in kernels that are right.
#include "emulator_fixture.h"

using namespace coll::emu;
using namespace coll::emu::test;
using coll::DType;

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
  job.sync = "flag";
  job.defects = std::move(defects);
  return job;
}

AllReduce twoshotFlag() {
  AllReduce job;
  job.file = "twoshot_flag.cu";
  job.sync = "flag";
  job.copies = 1;
  job.mailboxes = 2;
  job.steps.assign(4, {1024, 2, 32});
  return job;
}

AllReduce oneshotSentinel(std::vector<std::string> defects = {}) {
  AllReduce job;
  job.file = "oneshot_sentinel.cu";
  job.sync = "sentinel";
  job.dtype = DType::F32;
  job.defects = std::move(defects);
  job.steps.assign(6, {128, 1, 32});
  return job;
}

AllReduce oneshotLl128() {
  AllReduce job;
  job.file = "oneshot_ll128.cu";
  job.sync = "ll128";
  job.lines = 32;
  job.steps.assign(5, {200, 1, 32}); // one warp, whose last block is not full
  return job;
}

AllReduce twoshotSentinel() {
  AllReduce job = oneshotSentinel();
  job.file = "twoshot_sentinel.cu";
  job.mailboxes = 2;
  job.steps.assign(5, {1024, 1, 32});
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

TEST(EmulatorFlag, OneCopyIsFound) {
  AllReduce job = oneshotFlag({});
  job.copies = 1;
  EXPECT_GT(countBad(job, 40), 3);
}
TEST(EmulatorFlag, TwoShotNeedsOneCopy) {
  expectGood(twoshotFlag(), 40);
}

TEST(EmulatorSentinel, TwoCopiesAreRight) {
  for (DType dtype : {DType::F32, DType::F16, DType::BF16}) {
    AllReduce job = oneshotSentinel();
    job.dtype = dtype;
    expectGood(job, 32);
    expectGood(job, 8, Atomicity::Bytes16);
  }
}
TEST(EmulatorSentinel, OneCopyIsFound) {
  AllReduce job = oneshotSentinel();
  job.copies = 1;
  EXPECT_GT(countBad(job, 20), 5);
}
TEST(EmulatorSentinel, PayloadEqualToTheSentinelIsFound) {
  EXPECT_EQ(countBad(oneshotSentinel({"NOT_CANONICAL"}), 8), 8);
}
TEST(EmulatorSentinel, UncheckedWordIsFound) {
  EXPECT_GT(countBad(oneshotSentinel({"UNCHECKED"}), 20), 10);
  expectGood(oneshotSentinel({"UNCHECKED"}), 8, Atomicity::Bytes16); // where packets arrive whole, one word is enough
}
TEST(EmulatorSentinel, ADeferredClearNeedsThreeCopies) {
  AllReduce job = oneshotSentinel({"DEFERRED"});
  job.copies = 3;
  expectGood(job, 40);
  job.copies = 2;
  EXPECT_GT(countBad(job, 40), 2);
}
TEST(EmulatorSentinel, ADeferredClearOfThisLaunchsRangeIsFound) {
  AllReduce job = oneshotSentinel({"DEFERRED"});
  job.copies = 3;
  const std::uint64_t counts[] = {128, 32, 128, 8, 256, 100};
  for (std::size_t i = 0; i < job.steps.size(); ++i) job.steps[i].count = counts[i];
  expectGood(job, 20);
  job.defects.push_back("THIS_RANGE");
  EXPECT_GT(countBad(job, 20), 10);
}
TEST(EmulatorSentinel, AnEagerClearFollowsChangingCounts) {
  AllReduce job = oneshotSentinel();
  const std::uint64_t counts[] = {128, 31, 127, 1, 256, 100};
  for (std::size_t i = 0; i < job.steps.size(); ++i)
    job.steps[i] = {counts[i], 1 + unsigned(i % 2), 32, 0, unsigned(i % 3), i % 2 == 0};
  expectGood(job, 40);
}
TEST(EmulatorSentinel, TwoShotNeedsTwoCopies) {
  expectGood(twoshotSentinel(), 24);
  AllReduce job = twoshotSentinel();
  job.copies = 1;
  EXPECT_GT(countBad(job, 24), 0);
}
// A batch of slots reaches back over some that were read, and cleared, before.
TEST(EmulatorSentinel, MoreRanksThanABatch) {
  for (int ranks : {3, 9, 13}) {
    AllReduce job = oneshotSentinel();
    job.ranks = ranks;
    job.steps.assign(4, {64, 1, 16});
    expectGood(job, 8);
  }
}
TEST(EmulatorSentinel, EpochsWrap) {
  AllReduce job = oneshotSentinel();
  job.ranks = 4;
  job.epoch = 0xfffffffd;
  job.steps.assign(6, {100, 2, 16});
  for (unsigned copies : {2, 3}) {
    job.copies = copies;
    expectGood(job, 20);
  }
}
// Subnormals, NaNs and whatever else: all but -0.0 arrive as they are, NaNs as some NaN.
TEST(EmulatorSentinel, EveryBitPatternArrives) {
  AllReduce job = oneshotSentinel();
  job.ranks = 2;
  job.lines = 16384;
  for (DType dtype : {DType::F32, DType::F16, DType::BF16}) {
    job.dtype = dtype;
    job.steps.assign(2, {65536, 1, 32});
    job.input = [dtype](int rank, std::size_t step, std::uint64_t i) -> std::uint32_t {
      if (rank != int(step)) return 0;
      if (dtype != DType::F32) return std::uint32_t(i);
      return std::uint32_t(i % 2 ? i << 16 | 0x8000 : (i & 0x8000) << 16 | (i & 0x7fff)); // in the halves of a word
    };
    expectGood(job, 2);
  }
}

TEST(EmulatorLl128, TwoCopiesAreRight) {
  expectGood(oneshotLl128(), 60, Atomicity::Bytes128);
  const Outcome outcome = run(oneshotLl128(), Policy::fair());
  EXPECT_TRUE(outcome.good()) << outcome;
}
TEST(EmulatorLl128, LinesThatArriveInPartsAreFound) {
  for (Atomicity atomicity : {Atomicity::Element, Atomicity::Bytes8, Atomicity::Bytes16})
    EXPECT_GT(countBad(oneshotLl128(), 12, atomicity), 6);
}
TEST(EmulatorLl128, OneCopyIsFound) {
  AllReduce job = oneshotLl128();
  job.copies = 1;
  EXPECT_GT(countBad(job, 20, Atomicity::Bytes128), 3);
}
TEST(EmulatorLl128, ALaneThatLeavesItsWarpIsFound) {
  AllReduce job = oneshotLl128();
  job.defects = {"ALONE"};
  EXPECT_EQ(countBad(job, 4, Atomicity::Bytes128), 4);
}
TEST(EmulatorLl128, TailsMisalignmentAndTypes) {
  for (DType dtype : {DType::I32, DType::F32, DType::BF16}) {
    AllReduce job = oneshotLl128();
    job.ranks = 3;
    job.dtype = dtype;
    job.lines = 96;
    const std::uint64_t counts[] = {1, 3, 27, 28, 29, 60, 61, 240, 241, 481, 719};
    job.steps.clear();
    for (std::size_t i = 0; i < std::size(counts); ++i)
      job.steps.push_back({counts[i], 1 + unsigned(i % 2), 32, 0, unsigned(i % 3), i % 2 == 0});
    job.steps.push_back({120, 1, 32, 5}); // whole pieces; two of the ranks take the quick path
    expectGood(job, 8, Atomicity::Bytes128);
  }
}
TEST(EmulatorLl128, TwoShotNeedsOneCopy) {
  AllReduce job;
  job.file = "twoshot_ll128.cu";
  job.sync = "ll128";
  job.copies = 1;
  job.mailboxes = 2;
  job.ranks = 5;
  job.steps = {{1000, 1, 32}, {17, 1, 32}, {1000, 1, 64}, {3, 1, 32}, {640, 2, 32}};
  expectGood(job, 32, Atomicity::Bytes128);
}
TEST(EmulatorLl128, EpochsWrap) {
  AllReduce job = oneshotLl128();
  job.ranks = 3;
  job.epoch = 0xfffffffd;
  expectGood(job, 12, Atomicity::Bytes128);
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

namespace {

/// Two kernels, launched in turn on every rank, in regions of their own or all in the first one's. `crossed`: rank 1
/// launches them in the other order.
Result::Status inTurn(std::uint64_t seed, bool shareRegion, bool crossed) {
  AllReduce job[2];
  job[0].file = "oneshot_ll.cu", job[0].sync = "ll";
  job[1].file = "oneshot_ll.cu", job[1].sync = "ll", job[1].copies = 3;
  for (AllReduce &j : job) j.ranks = 2;
  std::shared_ptr<const KernelModule> modules[2];
  for (int k = 0; k < 2; ++k)
    modules[k] = kernel(job[k].file, {"RANKS 2", "TYPE int", "LINES 64", "COPIES " + std::to_string(job[k].copies)}, {"allreduce"});
  const coll::Manifest manifests[2] = {job[0].manifest(), job[1].manifest()};
  Machine machine(manifests[1], Policy::adversarial(seed)); // the larger region first, which both fit
  EXPECT_EQ(machine.add(manifests[0]), 1u);
  std::vector<Buffer> outputs;
  for (int rank = 0; rank < 2; ++rank)
    for (unsigned number = 0; number < 8; ++number) {
      const Buffer x = machine.allocate(rank, "x", 256), y = machine.allocate(rank, "y", 256);
      const std::vector<int> ones(64, int(number));
      machine.write(x, std::as_bytes(std::span(ones)));
      outputs.push_back(y);
      const unsigned k = (number + (crossed && rank == 1)) % 2;
      std::string error;
      EXPECT_TRUE(machine.launch(rank, {modules[1 - k], "allreduce", 1, 32, {{x}, {y}}, {64}, {}, false, 1, shareRegion ? 0 : k}, error)) << error;
    }
  const Result result = machine.run();
  if (result.status != Result::Ok) return result.status;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::vector<int> is(64);
    machine.read(outputs[i], std::as_writable_bytes(std::span(is)));
    if (is != std::vector<int>(64, 2 * int(i % 8))) return Result::StepLimit; // stands for a wrong result
  }
  return Result::Ok;
}

} // namespace

// Members have scratch of their own, so their launches may follow each other in any order that is the same everywhere.
TEST(EmulatorMembers, EachHasItsOwnScratch) {
  int bad = 0;
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    EXPECT_EQ(inTurn(seed, false, false), Result::Ok) << seed;
    bad += inTurn(seed, true, false) != Result::Ok;
  }
  EXPECT_GT(bad, 0) << "kernels of different depth must not share a region";
}

TEST(EmulatorMembers, OrderIsTheSameOnAllRanks) {
  EXPECT_EQ(inTurn(1, false, true), Result::Deadlock);
}
