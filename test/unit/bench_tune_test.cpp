// Tuning with a clock that is made up: the best shape of each member is found without timing all of them to the end.
#include "bench/HandWritten.h"
#include "bench/Race.h"
#include "bench/Tune.h"
#include "jit/Jit.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

using namespace coll;
using namespace coll::bench;

namespace {

/// Candidate c takes base[c], with noise of up to `share` that depends on when it is timed.
struct FakeClock {
  std::vector<double> base;
  double share = 0.02;
  std::vector<unsigned> timed = std::vector<unsigned>(base.size());
  unsigned turn = 0;

  TimeOne function() {
    return [this](std::size_t candidate) -> Result<double> {
      ++timed[candidate];
      turn = turn * 1664525u + 1013904223u;
      return base[candidate] * (1 + share * double(turn >> 8) / double(1 << 24));
    };
  }
  unsigned all() const {
    unsigned sum = 0;
    for (unsigned each : timed) sum += each;
    return sum;
  }
};

TEST(Race, FindsTheBestOfEachGroupEarly) {
  FakeClock clock;
  std::vector<std::size_t> groups;
  for (std::size_t c = 0; c < 120; ++c) {
    groups.push_back(c / 40);
    clock.base.push_back(2 + 0.1 * double((c * 7 + 3) % 40)); // the best of each group is 5 % ahead
  }
  clock.timed.resize(120);
  const RaceRules rules;
  auto results = race(groups, rules, clock.function());
  ASSERT_TRUE(results);
  ASSERT_EQ(results->size(), 3u);
  for (std::size_t g = 0; g < 3; ++g) {
    const RaceResult &result = (*results)[g];
    EXPECT_EQ(groups[result.winner], g);
    EXPECT_EQ(clock.base[result.winner], 2);
    EXPECT_EQ(result.samples.size(), rules.most);
  }
  EXPECT_LT(clock.all(), 120 * rules.most / 4);
}

TEST(Race, GroupsThatCannotMatterAreNotRefined) {
  FakeClock clock{{1, 1.02, 5, 5.01, 5.02}};
  auto results = race({0, 0, 1, 1, 1}, {}, clock.function());
  ASSERT_TRUE(results);
  EXPECT_EQ((*results)[0].winner, 0u);
  EXPECT_EQ((*results)[0].samples.size(), RaceRules().most);
  EXPECT_EQ(clock.timed[2], RaceRules().first);
}

TEST(Race, AllAlikeEndsAndOneAloneWins) {
  FakeClock clock{{1, 1, 1, 1}, 0};
  auto results = race({0, 0, 0, 0}, {}, clock.function());
  ASSERT_TRUE(results);
  EXPECT_LE(clock.all(), 4 * RaceRules().most);
  FakeClock alone{{3}};
  EXPECT_EQ((*race({0}, {}, alone.function()))[0].samples.size(), RaceRules().most);
  EXPECT_TRUE(race({}, {}, alone.function())->empty());
}

TEST(Race, WhatFailsEndsIt) {
  const TimeOne fails = [](std::size_t) -> Result<double> { return Error{Error::Code::Failed, "lost"}; };
  auto results = race({0, 0}, {}, fails);
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().text, "lost");
}

TEST(TuneSpace, IsTheDeclaredOneUpToWhatIsOfUse) {
  const TuneSpace space{{1, 2, 64}, {32, 128, 100}};
  const auto few = shapesToTry(space, 40);
  EXPECT_EQ(few.front().threads, 0u) << "the rule's comes first";
  for (const Shape &shape : few) EXPECT_LE(shape.ctas * shape.threads, 80u);
  EXPECT_EQ(few.size(), 1 + 2u); // 1 x 32, 2 x 32
  const auto many = shapesToTry(space, 1 << 20);
  EXPECT_EQ(many.size(), 1 + 9u);
  for (const Shape &shape : many) EXPECT_EQ(shape.threads % 32, 0u);
  EXPECT_EQ(shapesToTry({}, 1 << 20).size(), 1u) << "nothing declared, nothing searched";
  EXPECT_GE(shapesToTry(space, 0).size(), 1u);
}

std::string textOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(HandWritten, SaysWhatItHolds) {
  auto source = HandWritten::parse("a.cu", "// collective allreduce, types f32 bf16\n"
                                           "  // kernel ll: packet 8, area 16, copies 3, fill 0x10\n"
                                           "// kernel b: packet 16, fill -0.0\n// kernels are nice\n");
  ASSERT_TRUE(source) << source.error().text;
  EXPECT_EQ(source->collective, "allreduce");
  ASSERT_EQ(source->kernels.size(), 2u);
  EXPECT_EQ(source->kernels[0].packet, 8u);
  EXPECT_EQ(source->kernels[0].copies, 3u);
  EXPECT_EQ(source->kernels[0].fillFor(DType::F32), 16u);
  EXPECT_EQ(source->kernels[1].fillFor(DType::F32), 0x80000000u);
  EXPECT_EQ(source->kernels[1].fillFor(DType::BF16), 0x80008000u);
}

TEST(HandWritten, WhatMakesNoSenseIsRefusedAtItsLine) {
  EXPECT_FALSE(HandWritten::parse("a.cu", "int x;\n"));
  auto bad = HandWritten::parse("a.cu", "// collective allreduce, types f32\n// kernel ll: packet eight, area 16\n");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().text.rfind("a.cu:2: a kernel is `kernel NAME", 0), 0u) << bad.error().text;
  auto type = HandWritten::parse("a.cu", "// collective allreduce, types f32 f8\n");
  ASSERT_FALSE(type);
  EXPECT_NE(type.error().text.find("`f8` is no type"), std::string::npos);
}

TEST(HandWritten, RivalsOfTheRepositoryCompile) {
  auto jit = Jit::create(KernelCache(""));
  if (!jit) GTEST_SKIP() << jit.error().text;
  for (auto [file, kernels] : {std::pair("/allreduce.cu", 5u), std::pair("/sentinel_clear.cu", 4u)}) {
    const std::string path = std::string(COLL_RIVALS) + file;
    auto source = HandWritten::parse(path, textOf(path));
    ASSERT_TRUE(source) << source.error().text;
    EXPECT_EQ(source->kernels.size(), kernels);
    for (DType type : {DType::F32, DType::BF16})
      for (int ranks : {2, 8}) {
        auto cubin = jit->compile(source->compileable(type, ranks), Arch{90, ""});
        ASSERT_TRUE(cubin) << cubin.error().text;
        for (const std::string &name : source->names()) EXPECT_NE(cubin->bytes.find(name), std::string::npos) << name;
      }
  }
}

} // namespace
