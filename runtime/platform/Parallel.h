// Loops whose rounds run on all cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace coll {

/// Calls `body(i)` once for each i below `count`, at most `most` at a time, in any order, and returns when all have
/// returned. The caller's thread takes part. `body` must not throw.
template <class Body> void onAllCores(std::size_t count, const Body &body, std::size_t most = 64) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i; (i = next++) < count;) body(i);
  };
  std::vector<std::jthread> others;
  const std::size_t cores = std::min<std::size_t>(std::max(1u, std::thread::hardware_concurrency()), most);
  for (std::size_t i = 1; i < std::min(cores, count); ++i) others.emplace_back(work);
  work();
}

} // namespace coll
