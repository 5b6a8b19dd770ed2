// Members of a workspace in one context: launches mixed at random, sizes changing, one by one and on GPUs from graphs,
// every result compared; and that they are in one region, as one that counts its launches for itself goes wrong there. On
// emulated ranks and on real GPUs, where there are any; with fewer GPUs than ranks they share.
#include "InlinedHeaders.h"
#include "context/Runner.h"
#include "platform/Machine.h"

#include <gtest/gtest.h>

using namespace coll;

namespace {

constexpr const char *kText = R"(coll 1
use allreduce
use allgather
algorithm a<S in {ll, sentinel, barrier}> for allreduce on lsa(2..8) when bytes <= 64Ki {
  mailbox box[N] of T[M] sync S
  forall p in ranks: x -> p.box[me]
  y = reduce(op, r in ranks: box[r])
}
algorithm b<S in {ll, sentinel, barrier}> for allreduce on lsa(2..8) when bytes <= 64Ki {
  view X = split(x, N), Y = split(y, N)
  mailbox rs[N] of X[0] sync S
  mailbox ag[N] of X[0] sync S
  forall p in ranks: X[p] -> p.rs[me]
  let s = reduce(op, r in ranks: rs[r])
  forall p in ranks: s -> p.ag[me]
  forall r in ranks: Y[r] = ag[r]
}
algorithm g<S in {ll, barrier}> for allgather on lsa(2..8) when bytes <= 256Ki {
  mailbox box[N] of T[M] sync S
  forall p in ranks: x -> p.box[me]
  forall r in ranks: y[r] = box[r]
}
workspace words { allreduce.a.ll, allreduce.b.ll, allgather.g.ll }
workspace empty { allreduce.a.sentinel, allreduce.b.sentinel }
workspace met { allreduce.a.barrier, allreduce.b.barrier, allgather.g.barrier }
)";

struct Case {
  Place place;
  int ranks;
};

class Workspaces : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    if (GetParam().place == Place::Cpu) return;
    const auto machine = machineGpus();
    if (!machine || machine->gpus.empty()) GTEST_SKIP() << "there is no GPU";
  }

  static std::vector<Kernel> compiled(const std::vector<Instance> &instances) {
    Diagnostics diagnostics;
    const auto program = Program::parse(kText, "workspaces.coll", diagnostics);
    EXPECT_TRUE(program) << diagnostics.render();
    std::vector<Kernel> kernels;
    for (const Instance &instance : instances) {
      auto kernel = program->compile(instance, {}, diagnostics);
      EXPECT_TRUE(kernel) << diagnostics.render();
      kernels.push_back(std::move(*kernel));
    }
    return kernels;
  }
  static Result<RunReport> mixed(const std::vector<Kernel> &kernels) {
    const bool gpu = GetParam().place == Place::Gpu;
    RunRequest request;
    request.place = GetParam().place;
    request.launches = gpu ? 1000 : 40;
    request.graph = gpu;
    request.timeoutSeconds = 2;
    return runMixed(kernels, request);
  }
  static void expectRight(const std::vector<Kernel> &kernels) {
    for (const Kernel &kernel : kernels) {
      ASSERT_TRUE(kernel.manifest.workspace);
      EXPECT_EQ(kernel.manifest.workspace->key, kernels.front().manifest.workspace->key);
    }
    const auto report = mixed(kernels);
    if (!report && report.error().code == Error::Code::MachineLacks) GTEST_SKIP() << report.error().text;
    ASSERT_TRUE(report) << report.error().text;
    for (const RankReport &rank : report->ranks) EXPECT_EQ(rank.firstWrong, "");
  }
};

TEST_P(Workspaces, MembersAndTypesFollowEachOther) {
  const int n = GetParam().ranks;
  expectRight(compiled({{"allreduce.a.ll", n, DType::F32, ReduceOp::Sum},
                        {"allreduce.b.ll", n, DType::BF16, ReduceOp::Sum},
                        {"allreduce.b.ll", n, DType::F32, ReduceOp::Max},
                        {"allgather.g.ll", n, DType::U8, ReduceOp::Sum}}));
}

TEST_P(Workspaces, OfSlotsThatAreEmptyBetweenLaunches) {
  const int n = GetParam().ranks;
  expectRight(compiled({{"allreduce.a.sentinel", n, DType::F32, ReduceOp::Sum}, {"allreduce.b.sentinel", n, DType::F32, ReduceOp::Max}}));
}

TEST_P(Workspaces, OfDataBehindBarriers) {
  const int n = GetParam().ranks;
  expectRight(compiled({{"allreduce.a.barrier", n, DType::F32, ReduceOp::Sum},
                        {"allreduce.b.barrier", n, DType::BF16, ReduceOp::Sum},
                        {"allgather.g.barrier", n, DType::F32, ReduceOp::Sum}}));
}

// Slots that are empty for one type are not for another, so these have a region each.
TEST_P(Workspaces, OfTypesThatAreEmptyInAnotherWay) {
  const int n = GetParam().ranks;
  const auto kernels = compiled({{"allreduce.a.sentinel", n, DType::F32, ReduceOp::Sum}, {"allreduce.b.sentinel", n, DType::BF16, ReduceOp::Sum}});
  EXPECT_NE(kernels[0].manifest.workspace->key, kernels[1].manifest.workspace->key);
  const auto report = mixed(kernels);
  if (!report && report.error().code == Error::Code::MachineLacks) GTEST_SKIP() << report.error().text;
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_TRUE(report->passed);
}

/// The kernels, and the second with words of its own behind the region, where it counts its own launches.
std::vector<Kernel> withEpochsApart(std::vector<Kernel> kernels) {
  for (Kernel &kernel : kernels) kernel.cuda = test::withHeaders(kernel.cuda), kernel.manifest.regionBytes += 4096;
  std::string &second = kernels[1].cuda;
  const std::string own = "team.peer[0] + " + std::to_string(kernels[1].manifest.regionBytes - 4096);
  for (const char *call : {"readEpoch(", "leaveEpoch(", "finishMeeting(team, "})
    second = test::replaced(second, std::string("detail::") + call + "team.peer[0]", std::string("detail::") + call + own);
  return kernels;
}

// Lines of the other, of the same number, are taken for its own: where ranks are apart far enough, which on GPUs is luck.
// With a region for each they would be right.
TEST_P(Workspaces, AreOneRegionWithOneEpoch) {
  const int n = GetParam().ranks;
  std::vector<Kernel> kernels = withEpochsApart(
      compiled({{"allreduce.a.ll", n, DType::F32, ReduceOp::Sum}, {"allreduce.b.ll", n, DType::F32, ReduceOp::Sum}}));
  const auto together = mixed(kernels);
  if (!together && together.error().code == Error::Code::MachineLacks) GTEST_SKIP() << together.error().text;
  if (GetParam().place == Place::Cpu) {
    EXPECT_FALSE(together && together->passed);
  }
  kernels[1].manifest.workspace->key += "-apart";
  const auto apart = mixed(kernels);
  ASSERT_TRUE(apart) << apart.error().text;
  EXPECT_TRUE(apart->passed);
}

std::string nameOf(const testing::TestParamInfo<Case> &info) {
  return (info.param.place == Place::Cpu ? "emulated" : "gpu") + std::to_string(info.param.ranks);
}
INSTANTIATE_TEST_SUITE_P(Ranks, Workspaces,
                         testing::Values(Case{Place::Cpu, 3}, Case{Place::Gpu, 2}, Case{Place::Gpu, 4}), nameOf);

} // namespace
