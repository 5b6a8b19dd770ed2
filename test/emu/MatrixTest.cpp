// Every instance of the standard library on emulated ranks: counts from none to what spans several CTAs, elements off
// alignment, in place where the contract allows it, random sizes under random schedules; and that sums are what the
// order class promises. A number of ranks and a type for each member, by turns; with COLL_TEST_FULL=1 all of them.
#include "OrderClass.h"
#include "coll/coll.h"
#include "context/Runner.h"
#include "emulator/KernelModule.h"
#include "tool/Adversary.h"

#include <gtest/gtest.h>

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

/// What the order class promises, by two shapes.
std::string Kernels::sums() {
  auto context = Context::create({.ranks = kernel.manifest.ranks, .fabric = FabricKind::Emulated});
  return context ? test::whereSumsDiffer(*context, kernel, {1, 32}, {2, 64}) : context.error().text;
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
