// Which counts stand for all, and which sequences of launches for every stream of them.
#pragma once

#include "check/Schedule.h"

namespace coll::check {

/// The classes {1, N-1, N, large, large with short and empty trailing pieces}, as far as `when bytes <= …` lets them.
std::vector<Extents> countClasses(const ir::Program &program);

/// A sequence of launches, each a number below `kinds`, that shows every hazard which a stream of launches of these
/// kinds can show: one between launches up to `window` - 1 apart.
std::vector<int> launchSequence(int kinds, int window);

} // namespace coll::check
