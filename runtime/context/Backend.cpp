// What backends have in common, and what those without it answer.
#include "context/Backend.h"

#include <numeric>

namespace coll {

std::span<const int> Backend::ownRanks() const {
  static const std::vector<int> all = [] {
    std::vector<int> numbers(72); // the most that a context has
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
  }();
  return std::span(all).first(std::size_t(ranks()));
}

Result<void> Backend::launchNccl(const NcclCall &, std::span<const std::vector<void *>>, std::span<const std::uint64_t>,
                                 int, std::span<void *const>) {
  return Error{Error::Code::MachineLacks, "the ranks are not on NCCL's fabric"};
}

Result<std::vector<std::uint64_t>> Backend::stamps(LoadedKernel &, int, unsigned) {
  return Error{Error::Code::MachineLacks, "only kernels on GPUs can be traced"};
}

} // namespace coll
