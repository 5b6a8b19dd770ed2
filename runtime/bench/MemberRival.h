// A member of Coll's as a rival.
#pragma once

#include "bench/Rival.h"

namespace coll::bench {

/// `context` and `watch` outlive it.
std::unique_ptr<Rival> memberRival(Collective collective, Context &context, const Stopwatch &watch,
                                   std::vector<Scalar> scalars);

} // namespace coll::bench
