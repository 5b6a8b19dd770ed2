// Sync mode `barrier`: plain data in the slots, and Launch::barrier between the writes and the reads.
#pragma once

#include "coll/packet.h"

namespace coll::plain {

template <class T>
using Packet = coll::Packet<T, 16>;

/// As ll::Mailbox, with packets of 16 bytes and no flags. A slot holds kLines packets.
template <class T, int N, u32 kNumber, u64 kOffset, u32 kSlots, u64 kLines, u32 kCopies, u64 kStride = 0>
struct Mailbox {
  using P = Packet<T>;
  using Lines = region::Lines<kOffset, kSlots, kLines, kCopies, P::kBytes, kStride>;
  /// Byte offset in a region of packet `i` of slot `slot` in the copy of `epoch`.
  __device__ static auto at(u32 epoch, u32 slot, u32 i) { return Lines::at(epoch, slot, i); }

  /// What a packet is when it arrives: itself.
  __device__ static const P &sent(const P &data) { return data; }

  /// The line that carries a packet in a launch, and the parts of it that must be whole when they arrive: any, as what
  /// says that they are there comes after all of them.
  __device__ static Words2 line(u32, const P &data) { return detail::toWords(data); }
  static constexpr u32 kWordBytes = 4;

  /// Pushes packet `i` into `slot` of the rank `hop` places after this one. Weak: seen there after a barrier.
  __device__ static void send(Launch<N> &launch, u32 hop, u32 slot, u32 i, const P &data) {
    launch.begin();
    if (!launch.active) return;
    detail::storeWhole(launch.team.peer[hop] + at(launch.epoch, slot, i), data);
  }

  /// Reads packet `i` of the slots first .. first + kCount - 1 whose bit in `wanted` is set, weakly. To be called after
  /// the barrier that follows the sends.
  template <u32 kCount>
  __device__ static void receive(Launch<N> &launch, u32 first, u32 wanted, u32 i, P (&part)[kCount]) {
    launch.begin();
    if (!launch.active) return;
    const char *packets = launch.team.peer[0] + at(launch.epoch, first, i);
#pragma unroll
    for (u32 s = 0; s < kCount; ++s)
      if (wanted >> s & 1) part[s] = detail::loadWhole<P>(packets + s * Lines::kSlotBytes);
  }
};

} // namespace coll::plain
