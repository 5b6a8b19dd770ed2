// The CUDA driver, opened when first needed, and the GPUs of a context. Only files that are built with cuda.h include
// this one.
#pragma once

#include "coll/Result.h"
#include "platform/Platform.h"

#include <cuda.h>

#include <array>
#include <memory>
#include <span>
#include <vector>

namespace coll {

/// The driver's functions under the names that cuda.h gives them.
struct Cuda {
#define COLL_CUDA(function) decltype(&::function) function = nullptr;
#define COLL_CUDA_OPTIONAL(function) COLL_CUDA(function)
#include "platform/Cuda.def"

  int version = 0; ///< as cuDriverGetVersion gives it: 13000

  /// The process's driver, initialised. Error::MachineLacks if there is none, no GPU, or one that is too old.
  static Result<const Cuda *> get();

  /// Error::Failed with the driver's own words, or success. `what` is the call.
  Result<void> check(CUresult result, const char *what) const;
};

/// "13.0" from 13000.
std::string cudaVersionText(int version);

struct Gpu {
  int ordinal = 0;
  CUdevice device = 0; ///< CU_DEVICE_INVALID: that of another process, which this one does not see
  CUcontext context = nullptr; ///< the primary one, which libraries built on the CUDA runtime use as well
  std::string name;
  unsigned arch = 0; ///< 90 for sm_90
  unsigned multiprocessors = 0;
};

/// GPUs with their primary contexts, held until this is gone.
class Gpus {
public:
  /// `ordinals` empty: all there are.
  static Result<std::unique_ptr<Gpus>> open(std::span<const int> ordinals);
  explicit Gpus(const Cuda &cuda) : cuda(cuda) {} ///< of none yet
  ~Gpus();
  Gpus(const Gpus &) = delete;
  Gpus &operator=(const Gpus &) = delete;

  const Cuda &cuda;
  std::vector<Gpu> list;

  Link link(const Gpu &a, const Gpu &b) const;

  /// What is the same in all processes, and nowhere twice.
  using Uuid = std::array<std::uint64_t, 2>;
  Uuid uuid(const Gpu &gpu) const;
  /// The GPU of this machine that has it, among the list or not, without a context; one with no device if there is none
  /// that this process sees.
  Gpu find(const Uuid &uuid) const;

  /// "2 x NVIDIA H200"
  std::string describe() const;
};

/// Makes a GPU's context the thread's current one for the life of this object.
class Current {
public:
  Current(const Cuda &cuda, const Gpu &gpu) : cuda(cuda) {
    cuda.cuCtxGetCurrent(&before);
    changed = before != gpu.context;
    if (changed) cuda.cuCtxSetCurrent(gpu.context);
  }
  ~Current() {
    if (changed) cuda.cuCtxSetCurrent(before);
  }
  Current(const Current &) = delete;
  Current &operator=(const Current &) = delete;

private:
  const Cuda &cuda;
  CUcontext before = nullptr;
  bool changed = false;
};

} // namespace coll
