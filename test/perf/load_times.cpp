// What start-up costs, apart from any GPU: text of a .coll file to CUDA text, NVRTC for the first kernel of a process and
// for later ones, and a kernel that the disk cache has. A measurement, not a test. Each member has a process of its own, so
// that each has a first kernel.
//
//   load_times [RANKS] FILE.coll [MEMBER...]      bf16 and sum, RANKS 2 and every member unless given
#include "coll/coll.h"
#include "jit/Jit.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <sys/wait.h>
#include <unistd.h>

using namespace coll;

namespace {

constexpr int kRepeats = 9;

int fail(const std::string &text) { return std::fprintf(stderr, "%s\n", text.c_str()), 1; }

/// Milliseconds on a clock, and those that this process has had a processor for.
struct Times {
  double wall, processor;
};

Times now() {
  const auto clock = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration<double, std::milli>(clock).count(), 1e3 * double(std::clock()) / CLOCKS_PER_SEC};
}

/// What `work` takes; each of `least` becomes that if it is less.
template <class Work>
void time(Times &least, Work work) {
  const Times start = now();
  work();
  const Times end = now();
  least = {std::min(least.wall, end.wall - start.wall), std::min(least.processor, end.processor - start.processor)};
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

/// Prints a member's line. In this process nothing has loaded NVRTC before.
int measure(const std::string &text, const std::string &member, int ranks, const std::string &folder) {
  Diagnostics diagnostics;
  const std::optional<Kernel> kernel = compile(text, member, ranks, diagnostics);
  if (!kernel) return fail(diagnostics.render());
  const auto arch = Arch::parse("sm_90");
  constexpr Times kLong = {1e9, 1e9};
  Times load = kLong, first = kLong, next = kLong, texts = kLong, cache = kLong;
  std::optional<Result<Jit>> fresh;
  time(load, [&] { fresh = Jit::create(KernelCache(std::filesystem::path())); });
  const auto cached = Jit::create(KernelCache(folder));
  if (!*fresh || !cached || !arch) return fail("no NVRTC");
  bool good = true;
  for (int i = 0; i < kRepeats; ++i) {
    time(i == 0 ? first : next, [&] { good &= bool((*fresh)->compile(renamed(*kernel, i), *arch)); });
    time(texts, [&] { compile(text, member, ranks, diagnostics); });
    Times last = kLong;
    bool kept = false;
    time(last, [&] {
      const auto binary = cached->compile(*kernel, *arch);
      kept = binary && binary->cached;
    });
    if (kept) cache = last.wall < cache.wall ? last : cache;
  }
  if (!good || cache.wall == kLong.wall) return fail(member + ": NVRTC or the cache fails");
  std::printf("%-34s %3d %7.2f %7.1f %7.1f %7.1f %7.1f %7.1f %7.2f\n", member.c_str(), ranks, texts.wall, load.wall, first.wall,
              first.processor, next.wall, next.processor, cache.wall);
  return 0;
}

/// The file's members of which there is a kernel for so many ranks.
std::vector<std::string> membersOf(const std::string &text, int ranks) {
  Diagnostics diagnostics;
  std::vector<std::string> names;
  const auto program = Program::parse(text, "measured.coll", diagnostics);
  if (!program) return fail(diagnostics.render()), names;
  for (const Member &m : program->members())
    if (Diagnostics refusals; program->compile({m.name, ranks, DType::BF16, ReduceOp::Sum}, {}, refusals))
      names.push_back(m.name);
  return names;
}

} // namespace

int main(int argc, char **argv) {
  int first = 1, ranks = 2;
  if (argc > 1 && std::atoi(argv[1]) > 0) ranks = std::atoi(argv[first++]);
  if (argc - first < 1) return fail("load_times [RANKS] FILE.coll [MEMBER...]");
  const auto text = readSource(argv[first++]);
  if (!text) return fail(text.error().text);
  std::vector<std::string> members(argv + first, argv + argc);
  if (members.empty()) members = membersOf(*text, ranks);
  std::string folder = "/tmp/coll-load-times-XXXXXX";
  if (!mkdtemp(folder.data())) return fail("no folder for the cache");
  std::printf("milliseconds, the least of %d: on the clock, and (cpu) of the processor\n", kRepeats);
  std::printf("%-34s %3s %7s %7s %7s %7s %7s %7s %7s\n", "member", "N", "text", "load", "first", "(cpu)", "next", "(cpu)", "cached");
  std::fflush(stdout);
  int result = 0;
  for (const std::string &member : members) {
    const pid_t child = fork();
    if (child == 0) {
      const int status = measure(*text, member, ranks, folder);
      std::fflush(stdout);
      _exit(status);
    }
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) result = 1;
  }
  std::filesystem::remove_all(folder);
  return result;
}
