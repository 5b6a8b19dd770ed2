#include "context/GpuKernel.h"

#include "context/Region.h"

#include <algorithm>

namespace coll {

GpuKernel::~GpuKernel() {
  for (std::size_t gpu = 0; gpu < modules.size(); ++gpu) {
    Current current(gpus.cuda, gpus.list[gpu]);
    gpus.cuda.cuModuleUnload(modules[gpu]);
  }
  if (statusWord) {
    Current current(gpus.cuda, gpus.list[0]);
    gpus.cuda.cuMemFreeHost(statusWord);
  }
}

/// Loads the module and its function now: loading at the first launch would wait for kernels that are running,
/// which may be waiting for that launch.
Result<void> GpuKernel::loadModule(const Gpu &gpu, const std::string &cubin) {
  const Cuda &cuda = gpus.cuda;
  Current current(cuda, gpu);
  CUmodule module = nullptr;
  if (auto done = cuda.check(cuda.cuModuleLoadData(&module, cubin.data()), "cuModuleLoadData"); !done) return done;
  modules.push_back(module);
  CUfunction function = nullptr;
  if (auto done =
          cuda.check(cuda.cuModuleGetFunction(&function, module, manifest.entry.c_str()), "cuModuleGetFunction");
      !done)
    return done;
  functions.push_back(function);
  return cuda.cuFuncLoad ? cuda.check(cuda.cuFuncLoad(function), "cuFuncLoad") : Result<void>();
}

Result<void> GpuKernel::allocateStatus() {
  const Cuda &cuda = gpus.cuda;
  Current current(cuda, gpus.list[0]);
  void *memory = nullptr;
  if (auto done = cuda.check(
          cuda.cuMemHostAlloc(&memory, sizeof(LaunchStatus), CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
          "cuMemHostAlloc");
      !done)
    return done;
  statusWord = new (memory) LaunchStatus;
  return {};
}

/// Finds how many CTAs of each size may be launched.
Result<void> GpuKernel::bound(int ranksPerGpu, int contextsPerGpu) {
  const Cuda &cuda = gpus.cuda;
  unsigned threads = manifest.maxThreads;
  std::array<unsigned, 17> resident;
  resident.fill(region::kMaxCtas);
  for (std::size_t g = 0; g < functions.size(); ++g) {
    Current current(cuda, gpus.list[g]);
    const CUfunction function = functions[g];
    int most = 0;
    if (auto done = cuda.check(cuda.cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function),
                               "cuFuncGetAttribute");
        !done)
      return done;
    threads = std::min(threads, unsigned(most));
    for (unsigned warps = 1; warps <= 16; ++warps) {
      int blocks = 0;
      if (int(warps * 32) <= most)
        if (auto done =
                cuda.check(cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, int(warps * 32), 0),
                           "cuOccupancyMaxActiveBlocksPerMultiprocessor");
            !done)
          return done;
      // A launch and, by dependent launch, its successor are resident together: two grids of each rank.
      const unsigned multiprocessors = gpus.list[g].multiprocessors;
      resident[warps] = std::min(resident[warps], shareOfGpu(unsigned(blocks) * multiprocessors, multiprocessors,
                                                          2u * ranksPerGpu * contextsPerGpu));
    }
  }
  if (resident[1] == 0)
    return Error{Error::Code::MachineLacks, "two launches of `" + manifest.member + "` for each of " +
                                                std::to_string(ranksPerGpu) +
                                                " ranks on a GPU do not fit there together"};
  shapeLimits = {std::min(threads / 32 * 32, 512u), std::min(manifest.maxCtas, region::kMaxCtas), resident, 8};
  for (const Gpu &gpu : gpus.list)
    if (gpu.arch < 90 || !cuda.cuOccupancyMaxActiveClusters) shapeLimits.maxCluster = 1;
  return manifest.domain.rows && shapeLimits.maxCluster > 1 ? boundClusters(2u * ranksPerGpu * contextsPerGpu)
                                                            : Result<void>();
}

/// The same for clusters, if so many grids share a GPU.
Result<void> GpuKernel::boundClusters(unsigned grids) {
  const Cuda &cuda = gpus.cuda;
  for (auto &ofSize : shapeLimits.clustered) ofSize.fill(region::kMaxCtas);
  for (std::size_t g = 0; g < functions.size(); ++g) {
    Current current(cuda, gpus.list[g]);
    for (unsigned c = 1; 1u << c <= shapeLimits.maxCluster; ++c)
      for (unsigned warps = 1; warps <= shapeLimits.maxThreads / 32; ++warps) {
        CUlaunchAttribute attribute = {};
        attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        attribute.value.clusterDim = {1u << c, 1, 1};
        CUlaunchConfig config = {};
        config.gridDimX = 1u << c, config.gridDimY = 1, config.gridDimZ = 1;
        config.blockDimX = warps * 32, config.blockDimY = 1, config.blockDimZ = 1;
        config.attrs = &attribute, config.numAttrs = 1;
        int clusters = 0;
        if (auto done = cuda.check(cuda.cuOccupancyMaxActiveClusters(&clusters, functions[g], &config),
                                   "cuOccupancyMaxActiveClusters");
            !done)
          return done;
        unsigned &least = shapeLimits.clustered[c][warps];
        least = std::min(least, shareOfGpu(unsigned(clusters) << c, gpus.list[g].multiprocessors, grids) >> c << c);
      }
  }
  return {};
}

} // namespace coll
