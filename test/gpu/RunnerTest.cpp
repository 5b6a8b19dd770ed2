// The runner and the contexts under it on emulated ranks, with hand-written kernels: right ones pass, wrong ones are
// caught. What GPUs alone can show is in MatrixTest.cpp.
#include "context/Runner.h"
#include "Samples.h"

#include <gtest/gtest.h>

using namespace coll;
using test::sampleAllreduce;

namespace {

RunRequest onCpu(unsigned launches) {
  RunRequest request;
  request.place = Place::Cpu;
  request.launches = launches;
  request.randomCounts = true;
  request.maxElements = 300;
  return request;
}

/// Skips where the emulator cannot work.
#define RUN_OR_SKIP(report, kernel, request)                                                                           \
  auto report = run(kernel, request);                                                                                  \
  if (!report && report.error().code == Error::Code::MachineLacks) GTEST_SKIP() << report.error().text;                \
  ASSERT_TRUE(report) << report.error().text

TEST(Runner, RandomCounts) {
  for (const auto &[algorithm, ranks] : {std::pair("oneshot", 2), {"twoshot", 8}}) {
    const Kernel kernel = sampleAllreduce(algorithm, ranks);
    RUN_OR_SKIP(report, kernel, onCpu(12));
    EXPECT_EQ(report->launches, 12u);
    EXPECT_EQ(report->ranks.size(), std::size_t(ranks));
    for (const RankReport &rank : report->ranks) {
      EXPECT_EQ(rank.firstWrong, "");
      EXPECT_GT(rank.checked, 0u);
    }
    EXPECT_TRUE(report->passed);
  }
}

TEST(Runner, InPlaceAndMisaligned) {
  const Kernel kernel = sampleAllreduce("oneshot", 2);
  RunRequest request = onCpu(6);
  request.inplace = true;
  request.elementOffset = 3;
  RUN_OR_SKIP(report, kernel, request);
  EXPECT_TRUE(report->passed) << report->ranks[0].firstWrong;
}

TEST(Runner, WrongResultIsCaught) {
  Kernel kernel = sampleAllreduce("oneshot", 2);
  const auto at = kernel.cuda.find("using Op = coll::Sum");
  ASSERT_NE(at, std::string::npos);
  kernel.cuda.replace(at, 20, "using Op = coll::Max");
  RUN_OR_SKIP(report, kernel, onCpu(4));
  EXPECT_FALSE(report->passed);
  EXPECT_NE(report->ranks[1].firstWrong.find("`y`["), std::string::npos) << report->ranks[1].firstWrong;
}

TEST(Runner, ExtentWithoutValue) {
  RunRequest request = onCpu(1);
  request.randomCounts = false;
  auto report = run(sampleAllreduce("oneshot", 2), request);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Error::Code::BadInput) << report.error().text;
}

TEST(Context, RefusesWhatTheContractDoesNotAllow) {
  auto context = Context::create({.ranks = 2, .fabric = FabricKind::Emulated});
  ASSERT_TRUE(context) << context.error().text;
  const Kernel kernel = sampleAllreduce("oneshot", 2);
  auto allreduce = context->load(kernel);
  if (!allreduce) GTEST_SKIP() << allreduce.error().text;
  void *x = *context->allocate(0, 4096), *y = *context->allocate(0, 4096);
  const auto refused = [&](Result<void> result) { return !result && result.error().code == Error::Code::BadInput; };
  EXPECT_TRUE(refused(allreduce->launch(2, {x, y}, {8})));
  EXPECT_TRUE(refused(allreduce->launch(0, {x}, {8})));
  EXPECT_TRUE(refused(allreduce->launch(0, {x, nullptr}, {8})));
  EXPECT_TRUE(refused(allreduce->launch(0, {x, static_cast<char *>(y) + 1}, {8})));
  EXPECT_TRUE(refused(allreduce->launch(0, {x, y}, {kernel.manifest.capacity + 1})));
  EXPECT_TRUE(allreduce->launch(0, {x, y}, {0}));
  context->abort();
  EXPECT_FALSE(allreduce->launch(0, {x, y}, {0}));
  EXPECT_FALSE(context->synchronize());
}

TEST(Context, ACountThatIsTooLargeIsSaid) {
  auto context = Context::create({.ranks = 2, .fabric = FabricKind::Emulated});
  ASSERT_TRUE(context);
  Diagnostics diagnostics;
  const auto program = Program::parse(*standardLibraryText("alltoallv"), "alltoallv.coll", diagnostics);
  ASSERT_TRUE(program);
  const auto kernel = program->compile({"direct.ll", 2, DType::F32, {}}, {}, diagnostics);
  ASSERT_TRUE(kernel) << diagnostics.render();
  auto exchange = context->load(*kernel);
  if (!exchange) GTEST_SKIP() << exchange.error().text;
  for (int rank = 0; rank < 2; ++rank) {
    const std::uint32_t counts[] = {3, rank == 1 ? 9u : 8u};
    void *x = *context->allocate(rank, 64), *n = *context->allocate(rank, 8);
    void *y = *context->allocate(rank, 64), *got = *context->allocate(rank, 8);
    ASSERT_TRUE(context->upload(rank, n, counts, sizeof counts));
    ASSERT_TRUE(exchange->launch(rank, {x, n, y, got}, {8}));
  }
  auto done = context->synchronize();
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().text.find("count 1 is 9, more than the 8 that a message can have"), std::string::npos) << done.error().text;
}

TEST(Context, MissingLaunchIsADeadlockAndNoHang) {
  auto context = Context::create({.ranks = 2, .fabric = FabricKind::Emulated});
  ASSERT_TRUE(context);
  auto allreduce = context->load(sampleAllreduce("oneshot", 2));
  if (!allreduce) GTEST_SKIP() << allreduce.error().text;
  void *x = *context->allocate(0, 64), *y = *context->allocate(0, 64);
  ASSERT_TRUE(allreduce->launch(0, {x, y}, {8}));
  auto done = context->synchronize();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Error::Code::Failed);
}

} // namespace
