// What messages that say how long they are take: without it test/emu/counted.coll's collective goes wrong, or does not end,
// under the schedules that it survives as it is.
#include "InlinedHeaders.h"
#include "coll/Compiler.h"
#include "tool/Adversary.h"

#include <gtest/gtest.h>

namespace coll {
namespace {

/// A line of counted.h, and what it reads with a defect.
struct Defect {
  const char *name, *right, *wrong;
};
constexpr Defect kDefects[] = {
    // A rank that is a launch ahead says how long its next message is before the last one's length has been read.
    {"OneCopyOfCounts", ", 3, 1, 2>>;", ", 3, 1, 1>>;"},
    // Whoever is sent nothing waits to be told so.
    {"NothingSaysNothing", "launch.active && counts, ", "launch.active && counts && count != 0, "},
    // As many packets are waited for as there may be.
    {"AllIsAwaited", "bounded(launch, counts[s].word[0], from + s, length)", "u32(length)"},
    // What the word holds before the message's own count is there.
    {"CountNotAwaited", "Box::Counts::template receive<kCount>(launch, from, wanted, Box::countLine(), counts)",
     "Box::Counts::template receive<kCount>(launch, from, 0, Box::countLine(), counts)"},
    // The last packet's other elements are the caller's.
    {"WholePackets", "store<AnyPackets>(launch, to, i, count, packet)",
     "store<AnyPackets>(launch, to, i, (count + P::kElements - 1) / P::kElements * P::kElements, packet)"},
};

Kernel compiled(const std::string &text, const std::string &member) {
  Diagnostics diagnostics;
  const auto program = Program::parse(text, "alltoallv.coll", diagnostics);
  EXPECT_TRUE(program) << diagnostics.render();
  auto kernel = program->compile({member, 3, DType::F32, {}}, {}, diagnostics);
  EXPECT_TRUE(kernel) << diagnostics.render();
  return *kernel;
}

/// How many of some seeds go wrong; -1 without a compiler.
int countBad(const Kernel &kernel, std::uint64_t elements = 0, std::uint64_t seeds = 8) {
  RunRequest request;
  request.launches = 6;
  request.randomCounts = true;
  request.maxElements = elements;
  const auto adversary = tool::Adversary::create(kernel, request, {});
  if (!adversary && adversary.error().code == Error::Code::MachineLacks) return -1;
  EXPECT_TRUE(adversary) << adversary.error().text;
  int bad = 0;
  for (std::uint64_t seed = 1; adversary && seed <= seeds; ++seed) {
    const auto outcome = adversary->run(seed);
    EXPECT_TRUE(outcome) << outcome.error().text;
    bad += outcome && !outcome->failure.empty();
  }
  return bad;
}

class CountedMessages : public testing::TestWithParam<Defect> {};

TEST_P(CountedMessages, TakeWhatIsDone) {
  Kernel kernel = compiled(*standardLibraryText("alltoallv"), "direct.ll");
  const int none = countBad(kernel);
  if (none < 0) GTEST_SKIP() << "there is no C++ compiler";
  EXPECT_EQ(none, 0);
  kernel.cuda = test::replaced(test::withHeaders(kernel.cuda), GetParam().right, GetParam().wrong);
  EXPECT_GT(countBad(kernel), 0);
}

INSTANTIATE_TEST_SUITE_P(Of, CountedMessages, testing::ValuesIn(kDefects),
                         [](const auto &info) { return std::string(info.param.name); });

// A CTA that is some chunks ahead says how long its message is before another CTA has seen it for an earlier chunk.
TEST(CountedChunks, TakeALineOfCountsForEachCta) {
  Kernel kernel = compiled(R"(coll 1
use alltoallv
algorithm stream for alltoallv on lsa(2..8) {
  mailbox box[N] of T[M] counted sync ll
  pipeline c in 0 .. chunks(x[0], 4Ki) {
    forall p in ranks: prefix(x[p], n[p]) -> p.box[me]
    forall r in ranks {
      got[r] = box[r].count
      prefix(y[r], got[r]) = box[r]
    }
  }
}
)", "stream");
  constexpr std::uint64_t kElements = 6000; // some chunks, of packets for some CTAs each
  constexpr std::uint64_t kMoreSeeds = 24;
  const int none = countBad(kernel, kElements);
  if (none < 0) GTEST_SKIP() << "there is no C++ compiler";
  EXPECT_EQ(none, 0);
  kernel.cuda = test::withHeaders(kernel.cuda);
  kernel.cuda = test::replaced(kernel.cuda, "u32 countLine() { return blockIdx.x; }", "u32 countLine() { return 0; }");
  kernel.cuda = test::replaced(kernel.cuda, "k == blockIdx.x * blockDim.x, blockIdx.x)", "k == blockIdx.x * blockDim.x, 0)");
  EXPECT_GT(countBad(kernel, kElements, kMoreSeeds), 0);
}

} // namespace
} // namespace coll
