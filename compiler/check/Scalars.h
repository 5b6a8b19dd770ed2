// Which values of scalar arguments stand for all.
#pragma once

#include "ir/Program.h"

namespace coll::check {

/// Values of the scalars of a program: first some, `few` of them, that launches in a row are checked with, then the
/// rest. Empty vectors, one of them, if it has no scalars.
struct ScalarClasses {
  std::vector<std::vector<std::int64_t>> values;
  int few = 1;
  std::vector<std::vector<std::int64_t>> each; ///< by scalar: its values
  std::vector<std::vector<std::int64_t>> edges; ///< by scalar, where not all combinations are among the values: those that
                                                ///< all values of the others are combined with
};

/// Of a rank, all. Of an integer, those on both sides of every number at which a condition or an index of the program may
/// change, a negative one and a large one; all numbers of ranks, if it is compared with such.
ScalarClasses scalarClasses(const ir::Program &program);

} // namespace coll::check
