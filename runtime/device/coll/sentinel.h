// Sync mode `sentinel`: raw data in slots that hold, while they are empty, a value which no payload has.
//
// The value is -0.0 in every element; a sender turns -0.0 into +0.0 first, so that a word equal to the sentinel is one
// that has not arrived. It is compared as bits, so NaNs, infinities and subnormals pass. The reader writes the sentinel
// back after its last read.
//
// Rests on:
//  - 8-byte atomicity, which PTX promises: a packet is two scalars of 8 bytes, and every word in both is looked
//    at. All accesses to a slot, clears included, are v2.b64, as PTX has no order for accesses of mixed sizes.
//  - The reader's clear takes effect before the writer's next packet. Nothing in a launch orders the two: the end of
//    the reader's launch does, and what it sends in its next launch is the writer's credit. So a mailbox has at least
//    two copies.
//  - The poll and the stores that depend on it are not swapped, as all shipping hardware has it.
// A slot carries no epoch: the host fills all copies with the sentinel before the first launch, on all ranks, and the
// wrap of the epoch leaves them as they are (Team::clearBytes).
#pragma once

#include "coll/poll.h"

namespace coll::sentinel {

constexpr u32 kLineBytes = 16;

template <class T>
using Packet = coll::Packet<T, 16>;

/// What stands for "empty" in 8 bytes of an element type, whether a line has an empty word, and what is sent for 8 bytes
/// of payload, in which -0.0 is +0.0. Words are of 4 bytes or the element's size, whichever is larger. A type
/// without a spare value cannot be sent in this mode.
template <class T>
struct Spare;

template <u32 kWord, u32 (*positive)(u32)>
struct SpareWords {
  static constexpr u64 kEmpty = kWord | u64(kWord) << 32;
  __device__ static u32 late(const Words2 &line) {
    return u32(u32(line.w[0]) == kWord) | u32(u32(line.w[0] >> 32) == kWord) | u32(u32(line.w[1]) == kWord) |
           u32(u32(line.w[1] >> 32) == kWord);
  }
  __device__ static void canonical(const u32 *data, u32 *sent) {
    sent[0] = positive(data[0]), sent[1] = positive(data[1]);
  }
};
template <> struct Spare<float> : SpareWords<0x80000000u, ptx::positiveZero> {};
template <> struct Spare<F16> : SpareWords<0x80008000u, ptx::positiveZeros> {};
template <> struct Spare<BF16> : SpareWords<0x80008000u, ptx::positiveZeros> {};
template <> struct Spare<F8E4M3> : SpareWords<0x80808080u, ptx::positiveZeroBytes> {};
template <> struct Spare<F8E5M2> : SpareWords<0x80808080u, ptx::positiveZeroBytes> {};
template <>
struct Spare<double> {
  static constexpr u64 kEmpty = 1ull << 63;
  __device__ static u32 late(const Words2 &line) { return u32(line.w[0] == kEmpty) | u32(line.w[1] == kEmpty); }
  __device__ static void canonical(const u32 *data, u32 *sent) {
    const u64 bits = ptx::positiveZero8(coll::detail::pair(data[0], data[1]));
    sent[0] = u32(bits), sent[1] = u32(bits >> 32);
  }
};

template <class T>
struct Wire {
  /// Not zero if any word of the line is empty.
  __device__ static u32 late(const Words2 &line, u32) { return Spare<T>::late(line); }
  __device__ static u32 found(const Words2 &) { return 0; }
};

/// As ll::Mailbox, with packets of 16 bytes. kClears: whether `receive` leaves the slots empty. The last read of a slot
/// in a launch does; `Kept` is the mailbox as those before it see it.
template <class T, int N, u32 kNumber, u64 kOffset, u32 kSlots, u64 kLines, u32 kCopies, u64 kStride = 0,
          bool kClears = true>
struct Mailbox {
  using P = Packet<T>;
  using Kept = Mailbox<T, N, kNumber, kOffset, kSlots, kLines, kCopies, kStride, false>;
  using Lines = region::Lines<kOffset, kSlots, kLines, kCopies, kLineBytes, kStride>;
  /// Byte offset in a region of packet `i` of slot `slot` in the copy of `epoch`.
  __device__ static auto at(u32 epoch, u32 slot, u32 i) { return Lines::at(epoch, slot, i); }

  /// What a packet is when it arrives: -0.0 is +0.0. A rank's own packet that goes through no slot must be made like
  /// the others, or ranks would differ in the sign of a zero; the functions of slots.h do it.
  __device__ static P sent(const P &data) {
    P p;
    Spare<T>::canonical(data.word, p.word);
    Spare<T>::canonical(data.word + 2, p.word + 2);
    return p;
  }

  /// The line that carries a packet in a launch.
  __device__ static Words2 line(u32, const P &data) { return detail::toWords(sent(data)); }
  /// All accesses to a slot are of this size.
  static constexpr u32 kWordBytes = 8;

  /// Pushes packet `i` into `slot` of the rank `hop` places after this one. Relaxed: ordered with nothing but its own
  /// arrival.
  __device__ static void send(Launch<N> &launch, u32 hop, u32 slot, u32 i, const P &data) {
    launch.begin();
    ptx::storeRelaxed16If(launch.active, launch.team.peer[hop] + at(launch.epoch, slot, i),
                          line(launch.epoch, data));
  }

  /// Empties packet `i` of `slot` of this rank's mailbox. By the thread that has read it. Relaxed: see the top of the
  /// file for what orders it before the next packet.
  __device__ static void clear(Launch<N> &launch, u32 slot, u32 i) {
    launch.begin();
    if (!launch.active) return;
    empty(launch.team.peer[0] + at(launch.epoch, slot, i));
  }

  /// Waits for packet `i` in the slots first .. first + kCount - 1, all loads in flight together, and returns them in
  /// `part`. Bit s of `wanted` stands for slot first + s; other slots are read but neither waited for nor cleared:
  /// their part has no meaning.
  template <u32 kCount>
  __device__ static void receive(Launch<N> &launch, u32 first, u32 wanted, u32 i, P (&part)[kCount]) {
    launch.begin();
    char *lines = launch.team.peer[0] + at(launch.epoch, first, i);
    Words2 seen[kCount];
    detail::awaitLines<Wire<T>, kCount, Lines::kSlotBytes>(launch, kNumber, first, wanted, lines, seen);
    take(launch.active && (kCount == 1 || (wanted & 1)), lines, seen[0], part[0]);
    if constexpr (kCount > 1) {
#pragma unroll
      for (u32 s = 1; s < kCount; ++s)
        take(launch.active && (wanted >> s & 1), lines + s * Lines::kSlotBytes, seen[s], part[s]);
    }
  }

private:
  __device__ static void take(bool clears, char *line, const Words2 &seen, P &part) {
    if (kClears && clears) empty(line);
    part = detail::fromWords<P>(seen);
  }
  __device__ static void empty(char *line) {
    ptx::storeRelaxed16(line, Words2{{Spare<T>::kEmpty, Spare<T>::kEmpty}});
  }
};

} // namespace coll::sentinel
