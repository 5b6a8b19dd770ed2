// Members that share scratch, as `workspace` proves it: with one epoch for all and two copies they may follow each other
// in any order. With the copies that are enough for each alone, or an epoch for each, they may not.
#include "InlinedHeaders.h"
#include "coll/Compiler.h"
#include "tool/Adversary.h"

#include <gtest/gtest.h>

namespace coll {
namespace {

// Of the second, what arrives last lies where the first has what arrives first.
constexpr const char *kText = R"(coll 1
use allreduce
algorithm a for allreduce on lsa(2..8) when bytes <= 4Ki {
  view X = split(x, N), Y = split(y, N)
  mailbox rs[N] of X[0] sync ll DEPTH
  mailbox ag[N] of X[0] sync ll DEPTH
  forall p in ranks: X[p] -> p.rs[me]
  let s = reduce(op, r in ranks: rs[r])
  forall p in ranks: s -> p.ag[me]
  forall r in ranks: Y[r] = ag[r]
}
algorithm b for allreduce on lsa(2..8) when bytes <= 4Ki {
  view X = split(x, N), Y = split(y, N)
  mailbox ag[N] of X[0] sync ll DEPTH
  mailbox rs[N] of X[0] sync ll DEPTH
  forall p in ranks: X[p] -> p.rs[me]
  let s = reduce(op, r in ranks: rs[r])
  forall p in ranks: s -> p.ag[me]
  forall r in ranks: Y[r] = ag[r]
}
)";

// What is read last of `b` lies, one copy further, where `c` has what it sends first.
constexpr const char *kOneShot = R"(algorithm c for allreduce on lsa(2..8) when bytes <= 4Ki {
  mailbox box[N] of T[M] sync ll
  forall p in ranks: x -> p.box[me]
  y = reduce(op, r in ranks: box[r])
}
workspace w { allreduce.b, allreduce.c }
)";

std::vector<Kernel> compiled(const std::string &depth, const std::string &more = "", const std::vector<const char *> &members = {"a", "b"}) {
  std::string text = kText + more;
  for (std::size_t at; (at = text.find("DEPTH")) != std::string::npos;) text.replace(at, 5, depth);
  Diagnostics diagnostics;
  const auto program = Program::parse(text, "workspace.coll", diagnostics);
  EXPECT_TRUE(program) << diagnostics.render();
  std::vector<Kernel> kernels;
  for (const char *member : members) {
    auto kernel = program->compile({member, 3, DType::F32, ReduceOp::Sum}, {}, diagnostics);
    EXPECT_TRUE(kernel) << diagnostics.render();
    kernels.push_back(*kernel);
  }
  return kernels;
}

/// How many of some seeds go wrong; -1 without a compiler.
int countBad(const std::vector<Kernel> &kernels, bool oneRegion, std::uint64_t seeds = 25) {
  RunRequest request;
  request.launches = 8;
  request.randomCounts = true;
  request.maxElements = 256;
  tool::Adversary::Settings settings;
  settings.oneRegion = oneRegion;
  const auto adversary = tool::Adversary::create(kernels, request, settings);
  if (!adversary && adversary.error().code == Error::Code::MachineLacks) return -1;
  EXPECT_TRUE(adversary) << adversary.error().text;
  int bad = 0;
  for (std::uint64_t seed = 0; adversary && seed < seeds; ++seed) {
    const auto outcome = adversary->run(seed);
    EXPECT_TRUE(outcome) << outcome.error().text;
    bad += outcome && !outcome->failure.empty();
  }
  return bad;
}

/// The same of kernels that say themselves what they share.
int countBad(const std::vector<Kernel> &kernels) {
  return countBad(kernels, false);
}

} // namespace

// R04 of the public defects: one kernel after another over its scratch.
TEST(Workspace, TakesTwoCopiesWhereOneIsEnoughForEachAlone) {
  const std::vector<Kernel> single = compiled("depth 1");
  const int apart = countBad(single, false);
  if (apart < 0) GTEST_SKIP() << "there is no C++ compiler";
  EXPECT_EQ(apart, 0);
  EXPECT_GT(countBad(single, true), 0);
  EXPECT_EQ(countBad(compiled("depth 2"), true), 0);
}

// M02 of the public defects: each kernel counts its own launches, over one scratch.
TEST(Workspace, TakesOneEpochForAll) {
  std::vector<Kernel> kernels = compiled("depth 2");
  for (Kernel &kernel : kernels) kernel.cuda = test::withHeaders(kernel.cuda), kernel.manifest.regionBytes += 4096;
  std::string &second = kernels[1].cuda;
  const std::string own = "team.peer[0] + " + std::to_string(kernels[1].manifest.regionBytes - 4096);
  for (const char *call : {"readEpoch(", "leaveEpoch(", "finishMeeting(team, "})
    second = test::replaced(second, std::string("detail::") + call + "team.peer[0]", std::string("detail::") + call + own);
  const int bad = countBad(kernels, true);
  if (bad < 0) GTEST_SKIP() << "there is no C++ compiler";
  EXPECT_GT(bad, 0);
}

// What a workspace is declared for is so in the kernels' own layout, whatever depth each alone would need.
TEST(Workspace, IsLaidOutForAllOfItsMembers) {
  const std::vector<Kernel> kernels = compiled("", "workspace w { allreduce.a, allreduce.b }\n");
  EXPECT_EQ(kernels[0].manifest.workspace->key, kernels[1].manifest.workspace->key);
  const int bad = countBad(kernels);
  if (bad < 0) GTEST_SKIP() << "there is no C++ compiler";
  EXPECT_EQ(bad, 0);
}

// What a thread has received it relies on when it sends, in any member: packets that change their threads are told so.
TEST(Workspace, KeepsTheThreadMap) {
  std::vector<Kernel> kernels = compiled("", "workspace w { allreduce.a, allreduce.b }\n");
  const std::string loop = "Shape::forEach(launch, Packet::count(pieces.piece), [&](coll::u32 i) {";
  kernels[1].cuda = test::replaced(kernels[1].cuda, loop,
                                   "const coll::u32 packets = Packet::count(pieces.piece);\n"
                                   "  Shape::forEach(launch, packets, [&](coll::u32 k) {\n    const coll::u32 i = packets - 1 - k;");
  RunRequest request;
  request.launches = 8, request.randomCounts = true, request.maxElements = 256;
  const auto adversary = tool::Adversary::create(kernels, request, {});
  if (!adversary && adversary.error().code == Error::Code::MachineLacks) GTEST_SKIP() << "there is no C++ compiler";
  ASSERT_TRUE(adversary) << adversary.error().text;
  const auto outcome = adversary->run(0);
  ASSERT_TRUE(outcome) << outcome.error().text;
  EXPECT_NE(outcome->failure.find("thread map: packet"), std::string::npos) << outcome->failure;
}

// Copies of each mailbox side by side, as kernels with a region of their own have them: then what one kernel writes lies
// where another has yet to read.
TEST(Workspace, TakesCopiesOfAllMailboxesTogether) {
  std::vector<Kernel> kernels = compiled("", kOneShot, {"b", "c"});
  const int good = countBad(kernels);
  if (good < 0) GTEST_SKIP() << "there is no C++ compiler";
  EXPECT_EQ(good, 0);
  std::string &text = kernels[0].cuda;
  const auto &boxes = kernels[0].manifest.mailboxes;
  const std::string stride = ", 2, " + std::to_string(boxes[0].stride) + ">";
  for (std::size_t box = 0; box < boxes.size(); ++box) {
    const std::size_t at = text.find(stride);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, stride.size(), ", 2>");
  }
  const std::uint64_t copies = 2 * boxes[0].slots * boxes[0].lines * boxes[0].lineBytes;
  text = test::replaced(text, ", " + std::to_string(boxes[1].offset) + ", ", ", " + std::to_string((boxes[0].offset + copies + 127) / 128 * 128) + ", ");
  EXPECT_GT(countBad(kernels), 0);
}

// A word that announces a slot only grows, as long as one rank raises it. Of two members that share it, two may.
TEST(Workspace, TakesWordsOfItsOwnForEachMember) {
  Diagnostics diagnostics;
  const auto program = Program::parse(R"(coll 1
use allreduce
algorithm a for allreduce on lsa(2..8) when bytes <= 4Ki {
  mailbox box[N] of T[M] sync flag
  forall p in ranks: x -> p.box[me]
  y = reduce(op, r in ranks: box[r])
}
algorithm b for allreduce on lsa(2..8) when bytes <= 4Ki {
  mailbox box[N] of T[M] sync flag
  forall p in ranks: x -> p.box[me + 1]
  y = reduce(op, r in ranks: box[r + 1])
}
workspace w { allreduce.a, allreduce.b }
)", "workspace.coll", diagnostics);
  ASSERT_TRUE(program) << diagnostics.render();
  std::vector<Kernel> kernels;
  for (const char *member : {"a", "b"}) {
    auto kernel = program->compile({member, 3, DType::F32, ReduceOp::Sum}, {}, diagnostics);
    ASSERT_TRUE(kernel) << diagnostics.render();
    kernels.push_back(*kernel);
  }
  const int apart = countBad(kernels);
  if (apart < 0) GTEST_SKIP() << "there is no C++ compiler";
  EXPECT_EQ(apart, 0);
  const auto wordsOf = [](const std::string &cuda) { // the last number of the mailbox's type
    const std::size_t end = cuda.find(">;", cuda.find("using Box = ")), begin = cuda.rfind(", ", end);
    return cuda.substr(begin, end + 2 - begin);
  };
  ASSERT_NE(wordsOf(kernels[0].cuda), wordsOf(kernels[1].cuda));
  kernels[1].cuda = test::replaced(kernels[1].cuda, wordsOf(kernels[1].cuda), wordsOf(kernels[0].cuda));
  EXPECT_GT(countBad(kernels, false, 400), 0); // about one run in a hundred goes wrong
}

} // namespace coll
