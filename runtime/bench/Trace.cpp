#include "bench/Trace.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <algorithm>

namespace coll::bench {
namespace {

// As in runtime/device/coll/trace.h.
enum Stamp { kEntered, kMayRun, kSends, kReceived, kFinished };
constexpr const char *kPhases[] = {"wait for the kernel before", "load, read the epoch", "exchange", "finish"};
constexpr double kBetweenLaunches = 1; // microseconds

using Ctas = std::vector<std::vector<std::uint64_t>>; ///< of one rank

std::uint64_t firstOf(const Ctas &ctas) {
  std::uint64_t first = UINT64_MAX;
  for (const auto &stamps : ctas) first = std::min(first, stamps[kEntered]);
  return first;
}

std::uint64_t lastOf(const Ctas &ctas) {
  std::uint64_t last = 0;
  for (const auto &stamps : ctas) last = std::max(last, stamps[kFinished]);
  return last;
}

/// Nanoseconds that the launch takes from the first instruction to the last, on the rank where that is longest.
std::uint64_t lengthOf(const TracedLaunch &launch) {
  std::uint64_t length = 0;
  for (const Ctas &ctas : launch.stamps)
    if (!ctas.empty()) length = std::max(length, lastOf(ctas) - firstOf(ctas));
  return length;
}

/// A kernel without an exchange stamps no first send.
std::uint64_t phaseBegin(const std::vector<std::uint64_t> &stamps, int phase) {
  return phase == kSends && stamps[kSends] < stamps[kEntered] ? stamps[kMayRun] : stamps[std::size_t(phase)];
}

} // namespace

double TracedLaunch::inKernel() const {
  double shortest = 0;
  for (const Ctas &ctas : stamps) {
    std::uint64_t longest = 0;
    for (const auto &of : ctas) longest = std::max(longest, of[kFinished] - of[kMayRun]);
    const double time = double(longest) / 1e3;
    shortest = shortest > 0 ? std::min(shortest, time) : time;
  }
  return shortest;
}

std::string toChromeTrace(const std::vector<TracedLaunch> &launches) {
  using namespace llvm::json;
  Array events;
  double start = 0;
  for (const TracedLaunch &launch : launches) {
    const double end = start + double(lengthOf(launch)) / 1e3;
    for (std::size_t rank = 0; rank < launch.stamps.size(); ++rank) {
      const Ctas &ctas = launch.stamps[rank];
      if (ctas.empty()) continue;
      const std::uint64_t last = lastOf(ctas);
      const auto at = [&](std::uint64_t stamp) { return end - double(last - stamp) / 1e3; };
      for (std::size_t cta = 0; cta < ctas.size(); ++cta)
        for (int phase = kEntered; phase < kFinished; ++phase) {
          const double from = at(phaseBegin(ctas[cta], phase)), to = at(phaseBegin(ctas[cta], phase + 1));
          events.push_back(Object{{"name", kPhases[phase]},
                                  {"cat", launch.rival + ", " + std::to_string(launch.bytes) + " bytes"},
                                  {"ph", "X"},
                                  {"ts", from},
                                  {"dur", std::max(0.0, to - from)},
                                  {"pid", std::int64_t(rank)},
                                  {"tid", std::int64_t(cta)},
                                  {"args", Object{{"member", launch.rival}, {"bytes", std::int64_t(launch.bytes)}}}});
        }
    }
    start = end + kBetweenLaunches;
  }
  std::size_t ranks = 0;
  for (const TracedLaunch &launch : launches) ranks = std::max(ranks, launch.stamps.size());
  for (std::size_t rank = 0; rank < ranks; ++rank)
    events.push_back(Object{{"name", "process_name"},
                            {"ph", "M"},
                            {"pid", std::int64_t(rank)},
                            {"args", Object{{"name", "rank " + std::to_string(rank)}}}});
  return llvm::formatv("{0}\n", Value(Object{{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}})).str();
}

std::string traceText(const std::vector<TracedLaunch> &launches) {
  std::string text;
  for (const TracedLaunch &launch : launches)
    text += llvm::formatv("in the kernel, with stamps: {0,-20} {1,10} bytes {2,9:F3} us\n", launch.rival, launch.bytes,
                          launch.inKernel())
                .str();
  return text;
}

} // namespace coll::bench
