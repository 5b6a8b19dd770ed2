// What the end of the epoch's 32 bits and the half of them take, in every sync mode and rule of reuse: without it the
// launches of test/emu/epochs.coll go wrong, or do not end, under the schedules that they survive as they are.
#include "InlinedHeaders.h"
#include "coll/Compiler.h"
#include "context/LaunchPlan.h"
#include "tool/Adversary.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace coll {
namespace {

/// A line of launch.h, and what it reads with a defect.
struct Defect {
  const char *right, *wrong;
  unsigned before = 3; ///< launches before the one that it is in
};
// The next launch is number 0, as whose every fresh word passes: those of a copy, if it is the first to use it.
constexpr Defect kNoWrap{"    wrap(team);\n    epoch = 0;\n", "", 0};
// Words of the last launches before the wrap are far ahead of those after it.
constexpr Defect kNoClear{"ptx::storeRelaxed16(region + u64(u) * 16, Words2{{0, 0}})", ";"};
// Ranks may be at work, before it or after it, where others clear.
constexpr Defect kNoMeeting{"    meet(team, meeting);\n", ""};
// 0x7fffffff is ahead of 0x80000000.
constexpr Defect kSigned{"return seen < want;", "return int(seen) < int(want);"};

struct Case {
  const char *member;
  Defect defect;
  bool atHalf = false; ///< of the 32 bits, not at their end
};
std::ostream &operator<<(std::ostream &out, const Case &c) {
  return out << c.member << (c.atHalf ? " at half" : " at the end");
}

Kernel compiled(const std::string &member) {
  std::ifstream file(std::filesystem::path(COLL_TEST_EPOCHS));
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Diagnostics diagnostics;
  const auto program = Program::parse(text, "epochs.coll", diagnostics);
  EXPECT_TRUE(program) << diagnostics.render();
  auto kernel = program->compile({member, 3, DType::F32, ReduceOp::Sum}, {}, diagnostics);
  EXPECT_TRUE(kernel) << diagnostics.render();
  return *kernel;
}

/// How many of some seeds go wrong; -1 without a compiler.
int countBad(const Kernel &kernel, std::uint32_t firstEpoch) {
  RunRequest request;
  request.launches = 8;
  request.randomCounts = true;
  tool::Adversary::Settings settings;
  settings.firstEpoch = firstEpoch;
  settings.atomicity = kernel.manifest.unsplitBytes > 16 ? emu::Atomicity::Bytes128 : emu::Atomicity::Element;
  const auto adversary = tool::Adversary::create(kernel, request, settings);
  if (!adversary && adversary.error().code == Error::Code::MachineLacks) return -1;
  EXPECT_TRUE(adversary) << adversary.error().text;
  int bad = 0;
  for (std::uint64_t seed = 1; adversary && seed <= 8; ++seed) {
    const auto outcome = adversary->run(seed);
    EXPECT_TRUE(outcome) << outcome.error().text;
    bad += outcome && !outcome->failure.empty();
  }
  return bad;
}

class Epoch : public testing::TestWithParam<Case> {};

TEST_P(Epoch, TakesWhatIsDone) {
  Kernel kernel = compiled(GetParam().member);
  const std::uint32_t there = GetParam().atHalf ? 0x80000000 : LaunchPlan(kernel.manifest).lastEpoch() + 1;
  const int none = countBad(kernel, there - 3);
  if (none < 0) GTEST_SKIP() << "there is no C++ compiler";
  EXPECT_EQ(none, 0);
  kernel.cuda = test::replaced(test::withHeaders(kernel.cuda), GetParam().defect.right, GetParam().defect.wrong);
  EXPECT_GT(countBad(kernel, there - GetParam().defect.before), 0);
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const char *member : {"oneshot.ll", "oneshot.ll128", "oneshot.flag", "oneshot.barrier", "counter", "answered.ll",
                             "answered.ll128", "answered.flag", "answered.barrier", "met.ll", "met.ll128", "met.flag"})
    list.push_back({member, kNoWrap});
  return list;
}
INSTANTIATE_TEST_SUITE_P(NoWrap, Epoch, testing::ValuesIn(cases()));
INSTANTIATE_TEST_SUITE_P(NoClear, Epoch,
                         testing::Values(Case{"oneshot.flag", kNoClear}, Case{"oneshot.barrier", kNoClear},
                                         Case{"answered.ll", kNoClear}, Case{"met.ll", kNoClear},
                                         Case{"stream.flag", kNoClear}));
INSTANTIATE_TEST_SUITE_P(NoMeeting, Epoch,
                         testing::Values(Case{"oneshot.ll", kNoMeeting}, Case{"oneshot.flag", kNoMeeting}));
INSTANTIATE_TEST_SUITE_P(Signed, Epoch,
                         testing::Values(Case{"oneshot.flag", kSigned, true}, Case{"oneshot.barrier", kSigned, true},
                                         Case{"answered.ll", kSigned, true}, Case{"met.ll", kSigned, true}));

} // namespace
} // namespace coll
