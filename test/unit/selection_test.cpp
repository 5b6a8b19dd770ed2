// Selection: tables as data, total and alike, under its limits; and what a context launches by it.
#include "bench/Limit.h"
#include "coll/coll.h"
#include "selection/Candidates.h"
#include "selection/FromReport.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

using namespace coll;
using namespace coll::selection;

namespace {

const Program &library(const std::string &collective) {
  static std::map<std::string, std::unique_ptr<Program>> programs;
  std::unique_ptr<Program> &program = programs[collective];
  Diagnostics diagnostics;
  if (!program) program = Program::parse(*standardLibraryText(collective), collective + ".coll", diagnostics);
  return *program;
}

Selector selectorOf(const SelectionOptions &options = {}, const std::string &collective = "allreduce") {
  auto selector = Selector::create(library(collective), collective, options);
  EXPECT_TRUE(selector) << selector.error().text;
  return *selector;
}

std::string tableOf(const std::string &times, const std::string &more = "") {
  return R"({"version": 1, "sections": [{"gpu": "NVIDIA H200", "collective": "allreduce", "ranks": 2,
    "dtype": "f32", "floors": {"emptyNode": 0.4, "oneWay": 0.7, "linkGBs": 400},)" +
         more + R"("times": )" + times + "}]}";
}

/// Where no platform declares more than PTX promises, what needs more is no candidate.
TEST(Selection, LeavesOutWhatIsNotDeclaredToArriveWhole) {
  const Program &program = library("allreduce");
  const auto names = [&](unsigned unsplitBytes) {
    std::string text;
    const Candidates candidates(program, "allreduce", {.nccl = false, .unsplitBytes = unsplitBytes}, {});
    for (const Member &member : program.members())
      if (candidates.includes(member)) text += member.algorithm + " ";
    return text;
  };
  for (const char *member : {"ll128", "ll16", "counter16", "counter128"}) {
    EXPECT_NE(names(128).find(member), std::string::npos) << member;
    EXPECT_EQ(names(8).find(member), std::string::npos) << member;
  }
  EXPECT_NE(names(16).find("counter16"), std::string::npos);
  EXPECT_EQ(names(16).find("counter128"), std::string::npos);
  EXPECT_NE(names(8).find("oneshot.sentinel"), std::string::npos);
}

TEST(Table, WhatIsWrittenReadsTheSame) {
  const std::string once = builtinTable().toJson();
  auto again = Table::parse(once, "again");
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_EQ(again->toJson(), once);
  EXPECT_FALSE(again->sections.empty());
}

TEST(Table, WhatMakesNoSenseIsRefusedByName) {
  const std::pair<std::string, const char *> cases[] = {
      {"{", "`t.json` is no selection table"},
      {"{}", "it has no `version`"},
      {R"({"version": 9})", "it has version 9, and this Coll reads 1"},
      {R"({"version": 1, "sections": [3]})", "section 1: no object"},
      {R"({"version": 1, "sections": [{"collective": "allreduce", "ranks": 2, "dtype": "f31"}]})", "no element type"},
      {tableOf("{}"), "no `times`"},
      {tableOf(R"({"oneshot.ll": [[16, 1.5], [16, 1.6]]})"), "`times` of `oneshot.ll`"},
      {tableOf(R"({"oneshot.ll": [[16, 1.5, 3, 33]]})"), "`times` of `oneshot.ll`"},
      {tableOf(R"({"oneshot.ll": [[16, -1]]})"), "`times` of `oneshot.ll`"},
  };
  for (const auto &[json, message] : cases) {
    auto table = Table::parse(json, "t.json");
    ASSERT_FALSE(table) << json;
    EXPECT_NE(table.error().text.find(message), std::string::npos) << table.error().text;
  }
}

TEST(Curve, StraightBetweenPointsAndByRateBeyond) {
  const Curve curve{{{100, 1000}, {200, 2000, 4, 128}, {400, 2500}}};
  EXPECT_EQ(curve.at(1), 1000u);
  EXPECT_EQ(curve.at(150), 1500u);
  EXPECT_EQ(curve.at(400), 2500u);
  EXPECT_EQ(curve.at(800), 3500u);
  EXPECT_EQ(curve.shapeFor(101).threads, 128u);
  EXPECT_EQ(curve.shapeFor(900).threads, 0u);
  // Noise at the end does not make larger quicker, nor a huge size wrap.
  const Curve falling{{{100, 1000}, {200, 900}}};
  EXPECT_EQ(falling.at(1u << 30), 900u);
  EXPECT_GT(curve.at(UINT64_MAX), curve.at(1ull << 50));
}

TEST(Selector, AnswersForEverySize) {
  for (const std::string &collective : standardLibrary()) {
    const auto &members = library(collective).members();
    const auto takesF32 = [](const Member &m) { return std::find(m.dtypes.begin(), m.dtypes.end(), DType::F32) != m.dtypes.end(); };
    if (std::none_of(members.begin(), members.end(), takesF32)) {
      EXPECT_FALSE(selectorOf({}, collective).choose({64, DType::F32, 2})) << collective;
      continue;
    }
    for (int ranks : {2, 3, 8}) {
      const Selector selector = selectorOf({}, collective);
      const Call call{0, DType::F32, ranks};
      std::uint64_t before = 0;
      bool first = true;
      for (const Selector::Step &step : selector.steps(call)) {
        EXPECT_TRUE(first || step.upTo > before);
        before = step.upTo, first = false;
        ASSERT_FALSE(step.choices.empty());
        for (std::size_t i = 1; i < step.choices.size(); ++i)
          EXPECT_LE(step.choices[i - 1].nanoseconds, step.choices[i].nanoseconds);
      }
      // Up to what the last step takes: all sizes, where NCCL has the collective or a member takes all.
      const auto steps = selector.steps(call);
      const std::uint64_t most = steps.empty() ? 0 : steps.back().upTo;
      for (std::uint64_t bytes : {std::uint64_t(0), std::uint64_t(5), std::uint64_t(300'000), UINT64_MAX})
        if (!steps.empty() && bytes <= most) {
          EXPECT_TRUE(selector.choose({bytes, DType::F32, ranks})) << collective << " " << bytes;
        }
    }
  }
}

TEST(Selector, ChoosesTheQuickestThatWasMeasured) {
  for (const Section &section : builtinTable().sections) {
    const Selector selector = selectorOf({.symmetric = true, .ncclSymmetric = true}, section.collective);
    std::set<std::uint64_t> sizes;
    for (const auto &[name, curve] : section.curves)
      for (const Point &point : curve.points) sizes.insert(point.bytes);
    for (std::uint64_t bytes : sizes) {
      const Choice choice =
          selector.choose({bytes, *parseDType(section.dtype), section.ranks, section.inplace});
      for (const auto &[name, curve] : section.curves)
        for (const Point &point : curve.points)
          if (point.bytes == bytes) {
            EXPECT_LE(choice.nanoseconds, point.nanoseconds) << name << " " << bytes;
          }
    }
  }
}

TEST(Selector, NeverGivesAMemberMoreThanItTakes) {
  const Selector selector = selectorOf();
  for (const Selector::Step &step : selector.steps({0, DType::F32, 2}))
    for (const Choice &choice : step.choices)
      for (const Member &member : library("allreduce").members())
        if (member.algorithm == choice.name && &step != &selector.steps({0, DType::F32, 2}).back()) {
          EXPECT_LE(step.upTo, member.maxBytes ? member.maxBytes : UINT64_MAX) << choice.name;
        }
  EXPECT_FALSE(selectorOf({.algorithm = "oneshot"}).choose({1ull << 33, DType::F32, 2}));
}

TEST(Selector, TheCallersTableGoesFirst) {
  SelectionOptions options;
  options.table = tableOf(R"({"oneshot.barrier": [[16, 0.001, 2, 64], [1024, 0.001, 4, 128]]})");
  const Choice choice = selectorOf(options).choose({512, DType::F32, 2});
  EXPECT_EQ(choice.name, "oneshot.barrier");
  EXPECT_EQ(choice.ctas, 4u);
  EXPECT_EQ(choice.threads, 128u);
  EXPECT_EQ(choice.nanoseconds, 1u);
  EXPECT_NE(selectorOf().choose({512, DType::F32, 2}).name, "oneshot.barrier");
}

TEST(Selector, KeepsToItsLimits) {
  const Selector ascending = selectorOf({.order = "ascending"});
  for (const Selector::Step &step : ascending.steps({0, DType::F32, 2}))
    for (const Choice &choice : step.choices) EXPECT_FALSE(choice.isNccl()); // NCCL promises no order
  const Selector copies = selectorOf({.order = "ascending"}, "allgather");
  for (const Selector::Step &step : copies.steps({0, DType::F32, 2}))
    EXPECT_TRUE(step.choices.front()) << "copies have no order";
  const Selector oneshot = selectorOf({.algorithm = "oneshot"});
  for (const Selector::Step &step : oneshot.steps({0, DType::F32, 2}))
    for (const Choice &choice : step.choices) EXPECT_TRUE(!choice || choice.name.rfind("oneshot", 0) == 0);
  EXPECT_FALSE(oneshot.choose({1ull << 30, DType::F32, 2})) << "beyond its bound";
  SelectionOptions options{.maxCtas = 2};
  options.table = tableOf(R"({"oneshot.ll": [[65536, 0.001, 64, 128]]})");
  EXPECT_EQ(selectorOf(options).choose({65536, DType::F32, 2}).ctas, 2u);
  const Selector plain = selectorOf({.symmetric = true});
  for (const Choice &choice : plain.ranked({64, DType::F32, 2})) EXPECT_NE(choice.name, "nccl-symmetric");
  EXPECT_FALSE(Selector::create(library("allreduce"), "allreduce", {.algorithm = "nothing"}));
  EXPECT_FALSE(Selector::create(library("allreduce"), "allreduce", {.order = "sideways"}));
}

TEST(Selector, ShouldUseAnswersWithoutAGpu) {
  EXPECT_TRUE(selectorOf().shouldUse(16, DType::F32, 2));
  EXPECT_FALSE(selectorOf({.algorithm = "oneshot"}).shouldUse(1ull << 34, DType::F32, 2));
  EXPECT_FALSE(selectorOf().shouldUse(16, DType::F32, 100)) << "no member is for so many ranks";
}

TEST(Selector, PredictsWhereNothingWasMeasured) {
  const std::vector<Choice> ranked = selectorOf().ranked({16 << 10, DType::F32, 6});
  ASSERT_GT(ranked.size(), 2u);
  for (const Choice &choice : ranked) EXPECT_TRUE(choice.predicted) << choice.name;
  // More ranks, more to receive: one-shot gets slower, and gives way to two-shot sooner.
  const auto last = [](int ranks) {
    std::uint64_t size = 0;
    const Selector selector = selectorOf({.nccl = false});
    for (const Selector::Step &step : selector.steps({0, DType::F32, ranks}))
      if (step.choices.front().name.rfind("oneshot", 0) == 0) size = step.upTo;
    return size;
  };
  EXPECT_LT(last(8), last(2));
  Diagnostics diagnostics;
  const auto mine = Program::parse("coll 1\nuse allreduce\nalgorithm mine for allreduce on lsa(2..4) when bytes <= 4Ki {\n"
                                   "  mailbox box[N] of T[M] sync ll\n  forall p in ranks: x -> p.box[me]\n"
                                   "  y = reduce(op, r in ranks: box[r])\n}\n",
                                   "mine.coll", diagnostics);
  ASSERT_TRUE(mine) << diagnostics.render();
  auto selector = Selector::create(*mine, "allreduce");
  ASSERT_TRUE(selector) << selector.error().text;
  const auto &choices = selector->ranked({64, DType::F32, 2});
  EXPECT_EQ(choices.front().name, "mine");
  EXPECT_TRUE(choices.front().predicted);
}

TEST(Selector, MembersWithWindowsNeedSymmetricBuffers) {
  const auto names = [](bool symmetric) {
    std::set<std::string> found;
    const Selector selector = selectorOf({.symmetric = symmetric});
    for (const Choice &choice : selector.ranked({64 << 20, DType::F32, 2})) found.insert(choice.name);
    return found;
  };
  EXPECT_TRUE(names(true).count("pull_oneshot"));
  EXPECT_FALSE(names(false).count("pull_oneshot"));
}

TEST(Selector, HashTellsWhetherRanksChooseAlike) {
  const std::uint64_t hash = selectorOf().hash();
  EXPECT_EQ(selectorOf().hash(), hash);
  EXPECT_NE(selectorOf({.order = "ascending"}).hash(), hash);
  EXPECT_NE(selectorOf({.maxCtas = 4}).hash(), hash);
  EXPECT_NE(selectorOf({}, "allgather").hash(), hash);
  SelectionOptions options;
  options.table = tableOf(R"({"oneshot.ll": [[16, 1.5]]})");
  const std::uint64_t one = selectorOf(options).hash();
  options.table = tableOf(R"({"oneshot.ll": [[16, 1.501]]})");
  EXPECT_NE(one, hash);
  EXPECT_NE(selectorOf(options).hash(), one);
}

TEST(FromReport, TakesWhatIsRightAndPossible) {
  bench::Report report;
  report.collective = "allreduce", report.dtype = "f32", report.ranks = 2, report.machine = "2 x NVIDIA H200";
  report.floors = {0.4, 0.5, 0.7, 4e5, ""};
  const auto add = [&](const char *rival, std::uint64_t bytes, double median) -> bench::Row & {
    bench::Row row;
    row.rival = rival, row.bytes = bytes, row.time.median = median, row.verified = true;
    return report.rows.emplace_back(row);
  };
  add("oneshot.ll", 64, 1.6), add("oneshot.ll", 16, 1.5).ctas = 2;
  report.rows.back().threads = 64;
  add("oneshot.sentinel", 16, 1.4).wrong = 1;
  add("twoshot.ll", 16, 0.2).believable = false;
  add("hand-ll", 16, 1.3).foreign = true;
  auto section = sectionOf(report);
  ASSERT_TRUE(section);
  EXPECT_EQ(section->gpu, "NVIDIA H200");
  ASSERT_EQ(section->curves.size(), 1u);
  const Curve &curve = section->curves.at("oneshot.ll");
  ASSERT_EQ(curve.points.size(), 2u);
  EXPECT_EQ(curve.points[0].nanoseconds, 1500u);
  EXPECT_EQ(curve.points[0].threads, 64u);
  // The JSON of the same report gives the same, and merging keeps what is only in the old one.
  auto fromJson = sectionOfJson(bench::toJson(report), "report.json");
  ASSERT_TRUE(fromJson) << fromJson.error().text;
  Table table, other;
  merge(table, *section), merge(other, *fromJson);
  EXPECT_EQ(table.toJson(), other.toJson());
  section->curves.begin()->second.points = {{16, 1111}, {128, 2222}};
  merge(table, *section);
  ASSERT_EQ(table.sections.size(), 1u);
  EXPECT_EQ(table.sections[0].curves.at("oneshot.ll").points.size(), 3u);
  EXPECT_EQ(table.sections[0].curves.at("oneshot.ll").at(16), 1111u);
  report.rows.clear();
  EXPECT_FALSE(sectionOf(report));
}

/// Whatever is predicted, the links must carry it: sums by atomics are received by their owner from all others.
TEST(Selector, PredictsNothingBelowTheLimit) {
  const Selector selector = selectorOf();
  for (int ranks : {4, 8, 72})
    for (std::uint64_t bytes = 1 << 18; bytes <= 1 << 24; bytes *= 4) {
      const Call call{bytes, DType::F32, ranks};
      const bench::Floors &floors = candidatesOf(selector).floorsFor(call);
      const double least = bench::limitOf(floors, "allreduce", bench::Traffic::Least, ranks, bytes);
      for (const Choice &choice : selector.ranked(call))
        EXPECT_GE(double(choice.nanoseconds) / 1e3, 0.99 * least) << choice.name << ", " << ranks << " ranks, " << bytes << " bytes";
    }
}

TEST(Selector, TheCallersTableGoesBeforeTheLibrarysOnAnyGpu) {
  std::string table = tableOf(R"({"oneshot.barrier": [[16, 0.001], [1048576, 0.002]]})");
  table.replace(table.find("NVIDIA H200"), 11, "NVIDIA H100");
  for (const char *gpu : {"NVIDIA H100", "NVIDIA H200", ""})
    for (DType type : {DType::F32, DType::BF16, DType::I8})
      EXPECT_EQ(selectorOf({.table = table, .gpu = gpu}).choose({1024, type, 2}).name, "oneshot.barrier") << gpu;
}

/// As far as it goes: a line drawn on from there is worth less than what the library has measured.
TEST(Selector, TheLibrarysTableGoesOnWhereTheCallersEnds) {
  const std::string table = tableOf(R"({"oneshot.barrier": [[16, 1], [1048576, 1.001]], "nccl": [[16, 90], [1048576, 91]]})");
  const Selector selector = selectorOf({.table = table});
  EXPECT_EQ(selector.choose({1 << 20, DType::F32, 2}).name, "oneshot.barrier");
  const Call beyond{64 << 20, DType::F32, 2};
  EXPECT_EQ(selector.choose(beyond).name, selectorOf().choose(beyond).name);
  EXPECT_FALSE(selector.choose(beyond).predicted);
}

/// On emulated ranks, which need a C++ compiler.
TEST(Context, LaunchesWhatSelectionTakes) {
  auto context = Context::create({.ranks = 2, .fabric = FabricKind::Emulated});
  if (!context) GTEST_SKIP() << context.error().text;
  CollectiveRequest request{.collective = "allreduce"};
  request.selection.table = tableOf(R"({"oneshot.ll": [[256, 0.001], [512, 9]],
                                        "oneshot.barrier": [[256, 0.002], [512, 0.002, 1, 32], [262144, 0.002]]})");
  auto allreduce = context->collective(library("allreduce"), request);
  if (!allreduce && allreduce.error().code == Error::Code::MachineLacks) GTEST_SKIP() << allreduce.error().text;
  ASSERT_TRUE(allreduce) << allreduce.error().text;
  for (std::uint64_t count : {16, 64, 65, 200}) {
    const std::uint64_t extents[] = {count};
    const Choice &choice = allreduce->choose(extents);
    EXPECT_EQ(choice.name, count <= 64 ? "oneshot.ll" : "oneshot.barrier") << count;
    std::vector<std::vector<void *>> buffers(2);
    for (int rank : {0, 1}) {
      auto x = context->allocate(rank, count * 4), y = context->allocate(rank, count * 4);
      ASSERT_TRUE(x && y);
      std::vector<float> values(count);
      for (std::uint64_t i = 0; i < count; ++i) values[i] = float(i) + 1000.0f * float(rank);
      ASSERT_TRUE(context->upload(rank, *x, values.data(), count * 4));
      buffers[std::size_t(rank)] = {*x, *y};
    }
    auto launched = allreduce->launch(buffers, extents);
    ASSERT_TRUE(launched) << launched.error().text;
    auto done = context->synchronize();
    ASSERT_TRUE(done) << done.error().text;
    for (int rank : {0, 1}) {
      std::vector<float> sums(count);
      ASSERT_TRUE(context->download(rank, sums.data(), buffers[std::size_t(rank)][1], count * 4));
      for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(sums[i], 2.0f * float(i) + 1000.0f) << count << " " << i;
    }
  }
  const std::uint64_t tooMany[] = {1u << 30};
  std::vector<std::vector<void *>> none(2, std::vector<void *>(2));
  EXPECT_FALSE(allreduce->launch(none, tooMany)) << "no NCCL on emulated ranks";
  EXPECT_FALSE(allreduce->launch(std::span(none).first(1), tooMany));
}

/// A row takes whole packets, which are longer in some modes, so for short rows the best by size may have no room.
TEST(Context, TakesWhatHasRoomForShortRows) {
  auto context = Context::create({.ranks = 2, .fabric = FabricKind::Emulated});
  if (!context) GTEST_SKIP() << context.error().text;
  CollectiveRequest request{.collective = "allreduce_rmsnorm"};
  request.selection.table = R"({"version": 1, "sections": [{"gpu": "NVIDIA H200", "collective": "allreduce_rmsnorm",
    "ranks": 2, "dtype": "f32", "floors": {"emptyNode": 0.4, "oneWay": 0.7, "linkGBs": 400},
    "times": {"oneshot.sentinel": [[1048576, 0.001]], "oneshot.ll": [[1048576, 9]], "oneshot.barrier": [[1048576, 10]],
      "twoshot.sentinel": [[1048576, 20]], "twoshot.ll": [[1048576, 20]], "twoshot.barrier": [[1048576, 20]]}}]})";
  auto norm = context->collective(library("allreduce_rmsnorm"), request);
  if (!norm && norm.error().code == Error::Code::MachineLacks) GTEST_SKIP() << norm.error().text;
  ASSERT_TRUE(norm) << norm.error().text;
  const auto chosen = [&](std::uint64_t rows, std::uint64_t length) {
    const std::uint64_t extents[] = {rows, length};
    return norm->choose(extents).name;
  };
  EXPECT_EQ(chosen(65536, 4), "oneshot.sentinel");
  EXPECT_EQ(chosen(100000, 1), "oneshot.ll") << "with 2 elements a packet, not 4";
  EXPECT_EQ(chosen(1100000, 1), "");
  const std::uint64_t tooShort[] = {1100000, 1};
  std::vector<std::vector<void *>> none(2, std::vector<void *>(4));
  auto refused = norm->launch(none, tooShort);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("rows of `H` = 1 elements"), std::string::npos) << refused.error().text;
}

TEST(Context, TakesWindowsWhereItIsToldThatBuffersAreSymmetric) {
  auto context = Context::create({.ranks = 2, .fabric = FabricKind::Emulated});
  if (!context) GTEST_SKIP() << context.error().text;
  CollectiveRequest request{.collective = "allreduce"};
  request.selection.table = tableOf(R"({"oneshot.ll": [[512, 0.002]], "pull_oneshot": [[512, 0.001], [262144, 0.001]]})");
  const std::uint64_t extents[] = {100};
  auto ordinary = context->collective(library("allreduce"), request);
  if (!ordinary && ordinary.error().code == Error::Code::MachineLacks) GTEST_SKIP() << ordinary.error().text;
  ASSERT_TRUE(ordinary) << ordinary.error().text;
  EXPECT_NE(ordinary->choose(extents).name, "pull_oneshot");
  request.selection.symmetric = true;
  auto symmetric = context->collective(library("allreduce"), request);
  ASSERT_TRUE(symmetric) << symmetric.error().text;
  EXPECT_EQ(symmetric->choose(extents).name, "pull_oneshot");

  auto x = context->allocateSymmetric(400), y = context->allocateSymmetric(400);
  ASSERT_TRUE(x && y);
  std::vector<std::vector<void *>> buffers, elsewhere;
  for (int rank : {0, 1}) {
    const std::vector<float> values(100, float(rank + 1));
    ASSERT_TRUE(context->upload(rank, x->address(rank), values.data(), 400));
    buffers.push_back({x->address(rank), y->address(rank)});
    auto memory = context->allocate(rank, 800);
    ASSERT_TRUE(memory);
    elsewhere.push_back({*memory, static_cast<char *>(*memory) + 400});
  }
  EXPECT_FALSE(symmetric->launch(elsewhere, extents)) << "of what was promised";
  auto launched = symmetric->launch(buffers, extents);
  ASSERT_TRUE(launched) << launched.error().text;
  auto done = context->synchronize();
  ASSERT_TRUE(done) << done.error().text;
  for (int rank : {0, 1}) {
    std::vector<float> sums(100);
    ASSERT_TRUE(context->download(rank, sums.data(), y->address(rank), 400));
    EXPECT_EQ(sums, std::vector<float>(100, 3.0f));
  }
}

} // namespace
