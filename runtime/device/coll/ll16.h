// Sync mode `ll16`: as `ll`, with one epoch for the whole line.
//
// A line of 16 bytes carries 12 bytes of payload and the epoch in its last 4: three quarters of the bytes are data, not
// half. A line is full when its epoch is the launch's, so all 16 bytes of a store must arrive at once, and a load must
// see them so, which PTX does not promise: a platform declares it.
#pragma once

#include "coll/poll.h"

namespace coll::ll16 {

constexpr u32 kLineBytes = 16;

template <class T>
using Packet = coll::Packet<T, 12>;

struct Wire {
  /// Zero for a line of this epoch.
  __device__ static u32 late(const Words2 &line, u32 epoch) { return found(line) ^ epoch; }
  __device__ static u32 found(const Words2 &line) { return u32(line.w[1] >> 32); }
};

/// As ll::Mailbox, with packets of 12 bytes.
template <class T, int N, u32 kNumber, u64 kOffset, u32 kSlots, u64 kLines, u32 kCopies, u64 kStride = 0>
struct Mailbox {
  using P = Packet<T>;
  using Lines = region::Lines<kOffset, kSlots, kLines, kCopies, kLineBytes, kStride>;
  /// Byte offset in a region of line `i` of slot `slot` in the copy of `epoch`.
  __device__ static auto at(u32 epoch, u32 slot, u32 i) { return Lines::at(epoch, slot, i); }

  /// What a packet is when it arrives: itself.
  __device__ static const P &sent(const P &data) { return data; }

  /// Pushes packet `i` into `slot` of the rank `hop` places after this one. Relaxed: ordered with nothing but its own
  /// arrival.
  __device__ static void send(Launch<N> &launch, u32 hop, u32 slot, u32 i, const P &data) {
    launch.begin();
    const u32 epoch = launch.epoch;
    ptx::storeRelaxed16If(launch.active, launch.team.peer[hop] + at(epoch, slot, i),
                          Words2{{detail::pair(data.word[0], data.word[1]), detail::pair(data.word[2], epoch)}});
  }

  /// As ll::Mailbox::receive.
  template <u32 kCount>
  __device__ static void receive(Launch<N> &launch, u32 first, u32 wanted, u32 i, P (&part)[kCount]) {
    launch.begin();
    Words2 seen[kCount];
    detail::awaitLines<Wire, kCount, Lines::kSlotBytes>(launch, kNumber, first, wanted,
                                                        launch.team.peer[0] + at(launch.epoch, first, i), seen);
#pragma unroll
    for (u32 s = 0; s < kCount; ++s) part[s] = detail::fromWords<P>(seen[s]);
  }
};

} // namespace coll::ll16
