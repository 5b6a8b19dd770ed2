// `--mixed`: members whose launches follow each other in one context, in random order.
#pragma once

#include "tool/Selection.h"

namespace coll::tool {

namespace option {
inline constexpr Option mixed{"--mixed", "A,B,...",
                              "instead of WHAT: launches of these members in random order; each a member of the\n"
                              "standard library, such as allgather.direct.flag, or FILE:MEMBER"};
} // namespace option

/// Members, each with the program that has it.
struct Subject {
  std::vector<std::shared_ptr<const Program>> programs;
  std::vector<const Member *> members;

  /// What of each member is run. A type or operator that was asked for is taken by the members that offer it.
  std::vector<Instance> instances(const Arguments &arguments) const;
  /// `allreduce.oneshot.ll, 8 ranks, f32 sum`, or how many members there are.
  std::string describe(const Arguments &arguments) const;
};

/// The members that `--mixed` names. Throws Failure where one is not known or does not go with the others.
Subject pickMixture(const Arguments &arguments);

} // namespace coll::tool
