// Hand-written kernels as rivals.
#pragma once

#include "bench/HandWritten.h"
#include "bench/Rival.h"
#include "coll/Manifest.h"

namespace coll::bench {

/// A rival for each kernel of the file, with scratch for vectors of up to `most` bytes. `gpus`, `watch` and `context`
/// outlive them. Error::BadInput where the file is for another collective or type.
Result<std::vector<std::unique_ptr<Rival>>> handRivals(const HandWritten &source, const Manifest &manifest,
                                                       const Gpus &gpus, const Jit &jit, const Stopwatch &watch,
                                                       Context &context, std::uint64_t most);

} // namespace coll::bench
