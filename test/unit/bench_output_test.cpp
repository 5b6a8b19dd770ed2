// What `coll bench` writes, from made-up numbers; and that its kernels compile.
#include "bench/FloorsText.h"
#include "bench/NcclLog.h"
#include "bench/Report.h"
#include "jit/Jit.h"
#include "litmus/Litmus.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

using namespace coll;
using namespace coll::bench;

namespace {

Report madeUp() {
  Report report;
  report.collective = "allreduce", report.dtype = "bf16", report.op = "sum", report.ranks = 2;
  report.machine = "2 x GPU", report.driver = "580.1", report.cuda = "13.0", report.nvrtc = "13.0";
  report.nccl = "2.28.9", report.date = "2026-01-02 03:04Z", report.command = "coll bench allreduce -n 2";
  report.environment = {{"NCCL_NVLS_ENABLE", "0"}};
  report.floors = {0.375, 0.5, 0.75, 450e3, "copy engine"};
  std::uint64_t bytes = 16;
  for (int i = 0; i < 9; ++i, bytes *= 4) {
    const double limit = limitOf(report.floors, "allreduce", Traffic::OneShot, 2, bytes);
    const auto add = [&](const char *rival, double times, const char *note) {
      Row row;
      row.rival = rival, row.bytes = bytes, row.elements = bytes / 2, row.operations = 50, row.replays = 40;
      row.time = {limit * times, limit * times * 0.98, limit * times * 1.1};
      row.slowestRank = limit * times * 1.02, row.limit = limit, row.verified = true, row.note = note;
      if (i != 1) row.gridCtas = unsigned(i + 1), row.gridThreads = 128;
      report.rows.push_back(row);
    };
    add("oneshot.ll", 1.3 + 0.05 * i, "");
    if (i > 2) add("oneshot.barrier", 2.4 - 0.1 * i, "");
    add("nccl", 5.2 - 0.4 * i, "RING LL");
    add("nccl-symmetric", 3.0, "AllReduce_AGxLL_R");
  }
  return report;
}

void compareWithFile(const std::string &text, const std::string &name) {
  const std::string path = std::string(COLL_TEST_INPUTS "/") + name;
  if (std::getenv("COLL_UPDATE_GOLDEN")) std::ofstream(path, std::ios::binary) << text;
  std::ifstream file(path, std::ios::binary);
  const std::string wanted{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_EQ(text, wanted) << "if it should be so: COLL_UPDATE_GOLDEN=1 bench_test, and look at the file";
}

TEST(Plot, IsAsItWasLookedAt) {
  compareWithFile(toSvg(plotOf(madeUp())), "bench.svg");
}

TEST(Plot, NamesAreEscaped) {
  const std::string svg = toSvg({"a < b & \"c\"", "", {{"<line>", {{8, 1}, {16, 2}}, false}}});
  EXPECT_NE(svg.find("a &lt; b &amp; &quot;c&quot;"), std::string::npos);
  EXPECT_NE(svg.find("&lt;line&gt;"), std::string::npos);
}

TEST(Plot, NothingAndOnePointAreNoTrouble) {
  for (const Plot &plot : {Plot{"", "", {}}, Plot{"", "", {{"one", {{8, 1}}, false}}}}) {
    const std::string svg = toSvg(plot);
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
    EXPECT_NE(svg.find("</svg>"), std::string::npos);
  }
}

/// Of many rivals the picture has NCCL, what was selected, and the quickest of each kind; the subtitle says so.
TEST(Plot, ManyRivalsAreNoTangle) {
  Report report = madeUp();
  const Row pattern = report.rows.front();
  for (int i = 0; i < 40; ++i) {
    Row row = pattern;
    row.rival = (i % 2 ? "hand-" : "slow.") + std::to_string(i), row.foreign = i % 2, row.time.median = pattern.time.median * (2 + i);
    report.rows.push_back(row);
  }
  report.selected[16] = "slow.38";
  const Plot plot = plotOf(report);
  std::string names;
  for (const PlotLine &line : plot.lines) names += line.name + " ";
  EXPECT_EQ(names, "oneshot.ll nccl nccl-symmetric oneshot.barrier hand-1 slow.38 limit ");
  EXPECT_NE(plot.subtitle.find("without 38 that are never the quickest of their kind"), std::string::npos) << plot.subtitle;
}

TEST(Report, Table) {
  Report report = madeUp();
  report.rows[0].wrong = 3;
  report.rows[0].firstWrong = "rank 0, operation 1, `y`[5]: is 1, should be 2";
  report.rows[1].believable = false;
  std::string text = heading(report) + tableHead(report, 15);
  for (const Row &row : report.rows) text += tableRow(row, 15);
  compareWithFile(text + "\n" + summary(report), "bench.txt");
}

TEST(Report, Csv) {
  compareWithFile(toCsv(madeUp()), "bench.csv");
}

TEST(Report, JsonHasWhereAndWhen) {
  Report report = madeUp();
  report.extents = {{"H", 4096}};
  const std::string json = toJson(report);
  for (const char *part : {"\"machine\": \"2 x GPU\"", "\"driver\": \"580.1\"", "\"nccl\": \"2.28.9\"",
                           "\"command\": \"coll bench allreduce -n 2\"", "\"NCCL_NVLS_ENABLE\": \"0\"",
                           "\"oneWay\": 0.75", "\"grid\": [\n        1,\n        128\n      ]", "\"H\": 4096", "\"rival\": \"nccl-symmetric\""})
    EXPECT_NE(json.find(part), std::string::npos) << part;
}

TEST(Report, GoodMeansOwnResultsRightAndFiguresPossible) {
  Report report = madeUp();
  EXPECT_TRUE(report.good());
  for (Row &row : report.rows)
    if (row.rival == "nccl") row.wrong = 1;
  EXPECT_TRUE(report.good());
  report.rows[0].wrong = 1;
  EXPECT_FALSE(report.good());
  report.rows[0].wrong = 0, report.rows[0].believable = false;
  EXPECT_FALSE(report.good());
}

TEST(NcclLog, TellsSymmetricFromOthers) {
  const std::string other = "host:1:2 [0] NCCL INFO AllReduce: 16 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}\n";
  const std::string symmetric =
      "host:1:2 [0] NCCL INFO AllReduce [Symmetric]: 16 Bytes -> Kernel AllReduce_AGxLL_R nchannels 1 nthreads 512\n";
  EXPECT_FALSE(lastChoice("").found);
  EXPECT_FALSE(lastChoice("host NCCL INFO something else\n").found);
  EXPECT_EQ(lastChoice(symmetric + other).what, "RING LL");
  EXPECT_FALSE(lastChoice(symmetric + other).symmetric);
  EXPECT_EQ(lastChoice(other + symmetric).what, "AllReduce_AGxLL_R");
  EXPECT_TRUE(lastChoice(other + symmetric).symmetric);
}

TEST(Floors, KernelsCompile) {
  auto jit = Jit::create(KernelCache(""));
  if (!jit) GTEST_SKIP() << jit.error().text;
  for (int arch : jit->nvrtc().archs) {
    const auto tests = jit->compile(litmus::text(), Arch{unsigned(arch), ""});
    EXPECT_TRUE(tests) << tests.error().text;
    auto cubin = jit->compile(floorsText(), Arch{unsigned(arch), ""});
    ASSERT_TRUE(cubin) << cubin.error().text;
    for (const char *name : {"gate", "emptyNode", "pingPong", "copyUnits"})
      EXPECT_NE(cubin->bytes.find(name), std::string::npos) << name;
  }
}

} // namespace
