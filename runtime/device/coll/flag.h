// Sync mode `flag`: plain data in the slots, and one flag for each CTA and slot that says the CTA's share is there.
//
// All threads of a CTA store their packets, meet, and one of them releases the flag; on the other side one thread
// acquires it, the CTA meets, and all read. The order is PTX's causality, which goes through the meeting of a CTA: no
// assumption on the hardware. A CTA's flags are for the CTA with its number on the other rank, so all ranks launch the
// same grid, and the loops that send and that read give a packet to the same CTA.
//
// A flag is the epoch. It only grows, so one set serves all copies.
#pragma once

#include "coll/packet.h"

namespace coll::flag {

constexpr u32 kLineBytes = 16;

template <class T>
using Packet = coll::Packet<T, 16>;

/// Bytes of the flag words of a mailbox, [kMaxCtas][slots] of 4. They follow its copies, and are zero when fresh.
__device__ constexpr u64 flagBytes(u64 slots) { return kMaxCtas * slots * 4; }

/// As plain::Mailbox, whose flags may lie elsewhere, at kFlags; with `announce` after the loop that sends and `await` before the loop that reads.
template <class T, int N, u32 kNumber, u64 kOffset, u32 kSlots, u64 kLines, u32 kCopies, u64 kStride = 0,
          u64 kFlags = 0>
struct Mailbox {
  using P = Packet<T>;
  using Lines = region::Lines<kOffset, kSlots, kLines, kCopies, kLineBytes, kStride>;
  /// Byte offset in a region of packet `i` of slot `slot` in the copy of `epoch`.
  __device__ static auto at(u32 epoch, u32 slot, u32 i) { return Lines::at(epoch, slot, i); }
  /// The same of the flag that this CTA, or the one with its number on another rank, raises for `slot`.
  __device__ static u64 flagOf(u32 slot) { return (kFlags ? kFlags : kOffset + Lines::kBytes) + (blockIdx.x * kSlots + slot) * 4; }

  /// What a packet is when it arrives: itself.
  __device__ static const P &sent(const P &data) { return data; }

  /// The line that carries a packet in a launch, and the parts of it that must be whole when they arrive: any, as what
  /// says that they are there comes after all of them.
  __device__ static Words2 line(u32, const P &data) { return detail::toWords(data); }
  static constexpr u32 kWordBytes = 4;

  /// Pushes packet `i` into `slot` of the rank `hop` places after this one. Weak: seen there once announced.
  __device__ static void send(Launch<N> &launch, u32 hop, u32 slot, u32 i, const P &data) {
    launch.begin();
    if (!launch.active) return;
    detail::storeWhole(launch.team.peer[hop] + at(launch.epoch, slot, i), data);
  }

  /// Says that this CTA has sent all it has for `slot` of the other ranks, or of the one `hop` places after this one.
  /// Called by all threads of the CTA, with or without packets; a rank's own slot needs no more than the meeting in it.
  /// Releases what the CTA's threads have stored.
  __device__ static void announce(Launch<N> &launch, u32 slot) {
    launch.begin();
    ptx::ctaSync();
    launch.settled = true;
#pragma unroll 1
    for (u32 hop = threadIdx.x + 1; hop < N; hop += blockDim.x)
      ptx::storeRelease4(launch.team.peer[hop] + flagOf(slot), launch.epoch);
  }
  __device__ static void announce(Launch<N> &launch, u32 hop, u32 slot) {
    launch.begin();
    ptx::ctaSync();
    launch.settled = true;
    if (threadIdx.x == 0) ptx::storeRelease4(launch.team.peer[hop] + flagOf(slot), launch.epoch);
  }

  /// Waits for what was announced for the slots first .. first + count - 1, but for slot `skip`. Called by all threads
  /// of the CTA, which may read these slots then. Acquires, one thread for each slot.
  __device__ static void await(Launch<N> &launch, u32 first, u32 count, u32 skip = kNone) {
    launch.begin();
#pragma unroll 1
    for (u32 begin = 0; begin < count; begin += blockDim.x) {
      const u32 slot = first + begin + threadIdx.x;
      launch.awaitAtLeast(slot < first + count && slot != skip, launch.team.peer[0] + flagOf(slot), launch.epoch, kNumber,
                          slot);
    }
    ptx::ctaSync();
    launch.settled = true;
  }

  /// Reads packet `i` of the slots first .. first + kCount - 1 whose bit in `wanted` is set, weakly. After `await`.
  template <u32 kCount>
  __device__ static void receive(Launch<N> &launch, u32 first, u32 wanted, u32 i, P (&part)[kCount]) {
    if (!launch.active) return;
    const char *packets = launch.team.peer[0] + at(launch.epoch, first, i);
#pragma unroll
    for (u32 s = 0; s < kCount; ++s)
      if (wanted >> s & 1) part[s] = detail::loadWhole<P>(packets + s * Lines::kSlotBytes);
  }
};

} // namespace coll::flag
