// Several members in one context on real GPUs: graphs of 1, 2, 3 and 5 launches replayed in random order with single
// launches between, sizes changing, every result compared. Skipped without a GPU; with fewer GPUs than ranks they share.
#include "InlinedHeaders.h"
#include "context/Runner.h"
#include "platform/Machine.h"

#include <gtest/gtest.h>

using namespace coll;

namespace {

/// Every sync mode, rule of reuse and kind of argument.
const std::vector<std::string> kMembers = {
    "allreduce.oneshot.ll",        "allreduce.oneshot.ll128",    "allreduce.oneshot.sentinel", "allreduce.oneshot.barrier",
    "allreduce.twoshot.flag",      "allreduce.ring.ll128",       "allreduce.counter.sentinel", "allreduce.pull_twoshot",
    "allreduce.stream.flag",       "allgather.direct.flag",      "allgather.push",             "reduce_scatter.direct.ll",
    "broadcast.direct.ll",         "broadcast.direct.flag",      "alltoall.direct.ll128",      "gather.direct.flag",
    "neighbour_exchange.direct.ll", "barrier.direct"};

Kernel compiled(const std::string &member, int ranks) {
  const std::string collective = member.substr(0, member.find('.'));
  Diagnostics diagnostics;
  const auto program = Program::parse(*standardLibraryText(collective), collective + ".coll", diagnostics);
  EXPECT_TRUE(program) << diagnostics.render();
  const auto kernel = program->compile({member, ranks, DType::F32, ReduceOp::Sum}, {}, diagnostics);
  EXPECT_TRUE(kernel) << diagnostics.render();
  return *kernel;
}

class Mixed : public testing::TestWithParam<int> {
protected:
  void SetUp() override {
    const auto machine = machineGpus();
    if (!machine || machine->gpus.empty()) GTEST_SKIP() << "there is no GPU";
  }
  RunRequest request() const {
    RunRequest request;
    request.place = Place::Gpu;
    request.launches = 1000;
    request.graph = true;
    request.timeoutSeconds = 5;
    return request;
  }
};

TEST_P(Mixed, GraphsInRandomOrder) {
  std::vector<Kernel> kernels;
  for (const std::string &member : kMembers) kernels.push_back(compiled(member, GetParam()));
  for (const std::uint64_t seed : {1, 2}) {
    RunRequest request = this->request();
    request.seed = seed;
    request.inplace = seed == 2;
    const auto report = runMixed(kernels, request);
    ASSERT_TRUE(report) << report.error().text;
    EXPECT_GE(report->launches, 1000u);
    for (const RankReport &rank : report->ranks) EXPECT_EQ(rank.firstWrong, "");
  }
}

// What waits for nothing is seen to, by whatever sizes and graphs it is surrounded.
TEST_P(Mixed, AMissingWaitIsFound) {
  std::vector<Kernel> kernels;
  for (const char *member : {"allreduce.oneshot.ll", "allgather.direct.flag", "broadcast.direct.ll"})
    kernels.push_back(compiled(member, GetParam()));
  kernels[1].cuda = test::replaced(test::withHeaders(kernels[1].cuda),
                                   "launch.awaitAtLeast(slot < first + count && slot != skip,", "launch.awaitAtLeast(false,");
  const auto report = runMixed(kernels, request());
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_FALSE(report->passed);
  EXPECT_NE(report->ranks[0].firstWrong.find("`allgather.direct.flag`"), std::string::npos) << report->ranks[0].firstWrong;
}

INSTANTIATE_TEST_SUITE_P(Gpu, Mixed, testing::Values(2, 4, 8));

} // namespace
