// split(x, N): a vector in N pieces of whole 16-byte units, the trailing ones perhaps short or empty.
#pragma once

#include "coll/types.h"

namespace coll {

template <class T, int N>
struct Split {
  u64 length; ///< elements of the whole
  u64 piece;  ///< elements of a full piece

  __device__ explicit Split(u64 elements) : length(elements) {
    constexpr u64 kUnit = 16 / sizeof(T);
    piece = ((elements + N - 1) / N + kUnit - 1) / kUnit * kUnit;
  }

  __device__ u64 begin(u32 r) const { return r * piece < length ? r * piece : length; }
  __device__ u64 size(u32 r) const {
    const u64 rest = length - begin(r);
    return rest < piece ? rest : piece;
  }
};

} // namespace coll
