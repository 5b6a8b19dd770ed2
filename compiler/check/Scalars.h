// Which values of scalar arguments stand for all.
#pragma once

#include "ir/Program.h"

#include <optional>

namespace coll::check {

/// Values of the scalars of a program: first some, `few` of them, whose launches are followed before all others, then the
/// rest. Empty vectors, one of them, if it has no scalars.
struct ScalarClasses {
  std::vector<std::vector<std::int64_t>> values;
  int few = 1;
  std::vector<std::vector<std::int64_t>> each; ///< by scalar: its values
  std::vector<std::vector<std::int64_t>> edges; ///< by scalar, where not all combinations are among the values: those that
                                                ///< all values of the others are combined with
  struct Refusal {
    std::string scalar;
    std::optional<ir::Index> at; ///< whose outcomes are too many, or are not known
    ir::SourceOffset where = 0;
    bool overflows = false; ///< what `at` comes to
    bool isFollowed = true; ///< its outcomes are too many; else it is of no form whose outcomes are known
  };
  std::optional<Refusal> refusal; ///< the values do not stand for all: why
};

/// Of a rank, all. Of an integer, one for each outcome that it has in the program's conditions and indices. Of several
/// scalars all combinations, or, where those are too many, each value of one and every outcome of the conditions.
ScalarClasses scalarClasses(const ir::Program &program);

} // namespace coll::check
