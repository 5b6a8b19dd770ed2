// A kernel loaded on the GPUs of a context, and how many of its CTAs run there together. Internal to GpuBackend.
#pragma once

#include "context/Backend.h"
#include "platform/Cuda.h"

namespace coll {

class GpuKernel final : public LoadedKernel {
public:
  GpuKernel(const Gpus &gpus, const Manifest &manifest)
      : manifest(manifest), teams(std::size_t(manifest.ranks)), gpus(gpus) {}
  ~GpuKernel() override;
  const ShapeLimits &limits() const override { return shapeLimits; }
  LaunchStatus *status() override { return statusWord; }

  Result<void> loadModule(const Gpu &gpu, const std::string &cubin);
  Result<void> allocateStatus();
  Result<void> bound(int ranksPerGpu, int contextsPerGpu);
  Result<void> boundClusters(unsigned grids);

  const Manifest manifest;
  std::shared_ptr<SymmetricRegion> region; ///< with others where the manifest has a workspace
  std::vector<std::vector<std::uint64_t>> teams; ///< [rank]: the words of Team<N>, and of the regions of all; own ranks
  std::vector<CUfunction> functions;             ///< [gpu]
  std::vector<CUmodule> modules;                 ///< [gpu]
  LaunchStatus *statusWord = nullptr;

private:
  const Gpus &gpus;
  ShapeLimits shapeLimits;
};

} // namespace coll
