// The numbers of `coll bench`: statistics, limits, the values and buffers of a chain, the reference.
#include "bench/Chain.h"
#include "bench/Expected.h"
#include "bench/Stage.h"
#include "bench/Limit.h"
#include "bench/Statistics.h"
#include "context/Values.h"

#include <gtest/gtest.h>

using namespace coll;
using namespace coll::bench;

namespace {

Manifest manifestOf(int ranks, DType dtype, std::vector<std::string> in, std::vector<std::string> out,
                    std::optional<ReduceOp> op = ReduceOp::Sum) {
  Manifest manifest;
  manifest.ranks = ranks;
  manifest.dtype = dtype;
  manifest.op = op;
  manifest.extents = {"M"};
  manifest.domain.extents = {"M"};
  manifest.arguments = {{"x", Direction::In, dtype, std::move(in)}, {"y", Direction::Out, dtype, std::move(out)}};
  manifest.inplace = {{"y", "x"}};
  return manifest;
}

Manifest allReduce(int ranks, DType dtype, ReduceOp op = ReduceOp::Sum) {
  return manifestOf(ranks, dtype, {"M"}, {"M"}, op);
}

TEST(Statistics, OfNothingIsNothing) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(quantile({}, 0.99), 0);
}

TEST(Statistics, MedianIsTheMiddle) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
}

TEST(Statistics, QuantilesAreSamples) {
  std::vector<double> samples;
  for (int i = 200; i > 0; --i) samples.push_back(i);
  const Statistics all = summarise(samples);
  EXPECT_EQ(all.minimum, 1);
  EXPECT_EQ(all.median, 100.5);
  EXPECT_EQ(all.p99, 198);
  EXPECT_EQ(summarise({5, 7}).p99, 7); // of few, the largest
}

TEST(Limit, BytesThatARankMustReceive) {
  EXPECT_EQ(leastBytes("allreduce", Traffic::OneShot, 8, 800), 7 * 800);
  EXPECT_EQ(leastBytes("allreduce", Traffic::TwoShot, 8, 800), 2 * 7 * 100);
  EXPECT_EQ(leastBytes("allreduce", Traffic::Least, 8, 800), 2 * 7 * 100);
  EXPECT_EQ(leastBytes("allreduce", Traffic::Least, 2, 800), 800);
  EXPECT_EQ(leastBytes("allgather", Traffic::OneShot, 4, 800), 600);
  EXPECT_EQ(leastBytes("reduce_scatter", Traffic::Least, 4, 800), 600);
  EXPECT_EQ(leastBytes("broadcast", Traffic::Least, 4, 800), 800);
  EXPECT_EQ(leastBytes("allreduce_rmsnorm", Traffic::OneShot, 2, 800), 800);
  EXPECT_EQ(leastBytes("mine", Traffic::Least, 4, 800), 0);
  EXPECT_EQ(leastBytes("allreduce", Traffic::OneShot, 1, 800), 0);
}

TEST(Limit, IsNodePlusHopPlusBytes) {
  const Floors floors{0.4, 0.5, 0.7, 450e3, ""};
  EXPECT_DOUBLE_EQ(limitOf(floors, "allreduce", Traffic::OneShot, 2, 45'000), 0.4 + 0.7 + 0.1);
  EXPECT_DOUBLE_EQ(limitOf(floors, "allreduce", Traffic::OneShot, 1, 45'000), 0.4);
  // Before the link was measured there is no such term.
  EXPECT_DOUBLE_EQ(limitOf({0.4, 0.5, 0.7, 0, ""}, "allreduce", Traffic::OneShot, 2, 45'000), 0.4 + 0.7);
}

TEST(Limit, TrafficIsInTheName) {
  EXPECT_EQ(trafficOf("oneshot.ll"), Traffic::OneShot);
  EXPECT_EQ(trafficOf("twoshot"), Traffic::TwoShot);
  EXPECT_EQ(trafficOf("ring"), Traffic::Least);
}

TEST(Limit, BusBandwidthIsNcclTests) {
  EXPECT_DOUBLE_EQ(busFactor("allreduce", 8), 1.75);
  EXPECT_DOUBLE_EQ(busFactor("allgather", 8), 0.875);
  EXPECT_DOUBLE_EQ(busFactor("reduce_scatter", 8), 0.875);
  EXPECT_DOUBLE_EQ(busFactor("broadcast", 8), 1);
}

TEST(Chain, OutputIsTheNextInput) {
  const Chain chain(allReduce(2, DType::F32), {64, 64}, false);
  ASSERT_TRUE(chain.whole());
  for (unsigned operation : {0u, 1u, 2u}) {
    const auto now = chain.offsets(operation), next = chain.offsets(operation + 1);
    EXPECT_EQ(now[1], next[0]);
    EXPECT_NE(now[0], now[1]);
  }
  ASSERT_EQ(chain.starts().size(), 1u);
  EXPECT_EQ(chain.starts()[0].offset, chain.offsets(0)[0]);
}

TEST(Chain, InPlaceIsOneBuffer) {
  const Chain chain(allReduce(2, DType::F32), {64, 64}, true);
  EXPECT_EQ(chain.offsets(0), chain.offsets(1));
  EXPECT_EQ(chain.offsets(0)[0], chain.offsets(0)[1]);
}

TEST(Chain, PartsAreTheFirstRow) {
  const Chain gather(manifestOf(4, DType::F32, {"M"}, {"N", "M"}), {8, 32}, false);
  ASSERT_TRUE(gather.chained());
  EXPECT_FALSE(gather.whole());
  EXPECT_EQ(gather.offsets(1)[0], gather.offsets(0)[1]);
  const Chain scatter(manifestOf(4, DType::F32, {"N", "M"}, {"M"}), {256, 64}, false);
  ASSERT_TRUE(scatter.chained());
  EXPECT_EQ(scatter.offsets(0)[1], scatter.offsets(1)[0]);
}

TEST(Chain, UnrelatedSizesAreNotChained) {
  EXPECT_FALSE(Chain(manifestOf(4, DType::F32, {"M"}, {"N", "M"}), {8, 24}, false).chained());
}

/// What a chain of sums gives, one after the other and rounded each time as a kernel rounds.
std::uint64_t summedUp(const Manifest &manifest, std::uint64_t bits, unsigned operations) {
  for (unsigned k = 0; k < operations; ++k) {
    float sum = 0;
    for (int rank = 0; rank < manifest.ranks; ++rank) sum += widen(manifest.dtype, bits);
    bits = narrow(manifest.dtype, sum);
  }
  return bits;
}

TEST(ChainValues, EndIsExactAndFinite) {
  for (DType dtype : {DType::F32, DType::BF16, DType::F16})
    for (int ranks : {2, 4, 8})
      for (unsigned operations : {10u, 50u, 51u}) {
        const Manifest manifest = allReduce(ranks, dtype);
        const ChainValues values(manifest, operations);
        ASSERT_TRUE(values.endKnown());
        for (std::uint64_t i : {0, 1, 2, 3, 4}) {
          EXPECT_EQ(summedUp(manifest, values.atStart(i), operations), values.atEnd(i))
              << keyword(dtype) << " " << ranks << " " << operations;
          EXPECT_LT(widen(dtype, values.atEnd(i)), 1e38f);
        }
      }
}

TEST(ChainValues, ZerosWhereNothingElseStaysFinite) {
  EXPECT_EQ(ChainValues(allReduce(2, DType::F16), 50).atStart(3), 0u);
  EXPECT_NE(ChainValues(allReduce(2, DType::F16), 10).atStart(3), 0u);
  EXPECT_NE(ChainValues(allReduce(8, DType::BF16), 50).atStart(3), 0u);
  EXPECT_EQ(ChainValues(allReduce(64, DType::F32), 50).atStart(3), 0u);
}

TEST(ChainValues, IntegersWrap) {
  const ChainValues values(allReduce(3, DType::U8), 2);
  EXPECT_EQ(values.atStart(7), 8u);
  EXPECT_EQ(values.atEnd(7), 72u);
  EXPECT_EQ(ChainValues(allReduce(3, DType::U8), 4).atEnd(7), 8u * 81 % 256);
}

TEST(ChainValues, RoundedSumsHaveNoKnownEnd) {
  EXPECT_FALSE(ChainValues(allReduce(3, DType::F32), 50).endKnown());
  EXPECT_TRUE(ChainValues(allReduce(3, DType::F32, ReduceOp::Max), 50).endKnown());
}

/// y == x + x of the other rank, by hand.
Manifest promisedAllReduce() {
  Manifest manifest = allReduce(2, DType::F32);
  for (unsigned rank : {0u, 1u}) {
    Manifest::Promise promise;
    promise.output = {rank, 1, Manifest::kWhole};
    promise.sources = {{0, 0, Manifest::kWhole}, {1, 0, Manifest::kWhole}};
    promise.reduces = true;
    manifest.promises.push_back(promise);
  }
  return manifest;
}

std::vector<std::byte> resultOf(const Expected &expected, int rank, bool right) {
  std::vector<std::byte> memory = expected.before(rank);
  for (const PlannedLaunch &launch : expected.operations())
    for (std::uint64_t i = 0; i < launch.extents[0]; ++i) {
      const auto at = [&](int r, std::size_t argument) {
        return expected.before(r).data() + launch.offsets[std::size_t(r)][argument] + i * 4;
      };
      const float sum =
          widen(DType::F32, readElement(DType::F32, at(0, 0))) + widen(DType::F32, readElement(DType::F32, at(1, 0)));
      writeElement(DType::F32, memory.data() + launch.offsets[std::size_t(rank)][1] + i * 4,
                   narrow(DType::F32, right || i != 5 ? sum : sum + 1));
    }
  return memory;
}

TEST(Expected, FindsWhatIsWrong) {
  RunRequest request;
  request.extents = {{"M", 33}};
  auto expected = Expected::create(promisedAllReduce(), request, 3);
  ASSERT_TRUE(expected) << expected.error().text;
  for (int rank : {0, 1}) {
    EXPECT_EQ((*expected)->compare(rank, resultOf(**expected, rank, true), false).wrong, 0u);
    const auto difference = (*expected)->compare(rank, resultOf(**expected, rank, false), false);
    EXPECT_GE(difference.wrong, 1u);
    EXPECT_NE(difference.first.find("`y`[5]"), std::string::npos) << difference.first;
    EXPECT_GE((*expected)->compare(rank, resultOf(**expected, rank, false), true).wrong, 1u);
  }
}

TEST(Expected, IsNotBoundByTheCapacityOfOneMember) {
  Manifest small = promisedAllReduce();
  small.capacity = 8;
  RunRequest request;
  request.extents = {{"M", 33}};
  EXPECT_FALSE(Expected::create(small, request, 1)) << "a member alone is";
  auto expected = Expected::create(coll::bench::Stage::contractOf(small), request, 1);
  ASSERT_TRUE(expected) << expected.error().text;
  EXPECT_EQ((*expected)->compare(0, resultOf(**expected, 0, true), false).wrong, 0u);
}

TEST(Expected, FindsWhatWasWrittenElsewhere) {
  RunRequest request;
  request.extents = {{"M", 33}};
  auto expected = Expected::create(promisedAllReduce(), request, 1);
  ASSERT_TRUE(expected) << expected.error().text;
  std::vector<std::byte> memory = resultOf(**expected, 0, true);
  memory[(*expected)->operations()[0].offsets[0][1] + 33 * 4] = std::byte{1};
  const auto difference = (*expected)->compare(0, memory, false);
  EXPECT_EQ(difference.wrong, 1u);
  EXPECT_NE(difference.first.find("outside"), std::string::npos);
}

} // namespace
