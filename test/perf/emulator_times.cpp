// What a run on emulated ranks costs: one-shot all-reduce, sync ll, of 8 ranks x 2 CTAs x 128 threads, 512 lines and 4
// launches, by schedule and by what takes effect at once. A measurement, not a test.
//
//   emulator_times [SEEDS]      seeds 0 to SEEDS-1, 16 unless given
#include "coll/coll.h"
#include "emulator/Emulator.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>

using namespace coll;

namespace {

constexpr int kRanks = 8, kLaunches = 4, kRepeats = 3;
constexpr unsigned kCtas = 2, kThreads = 128;
constexpr std::uint64_t kElements = 512 * 2; ///< a line holds two of f32

int fail(const std::string &text) { return std::fprintf(stderr, "%s\n", text.c_str()), 1; }


/// Milliseconds of processor time of a run, its regions and buffers included; negative if it failed.
double measure(const Kernel &kernel, const std::shared_ptr<const emu::KernelModule> &module, const emu::Policy &policy) {
  const std::clock_t begin = std::clock();
  emu::Machine machine(kernel.manifest, policy);
  const std::vector<float> ones(kElements, 1);
  for (int launch = 0; launch < kLaunches; ++launch)
    for (int rank = 0; rank < kRanks; ++rank) {
      const emu::Buffer x = machine.allocate(rank, "x", kElements * 4), y = machine.allocate(rank, "y", kElements * 4);
      machine.write(x, std::as_bytes(std::span(ones)));
      std::string error;
      if (!machine.launch(rank, {module, kernel.manifest.entry, kCtas, kThreads, {{x}, {y}}, {kElements}, {}}, error))
        return std::fprintf(stderr, "%s\n", error.c_str()), -1;
    }
  const emu::Result result = machine.run();
  if (result.status != emu::Result::Ok) return std::fprintf(stderr, "%s\n", result.report.c_str()), -1;
  return 1e3 * double(std::clock() - begin) / CLOCKS_PER_SEC;
}

} // namespace

int main(int argc, char **argv) {
  const unsigned seeds = argc > 1 ? unsigned(std::atoi(argv[1])) : 16;
  const auto text = standardLibraryText("allreduce");
  Diagnostics diagnostics;
  const auto program = Program::parse(*text, "allreduce.coll", diagnostics);
  const auto kernel = program ? program->compile({"oneshot.ll", kRanks, DType::F32, ReduceOp::Sum}, {}, diagnostics) : std::nullopt;
  if (!kernel) return fail(diagnostics.render());
  emu::CompileError error;
  const auto module = emu::KernelModule::compile(kernel->cuda, std::span(&kernel->manifest.entry, 1), error);
  if (!module) return fail(error.message);

  double fair = 1e9;
  for (int i = 0; i < kRepeats; ++i) fair = std::min(fair, measure(*kernel, module, emu::Policy::fair()));
  std::printf("ms of processor time, the least of %d\n%-10s %6.1f\n", kRepeats, "fair", fair);
  std::printf("%-10s %6s %6s %6s %6s %6s\n", "at once", "mean", "uniform", "prio", "frozen", "starved");
  for (const emu::Atomicity atomicity : {emu::Atomicity::Bytes16, emu::Atomicity::Bytes8}) {
    std::array<double, 4> sum = {};
    double most = 0;
    for (unsigned seed = 0; seed < seeds; ++seed) {
      double least = 1e9;
      for (int i = 0; i < kRepeats; ++i)
        least = std::min(least, measure(*kernel, module, emu::Policy::adversarial(seed, atomicity)));
      sum[seed % 4] += least, most = std::max(most, least);
    }
    std::printf("%-10u %6.1f", unsigned(atomicity), (sum[0] + sum[1] + sum[2] + sum[3]) / seeds);
    for (double of : sum) std::printf(" %6.1f", of / (seeds / 4.0));
    std::printf("   worst %.1f\n", most);
  }
}
