// Windows, where arithmetic goes on with what is reduced.
#pragma once

#include "coll/arithmetic.h"
#include "coll/window.h"

namespace coll {

/// The packets part(0), part(1), … of all ranks, reduced from rank 0 up and not yet rounded.
template <class Op, class T, class P, int N, class Part>
__device__ inline Floats<P::kElements> reduceRanksWide(Part part) {
  return detail::floatsOf(detail::accumulateRanks<Op, T, P, N>(part));
}

} // namespace coll
