// Compares what launches left in memory with the reference.
#pragma once

#include "context/RunLayout.h"

namespace coll {

/// Compares every launch's outputs on every rank, and that inputs and the bytes around buffers are untouched; on all
/// cores. memory[rank] is the rank's memory after the launches. Adds to `reports`, one for each rank.
void verifyLaunches(const Manifest &manifest, const Reference &reference, const RunLayout &layout,
                    std::span<const PlannedLaunch> launches, std::span<const std::vector<std::byte>> memory,
                    std::vector<RankReport> &reports);

} // namespace coll
