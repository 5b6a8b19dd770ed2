// The kernels of floors.cu on every GPU.
#pragma once

#include "bench/FloorsText.h"
#include "jit/Jit.h"
#include "platform/Cuda.h"

#include <array>
#include <map>
#include <vector>

namespace coll::bench {

class Kernels {
public:
  /// The kernels named of a text; those of floorsText where none is given.
  static Result<std::unique_ptr<Kernels>> load(const Gpus &gpus, const Jit &jit, const Kernel &text = floorsText(),
                                               const std::vector<std::string> &names = floorsNames());
  ~Kernels();
  Kernels(const Kernels &) = delete;
  Kernels &operator=(const Kernels &) = delete;

  struct Shape {
    unsigned grid = 1, block = 32;
    bool dependent = false; ///< programmatic stream serialisation, where the GPU has it
  };

  /// Queues `name` on a stream of GPU `gpu` (its place in Gpus::list). The arguments' types are the kernel's.
  template <class... Arguments>
  Result<void> launch(std::size_t gpu, CUstream stream, const char *name, Shape shape, Arguments... arguments) const {
    std::array<void *, sizeof...(Arguments) + 1> pointers = {&arguments..., nullptr};
    return launchWith(gpu, stream, name, shape, pointers.data());
  }

private:
  explicit Kernels(const Gpus &gpus) : gpus(gpus) {}
  Result<void> launchWith(std::size_t gpu, CUstream stream, const char *name, Shape shape, void **arguments) const;

  const Gpus &gpus;
  std::vector<CUmodule> modules;                            ///< [gpu]
  std::vector<std::map<std::string, CUfunction>> functions; ///< [gpu]
};

} // namespace coll::bench
