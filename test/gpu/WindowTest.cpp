// Arguments that peers touch: where they must lie, and that both barriers are needed.
#include "coll/coll.h"
#include "emulator/Emulator.h"

#include <gtest/gtest.h>

#include <cstring>

namespace coll {
namespace {

constexpr int kRanks = 4;
constexpr std::uint64_t kCount = 300;

Kernel compiled(const std::string &member) {
  Diagnostics diagnostics;
  auto program = Program::parse(*standardLibraryText("allreduce"), "allreduce.coll", diagnostics);
  EXPECT_TRUE(program) << diagnostics.render();
  auto kernel = program->compile({member, kRanks, DType::F32, ReduceOp::Sum}, {}, diagnostics);
  EXPECT_TRUE(kernel) << diagnostics.render();
  return *kernel;
}

std::string without(std::string text, const std::string &line) {
  const std::size_t at = text.find(line);
  EXPECT_NE(at, std::string::npos) << line;
  return text.erase(at, line.size());
}

/// A kernel of the caller's, with the same parameter: sets x to 1.
const char *const kOverwrite = R"(
extern "C" __global__ void overwrite(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  launch.start(); // waits for the kernels before
  for (coll::u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < a.M; i += gridDim.x * blockDim.x)
    coll::ptx::store4(const_cast<float *>(a.x[0]) + i, 0x3f800000);
  launch.finish();
}
)";

std::vector<std::byte> floats(float value) {
  std::vector<std::byte> bytes(kCount * 4);
  for (std::uint64_t i = 0; i < kCount; ++i) std::memcpy(bytes.data() + i * 4, &value, 4);
  return bytes;
}

/// One-shot all-reduce of x, which the caller then overwrites, and again. How many elements of both results are wrong;
/// all, if a peer's x is touched outside the peer's launch.
std::uint64_t wrongElements(const Kernel &kernel, const std::shared_ptr<const emu::KernelModule> &module,
                            std::uint64_t seed) {
  using namespace emu;
  Machine machine(kernel.manifest, Policy::adversarial(seed));
  std::vector<Buffer> x, first, second;
  for (int rank = 0; rank < kRanks; ++rank) {
    x.push_back(machine.allocate(rank, "x", kCount * 4));
    machine.write(x.back(), floats(float(rank + 2)));
    first.push_back(machine.allocate(rank, "y of the first", kCount * 4));
    second.push_back(machine.allocate(rank, "y of the second", kCount * 4));
  }
  for (int rank = 0; rank < kRanks; ++rank)
    for (const auto &[entry, y] : {std::pair(kernel.manifest.entry, first[rank]), {"overwrite", first[rank]},
                                   {kernel.manifest.entry, second[rank]}, {"overwrite", second[rank]}}) {
      Launch launch{module, entry, 2, 32, {}, {kCount}, {}, false};
      for (int hop = 0; hop < kRanks; ++hop) launch.arguments.push_back({x[(rank + hop) % kRanks]});
      launch.arguments.push_back({y});
      std::string error;
      EXPECT_TRUE(machine.launch(rank, launch, error)) << error;
    }
  if (machine.run().status != emu::Result::Ok) return kRanks * kCount;
  std::uint64_t wrong = 0;
  for (int rank = 0; rank < kRanks; ++rank)
    for (const auto &[buffer, want] : {std::pair(first[rank], 2.f + 3 + 4 + 5), {second[rank], 4.f}}) {
      std::vector<std::byte> bytes(kCount * 4), right = floats(want);
      machine.read(buffer, bytes);
      for (std::uint64_t i = 0; i < kCount; ++i) wrong += std::memcmp(&bytes[i * 4], &right[i * 4], 4) != 0;
    }
  return wrong;
}

/// How many of some seeds give a wrong result.
int countBad(const Kernel &kernel, const std::string &text) {
  const std::string entries[] = {kernel.manifest.entry, "overwrite"};
  emu::CompileError error;
  auto module = emu::KernelModule::compile(text + kOverwrite, entries, error);
  if (!module) return -1; // no compiler here
  int bad = 0;
  for (std::uint64_t seed = 0; seed < 24; ++seed) bad += wrongElements(kernel, module, seed) != 0;
  return bad;
}

TEST(Window, BothBarriersAreNeeded) {
  const Kernel kernel = compiled("allreduce.pull_oneshot");
  const int right = countBad(kernel, kernel.cuda);
  if (right < 0) GTEST_SKIP() << "no C++ compiler";
  EXPECT_EQ(right, 0);
  EXPECT_GT(countBad(kernel, without(kernel.cuda, "launch.barrier(0);")), 0);
  EXPECT_GT(countBad(kernel, without(kernel.cuda, "launch.barrier(1);")), 0);
}

TEST(Window, MustLieInSymmetricMemory) {
  auto context = Context::create({.ranks = kRanks, .fabric = FabricKind::Emulated});
  ASSERT_TRUE(context) << context.error().text;
  auto allreduce = context->load(compiled("allreduce.pull_oneshot"));
  if (!allreduce) GTEST_SKIP() << allreduce.error().text;
  auto buffer = context->allocateSymmetric(2 * kCount * 4);
  ASSERT_TRUE(buffer);
  const auto x = [&](int rank) { return static_cast<char *>(buffer->address(rank)); };
  void *y = *context->allocate(0, kCount * 4), *plain = *context->allocate(0, kCount * 4);
  const auto refused = [&](Result<void> result, const std::string &words) {
    EXPECT_FALSE(result);
    return !result && result.error().code == Error::Code::BadInput &&
           result.error().text.find(words) != std::string::npos;
  };
  EXPECT_TRUE(refused(allreduce->launch(0, {plain, y}, {kCount}), "`x` is a window"));
  EXPECT_TRUE(refused(allreduce->launch(0, {x(1), y}, {kCount}), "`x` is a window")) << "another rank's";
  EXPECT_TRUE(refused(allreduce->launch(0, {x(0) + kCount * 4 + 4, y}, {kCount}), "`x` is a window")) << "past its end";
  EXPECT_TRUE(allreduce->launch(0, {x(0) + kCount * 4, y}, {kCount}));
  void *other = *context->allocate(1, kCount * 4);
  EXPECT_TRUE(refused(allreduce->launch(1, {x(1), other}, {kCount}), "at another place"));
  for (int rank = 1; rank < kRanks; ++rank)
    EXPECT_TRUE(allreduce->launch(rank, {x(rank) + kCount * 4, *context->allocate(rank, kCount * 4)}, {kCount}));
  EXPECT_TRUE(context->synchronize());
  void *released = x(0);
  context->release(*buffer);
  EXPECT_TRUE(refused(allreduce->launch(0, {released, y}, {kCount}), "`x` is a window"));
}

} // namespace
} // namespace coll
