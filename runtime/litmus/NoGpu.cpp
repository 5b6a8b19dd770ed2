// What takes the place of the GPU parts in a build without CUDA's headers.
#include "litmus/Litmus.h"
#include "platform/Machine.h"

namespace coll {

Result<std::vector<litmus::Finding>> litmus::run(const Limits &, const std::function<void(const Finding &)> &) {
  return machineGpus().error();
}

} // namespace coll
