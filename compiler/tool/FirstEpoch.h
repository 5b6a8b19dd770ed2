// `--first-epoch`: how the first launch is numbered, for runs across the numbers at which arithmetic may go wrong.
#pragma once

#include "coll/Manifest.h"
#include "tool/Arguments.h"

namespace coll::tool {

namespace option {
inline constexpr Option firstEpoch{"--first-epoch", "E",
                                   "the number of the first launch: 0x7ffffffd, or wrap-3 for three before the one\n"
                                   "that starts the epochs anew"};
} // namespace option

/// The option's value, which the kernel can have; `otherwise` where it was not given.
std::uint32_t pickFirstEpoch(const Manifest &manifest, const Arguments &arguments, std::uint32_t otherwise);

} // namespace coll::tool
