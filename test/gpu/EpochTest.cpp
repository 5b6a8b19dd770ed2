// Launches across the end of the epoch's 32 bits and across the half of them on real GPUs, every sync mode and rule of
// reuse, one by one and from graphs, grids and sizes changing; and that the clearing at the end is needed. Skipped
// without a GPU; with one, all ranks share it. The programs are those of test/emu/epochs.coll.
#include "InlinedHeaders.h"
#include "Samples.h"
#include "context/LaunchPlan.h"
#include "context/Runner.h"
#include "platform/Machine.h"

#include <gtest/gtest.h>

using namespace coll;

namespace {

struct Case {
  int ranks;
  bool graph;
};
std::ostream &operator<<(std::ostream &out, const Case &c) {
  return out << c.ranks << " ranks" << (c.graph ? ", graphs" : "");
}

class Epochs : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    const auto machine = machineGpus();
    if (!machine || machine->gpus.empty()) GTEST_SKIP() << "there is no GPU";
    const std::filesystem::path built = COLL_TEST_EPOCHS;
    Diagnostics diagnostics;
    program = Program::parse(test::readText(std::filesystem::exists(built) ? built : "test/emu/epochs.coll"),
                             "epochs.coll", diagnostics);
    ASSERT_TRUE(program) << diagnostics.render();
  }

  Kernel compiled(const std::string &member, int ranks) const {
    Diagnostics diagnostics;
    const auto kernel = program->compile({member, ranks, DType::F32, ReduceOp::Sum}, {}, diagnostics);
    EXPECT_TRUE(kernel) << diagnostics.render();
    return *kernel;
  }

  static RunRequest request(std::uint32_t firstEpoch, bool graph) {
    RunRequest request;
    request.place = Place::Gpu;
    request.randomCounts = true;
    request.launches = 60;
    request.graph = graph;
    request.graphLaunches = 5;
    request.firstEpoch = firstEpoch;
    request.timeoutSeconds = 2;
    return request;
  }

  static std::uint32_t last(const Kernel &kernel) { return LaunchPlan(kernel.manifest).lastEpoch() + 1; }

  std::unique_ptr<Program> program;
};

TEST_P(Epochs, EndAndBeginAnew) {
  for (const Member &member : program->members()) {
    const Kernel kernel = compiled(member.name, GetParam().ranks);
    for (const std::uint32_t first : {last(kernel) - 3, 0x7ffffffdu}) {
      const auto report = run(kernel, request(first, GetParam().graph));
      ASSERT_TRUE(report) << member.name << " from " << first << ": " << report.error().text;
      for (const RankReport &rank : report->ranks)
        EXPECT_EQ(rank.firstWrong, "") << member.name << " from " << first;
    }
  }
}

/// The kernel with rank 0 late in every launch, so that whoever does not wait for it reads what is not there yet. Late
/// before it lets the next launch begin, or that one would spend its delay beside it.
std::string withALateRank(const std::string &cuda) {
  const std::string begun = "  coll::Launch<N> launch(a.team);\n";
  return test::replaced(cuda, begun,
                        "  for (const long long from = clock64(); a.team.me == 0 && clock64() - from < 200000;);\n" + begun);
}

// After the last number, flags and barrier words of launches before it are ahead of all that come, so nobody waits.
TEST_P(Epochs, AreClearedAtTheEnd) {
  for (const char *member : {"oneshot.flag", "oneshot.barrier"}) {
    Kernel kernel = compiled(member, GetParam().ranks);
    kernel.cuda = withALateRank(test::withHeaders(kernel.cuda));
    RunRequest request = this->request(last(kernel) - 3, GetParam().graph);
    request.randomCounts = false; // a launch of nothing has nothing to wait for
    request.extents = {{"M", 250}};
    const auto right = run(kernel, request);
    ASSERT_TRUE(right) << right.error().text;
    EXPECT_TRUE(right->passed) << member;

    kernel.cuda = test::replaced(kernel.cuda, "ptx::storeRelaxed16(region + u64(u) * 16, Words2{{0, 0}})", ";");
    const auto broken = run(kernel, request);
    EXPECT_FALSE(broken && broken->passed) << member;
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, Epochs,
                         testing::Values(Case{2, false}, Case{2, true}, Case{4, false}, Case{4, true}, Case{8, true}),
                         [](const auto &info) {
                           return std::to_string(info.param.ranks) + "ranks" + (info.param.graph ? "Graphs" : "Eager");
                         });

} // namespace
