// The race detector: one fair run tells right kernels from wrong ones, whatever that run's results.
#include "emulator_fixture.h"

using namespace coll::emu;
using namespace coll::emu::test;
using coll::DType;

namespace {

AllReduce job(const std::string &file, const std::string &sync, std::vector<std::string> defects = {}) {
  AllReduce job;
  job.file = file;
  job.sync = sync;
  job.ranks = 4;
  job.defects = std::move(defects);
  if (sync == "sentinel") job.dtype = DType::F32;
  job.steps.assign(5, {sync == "ll" ? 64u : 128u, 2, sync == "ll128" ? 32u : 16u});
  return job;
}

Outcome detect(const AllReduce &job) {
  Policy policy = Policy::fair();
  policy.detectRaces = true;
  return run(job, policy);
}

void expectRace(const AllReduce &job, const std::string &text) {
  const Outcome outcome = detect(job);
  EXPECT_EQ(name(outcome.result.status), name(Result::Race)) << outcome;
  EXPECT_NE(outcome.result.report.find(text), std::string::npos) << outcome;
}

void expectNone(const AllReduce &job) {
  const Outcome outcome = detect(job);
  EXPECT_TRUE(outcome.good()) << outcome;
}

} // namespace

TEST(EmulatorRace, RightKernelsHaveNone) {
  expectNone(job("oneshot_ll.cu", "ll"));
  expectNone(job("oneshot_barrier.cu", "barrier"));
  expectNone(job("oneshot_flag.cu", "flag"));
  expectNone(job("oneshot_sentinel.cu", "sentinel"));
  AllReduce deferred = job("oneshot_sentinel.cu", "sentinel", {"DEFERRED"});
  deferred.copies = 3;
  expectNone(deferred);
  AllReduce cleared = job("twoshot_sentinel.cu", "sentinel");
  cleared.mailboxes = 2;
  expectNone(cleared);
  expectNone(job("oneshot_ll128.cu", "ll128"));
  AllReduce lines = job("twoshot_ll128.cu", "ll128");
  lines.copies = 1, lines.mailboxes = 2;
  expectNone(lines);
  AllReduce announced = job("twoshot_flag.cu", "flag");
  announced.copies = 1, announced.mailboxes = 2;
  expectNone(announced);
  AllReduce twoshot = job("twoshot_ll.cu", "ll");
  twoshot.copies = 1, twoshot.mailboxes = 2;
  expectNone(twoshot);
}

// A slot whose piece does not reach a packet is read without interest, and may be written by a later launch meanwhile.
TEST(EmulatorRace, NoneWhereCountsChange) {
  AllReduce changing = job("twoshot_ll.cu", "ll");
  changing.copies = 1, changing.mailboxes = 2;
  const std::uint64_t counts[] = {3, 500, 17, 1, 256};
  for (std::size_t i = 0; i < changing.steps.size(); ++i) changing.steps[i].count = counts[i];
  expectNone(changing);
}

TEST(EmulatorRace, NoneWhereGridsChangeAndEpochsWrap) {
  for (const char *sync : {"ll", "ll128", "barrier", "flag", "sentinel"}) {
    AllReduce changing = job(std::string("oneshot_") + sync + ".cu", sync);
    changing.epoch = 0xfffffffd;
    for (std::size_t i = 0; i < changing.steps.size(); ++i) changing.steps[i].grid = 1 + i % 3;
    expectNone(changing);
  }
}

TEST(EmulatorRace, OneCopy) {
  AllReduce ll = job("oneshot_ll.cu", "ll"), barrier = job("oneshot_barrier.cu", "barrier");
  ll.copies = barrier.copies = 1;
  expectRace(ll, "which overwrites what the first may have yet to read");
  expectRace(ll, "'s mailbox `box` copy 0 slot ");
  AllReduce ll128 = job("oneshot_ll128.cu", "ll128");
  ll128.copies = 1;
  expectRace(ll128, "which overwrites what the first may have yet to read");
  expectRace(barrier, "which overwrites what the first may have yet to read");
}

// The clears of a slot race with the packets that come after them.
TEST(EmulatorRace, SentinelCopies) {
  AllReduce eager = job("oneshot_sentinel.cu", "sentinel");
  AllReduce deferred = job("oneshot_sentinel.cu", "sentinel", {"DEFERRED"});
  AllReduce twoshot = job("twoshot_sentinel.cu", "sentinel");
  eager.copies = twoshot.copies = 1, deferred.copies = 2, twoshot.mailboxes = 2;
  expectRace(eager, "race on ");
  expectRace(deferred, "race on ");
  expectRace(twoshot, "which stores it");
}

TEST(EmulatorRace, FlagCopies) {
  AllReduce flag = job("oneshot_flag.cu", "flag");
  flag.copies = 1;
  expectRace(flag, "which overwrites what the first may have yet to read");
}

TEST(EmulatorRace, EarlyReads) {
  expectRace(job("oneshot_barrier.cu", "barrier", {"NO_BARRIER"}), "race on ");
  for (const char *defect : {"FLAG_RELAXED", "FLAG_FIRST", "NO_CTA_SYNC", "WAIT_RELAXED"}) {
    SCOPED_TRACE(defect);
    expectRace(job("oneshot_flag.cu", "flag", {defect}), "which reads what may not have arrived");
  }
}
