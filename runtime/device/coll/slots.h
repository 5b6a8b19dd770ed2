// Reading all slots of a mailbox that has one slot for each rank: the loads of a batch are in flight together.
#pragma once

#include "coll/reduce.h"

namespace coll {

/// Slots waited for at a time: enough to overlap, few enough to stay in registers.
constexpr int kSlotsInFlight = 8;

namespace detail {

template <int kFirst, class Box, int N, class Wanted, class Use>
__device__ inline void batches(Launch<N> &launch, u64 i, Wanted wanted, Use use) {
  if constexpr (kFirst < N) {
    constexpr int kCount = N - kFirst < kSlotsInFlight ? N - kFirst : kSlotsInFlight;
    typename Box::P part[kCount] = {};
    Box::template receive<kCount>(launch, kFirst, i, part, wanted);
#pragma unroll
    for (int s = 0; s < kCount; ++s) use(u32(kFirst + s), part[s]);
    batches<kFirst + kSlotsInFlight, Box>(launch, i, wanted, use);
  }
}

} // namespace detail

/// Calls use(r, packet i of slot r) for every rank r from 0 up for which reaches(r); slot `me` is not read: it is `own`.
template <class Box, int N, class Reaches, class Use>
__device__ inline void eachSlot(Launch<N> &launch, u64 i, const typename Box::P &own, Reaches reaches, Use use) {
  const u32 me = launch.me();
  detail::batches<0, Box>(
      launch, i, [&](u32 r) { return r != me && reaches(r); },
      [&](u32 r, typename Box::P &part) {
        if (r == me) part = own;
        if (reaches(r)) use(r, part);
      });
}

/// The same where this rank's contribution comes through its own slot.
template <class Box, int N, class Reaches, class Use>
__device__ inline void eachSlot(Launch<N> &launch, u64 i, Reaches reaches, Use use) {
  detail::batches<0, Box>(launch, i, reaches, [&](u32 r, typename Box::P &part) {
    if (reaches(r)) use(r, part);
  });
}

/// Packet `i` of the slots of all ranks, reduced from rank 0 up, accumulated wide and rounded once. Slot `me` is `own`.
template <class Op, class T, class Box, int N>
__device__ inline typename Box::P reduceSlots(Launch<N> &launch, u64 i, const typename Box::P &own) {
  Accumulator<T, typename Box::P> acc;
  eachSlot<Box>(
      launch, i, own, [](u32) { return true; },
      [&](u32 r, const typename Box::P &part) {
        if (r == 0) acc = acc.of(part);
        else acc.template take<Op>(part);
      });
  return acc.rounded();
}

/// The same where this rank's contribution comes through its own slot.
template <class Op, class T, class Box, int N>
__device__ inline typename Box::P reduceSlots(Launch<N> &launch, u64 i) {
  Accumulator<T, typename Box::P> acc;
  eachSlot<Box>(
      launch, i, [](u32) { return true; },
      [&](u32 r, const typename Box::P &part) {
        if (r == 0) acc = acc.of(part);
        else acc.template take<Op>(part);
      });
  return acc.rounded();
}

} // namespace coll
