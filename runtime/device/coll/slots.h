// Reading the slots of a mailbox that has one for each rank: the loads of a batch are in flight together.
#pragma once

#include "coll/reduce.h"

namespace coll {

/// Slots waited for at a time: enough to overlap, few enough for packets of 16 bytes, or half as many of twice the size,
/// to stay in registers.
template <class P>
constexpr u32 kSlotsInFlight = P::kBytes > 16 ? 4 : 8;

namespace detail {

template <class Box, int N, class Reaches, class Use>
__device__ inline void eachSlot(Launch<N> &launch, u32 i, u32 skip, const typename Box::P &own, const Reaches &reaches,
                                const Use &use) {
  constexpr u32 kMost = kSlotsInFlight<typename Box::P>, kCount = N < kMost ? N : kMost;
  const typename Box::P mine = Box::sent(own);
#pragma unroll 1
  for (u32 first = 0; first < N; first += kCount) {
    // The last batch reaches back so that it is full too; what it reads again is neither waited for nor used.
    const u32 from = N % kCount == 0 || first + kCount <= N ? first : N - kCount;
    u32 wanted = 0;
#pragma unroll
    for (u32 s = 0; s < kCount; ++s) wanted |= u32(from + s >= first && reaches(from + s)) << s;
    if (skip - from < kCount) wanted &= ~(1u << (skip - from));
    typename Box::P part[kCount];
    Box::template receive<kCount>(launch, from, wanted, i, part);
#pragma unroll
    for (u32 s = 0; s < kCount; ++s) {
      const u32 r = from + s;
      if (r >= first && reaches(r)) use(r, select(r == skip, mine, part[s]));
    }
  }
}

template <class Op, class T, class Box, int N>
__device__ inline typename Box::P reduceSlots(Launch<N> &launch, u32 i, u32 skip, const typename Box::P &own) {
  using P = typename Box::P;
  Accumulator<T, P> acc;
  eachSlot<Box>(
      launch, i, skip, own, [](u32) { return true; },
      [&](u32 r, const P &part) { r == 0 ? acc.start(part) : acc.template take<Op>(part); });
  acc.template finish<Op, N>();
  return acc.rounded();
}

} // namespace detail

/// Calls use(r, packet i of slot r) for every rank r from 0 up for which reaches(r). Slot `me` is not waited for: it is
/// `own`.
template <class Box, int N, class Reaches, class Use>
__device__ inline void eachSlot(Launch<N> &launch, u32 i, const typename Box::P &own, const Reaches &reaches, const Use &use) {
  detail::eachSlot<Box>(launch, i, launch.me(), own, reaches, use);
}

/// The same where this rank's contribution comes through its own slot.
template <class Box, int N, class Reaches, class Use>
__device__ inline void eachSlot(Launch<N> &launch, u32 i, const Reaches &reaches, const Use &use) {
  detail::eachSlot<Box>(launch, i, kNone, {}, reaches, use);
}

/// Packet `i` of slot `slot` alone.
template <class Box, int N>
__device__ inline typename Box::P readSlot(Launch<N> &launch, u32 slot, u32 i) {
  typename Box::P part[1];
  Box::template receive<1>(launch, slot, 1, i, part);
  return part[0];
}

/// Packet `i` of the slots of all ranks, reduced from rank 0 up, accumulated wide and rounded once. Slot `me` is `own`.
template <class Op, class T, class Box, int N>
__device__ inline typename Box::P reduceSlots(Launch<N> &launch, u32 i, const typename Box::P &own) {
  if constexpr (N == 2) { // one line to look at; of two, every operator gives the same bits either way round
    const typename Box::P other = readSlot<Box>(launch, 1 - launch.me(), i);
    return combine<Op, T, 2>(Box::sent(own), other);
  } else {
    return detail::reduceSlots<Op, T, Box>(launch, i, launch.me(), own);
  }
}

/// The same where this rank's contribution comes through its own slot.
template <class Op, class T, class Box, int N>
__device__ inline typename Box::P reduceSlots(Launch<N> &launch, u32 i) {
  return detail::reduceSlots<Op, T, Box>(launch, i, kNone, {});
}

} // namespace coll
