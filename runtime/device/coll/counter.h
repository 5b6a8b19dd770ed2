// Sync mode `counter`: all ranks add their packets into one slot of the owner, which waits until it has counted them.
//
// A packet is added element by element by reductions in memory, and nothing about it shows that it has arrived. So each
// CTA, when all its threads have added, meets and releases a count at the owner: one for each CTA and slot. The owner's
// CTA of the same number acquires it once all ranks have counted: through the chain of additions to one word that sees
// what all of them did before. No assumption on the hardware beyond PTX, which has a reduction take effect whole for
// each element; between GPUs the link must do it natively. All ranks launch the same grid.
//
// A slot is zero before the first launch, and the owner makes what it has read zero again. A count only grows, so it
// needs neither copies nor clearing; the owner keeps beside it how far it has counted.
//
// The order of additions is that of arrival, and each rounds to the element type: results differ from run to run.
#pragma once

#include "coll/packet.h"

namespace coll::counter {

constexpr u32 kLineBytes = 16;

template <class T>
using Packet = coll::Packet<T, 16>;

/// Bytes behind the copies: for each of kMaxCtas CTAs and each slot a count, and how far its owner has counted.
__device__ constexpr u64 countBytes(u64 slots) { return kMaxCtas * slots * 8; }

namespace detail {

__device__ inline void add(char *to, const Words2 &v, const float *) { ptx::addFloats16(to, v); }
__device__ inline void add(char *to, const Words2 &v, const F16 *) { ptx::addHalves16(to, v); }
__device__ inline void add(char *to, const Words2 &v, const BF16 *) { ptx::addBfloats16(to, v); }

} // namespace detail

/// As plain::Mailbox, whose counts may lie elsewhere, at kCounts; with `announce` after the loop that adds and `await` before the loop that reads.
template <class T, int N, u32 kNumber, u64 kOffset, u32 kSlots, u64 kLines, u32 kCopies, u64 kStride = 0,
          u64 kCounts = 0>
struct Mailbox {
  using P = Packet<T>;
  using Lines = region::Lines<kOffset, kSlots, kLines, kCopies, kLineBytes, kStride>;
  /// Byte offset in a region of packet `i` of slot `slot` in the copy of `epoch`.
  __device__ static auto at(u32 epoch, u32 slot, u32 i) { return Lines::at(epoch, slot, i); }
  /// The same of this CTA's count of `slot`, or that of the CTA with its number on another rank.
  __device__ static u64 countOf(u32 slot) { return (kCounts ? kCounts : kOffset + Lines::kBytes) + (blockIdx.x * kSlots + slot) * 8; }

  /// Adds packet `i` into `slot` of the rank `hop` places after this one. Relaxed, each element whole.
  __device__ static void send(Launch<N> &launch, u32 hop, u32 slot, u32 i, const P &data) {
    launch.begin();
    if (!launch.active) return;
    detail::add(launch.team.peer[hop] + at(launch.epoch, slot, i), coll::detail::toWords(data), static_cast<T *>(nullptr));
  }

  /// Says that this CTA has added all it has to `slot` of every rank. Called by all threads of the CTA, with or without
  /// packets. Releases what they have added.
  __device__ static void announce(Launch<N> &launch, u32 slot) {
    launch.begin();
    ptx::ctaSync();
    launch.settled = true;
#pragma unroll 1
    for (u32 hop = threadIdx.x; hop < N; hop += blockDim.x) ptx::addRelease4(launch.team.peer[hop] + countOf(slot), 1);
  }

  /// The same to the rank `hop` places after this one alone.
  __device__ static void announce(Launch<N> &launch, u32 hop, u32 slot) {
    launch.begin();
    ptx::ctaSync();
    launch.settled = true;
    if (threadIdx.x == 0) ptx::addRelease4(launch.team.peer[hop] + countOf(slot), 1);
  }

  /// Waits until all ranks have announced the slots first .. first + count - 1. Called by all threads of the CTA, which
  /// may read these slots then. Acquires, one thread for each slot.
  __device__ static void await(Launch<N> &launch, u32 first, u32 count) {
    launch.begin();
#pragma unroll 1
    for (u32 begin = 0; begin < count; begin += blockDim.x) {
      const u32 slot = first + begin + threadIdx.x;
      const bool waits = slot < first + count;
      char *word = launch.team.peer[0] + countOf(waits ? slot : first);
      const u32 all = waits ? ptx::loadRelaxed4(word + 4) + N : 0;
      coll::detail::awaitAtLeast<BelowInTurn>(launch.team, launch.watch, waits, word, all, kNumber, slot);
      if (waits) ptx::storeRelaxed4(word + 4, all);
    }
    ptx::ctaSync();
    launch.settled = true;
  }

  /// Reads packet `i` of the slots first .. first + kCount - 1 whose bit in `wanted` is set, weakly, and makes them zero.
  /// After `await`.
  template <u32 kCount>
  __device__ static void receive(Launch<N> &launch, u32 first, u32 wanted, u32 i, P (&part)[kCount]) {
    if (!launch.active) return;
    char *packets = launch.team.peer[0] + at(launch.epoch, first, i);
#pragma unroll
    for (u32 s = 0; s < kCount; ++s) {
      if (!(wanted >> s & 1)) continue;
      part[s] = coll::detail::loadWhole<P>(packets + s * Lines::kSlotBytes);
      ptx::store16(packets + s * Lines::kSlotBytes, Words2{{0, 0}});
    }
  }

private:
  /// As coll::detail::Below, of a count that goes round at 2^32 and is never as far off as half of that.
  struct BelowInTurn {
    __device__ static bool late(u32 seen, u32 want) { return int(seen - want) < 0; }
  };
};

} // namespace coll::counter
