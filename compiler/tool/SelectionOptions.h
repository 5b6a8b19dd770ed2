// `--table`, `--gpu`, `--order`, `--no-nccl`: what selection goes by and may choose from.
#pragma once

#include "coll/Selection.h"
#include "selection/Candidates.h"
#include "tool/Arguments.h"

namespace coll::tool {

namespace option {
inline constexpr Option table{"--table", "F", "a selection table of `coll tune`, used before the built-in one"};
inline constexpr Option gpu{"--gpu", "NAME", "choose as for these GPUs; `NVIDIA H200` if not given"};
inline constexpr Option order{"--order", "CLASS", "hold to one order class: ascending or fixed"};
inline constexpr Option noNccl{"--no-nccl", "", "leave NCCL out of the choice"};
} // namespace option

/// What the options say; the table as text, that of COLL_TABLE where `--table` is not given.
SelectionOptions selectionOptions(const Arguments &arguments);

/// What selection takes for a call: the quickest way first, without members that the checker does not prove for it.
struct Ranking {
  std::vector<Choice> choices; ///< at least the first two are proved, or are NCCL's; as many as there are
  struct Unproved {
    const Member *member;
    std::string how; ///< `refuted`, or `not proved` where nothing is known to go wrong
  };
  std::vector<Unproved> unproved;
};
Ranking rankingOf(const Program &program, const std::string &collective, const std::vector<Choice> &ranked,
                  const Call &call, bool strict = false);

} // namespace coll::tool
