// Between which numbers integer expressions stay.
#pragma once

#include "ir/Index.h"

#include <map>

namespace coll::ir {

/// From the least to the greatest value. Doubles, so that what leaves 64 bits has a range as well.
struct Range {
  double low, high;

  bool within(double least, double greatest) const { return low >= least && high <= greatest; }
};
using Ranges = std::map<std::string, Range>;

/// Numbers that an expression cannot leave, whatever its variables are; empty if the range of one is not known.
std::optional<Range> rangeOf(const Index &i, const Ranges &ranges);

/// The first part of an expression, operands before operations, that may leave a range; empty if none does.
std::optional<Index> leaves(const Index &i, const Ranges &ranges, const Range &range);

} // namespace coll::ir
