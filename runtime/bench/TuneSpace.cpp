#include "bench/Tune.h"

namespace coll::bench {

std::vector<Shape> shapesToTry(const TuneSpace &space, std::uint64_t packets) {
  std::vector<Shape> shapes = {Shape{}};
  std::vector<unsigned> ctas = space.ctas, threads = space.threads;
  // An axis that is not declared is left at what serves everything.
  if (ctas.empty() && threads.empty()) return shapes;
  if (ctas.empty()) ctas = {1, 8, 64};
  if (threads.empty()) threads = {128, 512};
  for (unsigned c : ctas)
    for (unsigned t : threads) {
      const unsigned whole = t / 32 * 32; // as launches round it
      if (c == 0 || whole == 0) continue;
      if (std::uint64_t(c) * whole > 2 * packets && (c > 1 || whole > 32)) continue;
      shapes.push_back({c, whole, 0});
    }
  return shapes;
}

} // namespace coll::bench
