// Sync mode `ll`: data and its arrival in one line.
//
// A line of 16 bytes carries 8 bytes of payload in two words {data32, epoch32}. Each 8-byte word is one PTX scalar and
// so arrives whole: no fence, no order between the words is needed. A line is full when both epochs are the launch's;
// a line of an earlier launch never is, so nothing has to be cleared.
#pragma once

#include "coll/poll.h"

namespace coll::ll {

constexpr u32 kLineBytes = 16;

template <class T>
using Packet = coll::Packet<T, 8>;

struct Wire {
  /// Zero for a line of this epoch.
  __device__ static u32 late(const Words2 &line, u32 epoch) {
    return (found(line) ^ epoch) | (u32(line.w[1] >> 32) ^ epoch);
  }
  __device__ static u32 found(const Words2 &line) { return u32(line.w[0] >> 32); }
};

/// A mailbox of kSlots slots of kLines lines, in kCopies copies of which epoch e uses number e mod kCopies, at
/// kOffset in every rank's region, or every kStride bytes from there. kNumber is its number in the manifest.
template <class T, int N, u32 kNumber, u64 kOffset, u32 kSlots, u64 kLines, u32 kCopies, u64 kStride = 0>
struct Mailbox {
  using P = Packet<T>;
  using Lines = region::Lines<kOffset, kSlots, kLines, kCopies, kLineBytes, kStride>;
  /// Byte offset in a region of line `i` of slot `slot` in the copy of `epoch`.
  __device__ static auto at(u32 epoch, u32 slot, u32 i) { return Lines::at(epoch, slot, i); }

  /// What a packet is when it arrives: itself.
  __device__ static const P &sent(const P &data) { return data; }

  /// The line that carries a packet in a launch.
  __device__ static Words2 line(u32 epoch, const P &data) {
    return {{detail::pair(data.word[0], epoch), detail::pair(data.word[1], epoch)}};
  }
  /// Parts of a line that must be whole when they arrive.
  static constexpr u32 kWordBytes = 8;

  /// Pushes packet `i` into `slot` of the rank `hop` places after this one. Relaxed: ordered with nothing but its own
  /// arrival.
  __device__ static void send(Launch<N> &launch, u32 hop, u32 slot, u32 i, const P &data) {
    launch.begin();
    const u32 epoch = launch.epoch;
    ptx::storeRelaxed16If(launch.active, launch.team.peer[hop] + at(epoch, slot, i), line(epoch, data));
  }

  /// Waits for packet `i` in the slots first .. first + kCount - 1, all loads in flight together, and returns them in
  /// `part`. Bit s of `wanted` stands for slot first + s; other slots are read but not waited for: their part has no
  /// meaning.
  template <u32 kCount>
  __device__ static void receive(Launch<N> &launch, u32 first, u32 wanted, u32 i, P (&part)[kCount]) {
    launch.begin();
    Words2 seen[kCount];
    detail::awaitLines<Wire, kCount, Lines::kSlotBytes>(launch, kNumber, first, wanted,
                                                        launch.team.peer[0] + at(launch.epoch, first, i), seen);
    part[0] = payload(seen[0]);
    if constexpr (kCount > 1) {
#pragma unroll
      for (u32 s = 1; s < kCount; ++s) part[s] = payload(seen[s]);
    }
  }

private:
  __device__ static P payload(const Words2 &line) { return {{u32(line.w[0]), u32(line.w[1])}}; }
};

} // namespace coll::ll
