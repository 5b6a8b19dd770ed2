// More than 2^32 elements of one byte on real GPUs: a member that copies and two that reduce. What is compared lies at both
// ends, around 2^31 and 2^32, and in every part of the vectors; behind their ends nothing may change. Skipped without a
// GPU of 64 GiB; all ranks may share it.
#include "InlinedHeaders.h"
#include "context/Values.h"
#include "coll/coll.h"
#include "platform/Cuda.h"
#include "platform/Machine.h"

#include <gtest/gtest.h>

using namespace coll;

namespace {

constexpr int kRanks = 2;
constexpr std::uint64_t kCount = (1ull << 32) + 12345; ///< elements of each rank's x; no whole packets
constexpr std::uint64_t kPart = 256 << 20, kSample = 1 << 16, kBehind = 1 << 16;
constexpr unsigned char kUntouched = 0xee;

/// Where it is looked, within a vector of `count` elements: from here on kSample, or to the end.
std::vector<std::uint64_t> placesIn(std::uint64_t count) {
  std::vector<std::uint64_t> list;
  for (std::uint64_t part = 0; part < count; part += kPart) list.push_back(part);
  for (const std::uint64_t edge : {1ull << 31, 1ull << 32, (unsigned long long)count})
    if (edge <= count) list.push_back(edge - kSample / 2 - 1);
  return list;
}

/// Element `i` of a rank's x. Alike over long stretches, as it is written, but for what a sample has.
class Input {
public:
  Input(int rank) : rank(rank), places(placesIn(kCount)) {}
  unsigned char operator[](std::uint64_t i) const {
    for (const std::uint64_t place : places)
      if (i >= place && i < place + kSample) return (unsigned char)(mix(mix(99, std::uint64_t(rank)), i) % 251);
    return background(i / kPart);
  }
  unsigned char background(std::uint64_t part) const { return (unsigned char)(17 * part + 101 * std::uint64_t(rank) + 3); }
  const int rank;
  const std::vector<std::uint64_t> places;
};

class Large : public testing::Test {
protected:
  void SetUp() override {
    const auto machine = machineGpus();
    if (!machine || machine->gpus.empty()) GTEST_SKIP() << "there is no GPU";
    if (machine->gpus.front().memoryBytes < 64ull << 30) GTEST_SKIP() << "the GPU has less than 64 GiB";
    auto made = Context::create({.ranks = kRanks, .timeoutSeconds = 20});
    ASSERT_TRUE(made) << made.error().text;
    context.emplace(std::move(*made));
    auto opened = Gpus::open({});
    ASSERT_TRUE(opened) << opened.error().text;
    gpus = std::move(*opened);
  }

  static Kernel compiled(const std::string &member) {
    const std::string collective = member.substr(0, member.find('.'));
    Diagnostics diagnostics;
    const auto program = Program::parse(*standardLibraryText(collective), collective + ".coll", diagnostics);
    EXPECT_TRUE(program) << diagnostics.render();
    auto kernel = program->compile({member, kRanks, DType::U8, ReduceOp::Sum}, {}, diagnostics);
    EXPECT_TRUE(kernel) << diagnostics.render();
    return std::move(*kernel);
  }

  void fill(int rank, unsigned char *to, std::uint64_t bytes, unsigned char value) const {
    Current current(gpus->cuda, gpus->list[std::size_t(rank) % gpus->list.size()]);
    ASSERT_EQ(gpus->cuda.cuMemsetD8(reinterpret_cast<CUdeviceptr>(to), value, bytes), CUDA_SUCCESS);
    ASSERT_EQ(gpus->cuda.cuCtxSynchronize(), CUDA_SUCCESS);
  }
  void prepare(std::uint64_t outputs);
  void launch(const Kernel &kernel);
  std::vector<unsigned char> outputOf(int rank, std::uint64_t from, std::uint64_t bytes) {
    std::vector<unsigned char> values(bytes);
    EXPECT_TRUE(context->download(rank, values.data(), y[std::size_t(rank)] + from, bytes));
    return values;
  }
  /// Elements that are not what `want(i)` says, near every place of interest, and bytes behind the end that were touched.
  template <class Want>
  std::uint64_t wrong(std::uint64_t count, const Want &want) {
    std::uint64_t bad = 0;
    for (int rank = 0; rank < kRanks; ++rank) {
      for (const std::uint64_t place : placesIn(count)) {
        const std::uint64_t from = place > kSample ? place - kSample : 0, bytes = std::min(3 * kSample, count - from);
        const auto values = outputOf(rank, from, bytes);
        for (std::uint64_t i = 0; i < bytes; ++i) bad += values[i] != want(from + i);
      }
      for (const unsigned char value : outputOf(rank, count, kBehind)) bad += value != kUntouched;
    }
    return bad;
  }

  std::optional<Context> context;
  std::unique_ptr<Gpus> gpus;
  std::vector<SymmetricBuffer> buffers;
  std::vector<unsigned char *> x, y; ///< [rank]
};

void Large::prepare(std::uint64_t outputs) {
  for (auto *side : {&x, &y}) {
    const std::uint64_t bytes = (side == &x ? kCount : outputs) + kBehind;
    const auto buffer = context->allocateSymmetric(bytes);
    ASSERT_TRUE(buffer) << buffer.error().text;
    buffers.push_back(*buffer);
    for (int rank = 0; rank < kRanks; ++rank) side->push_back(static_cast<unsigned char *>(buffer->address(rank)));
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    const Input input(rank);
    for (std::uint64_t part = 0; part * kPart < kCount; ++part)
      ASSERT_NO_FATAL_FAILURE(fill(rank, x[std::size_t(rank)] + part * kPart, std::min(kPart, kCount - part * kPart), input.background(part)));
    for (const std::uint64_t place : input.places) {
      std::vector<unsigned char> values(std::min(kSample, kCount - place));
      for (std::uint64_t i = 0; i < values.size(); ++i) values[i] = input[place + i];
      ASSERT_TRUE(context->upload(rank, x[std::size_t(rank)] + place, values.data(), values.size()));
    }
    ASSERT_NO_FATAL_FAILURE(fill(rank, y[std::size_t(rank)], outputs + kBehind, kUntouched));
  }
}

void Large::launch(const Kernel &kernel) {
  const auto collective = context->load(kernel);
  ASSERT_TRUE(collective) << collective.error().text;
  for (int rank = 0; rank < kRanks; ++rank) {
    const auto done = collective->launch(rank, {x[std::size_t(rank)], y[std::size_t(rank)]}, {kCount});
    ASSERT_TRUE(done) << done.error().text;
  }
  const auto ended = context->synchronize();
  ASSERT_TRUE(ended) << ended.error().text;
}

TEST_F(Large, AllgatherCopies) {
  ASSERT_NO_FATAL_FAILURE(prepare(kRanks * kCount));
  const Input inputs[kRanks] = {Input(0), Input(1)};
  const auto want = [&](std::uint64_t i) { return inputs[i / kCount][i % kCount]; };
  for (const char *member : {"allgather.push", "allgather.stream.flag"}) {
    for (int rank = 0; rank < kRanks; ++rank)
      ASSERT_NO_FATAL_FAILURE(fill(rank, y[std::size_t(rank)], kRanks * kCount + kBehind, kUntouched));
    ASSERT_NO_FATAL_FAILURE(launch(compiled(member)));
    EXPECT_EQ(wrong(kRanks * kCount, want), 0u) << member;
  }
}

TEST_F(Large, AllreduceAdds) {
  ASSERT_NO_FATAL_FAILURE(prepare(kCount));
  const Input inputs[kRanks] = {Input(0), Input(1)};
  const auto want = [&](std::uint64_t i) { return (unsigned char)(inputs[0][i] + inputs[1][i]); };
  for (const char *member : {"allreduce.stream.flag", "allreduce.pull_twoshot"}) {
    for (int rank = 0; rank < kRanks; ++rank)
      ASSERT_NO_FATAL_FAILURE(fill(rank, y[std::size_t(rank)], kCount + kBehind, kUntouched));
    ASSERT_NO_FATAL_FAILURE(launch(compiled(member)));
    EXPECT_EQ(wrong(kCount, want), 0u) << member;
  }
}

// Offsets of 32 bits, which begin anew behind 2^32, are found.
TEST_F(Large, FindsAnOffsetOf32Bits) {
  ASSERT_NO_FATAL_FAILURE(prepare(kRanks * kCount));
  const Input inputs[kRanks] = {Input(0), Input(1)};
  Kernel kernel = compiled("allgather.push");
  kernel.cuda = test::replaced(test::withHeaders(kernel.cuda),
                               "const char *at = reinterpret_cast<const char *>(from) + u64(i) * P::kBytes;",
                               "const char *at = reinterpret_cast<const char *>(from) + i * P::kBytes;");
  ASSERT_NO_FATAL_FAILURE(launch(kernel));
  EXPECT_GT(wrong(kRanks * kCount, [&](std::uint64_t i) { return inputs[i / kCount][i % kCount]; }), 0u);
}

} // namespace
