// What this machine has, for `coll info` and for choosing a fabric. Needs no CUDA header.
#pragma once

#include "coll/Result.h"

#include <cstdint>
#include <vector>

namespace coll {

struct GpuInfo {
  int ordinal;
  std::string name;
  unsigned arch; ///< 90 for sm_90
  unsigned multiprocessors;
  std::uint64_t memoryBytes;
  std::vector<int> reaches; ///< ordinals of the GPUs whose memory its kernels can access
  bool multicast = false;   ///< the driver and the GPU can, whether or not NCCL makes use of it
};

struct MachineGpus {
  std::string cuda; ///< the CUDA version of the driver: "13.0"
  std::vector<GpuInfo> gpus;
};

/// Error::MachineLacks with the reason if no GPU can be used, "built without CUDA headers" being one.
Result<MachineGpus> machineGpus();

} // namespace coll
