// A rank in each process: here threads stand for processes, each with a context that has one rank. Skipped with fewer than
// two GPUs. What NCCL is asked is in NcclFabricTest.cpp; a program of real processes is examples/process_per_gpu.
#include "context/Backend.h"
#include "platform/Machine.h"

#include <gtest/gtest.h>

#include <thread>

using namespace coll;

namespace {

constexpr int kRanks = 2;

class Processes : public testing::Test {
protected:
  void SetUp() override {
    const auto machine = machineGpus();
    if (!machine || machine->gpus.size() < kRanks) GTEST_SKIP() << "there are no two GPUs";
    const auto made = UniqueId::make();
    ASSERT_TRUE(made) << made.error().text;
    id = *made;
    Diagnostics diagnostics;
    program = Program::parse(*standardLibraryText("allreduce"), "allreduce.coll", diagnostics);
  }

  /// Calls body(rank) on a thread for each rank.
  template <class Body>
  static void onRanks(const Body &body) {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < kRanks; ++rank) threads.emplace_back([&body, rank] { body(rank); });
  }

  Result<Context> contextOf(int rank, double timeoutSeconds = 10) const {
    ContextOptions options;
    options.ranks = kRanks, options.rank = rank, options.id = id, options.timeoutSeconds = timeoutSeconds;
    return Context::create(options);
  }
  Instance instance(const std::string &member) const { return {member, kRanks, DType::F32, ReduceOp::Sum}; }

  UniqueId id = {};
  std::unique_ptr<Program> program;
};

/// 300 launches back to back, and what the last one left.
void expectSums(Context &context, const Collective &allreduce, int rank) {
  constexpr std::uint64_t kCount = 5000;
  auto x = context.allocateSymmetric(kCount * 4), y = context.allocateSymmetric(kCount * 4);
  ASSERT_TRUE(x) << x.error().text;
  ASSERT_TRUE(y) << y.error().text;
  std::vector<float> values(kCount, float(rank + 1));
  ASSERT_TRUE(context.upload(rank, x->address(rank), values.data(), kCount * 4));
  for (int launch = 0; launch < 300; ++launch) {
    const auto done = allreduce.launch(rank, {x->address(rank), y->address(rank)}, {kCount - std::uint64_t(launch % 7) * 100});
    ASSERT_TRUE(done) << done.error().text;
  }
  ASSERT_TRUE(allreduce.launch(rank, {x->address(rank), y->address(rank)}, {kCount}));
  const auto ended = context.synchronize();
  ASSERT_TRUE(ended) << ended.error().text;
  ASSERT_TRUE(context.download(rank, values.data(), y->address(rank), kCount * 4));
  for (const float value : values) ASSERT_EQ(value, 3.0f) << allreduce.manifest().member << ", rank " << rank;
}

TEST_F(Processes, SumTogether) {
  onRanks([&](int rank) {
    auto context = contextOf(rank);
    ASSERT_TRUE(context) << context.error().text;
    EXPECT_TRUE(context->owns(rank));
    EXPECT_FALSE(context->owns(1 - rank));
    EXPECT_EQ(context->allocate(1 - rank, 16).error().code, Error::Code::BadInput);
    for (const char *member : {"allreduce.oneshot.ll", "allreduce.oneshot.sentinel", "allreduce.twoshot.flag", "allreduce.pull_oneshot"}) {
      const auto allreduce = context->load(*program, instance(member));
      ASSERT_TRUE(allreduce) << allreduce.error().text;
      expectSums(*context, *allreduce, rank);
    }
  });
}

/// One context lends its communicator to the other, and outlives it.
TEST_F(Processes, OverTheCallersCommunicator) {
  onRanks([&](int rank) {
    auto lender = contextOf(rank);
    ASSERT_TRUE(lender) << lender.error().text;
    ContextOptions options;
    options.communicator = backendOf(*lender).communicator();
    options.timeoutSeconds = 10;
    auto context = Context::create(options);
    ASSERT_TRUE(context) << context.error().text;
    EXPECT_EQ(context->ranks(), kRanks);
    EXPECT_TRUE(context->owns(rank));
    const auto allreduce = context->load(*program, instance("allreduce.oneshot.ll"));
    ASSERT_TRUE(allreduce) << allreduce.error().text;
    expectSums(*context, *allreduce, rank);
  });
}

TEST_F(Processes, DifferentProgramsAreRefused) {
  onRanks([&](int rank) {
    auto context = contextOf(rank);
    ASSERT_TRUE(context) << context.error().text;
    const auto allreduce = context->load(*program, instance(rank ? "allreduce.oneshot.ll" : "allreduce.oneshot.sentinel"));
    ASSERT_FALSE(allreduce);
    EXPECT_NE(allreduce.error().text.find("loads another program than rank"), std::string::npos) << allreduce.error().text;
  });
}

TEST_F(Processes, AMissingRankIsAnErrorAndNoHang) {
  onRanks([&](int rank) {
    auto context = contextOf(rank, /*timeoutSeconds=*/2);
    ASSERT_TRUE(context) << context.error().text;
    if (rank == 1) return;
    const auto allreduce = context->load(*program, instance("allreduce.oneshot.ll"));
    ASSERT_FALSE(allreduce);
    EXPECT_NE(allreduce.error().text.find("for the other ranks"), std::string::npos) << allreduce.error().text;
  });
}

} // namespace
