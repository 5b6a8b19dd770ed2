// Whole numbers of a program's text that are more than sums: what the language says of them where C++ says otherwise.
#pragma once

#include "coll/types.h"

namespace coll {

/// a / b, rounded down. b is not 0.
__device__ inline long long floorDiv(long long a, long long b) {
  const long long quotient = a / b;
  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

/// a times 2 to the power of b, which is in 0 .. 62.
__device__ inline long long shiftLeft(long long a, long long b) { return a * (1ll << b); }

} // namespace coll
