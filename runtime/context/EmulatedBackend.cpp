// Ranks on the CPU: launches are queued, and the emulator runs them when the host synchronises.
//
// The emulator's machines run once, so every synchronisation makes one for each stretch of launches of one kernel, with
// fresh scratch regions: at rest, these are as good as those of the launches before.
#include "context/Backend.h"

#include "emulator/Emulator.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>

namespace coll {
namespace {

class EmulatedKernel final : public LoadedKernel {
public:
  EmulatedKernel(const Manifest &manifest, std::shared_ptr<const emu::KernelModule> module)
      : manifest(manifest), module(std::move(module)) {
    // Fibers stand for threads: few show all that many would, sooner.
    shapeLimits = {std::min(manifest.maxThreads, 64u), std::min(manifest.maxCtas, 2u), {}};
    shapeLimits.resident.fill(2);
  }
  const ShapeLimits &limits() const override { return shapeLimits; }

  const Manifest manifest;
  const std::shared_ptr<const emu::KernelModule> module;

private:
  ShapeLimits shapeLimits;
};

struct QueuedLaunch {
  const EmulatedKernel *kernel;
  LaunchShape shape;
  bool onePacket;
  std::vector<char *> pointers;
  std::vector<std::uint64_t> bytes; ///< of each pointer
  std::vector<std::uint64_t> extents, scalars;
};

/// A stretch of host memory that some launch's arguments cover, and its twin in the emulator.
struct Stretch {
  char *begin, *end;
  emu::Buffer twin;
};

/// The least number of stretches such that every argument lies in one. Those that only touch stay apart, so that an
/// access past the end of one is seen.
std::vector<Stretch> stretchesOf(const std::vector<QueuedLaunch> &launches) {
  std::vector<Stretch> list;
  for (const QueuedLaunch &launch : launches)
    for (std::size_t i = 0; i < launch.pointers.size(); ++i)
      if (launch.bytes[i]) list.push_back({launch.pointers[i], launch.pointers[i] + launch.bytes[i], {}});
  std::sort(list.begin(), list.end(), [](const Stretch &a, const Stretch &b) { return a.begin < b.begin; });
  std::vector<Stretch> merged;
  for (const Stretch &stretch : list)
    if (!merged.empty() && stretch.begin < merged.back().end)
      merged.back().end = std::max(merged.back().end, stretch.end);
    else
      merged.push_back(stretch);
  return merged;
}

emu::Pointer twinOf(const std::vector<Stretch> &stretches, char *pointer, std::uint64_t bytes) {
  if (bytes == 0) return {};
  const auto after = std::upper_bound(stretches.begin(), stretches.end(), pointer,
                                      [](char *value, const Stretch &stretch) { return value < stretch.begin; });
  const Stretch &stretch = *(after - 1);
  return {stretch.twin, std::uint64_t(pointer - stretch.begin)};
}

class EmulatedBackend final : public Backend {
public:
  explicit EmulatedBackend(int ranks) : queues(ranks) {}

  FabricKind kind() const override { return FabricKind::Emulated; }
  int ranks() const override { return int(queues.size()); }
  std::string describe() const override { return std::to_string(ranks()) + " ranks on the CPU (emulated)"; }
  void *stream(int) const override { return nullptr; }

  Result<void *> allocate(int, std::uint64_t bytes) override {
    void *memory = std::aligned_alloc(256, (std::max<std::uint64_t>(bytes, 1) + 255) / 256 * 256);
    if (!memory) return Error{Error::Code::Failed, "out of memory for " + std::to_string(bytes) + " bytes"};
    return memory;
  }
  void release(int, void *memory) override { std::free(memory); }
  Result<void> upload(int, void *to, const void *from, std::uint64_t bytes) override {
    return copyNow(to, from, bytes);
  }
  Result<void> download(int, void *to, const void *from, std::uint64_t bytes) override {
    return copyNow(to, from, bytes);
  }
  Result<void> copy(int, void *, const void *, std::uint64_t) override { return noGraphs(); }
  Result<void> beginCapture(int) override { return noGraphs(); }
  Result<std::unique_ptr<Graph>> endCapture(int) override { return noGraphs().error(); }
  Result<void> replay(int, Graph &) override { return noGraphs(); }
  void drain() override {
    for (auto &queue : queues) queue.clear();
  }

  Result<std::unique_ptr<LoadedKernel>> load(const Kernel &kernel) override;
  Result<void> launch(LoadedKernel &kernel, int rank, void *stream, const ResolvedLaunch &launch) override;
  Result<bool> finished() override;

private:
  static Result<void> copyNow(void *to, const void *from, std::uint64_t bytes) {
    std::copy_n(static_cast<const char *>(from), bytes, static_cast<char *>(to));
    return {};
  }
  static Result<void> noGraphs() { return Error{Error::Code::MachineLacks, "graphs need a GPU"}; }
  Result<void> runStretch(const EmulatedKernel &kernel, const std::vector<std::vector<QueuedLaunch>> &launches);

  std::vector<std::deque<QueuedLaunch>> queues; ///< [rank]
};

Result<std::unique_ptr<LoadedKernel>> EmulatedBackend::load(const Kernel &kernel) {
  emu::CompileError error;
  auto module = emu::KernelModule::compile(kernel.cuda, std::span(&kernel.manifest.entry, 1), error);
  if (!module) return Error{error.noCompiler ? Error::Code::MachineLacks : Error::Code::Failed, error.message};
  return std::unique_ptr<LoadedKernel>(std::make_unique<EmulatedKernel>(kernel.manifest, std::move(module)));
}

Result<void> EmulatedBackend::launch(LoadedKernel &loaded, int rank, void *, const ResolvedLaunch &launch) {
  auto &kernel = static_cast<EmulatedKernel &>(loaded);
  QueuedLaunch queued{&kernel,
                      launch.shape,
                      launch.onePacket,
                      {},
                      {},
                      {launch.extents.begin(), launch.extents.end()},
                      {launch.scalars.begin(), launch.scalars.end()}};
  const LaunchPlan plan(kernel.manifest);
  for (std::size_t i = 0; i < launch.pointers.size(); ++i) {
    queued.pointers.push_back(static_cast<char *>(launch.pointers[i]));
    queued.bytes.push_back(plan.argumentElements(i, launch.extents) * sizeOf(kernel.manifest.arguments[i].dtype));
  }
  queues[rank].push_back(std::move(queued));
  return {};
}

Result<bool> EmulatedBackend::finished() {
  for (;;) {
    const auto busy = std::find_if(queues.begin(), queues.end(), [](const auto &queue) { return !queue.empty(); });
    if (busy == queues.end()) return true;
    const EmulatedKernel &kernel = *busy->front().kernel;
    std::vector<std::vector<QueuedLaunch>> launches(queues.size());
    for (std::size_t rank = 0; rank < queues.size(); ++rank)
      while (!queues[rank].empty() && queues[rank].front().kernel == &kernel) {
        launches[rank].push_back(std::move(queues[rank].front()));
        queues[rank].pop_front();
      }
    if (auto done = runStretch(kernel, launches); !done) {
      drain();
      return done.error();
    }
  }
}

Result<void> EmulatedBackend::runStretch(const EmulatedKernel &kernel,
                                         const std::vector<std::vector<QueuedLaunch>> &launches) {
  emu::Machine machine(kernel.manifest, emu::Policy::fair());
  std::vector<std::vector<Stretch>> stretches;
  for (int rank = 0; rank < ranks(); ++rank) {
    stretches.push_back(stretchesOf(launches[rank]));
    for (Stretch &stretch : stretches.back()) {
      const std::span bytes(reinterpret_cast<const std::byte *>(stretch.begin), stretch.end - stretch.begin);
      stretch.twin = machine.allocate(rank, "rank " + std::to_string(rank) + "'s memory", bytes.size(),
                                      unsigned(reinterpret_cast<std::uintptr_t>(stretch.begin) % 256));
      machine.write(stretch.twin, bytes);
    }
    for (const QueuedLaunch &queued : launches[rank]) {
      emu::Launch launch{kernel.module,  kernel.manifest.entry, queued.shape.grid, queued.shape.block, {},
                         queued.extents, queued.scalars,        queued.onePacket};
      for (std::size_t i = 0; i < queued.pointers.size(); ++i)
        launch.arguments.push_back(twinOf(stretches.back(), queued.pointers[i], queued.bytes[i]));
      std::string error;
      if (!machine.launch(rank, launch, error)) return Error{Error::Code::Failed, error};
    }
  }
  const emu::Result result = machine.run();
  if (result.status != emu::Result::Ok)
    return Error{Error::Code::Failed,
                 "`" + kernel.manifest.member + "`: " + std::string(emu::name(result.status)) + "\n" + result.report};
  for (const auto &ofRank : stretches)
    for (const Stretch &stretch : ofRank)
      machine.read(stretch.twin, std::span(reinterpret_cast<std::byte *>(stretch.begin), stretch.end - stretch.begin));
  return {};
}

} // namespace

Result<std::unique_ptr<Backend>> createEmulatedBackend(const ContextOptions &options) {
  return std::unique_ptr<Backend>(std::make_unique<EmulatedBackend>(options.ranks ? options.ranks : 2));
}

} // namespace coll
