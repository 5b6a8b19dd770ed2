// Multicast: what a store to all ranks and a load that reduces them may do, and that what relies on more is found.
#include "emulator_fixture.h"

#include <cstring>

using namespace coll;
using namespace coll::emu;
using namespace coll::emu::test;

namespace {

AllReduce oneshot(const std::string &sync, std::vector<std::string> defects = {}) {
  AllReduce job;
  job.file = "multicast.cu";
  job.sync = sync;
  job.multicast = true;
  job.ranks = 4;
  job.defects = std::move(defects);
  job.defects.push_back("SYNC " + (sync == "barrier" ? std::string("plain") : sync));
  job.defects.push_back(sync == "barrier" ? "BARRIERS 1" : "BARRIERS 0");
  if (sync == "flag") job.defects.push_back("FLAGS");
  job.steps.assign(4, {sync == "ll" ? 64u : 128u, 1, 32});
  return job;
}

/// Wherever the team has multicast, and where it has none.
void expectGoodEitherWay(const AllReduce &job, int seeds) {
  for (int seed = 0; seed < seeds; ++seed)
    for (const bool multicast : {true, false}) {
      Policy policy = Policy::adversarial(seed);
      policy.multicast = multicast;
      const Outcome outcome = run(job, policy);
      ASSERT_TRUE(outcome.good()) << "seed " << seed << (multicast ? "" : " without") << " multicast: " << outcome;
    }
}

/// Two-shot over windows, between copies that put the input there and take the result.
struct Windows {
  std::vector<std::string> defects = {};
  std::string type = "int", op = "Sum";
  int ranks = 4;
  std::uint64_t count = 200; ///< words of 4 bytes
  unsigned perWord = 1;      ///< elements
  unsigned misaligned = 0; ///< elements
  std::uint32_t (*input)(int rank, std::uint64_t i) = [](int rank, std::uint64_t i) {
    return std::uint32_t((rank + 1) * 1000003u + i * 31u);
  };
  std::uint32_t (*result)(int ranks, std::uint64_t i) = [](int ranks, std::uint64_t i) {
    std::uint32_t sum = 0;
    for (int r = 0; r < ranks; ++r) sum += std::uint32_t((r + 1) * 1000003u + i * 31u);
    return sum;
  };
};

Manifest manifestOf(const Windows &job) {
  Manifest manifest;
  manifest.ranks = job.ranks;
  manifest.barriers = 2;
  manifest.regionBytes = (1024 + 128 + 2 * 256 * std::uint64_t(job.ranks) * 4 + 127) / 128 * 128;
  return manifest;
}

/// How many elements of all ranks are wrong; some if the run itself is.
std::uint64_t wrongOf(const Windows &job, const Policy &policy) {
  std::vector<std::string> defines = {"RANKS " + std::to_string(job.ranks), "TYPE " + job.type, "OP " + job.op};
  defines.insert(defines.end(), job.defects.begin(), job.defects.end());
  const auto module = kernel("multicast_window.cu", defines, {"allreduce", "copy"});
  if (!module) return job.count;
  Machine machine(manifestOf(job), policy);
  constexpr int kLaunches = 3;
  std::vector<Buffer> out;
  std::string error;
  const std::uint64_t bytes = job.count * 4;
  for (int launch = 0; launch < kLaunches; ++launch) {
    std::vector<Pointer> in, x, y;
    for (int r = 0; r < job.ranks; ++r) {
      in.push_back({machine.allocate(r, "in", bytes)});
      x.push_back({machine.allocate(r, "x", bytes, job.misaligned * 4)});
      y.push_back({machine.allocate(r, "y", bytes, job.misaligned * 4)});
      out.push_back(machine.allocate(r, "out", bytes));
      std::vector<std::uint32_t> values(job.count);
      for (std::uint64_t i = 0; i < job.count; ++i) values[i] = job.input(r, i);
      machine.write(in.back().buffer, std::as_bytes(std::span(values)));
    }
    for (int r = 0; r < job.ranks; ++r) {
      std::vector<Pointer> pointers;
      for (const auto *window : {&x, &y}) {
        for (int hop = 0; hop < job.ranks; ++hop) pointers.push_back((*window)[std::size_t((r + hop) % job.ranks)]);
        pointers.push_back(machine.multicast("window", *window, bytes));
      }
      const std::size_t to = out.size() - std::size_t(job.ranks - r);
      EXPECT_TRUE(machine.launch(r, {module, "copy", 1, 32, {in[r], x[r]}, {job.count}, {}}, error)) << error;
      EXPECT_TRUE(machine.launch(r, {module, "allreduce", 2, 32, pointers, {job.count * job.perWord}, {}}, error)) << error;
      EXPECT_TRUE(machine.launch(r, {module, "copy", 1, 32, {y[r], {out[to]}}, {job.count}, {}}, error)) << error;
    }
  }
  const Result result = machine.run();
  if (result.status != Result::Ok) return job.count;
  std::uint64_t wrong = 0;
  for (const Buffer &buffer : out) {
    std::vector<std::uint32_t> got(job.count);
    machine.read(buffer, std::as_writable_bytes(std::span(got)));
    for (std::uint64_t i = 0; i < job.count; ++i) wrong += got[i] != job.result(job.ranks, i);
  }
  return wrong;
}

int countWrong(const Windows &job, int seeds) {
  int wrong = 0;
  for (int seed = 0; seed < seeds; ++seed) wrong += wrongOf(job, Policy::adversarial(seed)) != 0;
  return wrong;
}

} // namespace

TEST(EmulatorMulticast, LinesOfWordsAreRight) {
  expectGoodEitherWay(oneshot("ll"), 20);
}

TEST(EmulatorMulticast, TornLinesAreFound) {
  EXPECT_GT(countBad(oneshot("ll", {"TORN_LINES"}), 12), 6);
}

TEST(EmulatorMulticast, OneCopyIsFound) {
  AllReduce job = oneshot("ll");
  job.copies = 1;
  EXPECT_GT(countBad(job, 20), 2);
}

TEST(EmulatorMulticast, BehindABarrierIsRight) {
  expectGoodEitherWay(oneshot("barrier"), 20);
}

TEST(EmulatorMulticast, BehindFlagsIsRight) {
  expectGoodEitherWay(oneshot("flag"), 20);
}

TEST(EmulatorMulticast, WithoutABarrierIsFound) {
  EXPECT_GT(countBad(oneshot("barrier", {"NO_BARRIER"}), 8), 4);
}

TEST(EmulatorMulticast, OneCopyBehindABarrierIsFound) {
  AllReduce job = oneshot("barrier");
  job.copies = 1;
  EXPECT_GT(countBad(job, 40), 2);
}

// What a rank sends to all does not reach its own slot as a store of its own would.
TEST(EmulatorMulticast, OwnSlotReadAtOnceIsFound) {
  AllReduce job = oneshot("barrier", {"OWN_AT_ONCE"});
  EXPECT_GT(countBad(job, 12), 4);
}

TEST(EmulatorMulticast, RacesAreFoundFairly) {
  Policy policy = Policy::fair();
  policy.detectRaces = true;
  EXPECT_TRUE(run(oneshot("barrier"), policy).good());
  EXPECT_EQ(run(oneshot("barrier", {"NO_BARRIER"}), policy).result.status, Result::Race);
  AllReduce once = oneshot("barrier");
  once.copies = 1;
  EXPECT_EQ(run(once, policy).result.status, Result::Race);
}

TEST(EmulatorMulticast, WindowsAreRight) {
  EXPECT_EQ(countWrong({}, 12), 0);
  EXPECT_EQ(countWrong({.count = 203, .misaligned = 1}, 4), 0) << "packets that are not whole go one by one";
  EXPECT_EQ(countWrong({.ranks = 3, .count = 7}, 4), 0);
  for (int seed = 0; seed < 4; ++seed) {
    Policy policy = Policy::adversarial(seed);
    policy.multicast = false;
    EXPECT_EQ(wrongOf({}, policy), 0u);
  }
}

TEST(EmulatorMulticast, WindowsWithoutABarrierAreFound) {
  EXPECT_GT(countWrong({.defects = {"NO_ENTRY"}}, 8), 3);
  EXPECT_GT(countWrong({.defects = {"NO_EXIT"}}, 8), 3);
}

// Halves are summed in f32 and rounded once, in whatever order: 1 and 7 times 2^-11 are 3.5 units of the last place above
// 1, which rounds to 4, and each step rounded would mostly be lost.
TEST(EmulatorMulticast, HalvesAreSummedWide) {
  Windows job{.type = "coll::F16", .ranks = 8, .count = 64, .perWord = 2};
  job.input = [](int rank, std::uint64_t) { return rank == 3 ? 0x3c003c00u : 0x10001000u; };
  job.result = [](int, std::uint64_t) { return 0x3c043c04u; };
  EXPECT_EQ(countWrong(job, 2), 0);
}

// A sum that has rounding depends on the order, and the order is the network's.
TEST(EmulatorMulticast, OrderIsNotPromised) {
  Windows job{.type = "float", .ranks = 4, .count = 64};
  job.input = [](int rank, std::uint64_t) {
    const float value = rank == 0 ? 0x1p25f : rank == 1 ? -0x1p25f : 1;
    std::uint32_t bits;
    std::memcpy(&bits, &value, 4);
    return bits;
  };
  job.result = [](int, std::uint64_t) { return 0x40000000u; }; // 2: only where the large ones cancel first
  EXPECT_EQ(wrongOf(job, Policy::fair()), 0u);
  EXPECT_GT(countWrong(job, 4), 0);
}

// The smallest and largest of integers, by sign.
TEST(EmulatorMulticast, Extremes) {
  Windows job{.op = "Min", .count = 64};
  job.input = [](int rank, std::uint64_t i) { return std::uint32_t(int(i) - 10 * rank); };
  job.result = [](int ranks, std::uint64_t i) { return std::uint32_t(int(i) - 10 * (ranks - 1)); };
  EXPECT_EQ(countWrong(job, 2), 0);
  job.op = "Max", job.type = "coll::u32";
  job.result = [](int ranks, std::uint64_t i) {
    std::uint32_t most = 0;
    for (int r = 0; r < ranks; ++r) most = std::max(most, std::uint32_t(int(i) - 10 * r));
    return most;
  };
  EXPECT_EQ(countWrong(job, 2), 0);
}
