// Several launches of a rank in flight: dependent launch, streams and the events between them, places that they share.
#include "emulator_fixture.h"

#include <cstring>

using namespace coll::emu;
using namespace coll::emu::test;

namespace {

constexpr int kRanks = 2, kSteps = 5, kSeeds = 24;
constexpr unsigned kCtas = 2, kThreads = 32;
constexpr std::uint64_t kCount = kCtas * kThreads;

coll::Manifest manifest() {
  AllReduce layout;
  layout.ranks = kRanks, layout.sync = "barrier";
  return layout.manifest();
}

std::vector<std::string> defines(std::vector<std::string> defects = {}) {
  defects.push_back("RANKS " + std::to_string(kRanks));
  return defects;
}

/// Launches each of which adds 1 to what the one before has left.
struct Chain {
  std::vector<std::string> defects = {};
  bool dependent = true;
  unsigned streams = 1; ///< by turns
  bool events = false;  ///< each launch waits for the one before
};

/// How a run of a chain ends: Ok and wrong if it has not counted its launches.
Outcome run(const Chain &chain, const Policy &policy) {
  const auto module = kernel("dependent.cu", defines(chain.defects), {"add_one"});
  Machine machine(manifest(), policy);
  std::vector<Buffer> last;
  for (int r = 0; r < kRanks; ++r) {
    Buffer x = machine.allocate(r, "x", kCount * 4);
    machine.write(x, std::vector<std::byte>(kCount * 4));
    for (unsigned s = 0; s < kSteps; ++s) {
      const Buffer y = machine.allocate(r, "y" + std::to_string(s), kCount * 4);
      Launch launch{module, "add_one", kCtas, kThreads, {{x}, {y}}, {kCount}, {}};
      launch.dependent = chain.dependent, launch.stream = s % chain.streams;
      if (chain.events && s > 0) launch.after = {s - 1};
      std::string error;
      EXPECT_TRUE(machine.launch(r, launch, error)) << error;
      x = y;
    }
    last.push_back(x);
  }
  Outcome outcome;
  outcome.result = machine.run();
  for (const Buffer y : last) {
    std::uint32_t words[kCount];
    machine.read(y, std::as_writable_bytes(std::span(words)));
    for (const std::uint32_t word : words) outcome.wrong += word != kSteps;
  }
  return outcome;
}

Policy early(int seed, double rate = 1) {
  Policy policy = Policy::adversarial(seed);
  policy.early = rate, policy.checkWaits = false;
  return policy;
}

int countBad(const Chain &chain, double rate = 1) {
  int bad = 0;
  for (int seed = 0; seed < kSeeds; ++seed) bad += !run(chain, early(seed, rate)).good();
  return bad;
}

} // namespace

TEST(EmulatorDependentLaunch, WaitsForTheLaunchBefore) {
  EXPECT_EQ(countBad({}), 0);
  EXPECT_EQ(countBad({{"TRIGGER_FIRST"}}), 0);
  EXPECT_TRUE(run(Chain{}, Policy::fair()).good());
}

// Launches do overlap: what does not wait reads what is not there yet. Without early launches, or where the launch is not
// a dependent one, nobody notices.
TEST(EmulatorDependentLaunch, WithoutTheWaitReadsWhatIsNotThere) {
  for (const char *defect : {"NO_WAIT", "READ_EARLY"}) {
    const std::vector<std::string> defects = {defect, "TRIGGER_FIRST"};
    EXPECT_GT(countBad({defects}), kSeeds / 2) << defect;
    EXPECT_EQ(countBad({defects}, 0), 0) << defect;
    EXPECT_EQ(countBad({defects, false}), 0) << defect;
  }
}

TEST(EmulatorDependentLaunch, TouchingMemoryBeforeTheWaitIsAFault) {
  Policy policy = early(1);
  policy.checkWaits = true;
  const Outcome outcome = run(Chain{{"READ_EARLY"}}, policy);
  EXPECT_EQ(name(outcome.result.status), name(Result::Fault));
  EXPECT_NE(outcome.result.report.find("load before the thread has waited for the kernels before its own: `x`"),
            std::string::npos)
      << outcome.result.report;
}

TEST(EmulatorDependentLaunch, EverySeedIsAReproduction) {
  for (int seed = 0; seed < 8; ++seed) {
    const Outcome first = run(Chain{}, early(seed, 0.5)), second = run(Chain{}, early(seed, 0.5));
    EXPECT_EQ(first.result.statistics.steps, second.result.statistics.steps);
  }
}

TEST(EmulatorStreams, NothingOrdersTheirLaunchesButEvents) {
  EXPECT_GT(countBad({{}, false, 3}), kSeeds / 2);
  EXPECT_EQ(countBad({{}, false, 3, true}), 0);
  EXPECT_EQ(countBad({{}, true, 3, true}), 0);
}

namespace {

struct Meeting {
  unsigned member, stream;
  std::vector<unsigned> after = {};
};

/// Two members that each make all ranks meet, in the order that each rank says.
Result meet(const std::vector<std::vector<Meeting>> &launches, const Policy &policy) {
  const auto module = kernel("dependent.cu", defines(), {"meet_once"});
  Machine machine(manifest(), policy);
  machine.add(manifest());
  for (int r = 0; r < kRanks; ++r)
    for (const Meeting &each : launches[r]) {
      const Buffer x = machine.allocate(r, "x", 16);
      Launch launch{module, "meet_once", kCtas, kThreads, {{x}, {x}}, {4}, {}};
      launch.member = each.member, launch.stream = each.stream, launch.after = each.after;
      std::string error;
      EXPECT_TRUE(machine.launch(r, launch, error)) << error;
    }
  return machine.run();
}

} // namespace

// Rank 0 lets member 0 go first, rank 1 member 1: on streams of their own they meet, one after the other they never do.
TEST(EmulatorStreams, EventsInOppositeOrderAreADeadlock) {
  for (int seed = 0; seed < 8; ++seed) {
    const Policy policy = Policy::adversarial(seed);
    EXPECT_EQ(meet({{{0, 0}, {1, 1}}, {{1, 0}, {0, 1}}}, policy).status, Result::Ok) << seed;
    const Result result = meet({{{0, 0}, {1, 1, {0}}}, {{1, 0}, {0, 1, {0}}}}, policy);
    EXPECT_EQ(name(result.status), name(Result::Deadlock)) << seed;
    EXPECT_NE(result.report.find("rank 1, launch 1: not begun, as it waits for launch 0"), std::string::npos) << result.report;
  }
}

// Launches on two streams take each other's places.
TEST(EmulatorStreams, LaunchesOfARankShareItsPlaces) {
  int deadlocks = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    Policy policy = Policy::adversarial(seed);
    const std::vector<Meeting> both = {{0, 0}, {1, 1}};
    policy.residentCtas = 2 * kCtas;
    EXPECT_EQ(meet({both, both}, policy).status, Result::Ok) << seed;
    policy.residentCtas = kCtas;
    const Result result = meet({both, both}, policy);
    if (result.status == Result::Ok) continue;
    ++deadlocks;
    EXPECT_NE(result.report.find("not there yet, as 2 at a time have a place"), std::string::npos) << result.report;
  }
  EXPECT_GT(deadlocks, 3);
}
