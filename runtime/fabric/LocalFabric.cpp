// Any number of ranks in one process over the GPUs present.
#include "fabric/Fabric.h"

#include <algorithm>

namespace coll {

namespace {

/// A rank's launches may wait for another's, so none may stand behind another's in a hardware queue. There are 32; two
/// are left to whatever else the program does.
constexpr int kMaxRanksPerGpu = 30;

class LocalRegion final : public SymmetricRegion {
public:
  explicit LocalRegion(const Gpus &gpus) : gpus(gpus) {}
  ~LocalRegion() override {
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
      Current current(gpus.cuda, gpus.list[rank % gpus.list.size()]);
      gpus.cuda.cuMemFree(parts[rank]);
    }
  }
  // With peer access an address means the same on every GPU.
  void *address(int, int of) const override { return reinterpret_cast<void *>(parts[of]); }

  const Gpus &gpus;
  std::vector<CUdeviceptr> parts;
};

class LocalFabric final : public Fabric {
public:
  LocalFabric(const Gpus &gpus, int count) : gpus(gpus), count(count) {}

  FabricKind kind() const override { return FabricKind::Local; }
  int ranks() const override { return count; }
  int gpuOf(int rank) const override { return rank % int(gpus.list.size()); }
  std::string describe() const override { return "local"; }

  Result<std::unique_ptr<SymmetricRegion>> allocate(std::uint64_t bytes) override {
    const Cuda &cuda = gpus.cuda;
    auto region = std::make_unique<LocalRegion>(gpus);
    for (int rank = 0; rank < count; ++rank) {
      Current current(cuda, gpus.list[gpuOf(rank)]);
      CUdeviceptr part = 0;
      if (auto done = cuda.check(cuda.cuMemAlloc(&part, bytes), "cuMemAlloc of a scratch region"); !done)
        return done.error();
      region->parts.push_back(part);
      if (auto done = cuda.check(cuda.cuMemsetD8(part, 0, bytes), "cuMemsetD8"); !done) return done.error();
    }
    for (const Gpu &gpu : gpus.list) {
      Current current(cuda, gpu);
      if (auto done = cuda.check(cuda.cuCtxSynchronize(), "cuCtxSynchronize"); !done) return done.error();
    }
    return std::unique_ptr<SymmetricRegion>(std::move(region));
  }

private:
  const Gpus &gpus;
  int count;
};

/// Lets every GPU reach every other's memory.
Result<void> enablePeerAccess(const Gpus &gpus) {
  const Cuda &cuda = gpus.cuda;
  for (const Gpu &from : gpus.list)
    for (const Gpu &to : gpus.list) {
      if (from.ordinal == to.ordinal) continue;
      int can = 0;
      cuda.cuDeviceCanAccessPeer(&can, from.device, to.device);
      if (!can)
        return Error{Error::Code::MachineLacks, "GPU " + std::to_string(from.ordinal) +
                                                    " cannot reach the memory of GPU " + std::to_string(to.ordinal)};
      Current current(cuda, from);
      const CUresult result = cuda.cuCtxEnablePeerAccess(to.context, 0);
      if (result != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
        if (auto done = cuda.check(result, "cuCtxEnablePeerAccess"); !done) return done;
    }
  return {};
}

} // namespace

Result<std::unique_ptr<Fabric>> createLocalFabric(const Gpus &gpus, int ranks) {
  if (auto done = enablePeerAccess(gpus); !done) return done.error();
  std::unique_ptr<Fabric> fabric = std::make_unique<LocalFabric>(gpus, ranks);
  if (fabric->ranksPerGpu() > kMaxRanksPerGpu)
    return Error{Error::Code::MachineLacks, std::to_string(ranks) + " ranks on " + std::to_string(gpus.list.size()) +
                                                " GPUs are more than " + std::to_string(kMaxRanksPerGpu) +
                                                " on one, the most that have a hardware queue each"};
  return fabric;
}

} // namespace coll
