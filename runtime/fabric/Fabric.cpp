// What fabrics with all ranks in one process have in common.
#include "fabric/Fabric.h"

#include <algorithm>
#include <numeric>

namespace coll {

std::vector<int> Fabric::own() const {
  std::vector<int> all(std::size_t(ranks()), 0);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Result<std::vector<std::uint64_t>> Fabric::gather(std::uint64_t mine) {
  return std::vector<std::uint64_t>(std::size_t(ranks()), mine);
}

int Fabric::ranksPerGpu() const {
  std::vector<int> count(ranks(), 0);
  for (const int rank : own()) ++count[gpuOf(rank)];
  return *std::max_element(count.begin(), count.end());
}

} // namespace coll
