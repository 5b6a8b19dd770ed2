// Every instance of the standard library on emulated ranks: counts from none to what spans several CTAs, elements off
// alignment, in place where the contract allows it, random sizes under random schedules; and that sums are what the
// order class promises. A number of ranks and a type for each member, by turns; with COLL_TEST_FULL=1 all of them.
#include "coll/coll.h"
#include "context/Reference.h"
#include "context/Runner.h"
#include "context/Values.h"
#include "emulator/KernelModule.h"
#include "tool/Adversary.h"

#include <gtest/gtest.h>

#include <cmath>

namespace coll {
namespace {

const bool kFull = std::getenv("COLL_TEST_FULL") && std::string(std::getenv("COLL_TEST_FULL")) == "1";
constexpr int kRanks[] = {2, 3, 4, 5, 8};

/// One kernel of the library.
struct Case {
  std::string collective;
  Instance instance;
};
std::ostream &operator<<(std::ostream &out, const Case &c) {
  return out << c.instance.member << ", " << c.instance.ranks << " ranks, " << keyword(c.instance.dtype);
}

std::unique_ptr<Program> programOf(const std::string &collective) {
  Diagnostics diagnostics;
  auto program = Program::parse(*standardLibraryText(collective), collective + ".coll", diagnostics);
  EXPECT_TRUE(program) << diagnostics.render();
  return program;
}

/// By default one for each member, so that numbers of ranks and types meet all collectives.
std::vector<Case> cases() {
  std::vector<Case> list;
  std::size_t turn = 0;
  for (const std::string &collective : standardLibrary()) {
    const auto program = programOf(collective);
    for (const Member &member : program->members()) {
      const std::size_t mine = turn++;
      std::vector<DType> types;
      for (const DType type : {DType::F32, DType::BF16})
        if (std::count(member.dtypes.begin(), member.dtypes.end(), type) || (member.dtypes.empty() && type == DType::F32))
          types.push_back(type);
      for (std::size_t r = 0; r < std::size(kRanks); ++r)
        for (std::size_t t = 0; t < types.size(); ++t) {
          if (!kFull && (r != mine % std::size(kRanks) || t != mine % types.size())) continue;
          if (kRanks[r] >= member.minRanks && kRanks[r] <= member.maxRanks)
            list.push_back({collective, {member.name, kRanks[r], types[t], ReduceOp::Sum}});
        }
    }
  }
  return list;
}

class Kernels : public testing::Test {
protected:
  void compile(const Case &c) {
    const auto program = programOf(c.collective);
    Diagnostics diagnostics;
    auto compiled = program->compile(c.instance, {}, diagnostics);
    ASSERT_TRUE(compiled) << diagnostics.render();
    kernel = std::move(*compiled);
    // Kept, so that every run finds it compiled.
    emu::CompileError error;
    module = emu::KernelModule::compile(kernel.cuda, std::span(&kernel.manifest.entry, 1), error);
    ASSERT_TRUE(module) << error.message;
  }
  void SetUp() override {
    if (emu::hostCompiler().empty()) GTEST_SKIP() << "there is no C++ compiler";
  }

  void expectGood(RunRequest request, const std::string &what) {
    request.place = Place::Cpu;
    const auto report = run(kernel, request);
    ASSERT_TRUE(report) << what << ": " << report.error().text;
    for (std::size_t rank = 0; rank < report->ranks.size(); ++rank)
      EXPECT_EQ(report->ranks[rank].firstWrong, "") << what << ", rank " << rank;
  }

  void counts();
  void schedules();
  std::string sums();

  Kernel kernel;
  std::shared_ptr<const emu::KernelModule> module;
};

/// Of a vector; what goes by rows has random sizes alone.
void Kernels::counts() {
  if (kernel.manifest.extents.size() != 1) return;
  for (const std::uint64_t count : {0, 1, 7, 127, 4096 + 3, 9000})
    for (const bool inplace : {false, true}) {
      if (inplace && (kernel.manifest.inplace.empty() || count % 2 == 0)) continue;
      RunRequest request;
      request.extents = {{kernel.manifest.extents.front(), count}};
      request.launches = 3;
      request.inplace = inplace;
      request.elementOffset = count != 9000; // whole packets have a path of their own
      expectGood(request, std::to_string(count) + " elements" + (inplace ? " in place" : ""));
    }
}

void Kernels::schedules() {
  RunRequest request;
  request.randomCounts = true;
  request.launches = 6;
  request.maxElements = 1024;
  for (const bool inplace : {false, true}) {
    if (inplace && kernel.manifest.inplace.empty()) continue;
    request.inplace = inplace;
    tool::Adversary::Settings settings;
    settings.atomicity = kernel.manifest.unsplitBytes > 16  ? emu::Atomicity::Bytes128
                         : kernel.manifest.unsplitBytes > 8 ? emu::Atomicity::Bytes16
                                                            : emu::Atomicity::Element;
    const auto adversary = tool::Adversary::create(kernel, request, settings);
    ASSERT_TRUE(adversary) << adversary.error().text;
    for (std::uint64_t seed = inplace ? 5 : 1, last = seed + (kFull ? 16 : 3); seed <= last; ++seed) {
      const auto outcome = adversary->run(seed);
      ASSERT_TRUE(outcome) << outcome.error().text;
      EXPECT_EQ(outcome->failure, "") << "seed " << seed;
    }
  }
}

/// Numbers whose sums depend on the order, and on every rounding.
std::vector<std::byte> roughNumbers(DType type, std::uint64_t elements, std::uint64_t key) {
  std::vector<std::byte> bytes(elements * sizeOf(type));
  for (std::uint64_t i = 0; i < elements; ++i) {
    const std::uint64_t random = mix(key, i);
    const float value = std::ldexp(1 + float(random >> 40) * 0x1p-24f, int(random % 13) - 6);
    writeElement(type, bytes.data() + i * sizeOf(type), narrow(type, random >> 20 & 1 ? -value : value));
  }
  return bytes;
}

/// What a sum may be off by if each of its additions rounds to the type.
float bound(DType type, std::uint64_t sumOfSizes, int ranks) {
  const float unit = type == DType::F32 ? 0x1p-24f : 0x1p-8f;
  return 2 * float(ranks) * unit * widen(type, sumOfSizes);
}

std::vector<std::byte> sizesOf(DType type, std::vector<std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeOf(type))
    writeElement(type, bytes.data() + at, narrow(type, std::fabs(widen(type, readElement(type, bytes.data() + at)))));
  return bytes;
}

/// The same launch with two shapes: alike on all ranks that get the same; to the bit what the reference has, if the order
/// is ascending; near it and alike for both shapes, if it is fixed; near it, if it may be any. What is not so, or nothing.
std::string Kernels::sums() {
  const Manifest &m = kernel.manifest;
  if (!m.op || m.extents.size() != 1) return {};
  constexpr std::uint64_t kCount = 4099;
  const Extents extents = {{m.extents.front(), kCount}};
  auto context = Context::create({.ranks = m.ranks, .fabric = FabricKind::Emulated});
  if (!context) return context.error().text;
  const auto collective = context->load(kernel);
  if (!collective) return collective.error().text;
  const std::size_t arguments = m.arguments.size();
  std::vector<std::vector<std::vector<std::byte>>> inputs(m.ranks, std::vector<std::vector<std::byte>>(arguments));
  std::vector<std::vector<std::vector<std::byte>>> outputs[2];

  const LaunchSizes sizes{extents, {}};
  LaunchSizes withScalars = sizes;
  std::vector<Scalar> scalars;
  for (const Manifest::Scalar &scalar : m.scalars) scalars.push_back(Scalar(1)), withScalars.scalars.emplace(scalar.name, Scalar(1));
  for (int shape = 0; shape < 2; ++shape) {
    std::vector<std::vector<void *>> buffers(m.ranks, std::vector<void *>(arguments));
    for (std::size_t a = 0; a < arguments; ++a) {
      const std::uint64_t elements = m.elements(m.arguments[a], extents), bytes = elements * sizeOf(m.arguments[a].dtype);
      const auto symmetric = context->allocateSymmetric(bytes);
      if (!symmetric) return symmetric.error().text;
      for (int rank = 0; rank < m.ranks; ++rank) {
        buffers[rank][a] = symmetric->address(rank);
        if (m.arguments[a].direction == Direction::Out) continue;
        inputs[rank][a] = roughNumbers(m.arguments[a].dtype, elements, mix(mix(7, rank), a));
        if (auto done = context->upload(rank, buffers[rank][a], inputs[rank][a].data(), bytes); !done) return done.error().text;
      }
    }
    Shape asked;
    asked.ctas = shape ? 2 : 1, asked.threads = shape ? 64 : 32;
    const std::uint64_t counts[] = {kCount};
    for (int rank = 0; rank < m.ranks; ++rank) {
      const auto launched = collective->launch(rank, buffers[rank], counts, scalars, nullptr, asked);
      if (!launched) return launched.error().text;
    }
    const auto done = context->synchronize();
    if (!done) return done.error().text;
    outputs[shape].assign(m.ranks, std::vector<std::vector<std::byte>>(arguments));
    for (int rank = 0; rank < m.ranks; ++rank)
      for (std::size_t a = 0; a < arguments; ++a)
        if (m.arguments[a].direction != Direction::In) {
          outputs[shape][rank][a].resize(m.elements(m.arguments[a], extents) * sizeOf(m.arguments[a].dtype));
          if (auto got = context->download(rank, outputs[shape][rank][a].data(), buffers[rank][a], outputs[shape][rank][a].size()); !got)
            return got.error().text;
        }
  }

  const Reference reference(m);
  const Inputs given = [&](int rank, std::size_t a) -> const std::vector<std::byte> & { return inputs[rank][a]; };
  auto absolute = inputs;
  for (auto &ofRank : absolute)
    for (std::size_t a = 0; a < arguments; ++a) ofRank[a] = sizesOf(m.arguments[a].dtype, ofRank[a]);
  const Inputs positive = [&](int rank, std::size_t a) -> const std::vector<std::byte> & { return absolute[rank][a]; };
  for (int rank = 0; rank < m.ranks; ++rank)
    for (std::size_t a = 0; a < arguments; ++a) {
      if (m.arguments[a].direction == Direction::In) continue;
      const DType type = m.arguments[a].dtype;
      const auto should = reference.expected(rank, a, withScalars, given), size = reference.expected(rank, a, withScalars, positive);
      if (should.empty()) continue; // nothing is promised of this rank
      const auto &is = outputs[0][rank][a];
      const std::string who = "rank " + std::to_string(rank);
      if (m.order == "ascending" && is != should) return who + " has other bits than the reference";
      if (m.order != "any" && is != outputs[1][rank][a]) return who + " has other bits with another grid";
      if (reference.sameOnAllRanks())
        for (const auto &run : outputs)
          if (run[rank][a] != run[0][a]) return who + " has other bits than rank 0";
      for (std::size_t at = 0; at < is.size(); at += sizeOf(type)) {
        const float got = widen(type, readElement(type, is.data() + at)), wanted = widen(type, readElement(type, should.data() + at));
        if (!(std::fabs(got - wanted) <= bound(type, readElement(type, size.data() + at), m.ranks)))
          return who + ", byte " + std::to_string(at) + ": " + std::to_string(got) + " is too far from " + std::to_string(wanted);
      }
    }
  return {};
}

class Matrix : public Kernels, public testing::WithParamInterface<Case> {};

TEST_P(Matrix, IsRight) {
  compile(GetParam());
  if (HasFatalFailure()) return;
  counts();
  schedules();
  EXPECT_EQ(sums(), "");
}

class OrderClass : public Kernels {};

// A ring adds each piece from another rank on: the numbers show it.
TEST_F(OrderClass, AnotherOrderHasOtherBits) {
  for (const DType type : {DType::F32, DType::BF16}) {
    compile({"allreduce", {"allreduce.ring.ll", 4, type, ReduceOp::Sum}});
    kernel.manifest.order = "ascending";
    EXPECT_NE(sums().find("has other bits than the reference"), std::string::npos) << sums();
  }
}

// The last bit of one rank's result, which is near enough for any order, is seen.
TEST_F(OrderClass, RanksThatDifferAreFound) {
  compile({"allreduce", {"allreduce.oneshot.ll", 3, DType::F32, ReduceOp::Sum}});
  kernel.manifest.order = "any";
  EXPECT_EQ(sums(), "");
  const std::string store = "coll::store<Shape>(launch, a.y, i, a.M, box);";
  const std::size_t at = kernel.cuda.find(store);
  ASSERT_NE(at, std::string::npos);
  kernel.cuda.replace(at, store.size(), "Packet off = box; off.word[0] ^= launch.me() == 2; coll::store<Shape>(launch, a.y, i, a.M, off);");
  EXPECT_NE(sums().find("rank 2 has other bits than rank 0"), std::string::npos) << sums();
}

std::string nameOf(const testing::TestParamInfo<Case> &info) {
  std::string name = info.param.instance.member + "_n" + std::to_string(info.param.instance.ranks) + "_" +
                     std::string(keyword(info.param.instance.dtype));
  for (char &c : name) c = c == '.' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(Library, Matrix, testing::ValuesIn(cases()), nameOf);

} // namespace
} // namespace coll
