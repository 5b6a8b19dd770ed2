// Several launches of a rank in flight: what our kernels stand, and what a kernel or a user who gets it wrong does not.
// Rows M10, M11, R10 and A02 of the public defects.
#include "InlinedHeaders.h"
#include "coll/Compiler.h"
#include "emulator/Emulator.h"
#include "tool/Adversary.h"

#include <gtest/gtest.h>

#include <cstring>

namespace coll {
namespace {

constexpr int kRanks = 3, kSeeds = 24;
constexpr unsigned kCtas = 2, kThreads = 32;
constexpr std::uint64_t kCount = 160; ///< elements: more packets than threads, and a short last one

// How a kernel that takes any number of packets begins its loop; the first line is its wait.
constexpr const char *kWait = "    launch.start();\n";
constexpr const char *kLoop = "    launch.start();\n#pragma unroll 1\n"
                              "    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; warpFirst(i)";
constexpr const char *kStart = "ptx::gridDependencyWait(), ptx::launchDependents();";

Kernel compiled(const std::string &collective, const std::string &member, const std::string &text = {}) {
  Diagnostics diagnostics;
  const auto program = Program::parse(text.empty() ? *standardLibraryText(collective) : text, "flight.coll", diagnostics);
  EXPECT_TRUE(program) << diagnostics.render();
  auto kernel = program->compile({member, kRanks, DType::F32, ReduceOp::Sum}, {}, diagnostics);
  EXPECT_TRUE(kernel) << diagnostics.render();
  return *kernel;
}

/// With a defect in what stands before its packets.
Kernel broken(Kernel kernel, const std::string &right, const std::string &wrong) {
  kernel.cuda = test::replaced(test::withHeaders(kernel.cuda), right, wrong);
  return kernel;
}

/// Ranks, the kernels loaded on them, and what they launch.
class Bench {
public:
  Bench(const std::vector<Kernel> &kernels, const emu::Policy &policy) : machine(kernels.front().manifest, policy) {
    for (const Kernel &kernel : kernels) {
      if (!modules.empty()) machine.add(kernel.manifest);
      emu::CompileError error;
      modules.push_back(emu::KernelModule::compile(kernel.cuda, std::span(&kernel.manifest.entry, 1), error));
      entries.push_back(kernel.manifest.entry);
      EXPECT_TRUE(modules.back()) << error.message;
    }
  }

  emu::Buffer vector(int rank, std::uint64_t count, float value) {
    const emu::Buffer buffer = machine.allocate(rank, "vector", count * 4);
    const std::vector<float> values(count, value);
    if (value != 0) machine.write(buffer, std::as_bytes(std::span(values)));
    return buffer;
  }
  void launch(int rank, unsigned kernel, emu::Buffer x, emu::Buffer y, unsigned stream = 0) {
    emu::Launch launch{modules[kernel], entries[kernel], kCtas, kThreads, {{x}, {y}}, {kCount}, {}};
    launch.member = kernel, launch.stream = stream, launch.dependent = true;
    std::string error;
    EXPECT_TRUE(machine.launch(rank, launch, error)) << error;
  }
  void expect(emu::Buffer buffer, std::uint64_t count, float value) { wanted.push_back({buffer, count, value}); }

  /// What goes wrong; empty if nothing does.
  std::string run() {
    const emu::Result result = machine.run();
    if (result.status != emu::Result::Ok) return std::string(emu::name(result.status)) + "\n" + result.report;
    for (const Wanted &each : wanted) {
      std::vector<float> got(each.count);
      machine.read(each.buffer, std::as_writable_bytes(std::span(got)));
      for (const float value : got)
        if (value != each.value) return "wrong element: " + std::to_string(value) + ", not " + std::to_string(each.value);
    }
    return "";
  }

private:
  struct Wanted {
    emu::Buffer buffer;
    std::uint64_t count;
    float value;
  };
  emu::Machine machine;
  std::vector<std::shared_ptr<const emu::KernelModule>> modules;
  std::vector<std::string> entries;
  std::vector<Wanted> wanted;
};

emu::Policy early(int seed, bool checkWaits = true) {
  emu::Policy policy = emu::Policy::adversarial(seed);
  policy.early = 1, policy.checkWaits = checkWaits;
  return policy;
}

bool hasCompiler() { return !emu::hostCompiler().empty(); }

/// Sums of sums, each of which is gathered too: every launch reads at once what the one before has just stored.
std::string chain(const std::vector<Kernel> &kernels, const emu::Policy &policy) {
  Bench bench(kernels, policy);
  for (int rank = 0; rank < kRanks; ++rank) {
    float sum = float(kRanks * (kRanks + 1) / 2);
    emu::Buffer x = bench.vector(rank, kCount, float(rank + 1));
    for (int round = 0; round < 3; ++round, sum *= float(kRanks)) {
      const emu::Buffer y = bench.vector(rank, kCount, 0), all = bench.vector(rank, kCount * kRanks, 0);
      bench.launch(rank, 0, x, y);
      bench.launch(rank, 1, y, all);
      bench.expect(y, kCount, sum);
      bench.expect(all, kCount * kRanks, sum);
      x = y;
    }
  }
  return bench.run();
}

int countBad(const std::vector<Kernel> &kernels, bool checkWaits = true) {
  int bad = 0;
  for (int seed = 0; seed < kSeeds; ++seed) bad += !chain(kernels, early(seed, checkWaits)).empty();
  return bad;
}

} // namespace

// M10: a kernel lets its successor begin before it has stored its output. Ours do so, as their successors wait for all of
// the launch; even one that lets them begin first of all does no harm to them.
TEST(InFlight, M10TriggerBeforeTheStores) {
  if (!hasCompiler()) GTEST_SKIP() << "there is no C++ compiler";
  for (const auto &[sum, gather] : {std::pair("oneshot.ll", "direct.ll"), std::pair("twoshot.flag", "direct.barrier")}) {
    const std::vector<Kernel> right = {compiled("allreduce", sum), compiled("allgather", gather)};
    EXPECT_EQ(countBad(right), 0);
    const std::vector<Kernel> first = {broken(right[0], kStart, "ptx::launchDependents(), ptx::gridDependencyWait();"), right[1]};
    EXPECT_EQ(countBad(first), 0);

    // A successor that does not wait, and one that only reads its input before it does.
    const std::vector<Kernel> never = {first[0], broken(right[1], kStart, "ptx::launchDependents();")};
    const std::vector<Kernel> late = {first[0], broken(right[1], kLoop, std::string(kLoop).replace(0, std::strlen(kWait), ""))};
    for (const std::vector<Kernel> &wrong : {never, late}) {
      EXPECT_NE(chain(wrong, early(1)).find("before the thread has waited for the kernels before its own"), std::string::npos);
      EXPECT_GT(countBad(wrong, /*checkWaits=*/false), kSeeds / 2);
    }
  }
}

namespace {

constexpr unsigned kSum = 0, kGather = 1, kBusy = 2;

/// Sums on a stream of each rank. Rank 0 has a second stream, with work of its own and then a gathering that the other
/// ranks have in front of their sums; so the sums of all wait for that.
std::string besideABusyStream(const std::vector<Kernel> &kernels, unsigned places, emu::Policy policy) {
  policy.residentCtas = places;
  Bench bench(kernels, policy);
  for (int rank = 0; rank < kRanks; ++rank) {
    const emu::Buffer all = bench.vector(rank, kCount * kRanks, 0);
    if (rank == 0) bench.launch(rank, kBusy, bench.vector(rank, kCount, 1), bench.vector(rank, kCount, 0), 1);
    bench.launch(rank, kGather, bench.vector(rank, kCount, 7), all, rank == 0 ? 1 : 0);
    bench.expect(all, kCount * kRanks, 7);
    for (int number = 0; number < 4; ++number) {
      const emu::Buffer y = bench.vector(rank, kCount, 0);
      bench.launch(rank, kSum, bench.vector(rank, kCount, 1), y);
      bench.expect(y, kCount, float(kRanks));
    }
  }
  return bench.run();
}

/// A kernel that no peer has to do with.
constexpr const char *kCopy = R"(coll 1
collective copy<T in any>(in x: T[M], out y: T[M])
  ensures y == x
algorithm local for copy on lsa(2..8) when bytes <= 1Mi {
  y = x
}
)";

} // namespace

// M11: dependent launches, and a second stream that is busy on one rank only. The places that a rank must have are those of
// two launches of each kernel, which the runtime counts: one that runs, and its successor, which waits. A kernel that lets
// its successor begin before it has waited itself has a third there, and a fourth, which keep what their peers wait for
// from its place.
TEST(InFlight, M11BusyStreamOnOneRank) {
  if (!hasCompiler()) GTEST_SKIP() << "there is no C++ compiler";
  const std::vector<Kernel> right = {compiled("allreduce", "oneshot.ll"), compiled("allgather", "direct.ll"),
                                     compiled("copy", "local", kCopy)};
  std::vector<Kernel> wrong = right;
  wrong[kSum] = broken(right[kSum], kStart, "ptx::launchDependents(), ptx::gridDependencyWait();");
  constexpr unsigned kPlaces = 2 * kCtas + kCtas; // of sums, and of one launch of the second stream
  int deadlocks = 0, tight = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    EXPECT_EQ(besideABusyStream(right, kPlaces, early(seed)), "") << seed;
    const std::string failure = besideABusyStream(wrong, kPlaces, early(seed));
    deadlocks += failure.starts_with("deadlock") && failure.find("have a place") != std::string::npos;
    EXPECT_TRUE(failure.empty() || failure.starts_with("deadlock")) << failure;
    tight += besideABusyStream(right, kPlaces - kCtas, early(seed)).starts_with("deadlock");
  }
  EXPECT_GT(deadlocks, 2);
  EXPECT_GT(tight, 2) << "places for one launch of the sums would do";
}

namespace {

/// How many of some seeds go wrong.
int countBad(const std::vector<Kernel> &kernels, unsigned launches, const tool::Adversary::Settings &settings) {
  RunRequest request;
  request.launches = launches;
  request.randomCounts = true;
  request.maxElements = 256;
  const auto adversary = tool::Adversary::create(kernels, request, settings);
  EXPECT_TRUE(adversary) << adversary.error().text;
  int bad = 0;
  for (std::uint64_t seed = 0; adversary && seed < kSeeds; ++seed) {
    const auto outcome = adversary->run(seed);
    EXPECT_TRUE(outcome) << outcome.error().text;
    bad += outcome && !outcome->failure.empty();
  }
  return bad;
}

tool::Adversary::Settings streams(unsigned number) {
  tool::Adversary::Settings settings;
  settings.stream = [number](std::size_t, unsigned launch) { return launch % number; };
  return settings;
}

} // namespace

// R10: three operations of one kernel in flight, over two copies. One after the other, on one stream or by events, they
// are right; on three streams that nothing orders each takes the same epoch.
TEST(InFlight, R10ThreeOperationsOverTwoCopies) {
  if (!hasCompiler()) GTEST_SKIP() << "there is no C++ compiler";
  for (const char *member : {"oneshot.ll", "oneshot.sentinel", "twoshot.flag"}) {
    const std::vector<Kernel> kernel = {compiled("allreduce", member)};
    EXPECT_EQ(countBad(kernel, 3, {}), 0) << member;
    tool::Adversary::Settings ordered = streams(3);
    ordered.events = true;
    EXPECT_EQ(countBad(kernel, 3, ordered), 0) << member;
    EXPECT_GT(countBad(kernel, 3, streams(3)), kSeeds / 2) << member;
  }
}

namespace {

/// Two members that may share a region: `workspace_test.cpp`.
constexpr const char *kShared = R"(coll 1
use allreduce
algorithm a<S in {ll, flag}> for allreduce on lsa(2..8) when bytes <= 4Ki {
  view X = split(x, N), Y = split(y, N)
  mailbox rs[N] of X[0] sync S depth 2
  mailbox ag[N] of X[0] sync S depth 2
  forall p in ranks: X[p] -> p.rs[me]
  let s = reduce(op, r in ranks: rs[r])
  forall p in ranks: s -> p.ag[me]
  forall r in ranks: Y[r] = ag[r]
}
algorithm b<S in {ll, flag}> for allreduce on lsa(2..8) when bytes <= 4Ki {
  view X = split(x, N), Y = split(y, N)
  mailbox ag[N] of X[0] sync S depth 2
  mailbox rs[N] of X[0] sync S depth 2
  forall p in ranks: X[p] -> p.rs[me]
  let s = reduce(op, r in ranks: rs[r])
  forall p in ranks: s -> p.ag[me]
  forall r in ranks: Y[r] = ag[r]
}
)";

} // namespace

// A02: two operations at a time over one array of flags. With a region for each they may be, if there is a place for all
// their CTAs, and one region does for one after the other; on two streams it does not.
TEST(InFlight, A02TwoOperationsOverOneArrayOfFlags) {
  if (!hasCompiler()) GTEST_SKIP() << "there is no C++ compiler";
  for (const std::string mode : {"ll", "flag"}) {
    const std::vector<Kernel> kernels = {compiled("allreduce", "a." + mode, kShared), compiled("allreduce", "b." + mode, kShared)};
    tool::Adversary::Settings apart;
    apart.shape = LaunchShape{kCtas, kThreads};
    apart.stream = [](std::size_t kernel, unsigned) { return unsigned(kernel); };
    apart.residentCtas = 2 * 2 * kCtas;
    EXPECT_EQ(countBad(kernels, 8, apart), 0) << mode;
    tool::Adversary::Settings tight = apart;
    tight.residentCtas = kCtas;
    EXPECT_GT(countBad(kernels, 8, tight), 0) << mode;

    tool::Adversary::Settings one;
    one.oneRegion = true;
    EXPECT_EQ(countBad(kernels, 8, one), 0) << mode;
    one.stream = apart.stream;
    EXPECT_GT(countBad(kernels, 8, one), kSeeds / 2) << mode;
  }
}

} // namespace coll
