// What the host decides before a launch: shapes, the kernel's path, the bytes of the parameter. No GPU is needed.
#include "Samples.h"
#include "context/Backend.h"
#include "context/LaunchPlan.h"
#include "context/Parameters.h"
#include "context/Region.h"
#include "context/RunLayout.h"
#include "context/Values.h"

#define __device__
#include "coll/region.h"
#undef __device__

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>

using namespace coll;

namespace {

// The host's copies of what the device headers define.
static_assert(sizeof(LaunchStatus) == sizeof(Status));
static_assert(offsetof(LaunchStatus, where) == offsetof(Status, where));
static_assert(offsetof(LaunchStatus, epochs) == offsetof(Status, epochs));
static_assert(region::kMaxCtas == coll::kMaxCtas && region::kBarrier == coll::kBarrier && region::kWrap == coll::kWrap &&
              region::kCredit == coll::kCredit && region::kEpochWords == region::kEpochs);

template <int N>
struct Args {
  Team<N> team;
  const void *x;
  void *y;
  coll::u64 M;
  coll::u64 onePacket;
};

template <int N>
void comparesWithTheDevice() {
  std::vector<std::uint64_t> regions;
  for (int hop = 0; hop < N; ++hop) regions.push_back(0x1000 + hop);
  ParameterBlock block;
  block.append(teamWords(regions, 0x2000, 77, N - 1, 4096));
  void *pointers[] = {reinterpret_cast<void *>(0x3000), reinterpret_cast<void *>(0x4000)};
  block.append(pointers);
  const std::uint64_t extents[] = {123};
  block.append(extents);
  block.append(std::uint64_t(true));
  ASSERT_EQ(block.used * 8, sizeof(Args<N>));
  Args<N> args;
  std::memcpy(&args, block.words.data(), sizeof args);
  for (int hop = 0; hop < N; ++hop) EXPECT_EQ(reinterpret_cast<std::uint64_t>(args.team.peer[hop]), 0x1000u + hop);
  EXPECT_EQ(reinterpret_cast<std::uint64_t>(args.team.status), 0x2000u);
  EXPECT_EQ(args.team.timeout, 77u);
  EXPECT_EQ(args.team.me, unsigned(N - 1));
  EXPECT_EQ(args.team.clearBytes, 4096u);
  EXPECT_EQ(args.y, pointers[1]);
  EXPECT_EQ(args.M, 123u);
  EXPECT_EQ(args.onePacket, 1u);
}

TEST(Parameters, MatchTheDeviceStruct) {
  comparesWithTheDevice<2>();
  comparesWithTheDevice<3>();
  comparesWithTheDevice<72>();
  EXPECT_EQ(test::sampleAllreduce("oneshot", 8).manifest.parameterBytes(), sizeof(Args<8>));
}

ShapeLimits roomy() {
  ShapeLimits limits;
  limits.resident.fill(1000);
  return limits;
}

TEST(Shape, MeasuredTable) {
  const auto is = [](std::uint64_t packets, unsigned grid, unsigned block) {
    const LaunchShape shape = chooseShape(packets, roomy());
    EXPECT_EQ(shape.grid, grid) << packets;
    EXPECT_EQ(shape.block, block) << packets;
  };
  is(1, 1, 32);
  is(32, 1, 32);
  is(33, 1, 64);
  is(128, 1, 128);
  is(129, 2, 128);
  is(2048, 16, 128);
  is(32768, 256, 128);
  is(32769, 129, 256);
  is(65536, 256, 256);
  is(131072, 256, 512);
  is(1ull << 40, 256, 512);
}

TEST(Shape, StaysWithinEveryLimit) {
  for (std::uint64_t packets : {1ull, 31ull, 500ull, 5000ull, 100000ull, 1ull << 40})
    for (unsigned threads : {32u, 96u, 256u, 512u})
      for (unsigned resident : {1u, 7u, 66u}) {
        ShapeLimits limits;
        limits.maxThreads = threads;
        limits.maxCtas = 64;
        for (unsigned warps = 1; warps <= 16; ++warps) limits.resident[warps] = resident / warps;
        limits.resident[1] = resident;
        const LaunchShape shape = chooseShape(packets, limits);
        EXPECT_GE(shape.grid, 1u);
        EXPECT_LE(shape.grid, std::min(64u, limits.resident[shape.block / 32]));
        EXPECT_LE(shape.block, threads);
        EXPECT_EQ(shape.block % 32, 0u);
      }
}

/// Ranks that share a GPU wait for each other: whatever shapes the other grids have, there must be room for the last.
TEST(Shape, LeavesRoomForOtherRanks) {
  for (const unsigned multiprocessors : {108u, 132u, 148u})
    for (const unsigned grids : {4u, 8u, 16u}) {
      const unsigned share = shareOfGpu(32 * multiprocessors, multiprocessors, grids);
      EXPECT_GE(share, 1u);
      const unsigned others = share * (grids - 1), groups = multiprocessors / 18; // GPCs of 16 to 20
      EXPECT_LT(others, multiprocessors);                    // an empty multiprocessor for a CTA as large as one
      EXPECT_LE(others / groups + 8, 18u) << multiprocessors; // and eight in some GPC for a cluster
    }
  EXPECT_EQ(shareOfGpu(264, 132, 2), 132u); // one rank's launch waits for no other grid than its predecessor
  EXPECT_EQ(shareOfGpu(0, 132, 8), 0u);
}

TEST(Plan, AgreesWithTheManifest) {
  for (const auto &[algorithm, ranks] : {std::pair("oneshot", 2), {"oneshot", 8}, {"twoshot", 8}}) {
    const Manifest manifest = test::sampleAllreduce(algorithm, ranks).manifest;
    const LaunchPlan plan(manifest);
    for (std::uint64_t count : {0, 1, 2, 3, 4, 5, 63, 64, 65, 511, 512, 4096, 4097, 100000}) {
      const std::uint64_t extents[] = {count};
      EXPECT_EQ(plan.packets(extents), manifest.packets({{"M", count}})) << algorithm << " " << count;
      EXPECT_EQ(plan.argumentElements(1, extents), count);
    }
  }
}

TEST(Plan, OnePacketByCountShapeAndAlignment) {
  const Manifest manifest = test::sampleAllreduce("oneshot", 2).manifest;
  const LaunchPlan plan(manifest);
  const auto onePacket = [&](std::uint64_t x, std::uint64_t y, std::uint64_t count, LaunchShape shape) {
    void *pointers[] = {reinterpret_cast<void *>(x), reinterpret_cast<void *>(y)};
    const std::uint64_t extents[] = {count};
    return plan.onePacket(pointers, extents, shape);
  };
  EXPECT_TRUE(onePacket(0x1000, 0x2000, 128, {1, 32}));
  EXPECT_FALSE(onePacket(0x1000, 0x2000, 132, {1, 32})); // a packet more than threads
  EXPECT_TRUE(onePacket(0x1000, 0x2000, 132, {2, 32}));
  EXPECT_FALSE(onePacket(0x1000, 0x2000, 127, {1, 32}));
  EXPECT_FALSE(onePacket(0x1000, 0x2002, 128, {1, 32}));
  EXPECT_TRUE(onePacket(0x1008, 0x2008, 128, {1, 32}));
}

TEST(Plan, TakesFewerCtasWhereEachWaitsForFlags) {
  const auto is = [](const Manifest &manifest, unsigned grid, unsigned block) {
    const std::uint64_t extents[] = {65536 * manifest.packetBytes / sizeOf(manifest.dtype)};
    const LaunchShape shape = LaunchPlan(manifest).shape(extents, roomy());
    EXPECT_EQ(shape.grid, grid);
    EXPECT_EQ(shape.block, block);
  };
  const Manifest manifest = test::sampleAllreduce("oneshot", 2).manifest;
  is(manifest, 256, 256);
  Manifest flags = manifest, barriers = manifest, bulk = manifest;
  flags.mailboxes.front().sync = "flag";
  is(flags, 128, 512);
  barriers.barriers = 1;
  is(barriers, 128, 512);
  bulk.bulk = true, bulk.barriers = 2;
  is(bulk, 32, 512);
}

TEST(Plan, RefusesWhatDoesNotFit) {
  const Manifest manifest = test::sampleAllreduce("oneshot", 2).manifest;
  const LaunchPlan plan(manifest);
  const auto good = [&](std::uint64_t x, std::uint64_t y, std::uint64_t count) {
    void *pointers[] = {reinterpret_cast<void *>(x), reinterpret_cast<void *>(y)};
    const std::uint64_t extents[] = {count};
    return bool(plan.check(1, pointers, extents));
  };
  EXPECT_TRUE(good(0x100000, 0x200000, manifest.capacity));
  EXPECT_FALSE(good(0x100000, 0x200000, manifest.capacity + 1));
  EXPECT_FALSE(good(0x100000, 0x200000, UINT64_MAX));
  EXPECT_TRUE(good(0x100000, 0x100000, 64)); // in place
  const unsigned size = sizeOf(manifest.dtype);
  EXPECT_FALSE(good(0x100000, 0x100000 + size, 64)); // neither in place nor apart
  EXPECT_TRUE(good(0x100000, 0x100000 + 64 * size, 64));
}

TEST(Plan, OverlapIsOfTheRanksOwnRow) {
  Manifest manifest = test::sampleAllreduce("oneshot", 2).manifest; // made into an all-gather
  manifest.arguments[1].extents = {"N", "M"};
  manifest.inplace = {{"x", "y[me]"}};
  const LaunchPlan plan(manifest);
  const unsigned row = 64 * sizeOf(manifest.dtype);
  const auto good = [&](int rank, std::uint64_t x, std::uint64_t y) {
    void *pointers[] = {reinterpret_cast<void *>(x), reinterpret_cast<void *>(y)};
    const std::uint64_t extents[] = {64};
    return bool(plan.check(rank, pointers, extents));
  };
  EXPECT_TRUE(good(0, 0x100000, 0x100000));
  EXPECT_TRUE(good(1, 0x100000 + row, 0x100000));
  EXPECT_FALSE(good(1, 0x100000, 0x100000));
  EXPECT_TRUE(good(1, 0x100000 + 2 * row, 0x100000));
}

/// Short rows take whole packets each in a mailbox, 480 elements of bf16 in `ll128`: random sizes leave room for that.
TEST(Layout, RandomRowsFit) {
  const char *const text = R"(coll 1
collective rows(in x: bf16[R][H], out y: bf16[R][H], out most: f32[R][1]) ensures y == reduce(sum, r in ranks: r.x) ensures most == rowmax(x)
algorithm oneshot for rows on lsa(2) when bytes <= 64Ki {
  mailbox box[N] of bf16[R][H] sync ll128
  forall p in ranks: x -> p.box[me]
  y = reduce(sum, r in ranks: box[r])
  most = rowmax(x)
}
)";
  Diagnostics diagnostics;
  const auto program = Program::parse(text, "rows.coll", diagnostics);
  ASSERT_TRUE(program) << diagnostics.render();
  const auto kernel = program->compile({"oneshot", 2, DType::BF16, ReduceOp::Sum}, {}, diagnostics);
  ASSERT_TRUE(kernel) << diagnostics.render();
  RunRequest request;
  request.randomCounts = true;
  auto layout = RunLayout::create(kernel->manifest, request, kernel->manifest.capacity);
  ASSERT_TRUE(layout) << layout.error().text;
  const LaunchPlan plan(kernel->manifest);
  for (std::uint64_t number = 0; number < 300; ++number) {
    const auto fits = plan.checkExtents(layout->next(number).extents);
    EXPECT_TRUE(fits) << fits.error().text;
    layout->reset();
  }
}

TEST(Plan, ProductsDoNotWrap) {
  Manifest manifest = test::sampleAllreduce("oneshot", 2).manifest;
  manifest.extents = {"R", "H"};
  manifest.domain.extents = manifest.arguments[0].extents = manifest.arguments[1].extents = {"R", "H"};
  const LaunchPlan plan(manifest);
  const std::uint64_t large[] = {1ull << 32, 1ull << 32}, none[] = {UINT64_MAX, 0};
  EXPECT_EQ(plan.domainElements(large), UINT64_MAX);
  EXPECT_EQ(plan.domainElements(none), 0u);
}

/// Extents that are worked out, among them each operator.
const std::vector<std::string> kComputed = {"H/128", "2*M",     "(M+3)/4*2", "N*M-H", "M-H-1", "(M-1)-(H-2)",
                                            "log2(M)", "M/(H+1)", "M/(H-H)",   "N+1",   "M*M"};

TEST(Plan, WorksOutExtentsAsTheirTextSays) {
  Manifest manifest = test::sampleAllreduce("oneshot", 2).manifest;
  manifest.extents = {"M", "H"};
  for (const std::string &text : kComputed) {
    manifest.arguments[0].extents = {text};
    const LaunchPlan plan(manifest);
    for (const std::uint64_t m : {std::uint64_t(0), std::uint64_t(1), std::uint64_t(1000), std::uint64_t(1) << 40, UINT64_MAX})
      for (const std::uint64_t h : {std::uint64_t(0), std::uint64_t(2), std::uint64_t(384)}) {
        const std::uint64_t extents[] = {m, h};
        const auto valueOf = [&](std::string_view name) { return name == "M" ? m : name == "H" ? h : 2; };
        EXPECT_EQ(plan.argumentElements(0, extents), extentValue(text, valueOf)) << text << " " << m << " " << h;
      }
  }
}

/// What a launch needs of texts is read when the plan is made: changed later they are as good as what they were.
TEST(Plan, ReadsNoTextAtALaunch) {
  Manifest manifest = test::sampleAllreduce("oneshot", 2).manifest;
  manifest.extents = {"M", "H"};
  const auto give = [&](const std::string &text) {
    manifest.domain.extents = {text};
    for (Manifest::Argument &argument : manifest.arguments) argument.extents = {text};
  };
  void *pointers[] = {reinterpret_cast<void *>(0x100000), reinterpret_cast<void *>(0x200000)};
  void *shared[] = {pointers[0], pointers[0]};
  for (const std::string &text : {std::string("2*(M+H/128)"), std::string("M")}) {
    give(text);
    const LaunchPlan plan(manifest);
    const std::uint64_t extents[] = {100, 1280}, elements = plan.domainElements(extents), packets = plan.packets(extents);
    const LaunchShape shape = plan.shape(extents, roomy());
    EXPECT_EQ(elements, text == "M" ? 100u : 220u);
    give("M*M*M*M*M*M*M*M*M*M");
    manifest.extents = {"a", "b"};
    manifest.inplace = {{"a", "b"}};
    EXPECT_EQ(plan.domainElements(extents), elements);
    EXPECT_EQ(plan.argumentElements(1, extents), elements);
    EXPECT_EQ(plan.packets(extents), packets);
    EXPECT_EQ(plan.shape(extents, roomy()).grid, shape.grid);
    EXPECT_TRUE(plan.check(0, pointers, extents));
    EXPECT_TRUE(plan.check(0, shared, extents));
    EXPECT_FALSE(LaunchPlan(manifest).check(0, shared, extents)); // which the new texts do not allow
    EXPECT_TRUE(plan.onePacket(pointers, extents, shape));
    EXPECT_NE(LaunchPlan(manifest).domainElements(extents), elements); // as the new texts say
    manifest.extents = {"M", "H"};
    manifest.inplace = {{"y", "x"}};
  }
}

TEST(Values, NarrowFloatsRoundTrip) {
  for (DType type : {DType::F16, DType::BF16, DType::F8E4M3, DType::F8E5M2})
    for (std::uint64_t bits = 0; bits < 1u << 8 * sizeOf(type); ++bits) {
      const float value = widen(type, bits);
      ASSERT_TRUE(sameElement(type, narrow(type, value), bits, true)) << keyword(type) << " " << bits << " " << value;
    }
}

TEST(Values, RoundsToNearestEven) {
  EXPECT_EQ(narrow(DType::BF16, 1.0f + 1.0f / 256), 0x3f80u); // halfway, down to even
  EXPECT_EQ(narrow(DType::BF16, 1.0f + 3.0f / 256), 0x3f82u); // halfway, up to even
  EXPECT_EQ(narrow(DType::F16, 65520.0f), 0x7c00u);           // halfway to what there is not: infinity
  EXPECT_EQ(narrow(DType::F16, 65519.0f), 0x7bffu);
  EXPECT_EQ(narrow(DType::F16, 1e-8f), 0u);
  EXPECT_EQ(narrow(DType::F8E4M3, 1e9f), 0x7eu);
}

} // namespace
