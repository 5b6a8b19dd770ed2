// `--count`, `--bytes` and `--set`: how large the arguments of a kernel are, and the values of its scalars.
#pragma once

#include "context/Runner.h"
#include "tool/Arguments.h"

namespace coll::tool {

namespace option {
inline constexpr Option count{"--count", "M", "elements of the free extent; other ones at each launch if not given"};
inline constexpr Option bytes{"--bytes", "B",
                              "the same as bytes of the largest argument, as in nccl-tests: 16, 64Ki, 1Mi"};
inline constexpr Option set{"--set", "NAME=V,...",
                            "values of extents and scalars by name: R=16,H=4096,eps=1e-6,root=2"};
} // namespace option

struct Sizes {
  Extents extents; ///< those that are fixed
  std::map<std::string, std::string> scalars;
};

/// What the options say about the arguments of this kernel. Throws Failure where they do not fit it.
Sizes pickSizes(const Manifest &manifest, const Arguments &arguments);

/// `--counts`, one of `choices`, the first if it is not given.
Counted pickCounts(const Arguments &arguments, const std::vector<std::string> &choices);

/// The free extents that `sizes` leaves open.
std::vector<std::string> openExtents(const Manifest &manifest, const Sizes &sizes);

/// Bytes of the largest argument, where an extent that is missing is 1.
std::uint64_t bytesOf(const Manifest &manifest, const Extents &extents);

/// The most elements that the one extent that is missing, `open`, may have if no argument is to have more than `bytes`.
std::uint64_t countWithin(const Manifest &manifest, Extents extents, const std::string &open, std::uint64_t bytes);

} // namespace coll::tool
