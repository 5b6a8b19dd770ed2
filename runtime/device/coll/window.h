// Windows: what ranks read from each other's memory, reduced. Ordinary loads; barriers say when they may be made.
#pragma once

#include "coll/reduce.h"

namespace coll {

namespace detail {

template <class Op, class T, class P, int N, class Part>
__device__ inline Accumulator<T, P> accumulateRanks(Part part) {
  constexpr u32 kMostWords = 64, kFit = P::kWords < kMostWords ? kMostWords / P::kWords : 1, kBatch = N < kFit ? N : kFit;
  Accumulator<T, P> acc;
#pragma unroll 1
  for (u32 first = 0; first < N; first += kBatch) {
    P parts[kBatch];
#pragma unroll
    for (u32 s = 0; s < kBatch; ++s)
      if (N % kBatch == 0 || first + s < N) parts[s] = part(first + s);
#pragma unroll
    for (u32 s = 0; s < kBatch; ++s)
      if (first + s == 0) acc.start(parts[s]);
      else if (N % kBatch == 0 || first + s < N) acc.template take<Op>(parts[s]);
  }
  acc.template finish<Op, N>();
  return acc;
}

} // namespace detail

/// The packets part(0), part(1), … of all ranks, reduced from rank 0 up, accumulated wide and rounded once. The loads of
/// as many ranks as fit into registers are in flight together.
template <class Op, class T, class P, int N, class Part>
__device__ inline P reduceRanks(Part part) {
  return detail::accumulateRanks<Op, T, P, N>(part).rounded();
}

} // namespace coll
