// What takes the place of the GPU parts in a build without CUDA's headers.
#include "bench/Tune.h"
#include "platform/Machine.h"

namespace coll::bench {

Result<void> run(const Request &, Report &) {
  return machineGpus().error();
}

Result<void> tune(const Request &, const std::vector<TuneSpace> &, Report &) {
  return machineGpus().error();
}

} // namespace coll::bench
