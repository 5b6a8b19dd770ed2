// What happens within a kernel, by clock stamps of a traced build.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace coll::bench {

/// One traced launch of a member.
struct TracedLaunch {
  std::string rival;
  std::uint64_t bytes = 0;
  /// [rank][cta]: the stamps of runtime/device/coll/trace.h, nanoseconds.
  std::vector<std::vector<std::vector<std::uint64_t>>> stamps;

  /// From when it may run to its last instruction, microseconds: the longest CTA of each rank, the shortest of these.
  double inKernel() const;
};

/// For chrome://tracing and Perfetto: a process for each rank, a thread for each CTA, launches one after the other.
/// Clocks of GPUs differ, so ranks are aligned at the end of their longest CTA.
std::string toChromeTrace(const std::vector<TracedLaunch> &launches);
/// In-kernel times, a line a launch.
std::string traceText(const std::vector<TracedLaunch> &launches);

} // namespace coll::bench
