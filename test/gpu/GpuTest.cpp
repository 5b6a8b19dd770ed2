// Waits that never end, on real GPUs: they are given up, say where, and leave nothing hanging. Skipped without a GPU;
// with one, both ranks share it.
#include "Samples.h"
#include "coll/coll.h"
#include "platform/Machine.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

using namespace coll;
using Clock = std::chrono::steady_clock;

namespace {

/// Two ranks of which only rank 0 has launched: it waits for rank 1's packets in vain.
class LonelyRank : public testing::Test {
protected:
  void start(double timeoutSeconds) {
    auto made = Context::create({.ranks = 2, .fabric = FabricKind::Local, .timeoutSeconds = timeoutSeconds});
    ASSERT_TRUE(made) << made.error().text;
    context.emplace(std::move(*made));
    auto loaded = context->load(test::sampleAllreduce("oneshot", 2));
    ASSERT_TRUE(loaded) << loaded.error().text;
    allreduce.emplace(*loaded);
    auto x = context->allocate(0, 64), y = context->allocate(0, 64);
    ASSERT_TRUE(x && y);
    auto launched = allreduce->launch(0, {*x, *y}, {8});
    ASSERT_TRUE(launched) << launched.error().text;
  }
  void SetUp() override {
    const auto machine = machineGpus();
    if (!machine || machine->gpus.empty()) GTEST_SKIP() << "there is no GPU";
  }

  std::optional<Context> context;
  std::optional<Collective> allreduce;
};

TEST_F(LonelyRank, TimesOutAndSaysWhere) {
  start(0.5);
  auto done = context->synchronize();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Error::Code::Failed);
  for (const char *part : {"allreduce.oneshot.ll", "rank 0", "`box`", "slot 1", "epoch 1 wanted, 0 found"})
    EXPECT_NE(done.error().text.find(part), std::string::npos) << done.error().text;
  EXPECT_FALSE(allreduce->launch(1, {nullptr, nullptr}, {8})) << "the context must refuse launches now";
}

TEST_F(LonelyRank, IsEndedByAbort) {
  start(600);
  const auto begin = Clock::now();
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    context->abort();
  });
  EXPECT_FALSE(context->synchronize());
  other.join();
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
}

TEST_F(LonelyRank, DoesNotKeepTheContextFromGoing) {
  start(600);
  const auto begin = Clock::now();
  allreduce.reset();
  context.reset();
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(10));
}

} // namespace
