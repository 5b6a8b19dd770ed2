// Ranks on GPUs: memory, streams and launches by the CUDA driver; the fabric gives the scratch regions.
#include "context/GpuKernel.h"
#include "context/Parameters.h"
#include "context/Region.h"
#include "context/StreamOrder.h"
#include "fabric/Fabric.h"
#include "jit/Jit.h"
#include "platform/Parallel.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace coll {
namespace {

class GpuGraph final : public Graph {
public:
  GpuGraph(const Cuda &cuda, const Gpu &gpu, CUgraphExec exec) : exec(exec), cuda(cuda), gpu(gpu) {}
  ~GpuGraph() override {
    Current current(cuda, gpu);
    cuda.cuGraphExecDestroy(exec);
  }
  CUgraphExec exec;

private:
  const Cuda &cuda;
  const Gpu &gpu;
};

class GpuBackend final : public Backend {
public:
  GpuBackend(std::unique_ptr<Gpus> devices, std::unique_ptr<Fabric> ranksOn, Jit jit, const ContextOptions &options)
      : gpus(std::move(devices)), cuda(gpus->cuda), fabric(std::move(ranksOn)), jit(std::move(jit)),
        timeoutNanoseconds(std::uint64_t(timeoutSeconds(options) * 1e9)),
        contextsPerGpu(std::max(1, options.contextsPerGpu)), own(fabric->own()), streams(fabric->ranks()),
        orders(fabric->ranks()) {}
  ~GpuBackend() override {
    for (const int rank : own) {
      Current current(cuda, gpuOf(rank));
      if (streams[rank]) cuda.cuStreamDestroy(streams[rank]);
    }
  }

  Result<void> createStreams() {
    for (const int rank : own) {
      Current current(cuda, gpuOf(rank));
      if (auto done = cuda.check(cuda.cuStreamCreate(&streams[rank], CU_STREAM_NON_BLOCKING), "cuStreamCreate"); !done)
        return done;
      orders[rank] = std::make_unique<StreamOrder>(cuda, gpuOf(rank), rank);
      if (auto done = orders[rank]->create(); !done) return done;
    }
    return {};
  }
  Result<void> findGpus();

  FabricKind kind() const override { return fabric->kind(); }
  int ranks() const override { return fabric->ranks(); }
  std::span<const int> ownRanks() const override { return own; }
  std::string describe() const override {
    return (int(own.size()) < ranks() ? "rank " + std::to_string(own.front()) + " of " : "") + std::to_string(ranks()) + " ranks on " + gpus->describe() + " (" + fabric->describe() + ")";
  }
  std::string gpuName() const override { return gpus->list.front().name; }
  void *stream(int rank) const override { return streams[rank]; }

  Result<void *> allocate(int rank, std::uint64_t bytes) override;
  void release(int rank, void *memory) override;
  Result<std::unique_ptr<SymmetricRegion>> allocateSymmetric(std::uint64_t bytes) override {
    return fabric->allocate(std::max<std::uint64_t>(bytes, 1));
  }
  Result<void> upload(int rank, void *to, const void *from, std::uint64_t bytes) override;
  Result<void> download(int rank, void *to, const void *from, std::uint64_t bytes) override;
  void prepare(std::span<const Kernel> kernels) override;
  Result<std::unique_ptr<LoadedKernel>> load(const Kernel &kernel) override;
  Result<void> launch(LoadedKernel &kernel, int rank, void *stream, const ResolvedLaunch &launch) override;
  Result<std::vector<std::uint64_t>> stamps(LoadedKernel &kernel, int rank, unsigned ctas) override;
  Result<void> setEpoch(LoadedKernel &kernel, std::uint32_t epoch) override;
  void orderStreams(bool ordered) override {
    for (const int rank : own) orders[rank]->enabled = ordered;
  }
  void *communicator() const override { return fabric->communicator(own.front()); }
  unsigned unsplitBytes() const override;
  bool hasNccl() const override { return communicator() != nullptr; }
  Result<void> launchNccl(const NcclCall &call, std::span<const std::vector<void *>> buffers,
                          std::span<const std::uint64_t> extents, int root, std::span<void *const> given) override;
  Result<bool> finished() override;
  void drain() override;
  Result<void> copy(int rank, void *to, const void *from, std::uint64_t bytes) override;
  Result<void> beginCapture(int rank) override;
  Result<std::unique_ptr<Graph>> endCapture(int rank) override;
  Result<void> replay(int rank, Graph &graph) override;

private:
  const Gpu &gpuOf(int rank) const { return gpus->list[fabric->gpuOf(rank)]; }
  Result<void> meet(const Kernel &kernel, std::uint64_t mine);
  Result<Binary> binaryOf(const Kernel &kernel, unsigned arch) const;
  Result<std::unique_ptr<GpuKernel>> loadHere(const Kernel &kernel);
  Result<void> share(GpuKernel &kernel);
  Result<void> checkPlatform(const Manifest &manifest) const;
  Result<std::shared_ptr<SymmetricRegion>> regionFor(const Manifest &manifest);
  Result<void> fill(const SymmetricRegion &region, const Manifest &manifest);
  Result<void> fill(const SymmetricRegion &region, std::uint64_t begin, std::uint64_t end, std::uint64_t with);
  Result<void> settle() const;

  std::unique_ptr<Gpus> gpus;
  const Cuda &cuda;
  std::unique_ptr<Fabric> fabric; ///< after gpus, so that it goes before them
  Jit jit;
  std::map<std::pair<std::string, unsigned>, Result<Binary>> prepared; ///< by CUDA text and architecture
  std::uint64_t timeoutNanoseconds;
  int contextsPerGpu;
  std::vector<int> own;             ///< ranks
  std::vector<Gpu> gpuOfRank;       ///< [rank], those of other processes too
  std::vector<CUstream> streams;    ///< [rank]; null for other processes' ranks
  std::vector<std::unique_ptr<StreamOrder>> orders; ///< likewise
  std::map<std::string, std::weak_ptr<SymmetricRegion>> workspaces; ///< by key
};

CUdeviceptr address(const void *pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

Result<void *> GpuBackend::allocate(int rank, std::uint64_t bytes) {
  Current current(cuda, gpuOf(rank));
  CUdeviceptr memory = 0;
  if (auto done = cuda.check(cuda.cuMemAlloc(&memory, std::max<std::uint64_t>(bytes, 1)), "cuMemAlloc"); !done)
    return done.error();
  return reinterpret_cast<void *>(memory);
}

void GpuBackend::release(int rank, void *memory) {
  Current current(cuda, gpuOf(rank));
  cuda.cuMemFree(address(memory));
}

// Copies go over the rank's stream and not the default one, whose copies from pageable memory may return before the
// data is there, and for which the rank's launches do not wait.
Result<void> GpuBackend::upload(int rank, void *to, const void *from, std::uint64_t bytes) {
  Current current(cuda, gpuOf(rank));
  if (auto done = cuda.check(cuda.cuMemcpyHtoDAsync(address(to), from, bytes, streams[rank]), "cuMemcpyHtoDAsync");
      !done)
    return done;
  return cuda.check(cuda.cuStreamSynchronize(streams[rank]), "cuStreamSynchronize");
}

Result<void> GpuBackend::download(int rank, void *to, const void *from, std::uint64_t bytes) {
  Current current(cuda, gpuOf(rank));
  if (auto done = cuda.check(cuda.cuMemcpyDtoHAsync(to, address(from), bytes, streams[rank]), "cuMemcpyDtoHAsync");
      !done)
    return done;
  return cuda.check(cuda.cuStreamSynchronize(streams[rank]), "cuStreamSynchronize");
}

unsigned GpuBackend::unsplitBytes() const {
  unsigned least = 128;
  for (const Gpu &one : gpuOfRank)
    for (const Gpu &other : gpuOfRank)
      least = std::min(least, coll::unsplitBytes(std::min(one.arch, other.arch), gpus->link(one, other)));
  return least;
}

/// Whether stores arrive as whole as the kernel needs them, between every two ranks.
Result<void> GpuBackend::checkPlatform(const Manifest &manifest) const {
  for (int a = 0; a < ranks(); ++a)
    for (int b = 0; b <= a; ++b) {
      const Gpu &one = gpuOfRank[a], &other = gpuOfRank[b];
      const Link link = gpus->link(one, other);
      if (manifest.unsplitBytes <= coll::unsplitBytes(std::min(one.arch, other.arch), link)) continue;
      const auto name = [](const Gpu &gpu) {
        if (gpu.ordinal < 0) return "a GPU " + gpu.name;
        return "GPU " + std::to_string(gpu.ordinal) + " (" + gpu.name + ", sm_" + std::to_string(gpu.arch) + ")";
      };
      return Error{Error::Code::MachineLacks,
                   "`" + manifest.member + "` needs aligned stores of " + std::to_string(manifest.unsplitBytes) +
                       " bytes to arrive whole, which is not declared for " + name(other) +
                       (link == Link::SameGpu ? "" : " and " + name(one)) + " " + std::string(coll::describe(link)) +
                       "; choose a member of another sync mode"};
    }
  return {};
}

/// Writes the 8 bytes `with` over and over, on all ranks.
Result<void> GpuBackend::fill(const SymmetricRegion &region, std::uint64_t begin, std::uint64_t end, std::uint64_t with) {
  for (const int rank : own) {
    Current current(cuda, gpuOf(rank));
    const CUdeviceptr to = address(region.address(rank, rank)) + begin;
    const std::uint64_t units = (end - begin) / 8;
    const unsigned low = unsigned(with), high = unsigned(with >> 32);
    if (low == high) {
      if (auto done = cuda.check(cuda.cuMemsetD32(to, low, units * 2), "cuMemsetD32"); !done) return done;
      continue;
    }
    for (const auto &[at, word] : {std::pair(to, low), std::pair(to + 4, high)})
      if (auto done = cuda.check(cuda.cuMemsetD2D32(at, /*pitch=*/8, word, 1, units), "cuMemsetD2D32"); !done) return done;
  }
  return {};
}

/// Gives the mailboxes of all ranks what they hold before the first launch; regions come zeroed. Returns when all have it:
/// a rank must not send into a slot that is yet to be filled.
Result<void> GpuBackend::fill(const SymmetricRegion &region, const Manifest &manifest) {
  for (const Manifest::Mailbox &box : manifest.mailboxes) {
    if (box.fill == 0) continue;
    // Others that share the region have mailboxes of the same form elsewhere in it.
    const std::uint64_t begin = manifest.workspace ? manifest.workspace->begin : box.offset;
    const std::uint64_t end = manifest.workspace ? manifest.workspace->end : begin + box.copies * box.slots * box.lines * box.lineBytes;
    if (auto done = fill(region, begin, end, box.fill); !done) return done;
    if (manifest.workspace) break;
  }
  return settle();
}

/// A kernel's scratch: its own, or that of its workspace, as launches so far have left it.
Result<std::shared_ptr<SymmetricRegion>> GpuBackend::regionFor(const Manifest &manifest) {
  std::weak_ptr<SymmetricRegion> *known = manifest.workspace ? &workspaces[manifest.workspace->key] : nullptr;
  if (known)
    if (auto region = known->lock()) return region;
  auto made = fabric->allocate(manifest.regionBytes);
  if (!made) return made.error();
  std::shared_ptr<SymmetricRegion> region = std::move(*made);
  if (auto done = fill(*region, manifest); !done) return done.error();
  if (known) *known = region;
  return region;
}

/// Waits for what the host has written into any rank's memory.
Result<void> GpuBackend::settle() const {
  for (const Gpu &gpu : gpus->list) {
    Current current(cuda, gpu);
    if (auto done = cuda.check(cuda.cuCtxSynchronize(), "cuCtxSynchronize"); !done) return done;
  }
  return {};
}

Result<void> GpuBackend::setEpoch(LoadedKernel &loaded, std::uint32_t epoch) {
  const auto &kernel = static_cast<const GpuKernel &>(loaded);
  for (const int rank : own) {
    Current current(cuda, gpuOf(rank));
    const CUdeviceptr region = address(kernel.region->address(rank, rank));
    if (auto done = cuda.check(cuda.cuMemsetD32(region + region::kEpochWords, epoch, region::kMaxCtas), "cuMemsetD32"); !done)
      return done;
    // Whoever has done so many launches has begun them too.
    const unsigned credits = unsigned(ranks()) * (kernel.manifest.chunkPackets ? region::kMaxCtas : 1);
    if (const std::uint64_t at = kernel.manifest.credits)
      if (auto done = cuda.check(cuda.cuMemsetD32(region + at, epoch, credits), "cuMemsetD32"); !done) return done;
  }
  return settle();
}

/// Whether the links between the GPUs do what a kernel needs of them.
Result<void> checkNeeds(const Gpus &gpus, std::span<const Gpu> all, const Manifest &manifest) {
  for (const std::string &need : manifest.needs) {
    if (need != "p2p-atomics")
      return Error{Error::Code::MachineLacks, "`" + manifest.member + "` needs `" + need + "`, which is not offered here"};
    for (const Gpu &from : all)
      for (const Gpu &to : all) {
        int native = from.device == to.device;
        if (!native && from.device != CU_DEVICE_INVALID && to.device != CU_DEVICE_INVALID)
          gpus.cuda.cuDeviceGetP2PAttribute(&native, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, from.device,
                                            to.device);
        if (!native)
          return Error{Error::Code::MachineLacks, "`" + manifest.member + "` adds in the memory of other GPUs, and the "
                                                  "link from GPU " + std::to_string(from.ordinal) + " to GPU " +
                                                      std::to_string(to.ordinal) + " does not do that natively"};
      }
  }
  return {};
}

/// What ranks must have alike to launch a kernel together, as one word that is not 0.
std::uint64_t fingerprint(const Kernel &kernel, const ShapeLimits &limits) {
  std::string text = kernel.cuda + (kernel.manifest.workspace ? kernel.manifest.workspace->key : "");
  for (const unsigned limit : {limits.maxThreads, limits.maxCtas, limits.maxCluster}) text += ' ' + std::to_string(limit);
  for (const unsigned resident : limits.resident) text += ' ' + std::to_string(resident);
  for (const auto &ofCluster : limits.clustered)
    for (const unsigned resident : ofCluster) text += ' ' + std::to_string(resident);
  return std::stoull(KernelCache::key({text}).substr(0, 16), nullptr, 16) | 1;
}

/// Where ranks are in processes of their own: whether all of them say the same, and none says 0, which is a failure.
Result<void> GpuBackend::meet(const Kernel &kernel, std::uint64_t mine) {
  const auto all = fabric->gather(mine);
  if (!all) return all.error();
  for (int rank = 0; rank < ranks(); ++rank) {
    const std::uint64_t theirs = (*all)[std::size_t(rank)];
    if (!theirs || !mine)
      return Error{Error::Code::Failed, "`" + kernel.manifest.member + "` could not be loaded by rank " + std::to_string(rank)};
    if (theirs != mine)
      return Error{Error::Code::BadInput, "rank " + std::to_string(rank) + " loads another program than rank " +
                                              std::to_string(own.front()) + ", which loads `" + kernel.manifest.member +
                                              "`, or has another GPU"};
  }
  return {};
}

void GpuBackend::prepare(std::span<const Kernel> kernels) {
  prepared.clear();
  std::vector<std::pair<const Kernel *, unsigned>> wanted;
  for (const Kernel &kernel : kernels)
    for (const Gpu &gpu : gpus->list)
      if (prepared.try_emplace({kernel.cuda, gpu.arch}, Error{}).second) wanted.emplace_back(&kernel, gpu.arch);
  onAllCores(wanted.size(), [&](std::size_t i) {
    const auto &[kernel, arch] = wanted[i];
    prepared.at({kernel->cuda, arch}) = jit.compile(*kernel, Arch{arch, ""});
  });
}

Result<Binary> GpuBackend::binaryOf(const Kernel &kernel, unsigned arch) const {
  const auto found = prepared.find({kernel.cuda, arch});
  return found != prepared.end() ? found->second : jit.compile(kernel, Arch{arch, ""});
}

Result<std::unique_ptr<GpuKernel>> GpuBackend::loadHere(const Kernel &kernel) {
  const Manifest &manifest = kernel.manifest;
  if (manifest.parameterBytes() > ParameterBlock::kMaxWords * 8)
    return Error{Error::Code::Failed, "`" + manifest.member + "` has too many arguments"};
  if (auto able = checkPlatform(manifest); !able) return able.error();
  if (auto able = checkNeeds(*gpus, gpuOfRank, manifest); !able) return able.error();
  auto loaded = std::make_unique<GpuKernel>(*gpus, manifest);
  std::map<unsigned, std::string> cubins;
  for (const Gpu &gpu : gpus->list) {
    std::string &cubin = cubins[gpu.arch];
    if (cubin.empty()) {
      auto binary = binaryOf(kernel, gpu.arch);
      if (!binary) return binary.error();
      cubin = std::move(binary->bytes);
    }
    if (auto done = loaded->loadModule(gpu, cubin); !done) return done.error();
  }
  if (auto done = loaded->bound(fabric->ranksPerGpu(), contextsPerGpu); !done) return done.error();
  if (auto done = loaded->allocateStatus(); !done) return done.error();
  return loaded;
}

/// Gives the kernel its scratch, and its ranks the addresses of everybody's.
Result<void> GpuBackend::share(GpuKernel &kernel) {
  const Manifest &manifest = kernel.manifest;
  auto region = regionFor(manifest);
  if (!region) return region.error();
  kernel.region = std::move(*region);
  for (const int rank : own) {
    Current current(cuda, gpuOf(rank));
    CUdeviceptr status = 0;
    if (auto done = cuda.check(cuda.cuMemHostGetDevicePointer(&status, kernel.statusWord, 0), "cuMemHostGetDevicePointer");
        !done)
      return done;
    std::vector<std::uint64_t> regions;
    for (int hop = 0; hop < ranks(); ++hop)
      regions.push_back(address(kernel.region->address(rank, (rank + hop) % ranks())));
    kernel.teams[rank] = teamWords(regions, status, timeoutNanoseconds, rank, manifest.clearBytes());
    if (manifest.multicastsMail) kernel.teams[rank].push_back(address(kernel.region->multicast(rank)));
  }
  return {};
}

Result<std::unique_ptr<LoadedKernel>> GpuBackend::load(const Kernel &kernel) {
  auto loaded = loadHere(kernel);
  const auto alike = meet(kernel, loaded ? fingerprint(kernel, (*loaded)->limits()) : 0);
  if (!loaded) return loaded.error();
  if (!alike) return alike.error();
  const auto shared = share(**loaded);
  // No rank may send into a slot that is yet to be filled.
  const auto ready = meet(kernel, shared ? 1 : 0);
  if (!shared) return shared.error();
  if (!ready) return ready.error();
  return std::unique_ptr<LoadedKernel>(std::move(*loaded));
}

Result<void> GpuBackend::launch(LoadedKernel &loaded, int rank, void *stream, const ResolvedLaunch &launch) {
  auto &kernel = static_cast<GpuKernel &>(loaded);
  const Gpu &gpu = gpuOf(rank);
  ParameterBlock block;
  block.append(kernel.teams[rank]);
  block.append(launch.pointers);
  block.append(launch.extents);
  block.append(launch.scalars);
  block.append(std::uint64_t(launch.onePacket));
  void *parameters[] = {block.words.data()};

  CUlaunchAttribute attributes[2];
  std::memset(attributes, 0, sizeof attributes);
  CUlaunchConfig config;
  std::memset(&config, 0, sizeof config);
  config.gridDimX = launch.shape.grid, config.gridDimY = 1, config.gridDimZ = 1;
  config.blockDimX = launch.shape.block, config.blockDimY = 1, config.blockDimZ = 1;
  config.hStream = stream ? static_cast<CUstream>(stream) : streams[rank];
  config.attrs = attributes;

  Current current(cuda, gpu);
  const auto waits = orders[rank]->follow(config.hStream);
  if (!waits) return waits.error();
  if (gpu.arch >= 90 && !*waits) {
    CUlaunchAttribute &early = attributes[config.numAttrs++];
    early.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    early.value.programmaticStreamSerializationAllowed = 1;
  }
  if (gpu.arch >= 90 && launch.shape.cluster > 1) {
    CUlaunchAttribute &cluster = attributes[config.numAttrs++];
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim = {launch.shape.cluster, 1, 1};
  }
  const CUfunction function = kernel.functions[fabric->gpuOf(rank)];
  if (auto done = cuda.check(cuda.cuLaunchKernelEx(&config, function, parameters, nullptr), "cuLaunchKernelEx"); !done)
    return done;
  return orders[rank]->launched();
}

Result<void> GpuBackend::launchNccl(const NcclCall &call, std::span<const std::vector<void *>> buffers,
                                    std::span<const std::uint64_t> extents, int root, std::span<void *const> given) {
  auto nccl = Nccl::get();
  if (!nccl) return nccl.error();
  std::vector<CUstream> on;
  for (std::size_t i = 0; i < own.size(); ++i) {
    Current current(cuda, gpuOf(own[i]));
    on.push_back(i < given.size() && given[i] ? static_cast<CUstream>(given[i]) : streams[own[i]]);
    if (const auto waits = orders[own[i]]->follow(on.back()); !waits) return waits.error();
  }
  // Outside a group the first rank's call could wait for the second's, which this thread has yet to make.
  if (auto done = (*nccl)->check((*nccl)->groupStart(), "ncclGroupStart"); !done) return done;
  int result = 0;
  for (std::size_t i = 0; i < own.size() && result == 0; ++i) {
    Current current(cuda, gpuOf(own[i]));
    result = call.enqueue(**nccl, fabric->communicator(own[i]), buffers[i], extents, root, on[i]);
  }
  const int ended = (*nccl)->groupEnd();
  if (auto done = (*nccl)->check(result ? result : ended, "a collective of NCCL's"); !done) return done;
  for (const int rank : own) {
    Current current(cuda, gpuOf(rank));
    if (auto done = orders[rank]->launched(); !done) return done;
  }
  return {};
}

Result<std::vector<std::uint64_t>> GpuBackend::stamps(LoadedKernel &loaded, int rank, unsigned ctas) {
  const auto &kernel = static_cast<GpuKernel &>(loaded);
  Current current(cuda, gpuOf(rank));
  CUdeviceptr at = 0;
  std::size_t bytes = 0;
  if (auto done = cuda.check(cuda.cuModuleGetGlobal(&at, &bytes, kernel.modules[fabric->gpuOf(rank)], "coll_trace"),
                             "cuModuleGetGlobal of `coll_trace`");
      !done)
    return done.error();
  std::vector<std::uint64_t> words(std::min<std::size_t>(bytes / 8, std::size_t(ctas) * kTraceStamps));
  if (auto done = cuda.check(cuda.cuMemcpyDtoH(words.data(), at, words.size() * 8), "cuMemcpyDtoH"); !done)
    return done.error();
  return words;
}

Result<bool> GpuBackend::finished() {
  for (const int rank : own) {
    Current current(cuda, gpuOf(rank));
    const CUresult result = cuda.cuStreamQuery(streams[rank]); // copies, and replays of the runner's graphs
    if (result == CUDA_ERROR_NOT_READY) return false;
    if (auto done = cuda.check(result, "a launch"); !done) return done.error();
    const auto launches = orders[rank]->finished();
    if (!launches || !*launches) return launches;
  }
  return true;
}

void GpuBackend::drain() {
  for (const Gpu &gpu : gpus->list) {
    Current current(cuda, gpu);
    cuda.cuCtxSynchronize();
  }
}

Result<void> GpuBackend::copy(int rank, void *to, const void *from, std::uint64_t bytes) {
  Current current(cuda, gpuOf(rank));
  return cuda.check(cuda.cuMemcpyDtoDAsync(address(to), address(from), bytes, streams[rank]), "cuMemcpyDtoDAsync");
}

Result<void> GpuBackend::beginCapture(int rank) {
  Current current(cuda, gpuOf(rank));
  return cuda.check(cuda.cuStreamBeginCapture(streams[rank], CU_STREAM_CAPTURE_MODE_RELAXED), "cuStreamBeginCapture");
}

Result<std::unique_ptr<Graph>> GpuBackend::endCapture(int rank) {
  Current current(cuda, gpuOf(rank));
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  if (auto done = cuda.check(cuda.cuStreamEndCapture(streams[rank], &graph), "cuStreamEndCapture"); !done)
    return done.error();
  auto made = cuda.check(cuda.cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiate");
  cuda.cuGraphDestroy(graph);
  if (!made) return made.error();
  std::unique_ptr<Graph> result = std::make_unique<GpuGraph>(cuda, gpuOf(rank), exec);
  // Uploading at the first replay could wait for kernels that wait for that replay.
  if (auto done = cuda.check(cuda.cuGraphUpload(exec, streams[rank]), "cuGraphUpload"); !done) return done.error();
  if (auto done = cuda.check(cuda.cuStreamSynchronize(streams[rank]), "cuStreamSynchronize"); !done)
    return done.error();
  return result;
}

Result<void> GpuBackend::replay(int rank, Graph &graph) {
  Current current(cuda, gpuOf(rank));
  return cuda.check(cuda.cuGraphLaunch(static_cast<GpuGraph &>(graph).exec, streams[rank]), "cuGraphLaunch");
}

/// Which GPU each rank has.
Result<void> GpuBackend::findGpus() {
  gpuOfRank.resize(std::size_t(ranks()));
  for (const int rank : own) gpuOfRank[std::size_t(rank)] = gpuOf(rank);
  if (int(own.size()) == ranks()) return {};
  const Gpus::Uuid mine = gpus->uuid(gpuOf(own.front()));
  const auto low = fabric->gather(mine[0]);
  if (!low) return low.error();
  const auto high = fabric->gather(mine[1]);
  if (!high) return high.error();
  for (int rank = 0; rank < ranks(); ++rank) {
    if (rank == own.front()) continue;
    gpuOfRank[std::size_t(rank)] = gpus->find({(*low)[std::size_t(rank)], (*high)[std::size_t(rank)]});
    if (gpuOfRank[std::size_t(rank)].device == gpuOf(own.front()).device)
      return Error{Error::Code::BadInput, "ranks " + std::to_string(rank) + " and " + std::to_string(own.front()) +
                                              " are processes on one GPU, where kernels of different processes take turns and "
                                              "cannot wait for each other"};
  }
  return {};
}

/// The fabric asked for, or the best that works.
Result<std::unique_ptr<Fabric>> chooseFabric(const Gpus &gpus, const ContextOptions &options, int ranks) {
  const bool enough = ranks <= int(gpus.list.size()), named = options.fabric == FabricKind::Nccl;
  if (named || (options.fabric == FabricKind::Auto && enough && ranks > 1)) {
    auto nccl = Nccl::get();
    Result<std::unique_ptr<Fabric>> fabric =
        nccl ? createNcclFabric(gpus, **nccl, ranks, options.multicast) : Result<std::unique_ptr<Fabric>>(nccl.error());
    if (fabric || named || fabric.error().code != Error::Code::MachineLacks) return fabric;
    if (options.warn) options.warn("without NCCL, over peer access alone: " + fabric.error().text);
  }
  return createLocalFabric(gpus, ranks);
}

Result<std::unique_ptr<Backend>> completed(std::unique_ptr<GpuBackend> backend) {
  if (auto done = backend->createStreams(); !done) return done.error();
  if (auto done = backend->findGpus(); !done) return done.error();
  return std::unique_ptr<Backend>(std::move(backend));
}

} // namespace

/// A rank of this process, and the others elsewhere.
static Result<std::unique_ptr<Backend>> createProcessBackend(const ContextOptions &options) {
  auto nccl = Nccl::get();
  if (!nccl) return nccl.error();
  int device = options.gpus.empty() ? options.rank : options.gpus.front();
  if (options.communicator)
    if (auto done = (*nccl)->check((*nccl)->commCuDevice(static_cast<NcclComm>(options.communicator), &device), "ncclCommCuDevice");
        !done)
      return done.error();
  auto gpus = Gpus::open(std::span(&device, 1));
  if (!gpus) return gpus.error();
  auto jit = Jit::create();
  if (!jit) return jit.error();
  auto fabric = createProcessFabric(**gpus, **nccl, options, timeoutSeconds(options));
  if (!fabric) return fabric.error();
  return completed(std::make_unique<GpuBackend>(std::move(*gpus), std::move(*fabric), std::move(*jit), options));
}

Result<std::unique_ptr<Backend>> createGpuBackend(const ContextOptions &options) {
  if (options.communicator || options.id) return createProcessBackend(options);
  std::vector<int> ordinals = options.gpus;
  int ranks = options.ranks;
  if (ordinals.empty()) {
    auto cuda = Cuda::get();
    if (!cuda) return cuda.error();
    int count = 0;
    if (auto done = (*cuda)->check((*cuda)->cuDeviceGetCount(&count), "cuDeviceGetCount"); !done) return done.error();
    // No more GPUs than ranks: a context on one that is not used takes its memory for nothing.
    for (int gpu = 0; gpu < count && (ranks == 0 || gpu < ranks); ++gpu) ordinals.push_back(gpu);
  }
  if (ranks > 0 && int(ordinals.size()) > ranks) ordinals.resize(ranks);
  auto gpus = Gpus::open(ordinals);
  if (!gpus) return gpus.error();
  if (ranks == 0) ranks = int((*gpus)->list.size());
  auto jit = Jit::create();
  if (!jit) return jit.error();
  auto fabric = chooseFabric(**gpus, options, ranks);
  if (!fabric) return fabric.error();
  return completed(std::make_unique<GpuBackend>(std::move(*gpus), std::move(*fabric), std::move(*jit), options));
}

} // namespace coll
