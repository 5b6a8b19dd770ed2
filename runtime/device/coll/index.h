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

/// The logarithm to base 2 of a positive number, rounded down.
__device__ inline int floorLog2(long long a) {
  int log = 0;
  while (a > 1) a >>= 1, ++log;
  return log;
}

/// Whether a number is 1, 2, 4, 8, …
__device__ inline bool isPowerOf2(long long a) { return a > 0 && (a & (a - 1)) == 0; }

} // namespace coll
