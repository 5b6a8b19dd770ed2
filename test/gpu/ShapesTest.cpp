// Every shape of a launch on real GPUs, whatever the number of ranks divides: 1 to 64 CTAs, as far as they fit there
// together, of 32 to 512 threads, which is the most that a kernel is built for; every element compared. Skipped without a
// GPU; with fewer GPUs than ranks they share.
#include "CompiledTogether.h"
#include "InlinedHeaders.h"
#include "context/Runner.h"
#include "platform/Machine.h"

#include <gtest/gtest.h>

using namespace coll;

namespace {

/// One of each kind: that sends to all, in pieces, in steps, behind flags and barriers, and that clears its slots.
const std::vector<std::string> kMembers = {
    "allreduce.oneshot.ll",    "allreduce.oneshot.sentinel", "allreduce.oneshot.barrier", "allreduce.twoshot.flag",
    "allreduce.ring.ll128",    "allgather.direct.flag",      "reduce_scatter.direct.ll",  "alltoall.direct.ll128"};

std::vector<Shape> shapes() {
  std::vector<Shape> list;
  for (unsigned ctas = 1; ctas <= 64; ++ctas)
    for (const unsigned threads : {32, 64, 96, 160, 256, 352, 512}) list.push_back({ctas, threads, 0});
  return list;
}

class Shapes : public testing::TestWithParam<int> {
protected:
  void SetUp() override {
    const auto machine = machineGpus();
    if (!machine || machine->gpus.empty()) GTEST_SKIP() << "there is no GPU";
    kernels.resize(kMembers.size());
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kMembers.size(); ++i)
      threads.emplace_back([&, i] { kernels[i] = compiled(kMembers[i], machine->gpus.front().arch); });
  }
  static Kernel compiled(const std::string &member, unsigned arch) {
    const std::string collective = member.substr(0, member.find('.'));
    Diagnostics diagnostics;
    const auto program = Program::parse(*standardLibraryText(collective), collective + ".coll", diagnostics);
    EXPECT_TRUE(program) << diagnostics.render();
    std::string failed;
    auto kernels = test::compiledTogether(*program, {{member, GetParam(), DType::F32, ReduceOp::Sum}}, arch, failed);
    EXPECT_EQ(failed, "");
    return std::move(kernels.front());
  }
  static RunRequest request() {
    RunRequest request;
    request.place = Place::Gpu;
    request.shapes = shapes();
    request.launches = unsigned(request.shapes.size());
    request.randomCounts = true; // which nothing divides either
    request.maxElements = 3000;
    request.timeoutSeconds = 5;
    return request;
  }

  std::vector<Kernel> kernels;
};

TEST_P(Shapes, AreAllRight) {
  RunSeries series;
  for (const Kernel &kernel : kernels) {
    const auto report = series.run(kernel, request());
    ASSERT_TRUE(report) << kernel.manifest.member << ": " << report.error().text;
    for (const RankReport &rank : report->ranks) EXPECT_EQ(rank.firstWrong, "") << kernel.manifest.member;
  }
}

// A stride that is not the grid's is right for some shapes, and found with the others.
TEST_P(Shapes, FindWhatIsRightForSomeAlone) {
  Kernel kernel = kernels.front();
  kernel.cuda = test::replaced(test::withHeaders(kernel.cuda), "warpFirst(i) < packets; i += gridDim.x * blockDim.x)",
                               "warpFirst(i) < packets; i += (gridDim.x | 1) * blockDim.x)");
  RunRequest request = Shapes::request();
  request.timeoutSeconds = 2;
  RunRequest odd = request;
  std::erase_if(odd.shapes, [](const Shape &shape) { return shape.ctas % 2 == 0 || shape.ctas > 4; });
  odd.launches = unsigned(odd.shapes.size());
  const auto good = run(kernel, odd);
  ASSERT_TRUE(good) << good.error().text;
  EXPECT_TRUE(good->passed);
  const auto bad = run(kernel, request);
  EXPECT_FALSE(bad && bad->passed);
}

INSTANTIATE_TEST_SUITE_P(Gpu, Shapes, testing::Range(2, 9));

} // namespace
