// The whole standard library on real GPUs, every element of every launch compared: counts from none to what spans
// several CTAs, buffers off alignment, in place where the contract allows it, sizes that change from launch to launch,
// one by one and from graphs; and that sums are what the order class promises. Skipped without a GPU; with fewer GPUs
// than ranks they share. By default 2 and 8 ranks, f32 and bf16 by turns; with COLL_TEST_FULL=1 2, 3, 4 and 8 ranks, both
// types, and every other type and operator. COLL_TEST_RANKS=3,4 chooses the ranks.
#include "CompiledTogether.h"
#include "OrderClass.h"
#include "context/Runner.h"
#include "platform/Machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace coll {
namespace {

const bool kFull = std::getenv("COLL_TEST_FULL") && std::string(std::getenv("COLL_TEST_FULL")) == "1";

struct Case {
  int ranks;
  std::string collective;
};
std::ostream &operator<<(std::ostream &out, const Case &c) {
  return out << c.collective << ", " << c.ranks << " ranks";
}

std::vector<int> numbersOfRanks() {
  const char *chosen = std::getenv("COLL_TEST_RANKS");
  if (!chosen) return kFull ? std::vector<int>{2, 3, 4, 8} : std::vector<int>{2, 8};
  std::vector<int> ranks;
  std::istringstream list(chosen);
  for (std::string number; std::getline(list, number, ',');) ranks.push_back(std::stoi(number));
  return ranks;
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const int ranks : numbersOfRanks())
    for (const std::string &collective : standardLibrary()) list.push_back({ranks, collective});
  return list;
}

std::unique_ptr<Program> programOf(const std::string &collective) {
  Diagnostics diagnostics;
  auto program = Program::parse(*standardLibraryText(collective), collective + ".coll", diagnostics);
  EXPECT_TRUE(program) << diagnostics.render();
  return program;
}

bool has(const std::vector<DType> &types, DType type) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

class Matrix : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    const auto machine = machineGpus();
    if (!machine || machine->gpus.empty()) GTEST_SKIP() << "there is no GPU";
    arch = machine->gpus.front().arch;
    program = programOf(GetParam().collective);
  }

  void compile(const std::vector<Instance> &instances);
  void expectGood(const Kernel &kernel, RunRequest request, const std::string &what);
  void counts(const Kernel &kernel);
  void compileByTurns();
  void backToBack(const Kernel &kernel, int launches, std::uint64_t maxElements);

  RunSeries series;
  unsigned arch = 0;
  std::unique_ptr<Program> program;
  std::vector<Kernel> kernels;
};
void Matrix::compile(const std::vector<Instance> &instances) {
  std::string failed;
  kernels = test::compiledTogether(*program, instances, arch, failed);
  ASSERT_EQ(failed, "");
}

void Matrix::expectGood(const Kernel &kernel, RunRequest request, const std::string &what) {
  request.place = Place::Gpu;
  request.timeoutSeconds = 5;
  const auto report = series.run(kernel, request);
  const std::string name = kernel.manifest.member + ", " + std::string(keyword(kernel.manifest.dtype)) + ", " + what;
  ASSERT_TRUE(report) << name << ": " << report.error().text;
  for (std::size_t rank = 0; rank < report->ranks.size(); ++rank)
    EXPECT_EQ(report->ranks[rank].firstWrong, "") << name << ", rank " << rank;
}

/// Of a vector; what goes by rows has random sizes alone.
void Matrix::counts(const Kernel &kernel) {
  if (kernel.manifest.extents.size() != 1) return;
  for (const std::uint64_t count : {0, 1, 7, 127, 4096 + 3, 100000})
    for (const bool inplace : {false, true}) {
      if (inplace && (kernel.manifest.inplace.empty() || count % 2 == 0)) continue;
      if (kernel.manifest.capacity && count > kernel.manifest.capacity) continue;
      RunRequest request;
      request.extents = {{kernel.manifest.extents.front(), count}};
      request.launches = 5;
      request.inplace = inplace;
      request.elementOffset = count != 100000; // whole packets have a path of their own
      expectGood(kernel, request, std::to_string(count) + " elements" + (inplace ? " in place" : ""));
    }
}

void Matrix::backToBack(const Kernel &kernel, int launches, std::uint64_t maxElements) {
  for (const bool graph : {false, true})
    for (const bool inplace : {false, true}) {
      if (inplace && kernel.manifest.inplace.empty()) continue;
      RunRequest request;
      request.randomCounts = true;
      request.maxElements = maxElements;
      request.launches = launches;
      request.graph = graph;
      request.inplace = inplace;
      request.elementOffset = inplace ? 3 : 0;
      request.seed = 1 + 2 * graph + inplace;
      expectGood(kernel, request, std::string(graph ? "graphs" : "one by one") + (inplace ? ", in place" : ""));
    }
}

/// Every member; f32 and bf16 by turns where all types would take too long.
void Matrix::compileByTurns() {
  std::vector<Instance> instances;
  std::size_t turn = 0;
  for (const Member &member : program->members()) {
    if (GetParam().ranks < member.minRanks || GetParam().ranks > member.maxRanks) continue;
    std::vector<DType> types;
    for (const DType type : {DType::F32, DType::BF16})
      if (has(member.dtypes, type) || (member.dtypes.empty() && type == DType::F32)) types.push_back(type);
    if (!kFull && types.size() > 1) types = {types[turn++ % 2]};
    for (const DType type : types) instances.push_back({member.name, GetParam().ranks, type, ReduceOp::Sum});
  }
  compile(instances);
}

TEST_P(Matrix, IsRightInEverySize) {
  ASSERT_NO_FATAL_FAILURE(compileByTurns());
  for (const Kernel &kernel : kernels) {
    ASSERT_NO_FATAL_FAILURE(counts(kernel));
    const std::uint64_t maxElements = kernel.manifest.domain.rows ? 1 << 14 : 1 << 17; // rows of one element are slow
    ASSERT_NO_FATAL_FAILURE(backToBack(kernel, 200, maxElements));
  }
}

/// Sizes so small that a launch takes microseconds: mailboxes are filled again as soon as they ever are.
TEST_P(Matrix, IsRightAThousandTimes) {
  ASSERT_NO_FATAL_FAILURE(compileByTurns());
  for (const Kernel &kernel : kernels) ASSERT_NO_FATAL_FAILURE(backToBack(kernel, 1000, 1 << 12));
}

TEST_P(Matrix, SumsAsItsOrderPromises) {
  std::vector<Instance> instances;
  for (const Member &member : program->members())
    if (GetParam().ranks >= member.minRanks && GetParam().ranks <= member.maxRanks && has(member.dtypes, DType::BF16) && !member.ops.empty())
      instances.push_back({member.name, GetParam().ranks, DType::BF16, ReduceOp::Sum});
  if (instances.empty()) return;
  ASSERT_NO_FATAL_FAILURE(compile(instances));
  auto context = Context::create({.ranks = GetParam().ranks});
  ASSERT_TRUE(context) << context.error().text;
  for (const Kernel &kernel : kernels)
    EXPECT_EQ(test::whereSumsDiffer(*context, kernel, {1, 32}, {4, 256}), "") << kernel.manifest.member;
}

/// Types and operators, at one number of ranks.
TEST_P(Matrix, IsRightForEveryTypeAndOperator) {
  if (!kFull || GetParam().ranks != 4) GTEST_SKIP() << "for COLL_TEST_FULL=1, at 4 ranks";
  std::vector<Instance> instances;
  for (const Member &member : program->members()) {
    for (const DType type : member.dtypes)
      if (type != DType::F32 && type != DType::BF16) instances.push_back({member.name, 4, type, ReduceOp::Sum});
    for (const ReduceOp op : member.ops)
      if (op != ReduceOp::Sum && has(member.dtypes, DType::F32)) instances.push_back({member.name, 4, DType::F32, op});
  }
  ASSERT_NO_FATAL_FAILURE(compile(instances));
  for (const Kernel &kernel : kernels) {
    RunRequest request;
    request.randomCounts = true;
    request.maxElements = 1 << 15;
    request.launches = 100;
    request.graph = true;
    request.elementOffset = 1;
    expectGood(kernel, request, "graphs");
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, Matrix, testing::ValuesIn(cases()), [](const auto &info) {
  return info.param.collective + std::to_string(info.param.ranks);
});

} // namespace
} // namespace coll
