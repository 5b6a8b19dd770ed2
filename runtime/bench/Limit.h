// What no operation can be faster than, from floors measured in the same run.
#pragma once

#include <cstdint>
#include <string>

namespace coll::bench {

/// Microseconds and bytes per microsecond, each the best seen.
struct Floors {
  double emptyNode = 0;           ///< a graph node of one CTA that does nothing, launched dependently where the GPU can
  double plainNode = 0;           ///< the same without dependent launch
  double oneWay = 0;              ///< from a store to a peer's look that sees it, a 16-byte line
  double bytesPerMicrosecond = 0; ///< one way over the link of one GPU
  std::string bandwidthBy;        ///< what reached it: "stores of a kernel", "copy engine"
};

/// How an algorithm moves its data. A rival that may choose, or is not known, has the least traffic of all.
enum class Traffic { OneShot, TwoShot, Least };
/// From an algorithm's name: `oneshot.ll`.
Traffic trafficOf(const std::string &algorithm);

/// Bytes that a rank must receive in an operation whose largest argument has `bytes`. 0 for a collective that is not
/// known here: the limit then is that of a message.
double leastBytes(const std::string &collective, Traffic traffic, int ranks, std::uint64_t bytes);

/// Empty node + one way + bytes over bandwidth, in microseconds.
double limitOf(const Floors &floors, const std::string &collective, Traffic traffic, int ranks, std::uint64_t bytes);

/// A figure below this share of the limit is no figure: the floors spread by some percent from loop to loop.
constexpr double kBelievable = 0.97;

/// What makes bus bandwidth of bytes over time, as nccl-tests define it.
double busFactor(const std::string &collective, int ranks);

} // namespace coll::bench
