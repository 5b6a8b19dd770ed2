// Sync mode `barrier`: plain data in the slots, and Launch::barrier between the writes and the reads.
#pragma once

#include "coll/packet.h"

namespace coll::plain {

constexpr int kPayloadBytes = 16;

template <class T>
using Packet = coll::Packet<T, kPayloadBytes>;

/// As ll::Mailbox, with packets of 16 bytes and no flags. A slot holds kLines packets.
template <class T, int N, int kNumber, u64 kOffset, int kSlots, u64 kLines, int kCopies>
struct Mailbox {
  using P = Packet<T>;

  __device__ static u64 at(u32 epoch, u32 slot, u64 i) {
    return kOffset + ((u64(kCopies > 1 ? epoch % kCopies : 0) * kSlots + slot) * kLines + i) * kPayloadBytes;
  }

  /// Pushes packet `i` into `slot` of the rank `hop` places after this one. Weak: seen there after a barrier.
  __device__ static void send(Launch<N> &launch, int hop, u32 slot, u64 i, const P &data) {
    detail::storeBytes<kPayloadBytes>(launch.team.peer[hop] + at(launch.epoch(), slot, i), data.word);
  }

  /// Reads packet `i` of the slots first .. first + kCount - 1. To be called after the barrier that follows the sends.
  template <int kCount, class Wanted>
  __device__ static void receive(Launch<N> &launch, u32 first, u64 i, P *part, Wanted wanted) {
    const char *packets = launch.team.peer[0] + at(launch.epoch(), first, i);
#pragma unroll
    for (int s = 0; s < kCount; ++s)
      if (wanted(first + s)) detail::loadBytes<kPayloadBytes>(packets + s * kLines * kPayloadBytes, part[s].word);
  }
};

} // namespace coll::plain
