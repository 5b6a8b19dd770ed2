// What start-up costs, apart from any GPU: text of a .coll file to CUDA text, NVRTC for the first kernel of a process and
// for later ones, and a kernel that the disk cache has. A measurement, not a test.
//
//   load_times [RANKS] FILE.coll MEMBER...      ll members for bf16 sums, RANKS 2 unless given
#include "coll/coll.h"
#include "jit/Jit.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

using namespace coll;

namespace {

constexpr int kRepeats = 9;

int fail(const std::string &text) { return std::fprintf(stderr, "%s\n", text.c_str()), 1; }

double now() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Spread {
  double median, least, most;
};

Spread spreadOf(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times.front(), times.back()};
}

void print(const std::string &what, const Spread &s) {
  std::printf("%-44s %8.2f %8.2f %8.2f\n", what.c_str(), s.median, s.least, s.most);
}

std::optional<Kernel> compile(const std::string &text, const std::string &member, int ranks, Diagnostics &diagnostics) {
  const auto program = Program::parse(text, "measured.coll", diagnostics);
  if (!program) return std::nullopt;
  return program->compile({member, ranks, DType::BF16, ReduceOp::Sum}, {}, diagnostics);
}

/// Two kernels that differ, so that no cache of NVRTC's helps the second.
Kernel renamed(const Kernel &kernel, int number) {
  Kernel other = kernel;
  other.cuda += "// " + std::to_string(number) + "\n";
  return other;
}

int measure(const std::string &text, const std::string &member, int ranks, const Jit &fresh, const Jit &cached,
            const Arch &arch) {
  Diagnostics diagnostics;
  std::optional<Kernel> kernel = compile(text, member, ranks, diagnostics);
  if (!kernel) return fail(diagnostics.render());
  std::vector<double> texts, nvrtc, cache;
  for (int i = 0; i < kRepeats; ++i) {
    const double start = now();
    compile(text, member, ranks, diagnostics);
    texts.push_back(now() - start);
    const auto built = fresh.compile(renamed(*kernel, i), arch);
    if (!built) return fail(built.error().text);
    nvrtc.push_back(built->milliseconds);
    if (const auto kept = cached.compile(*kernel, arch); !kept) return fail(kept.error().text);
    else if (kept->cached) cache.push_back(kept->milliseconds);
  }
  const std::string what = member + ", N = " + std::to_string(ranks);
  print(what + ": text", spreadOf(texts));
  std::printf("%-44s %8.2f\n", (what + ": NVRTC, first").c_str(), nvrtc.front());
  nvrtc.erase(nvrtc.begin());
  print(what + ": NVRTC, next", spreadOf(nvrtc));
  if (cache.empty()) return fail("the cache keeps nothing");
  print(what + ": from the cache", spreadOf(cache));
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  int first = 1, ranks = 2;
  if (argc > 1 && std::atoi(argv[1]) > 0) ranks = std::atoi(argv[first++]);
  if (argc - first < 2) return fail("load_times [RANKS] FILE.coll MEMBER...");
  const auto text = readSource(argv[first++]);
  if (!text) return fail(text.error().text);
  std::string folder = "/tmp/coll-load-times-XXXXXX";
  if (!mkdtemp(folder.data())) return fail("no folder for the cache");
  const auto fresh = Jit::create(KernelCache(std::filesystem::path())), cached = Jit::create(KernelCache(folder));
  const auto arch = Arch::parse("sm_90");
  if (!fresh || !cached || !arch) return fail("no NVRTC");
  std::printf("NVRTC %s; milliseconds  %20s %8s %8s\n", fresh->nvrtc().versionText().c_str(), "median", "min", "max");
  int result = 0;
  for (; first < argc && result == 0; ++first) result = measure(*text, argv[first], ranks, *fresh, *cached, *arch);
  std::filesystem::remove_all(folder);
  return result;
}
