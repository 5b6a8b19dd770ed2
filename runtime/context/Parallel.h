// Work on many elements, shared out among the host's cores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

namespace coll {

/// Calls body(begin, end) for ranges that make up 0 .. count, at the same time from several threads if there are very
/// many. `body` must not touch what another range's call does.
template <class Body>
void forRanges(std::uint64_t count, const Body &body) {
  constexpr std::uint64_t kWorthAThread = 1 << 20;
  const std::uint64_t cores = std::clamp<std::uint64_t>(std::thread::hardware_concurrency(), 1, 32);
  const std::uint64_t parts = std::clamp<std::uint64_t>(count / kWorthAThread, 1, cores);
  std::vector<std::thread> threads;
  for (std::uint64_t part = 1; part < parts; ++part)
    threads.emplace_back([&body, begin = count / parts * part, end = part + 1 == parts ? count : count / parts * (part + 1)] {
      body(begin, end);
    });
  body(std::uint64_t(0), parts == 1 ? count : count / parts);
  for (std::thread &thread : threads) thread.join();
}

} // namespace coll
