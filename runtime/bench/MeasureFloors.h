// Measures the floors of Limit.h between GPUs 0 and 1.
#pragma once

#include "bench/Limit.h"
#include "bench/Stopwatch.h"

namespace coll::bench {

Result<Floors> measureFloors(const Gpus &gpus, const Kernels &kernels, Stopwatch &watch);

} // namespace coll::bench
