// What takes the place of the GPU parts in a build without CUDA's headers.
#include "context/Backend.h"
#include "platform/Machine.h"

namespace coll {
namespace {

const Error kWithout{Error::Code::MachineLacks,
                     "this Coll was built without CUDA headers; configure it again where `cuda.h` is found, "
                     "or give -DCOLL_CUDA_INCLUDE=DIR"};

} // namespace

Result<MachineGpus> machineGpus() {
  return kWithout;
}

Result<std::unique_ptr<Backend>> createGpuBackend(const ContextOptions &) {
  return kWithout;
}

} // namespace coll
