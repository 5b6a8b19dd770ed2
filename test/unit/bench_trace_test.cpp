// Traces: from stamps to what a person sees, and that kernels with stamps compile.
#include "bench/Trace.h"
#include "jit/Jit.h"

#include "llvm/Support/JSON.h"

#include <gtest/gtest.h>

using namespace coll;
using namespace coll::bench;

namespace {

/// Two ranks whose clocks are a second apart; rank 1 has two CTAs.
TracedLaunch madeUp() {
  TracedLaunch launch{"oneshot.ll", 64, {}};
  launch.stamps = {{{1000, 1100, 1300, 2100, 2200, 0, 0, 0}},
                   {{1'000'001'000, 1'000'001'100, 1'000'001'300, 1'000'002'000, 1'000'002'050, 0, 0, 0},
                    {1'000'001'010, 1'000'001'100, 0, 1'000'002'300, 1'000'002'400, 0, 0, 0}}};
  return launch;
}

TEST(Trace, InKernelIsTheLongestCtaOfTheQuickestRank) {
  EXPECT_DOUBLE_EQ(madeUp().inKernel(), 1.1);
  EXPECT_EQ(TracedLaunch().inKernel(), 0);
  EXPECT_NE(traceText({madeUp()}).find("oneshot.ll"), std::string::npos);
}

TEST(Trace, ChromeTraceHasAllPhasesAligned) {
  auto value = llvm::json::parse(toChromeTrace({madeUp(), madeUp()}));
  ASSERT_TRUE(bool(value)) << llvm::toString(value.takeError());
  const auto *events = value->getAsObject()->getArray("traceEvents");
  ASSERT_NE(events, nullptr);
  EXPECT_EQ(events->size(), 2 * 3 * 4 + 2u);
  double end[2] = {}, firstEnd[2] = {};
  for (const auto &each : *events) {
    const auto &event = *each.getAsObject();
    if (*event.getString("ph") != "X") continue;
    EXPECT_GE(*event.getNumber("dur"), 0);
    EXPECT_GE(*event.getNumber("ts"), 0);
    const auto rank = std::size_t(*event.getInteger("pid"));
    const double until = *event.getNumber("ts") + *event.getNumber("dur");
    end[rank] = std::max(end[rank], until);
    if (until < 2) firstEnd[rank] = std::max(firstEnd[rank], until);
  }
  EXPECT_DOUBLE_EQ(end[0], end[1]) << "clocks of GPUs differ: ranks are aligned at their ends";
  EXPECT_DOUBLE_EQ(firstEnd[0], firstEnd[1]);
  EXPECT_GT(end[0], firstEnd[0] + 1) << "launches do not overlap";
}

TEST(Trace, TracedKernelsCompile) {
  Diagnostics diagnostics;
  const auto program = Program::parse(*standardLibraryText("allreduce"), "allreduce.coll", diagnostics);
  ASSERT_TRUE(program);
  CompileOptions options;
  options.trace = true;
  auto jit = Jit::create(KernelCache(""));
  for (const char *member : {"oneshot.ll", "twoshot.flag"}) {
    const auto traced = program->compile({member, 2}, options, diagnostics), plain = program->compile({member, 2}, {}, diagnostics);
    ASSERT_TRUE(traced && plain) << diagnostics.render();
    for (const char *stamp : {"kEntered", "kMayRun", "kSends", "kReceived", "kFinished"}) {
      EXPECT_NE(traced->cuda.find(stamp), std::string::npos) << member << " " << stamp;
      EXPECT_EQ(plain->cuda.find(stamp), std::string::npos);
    }
    EXPECT_EQ(plain->cuda.find("trace"), std::string::npos);
    if (!jit) continue;
    auto cubin = jit->compile(*traced, Arch{90, ""});
    ASSERT_TRUE(cubin) << cubin.error().text;
    EXPECT_NE(cubin->bytes.find("coll_trace"), std::string::npos);
  }
  if (!jit) GTEST_SKIP() << jit.error().text;
}

} // namespace
