// What ranks know of each other after a launch.
#pragma once

#include "check/Schedule.h"

#include "llvm/ADT/BitVector.h"

namespace coll::check {

/// By rank, of which ranks it knows at the end of a launch that they have begun it.
class Knowledge {
public:
  /// Each class of packets learns by its own messages.
  Knowledge(const Schedule &schedule, const Expansion &expansion);

  /// Whether nobody knows more of anybody than with `other`.
  bool isWithin(const Knowledge &other) const;
  /// How many ranks are known to ranks, after this launch and after any number of such.
  unsigned told = 0, toldByMany = 0;

private:
  std::vector<llvm::BitVector> of;

  unsigned count() const;
};

} // namespace coll::check
