// Finds the quickest shape of each member at each size. What `coll tune` calls.
#pragma once

#include "bench/Bench.h"

namespace coll::bench {

/// What a member declares under `tune`.
struct TuneSpace {
  std::vector<unsigned> ctas, threads;
};

/// The shapes to try for so many packets: the rule's, which is first, and those of the space that have not more than
/// twice as many threads as there are packets.
std::vector<Shape> shapesToTry(const TuneSpace &space, std::uint64_t packets);

/// A row for each size and rival: the member's with its best shape, verified. `spaces[k]` is of `request.kernels[k]`.
Result<void> tune(const Request &request, const std::vector<TuneSpace> &spaces, Report &report);

} // namespace coll::bench
