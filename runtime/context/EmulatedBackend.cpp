// Ranks on the CPU: launches are queued, and the emulator runs them when the host synchronises.
//
// The emulator's machines run once, so every synchronisation makes one, with fresh scratch regions for each kernel: at
// rest, these are as good as those of the launches before.
#include "context/Backend.h"

#include "emulator/Emulator.h"
#include "platform/Parallel.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

namespace coll {
namespace {

class EmulatedKernel final : public LoadedKernel {
public:
  EmulatedKernel(const Manifest &manifest, std::shared_ptr<const emu::KernelModule> module,
                 std::shared_ptr<std::uint32_t> epoch)
      : manifest(manifest), module(std::move(module)), epoch(std::move(epoch)) {
    // Fibers stand for threads: few show all that many would, sooner.
    // A row's packets must find threads enough, in one CTA or a cluster.
    const bool rows = manifest.domain.rows;
    shapeLimits = {std::min(manifest.maxThreads, rows ? 256u : 64u), std::min(manifest.maxCtas, 2u), {}, rows ? 2u : 1u};
    shapeLimits.resident.fill(2);
    for (auto &ofClusters : shapeLimits.clustered) ofClusters.fill(2);
  }
  const ShapeLimits &limits() const override { return shapeLimits; }

  const Manifest manifest;
  const std::shared_ptr<const emu::KernelModule> module;
  const std::shared_ptr<std::uint32_t> epoch; ///< after which launches in its region begin; one for a workspace

private:
  ShapeLimits shapeLimits;
};

/// What one of a kernel's pointers points to, in the memory of a rank, or of all.
struct Place {
  static constexpr int kAll = -1; ///< what the places before it are, by how far their owners are away
  char *pointer;
  std::uint64_t bytes;
  int owner;
};

struct QueuedLaunch {
  const EmulatedKernel *kernel;
  LaunchShape shape;
  bool onePacket;
  std::vector<Place> places;
  std::vector<std::uint64_t> extents, scalars;
};

class EmulatedRegion final : public SymmetricRegion {
public:
  EmulatedRegion(int ranks, std::uint64_t bytes) {
    for (int rank = 0; rank < ranks; ++rank) {
      const std::uint64_t whole = (std::max<std::uint64_t>(bytes, 1) + 255) / 256 * 256;
      parts.emplace_back(static_cast<char *>(std::aligned_alloc(256, whole)), std::free);
      if (parts.back()) std::fill_n(parts.back().get(), whole, 0);
    }
  }
  void *address(int, int of) const override { return parts[std::size_t(of)].get(); }
  bool complete() const { return std::all_of(parts.begin(), parts.end(), [](const auto &part) { return !!part; }); }

private:
  std::vector<std::unique_ptr<char, void (*)(void *)>> parts;
};

/// A stretch of host memory that some launch's arguments cover, and its twin in the emulator.
struct Stretch {
  char *begin, *end;
  emu::Buffer twin;
};

/// The least number of stretches such that every argument in a rank's memory lies in one. Those that only touch stay
/// apart, so that an access past the end of one is seen.
std::vector<Stretch> stretchesOf(const std::vector<std::vector<QueuedLaunch>> &launches, int owner) {
  std::vector<Stretch> list;
  for (const auto &ofRank : launches)
    for (const QueuedLaunch &launch : ofRank)
      for (const Place &place : launch.places)
        if (place.bytes && place.owner == owner) list.push_back({place.pointer, place.pointer + place.bytes, {}});
  std::sort(list.begin(), list.end(), [](const Stretch &a, const Stretch &b) { return a.begin < b.begin; });
  std::vector<Stretch> merged;
  for (const Stretch &stretch : list)
    if (!merged.empty() && stretch.begin < merged.back().end)
      merged.back().end = std::max(merged.back().end, stretch.end);
    else
      merged.push_back(stretch);
  return merged;
}

emu::Pointer twinOf(const std::vector<std::vector<Stretch>> &stretches, const Place &place) {
  if (place.bytes == 0) return {};
  const std::vector<Stretch> &ofOwner = stretches[std::size_t(place.owner)];
  const auto after = std::upper_bound(ofOwner.begin(), ofOwner.end(), place.pointer,
                                      [](char *value, const Stretch &stretch) { return value < stretch.begin; });
  const Stretch &stretch = *(after - 1);
  return {stretch.twin, std::uint64_t(place.pointer - stretch.begin)};
}

class EmulatedBackend final : public Backend {
public:
  EmulatedBackend(int ranks, bool multicast) : queues(ranks), multicast(multicast) {}

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
  Result<std::unique_ptr<SymmetricRegion>> allocateSymmetric(std::uint64_t bytes) override {
    auto region = std::make_unique<EmulatedRegion>(ranks(), bytes);
    if (!region->complete()) return Error{Error::Code::Failed, "out of memory for " + std::to_string(bytes) + " bytes"};
    return std::unique_ptr<SymmetricRegion>(std::move(region));
  }
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

  void prepare(std::span<const Kernel> kernels) override;
  Result<std::unique_ptr<LoadedKernel>> load(const Kernel &kernel) override;
  Result<void> launch(LoadedKernel &kernel, int rank, void *stream, const ResolvedLaunch &launch) override;
  Result<bool> finished() override;
  Result<void> setEpoch(LoadedKernel &kernel, std::uint32_t epoch) override {
    *static_cast<EmulatedKernel &>(kernel).epoch = epoch;
    return {};
  }

private:
  static Result<void> copyNow(void *to, const void *from, std::uint64_t bytes) {
    std::copy_n(static_cast<const char *>(from), bytes, static_cast<char *>(to));
    return {};
  }
  static Result<void> noGraphs() { return Error{Error::Code::MachineLacks, "graphs need a GPU"}; }
  Result<void> runAll(const std::vector<std::vector<QueuedLaunch>> &launches);

  std::vector<emu::Pointer> twinsOf(emu::Machine &machine, const std::vector<std::vector<Stretch>> &stretches,
                                    const std::vector<Place> &places, int rank) const;

  std::vector<std::vector<QueuedLaunch>> queues; ///< [rank]
  std::vector<std::shared_ptr<const emu::KernelModule>> prepared; ///< what compile() then finds; null where it failed
  std::map<std::string, std::shared_ptr<std::uint32_t>> epochs;   ///< of workspaces, by key
  const bool multicast;
};

/// The pointers of a rank's launch.
std::vector<emu::Pointer> EmulatedBackend::twinsOf(emu::Machine &machine,
                                                   const std::vector<std::vector<Stretch>> &stretches,
                                                   const std::vector<Place> &places, int rank) const {
  std::vector<emu::Pointer> list;
  for (const Place &place : places) {
    if (place.owner != Place::kAll) {
      list.push_back(twinOf(stretches, place));
      continue;
    }
    std::vector<emu::Pointer> ofAll(list.end() - ranks(), list.end()); // from this rank on
    std::rotate(ofAll.begin(), ofAll.end() - rank, ofAll.end());
    list.push_back(machine.multicast("memory", ofAll, place.bytes));
  }
  return list;
}

void EmulatedBackend::prepare(std::span<const Kernel> kernels) {
  prepared.assign(kernels.size(), nullptr);
  onAllCores(kernels.size(), [&](std::size_t i) {
    emu::CompileError error; // load() meets it again
    prepared[i] = emu::KernelModule::compile(kernels[i].cuda, std::span(&kernels[i].manifest.entry, 1), error);
  });
}

Result<std::unique_ptr<LoadedKernel>> EmulatedBackend::load(const Kernel &kernel) {
  emu::CompileError error;
  auto module = emu::KernelModule::compile(kernel.cuda, std::span(&kernel.manifest.entry, 1), error);
  if (!module) return Error{error.noCompiler ? Error::Code::MachineLacks : Error::Code::Internal, error.message};
  auto epoch = std::make_shared<std::uint32_t>(0);
  if (const auto &workspace = kernel.manifest.workspace) epoch = epochs.emplace(workspace->key, epoch).first->second;
  return std::unique_ptr<LoadedKernel>(std::make_unique<EmulatedKernel>(kernel.manifest, std::move(module), epoch));
}

Result<void> EmulatedBackend::launch(LoadedKernel &loaded, int rank, void *, const ResolvedLaunch &launch) {
  auto &kernel = static_cast<EmulatedKernel &>(loaded);
  QueuedLaunch queued{&kernel,
                      launch.shape,
                      launch.onePacket,
                      {},
                      {launch.extents.begin(), launch.extents.end()},
                      {launch.scalars.begin(), launch.scalars.end()}};
  const LaunchPlan plan(kernel.manifest);
  std::size_t next = 0;
  for (std::size_t i = 0; i < kernel.manifest.arguments.size(); ++i) {
    const Manifest::Argument &argument = kernel.manifest.arguments[i];
    const std::uint64_t bytes = plan.argumentElements(i, launch.extents) * sizeOf(argument.dtype);
    for (int hop = 0; hop < (argument.window ? ranks() : 1); ++hop)
      queued.places.push_back({static_cast<char *>(launch.pointers[next++]), bytes, (rank + hop) % ranks()});
    if (argument.multicast) queued.places.push_back({nullptr, bytes, Place::kAll}), ++next;
  }
  queues[rank].push_back(std::move(queued));
  return {};
}

Result<bool> EmulatedBackend::finished() {
  const std::vector<std::vector<QueuedLaunch>> launches = std::exchange(queues, std::vector<std::vector<QueuedLaunch>>(queues.size()));
  if (std::all_of(launches.begin(), launches.end(), [](const auto &ofRank) { return ofRank.empty(); })) return true;
  if (auto done = runAll(launches); !done) return done.error();
  return true;
}

Result<void> EmulatedBackend::runAll(const std::vector<std::vector<QueuedLaunch>> &launches) {
  std::vector<const EmulatedKernel *> kernels; // by the machine's number of their member
  for (const auto &ofRank : launches)
    for (const QueuedLaunch &queued : ofRank)
      if (std::find(kernels.begin(), kernels.end(), queued.kernel) == kernels.end()) kernels.push_back(queued.kernel);
  emu::Policy policy = emu::Policy::fair();
  policy.multicast = multicast;
  emu::Machine machine(kernels.front()->manifest, policy);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const auto alike = std::find_if(kernels.begin(), kernels.begin() + std::ptrdiff_t(i),
                                    [&](const EmulatedKernel *other) { return other->epoch == kernels[i]->epoch; });
    const auto first = unsigned(alike - kernels.begin()); // in the same region, or itself
    if (i > 0) machine.add(kernels[i]->manifest, first < i ? std::optional(first) : std::nullopt);
    if (*kernels[i]->epoch) machine.setEpoch(*kernels[i]->epoch, unsigned(i));
  }
  std::vector<std::vector<Stretch>> stretches;
  for (int rank = 0; rank < ranks(); ++rank) {
    stretches.push_back(stretchesOf(launches, rank));
    for (Stretch &stretch : stretches.back()) {
      const std::span bytes(reinterpret_cast<const std::byte *>(stretch.begin), stretch.end - stretch.begin);
      stretch.twin = machine.allocate(rank, "rank " + std::to_string(rank) + "'s memory", bytes.size(),
                                      unsigned(reinterpret_cast<std::uintptr_t>(stretch.begin) % 256));
      machine.write(stretch.twin, bytes);
    }
  }
  for (int rank = 0; rank < ranks(); ++rank)
    for (const QueuedLaunch &queued : launches[rank]) {
      const auto member = std::find(kernels.begin(), kernels.end(), queued.kernel) - kernels.begin();
      emu::Launch launch{queued.kernel->module, queued.kernel->manifest.entry, queued.shape.grid,    queued.shape.block, {},
                         queued.extents,        queued.scalars,                queued.onePacket, queued.shape.cluster,
                         unsigned(member)};
      launch.arguments = twinsOf(machine, stretches, queued.places, rank);
      std::string error;
      if (!machine.launch(rank, launch, error)) return Error{Error::Code::Failed, error};
    }
  const emu::Result result = machine.run();
  if (result.status != emu::Result::Ok)
    return Error{Error::Code::Failed,
                 (kernels.size() > 1 ? "" : "`" + kernels.front()->manifest.member + "`: ") +
                     std::string(emu::name(result.status)) + "\n" + result.report};
  for (const auto &ofRank : stretches)
    for (const Stretch &stretch : ofRank)
      machine.read(stretch.twin, std::span(reinterpret_cast<std::byte *>(stretch.begin), stretch.end - stretch.begin));
  return {};
}

} // namespace

Result<std::unique_ptr<Backend>> createEmulatedBackend(const ContextOptions &options) {
  return std::unique_ptr<Backend>(
      std::make_unique<EmulatedBackend>(options.ranks ? options.ranks : 2, options.multicast));
}

} // namespace coll
