// Sync mode `ll`: data and its arrival in one line.
//
// A line of 16 bytes carries 8 bytes of payload in two words {data32, epoch32}. Each 8-byte word is one PTX scalar and
// so arrives whole: no fence, no order between the words is needed. A line is full when both epochs are the launch's;
// a line of an earlier launch never is, so nothing has to be cleared.
#pragma once

#include "coll/packet.h"

namespace coll::ll {

constexpr u32 kLineBytes = 16;

template <class T>
using Packet = coll::Packet<T, 8>;

/// Zero for a line of this epoch.
__device__ inline u32 lateness(const Words2 &line, u32 epoch) {
  return (u32(line.w[0] >> 32) ^ epoch) | (u32(line.w[1] >> 32) ^ epoch);
}

/// The first s of the set bits of `wanted` whose line, at lines + s * stride, is late; kNone if all have arrived.
__device__ inline u32 firstLate(const char *lines, u64 stride, u32 wanted, u32 epoch) {
#pragma unroll 1
  for (u32 s = 0; wanted >> s != 0; ++s)
    if ((wanted >> s & 1) && lateness(ptx::loadRelaxed16(lines + s * stride), epoch) != 0) return s;
  return kNone;
}

/// The rare part of a wait: see Watch. Returns `since` for the next check, or 0 when the wait must be given up. Out of
/// line, so that what runs while all is well lies close together.
__device__ __noinline__ inline u32 checkWait(Status *status, u64 timeout, u32 since, u32 me, u32 mailbox, u32 first,
                                             u32 wanted, u32 epoch, const char *lines, u64 stride) {
  if (aborted(status)) return 0;
  if (!ranOut(timeout, since)) return since;
  const u32 s = firstLate(lines, stride, wanted, epoch);
  if (s == kNone) return since;
  report(status, me, mailbox, first + s, epoch, u32(ptx::loadRelaxed16(lines + s * stride).w[0] >> 32));
  return 0;
}

/// A mailbox of kSlots slots of kLines lines, in kCopies copies of which epoch e uses number e mod kCopies, at
/// kOffset in every rank's region. kNumber is its number in the manifest.
template <class T, int N, u32 kNumber, u64 kOffset, u32 kSlots, u64 kLines, u32 kCopies>
struct Mailbox {
  using P = Packet<T>;
  static constexpr u64 kSlotBytes = kLines * kLineBytes;

  /// Byte offset in a region of line `i` of slot `slot` in the copy of `epoch`. In 32 bits where the region allows it.
  __device__ static auto at(u32 epoch, u32 slot, u32 i) {
    if constexpr (kOffset + kCopies * kSlots * kSlotBytes <= 0xffffffffu) {
      const u32 copy = kCopies > 1 ? epoch % kCopies * u32(kSlots * kSlotBytes) : 0;
      return u32(kOffset) + copy + slot * u32(kSlotBytes) + i * kLineBytes;
    } else {
      const u64 copy = kCopies > 1 ? epoch % kCopies * (kSlots * kSlotBytes) : 0;
      return kOffset + copy + slot * kSlotBytes + u64(i) * kLineBytes;
    }
  }

  /// Pushes packet `i` into `slot` of the rank `hop` places after this one. Relaxed: ordered with nothing but its own
  /// arrival.
  __device__ static void send(Launch<N> &launch, u32 hop, u32 slot, u32 i, const P &data) {
    launch.begin();
    const u32 epoch = launch.epoch;
    ptx::storeRelaxed16(launch.team.peer[hop] + at(epoch, slot, i),
                        Words2{{detail::pair(data.word[0], epoch), detail::pair(data.word[1], epoch)}});
  }

  /// Waits for packet `i` in the slots first .. first + kCount - 1, all loads in flight together, and returns them in
  /// `part`. Bit s of `wanted` stands for slot first + s; other slots are read but not waited for: their part has no
  /// meaning.
  template <u32 kCount>
  __device__ static void receive(Launch<N> &launch, u32 first, u32 wanted, u32 i, P (&part)[kCount]) {
    launch.begin();
    const u32 epoch = launch.epoch;
    const char *lines = launch.team.peer[0] + at(epoch, first, i);
    Words2 seen[kCount];
    u32 since = 0;
    for (;;) {
      u32 late = 0;
#pragma unroll
      for (u32 s = 0; s < kCount; ++s) seen[s] = ptx::loadRelaxed16(lines + s * kSlotBytes);
#pragma unroll
      for (u32 s = 0; s < kCount; ++s)
        if (kCount == 1 || (wanted >> s & 1)) late |= lateness(seen[s], epoch);
      if (late == 0) break;
      if constexpr (ptx::kParks)
        if (const u32 s = firstLate(lines, kSlotBytes, wanted, epoch); s != kNone) ptx::spinHint(lines + s * kSlotBytes);
      if (!launch.watch.due()) continue;
      since = checkWait(launch.team.status, launch.team.timeout, since, launch.me(), kNumber, first, wanted, epoch, lines,
                        kSlotBytes);
      if (since == 0) break;
      launch.watch.goOn();
    }
#pragma unroll
    for (u32 s = 0; s < kCount; ++s) part[s].word[0] = u32(seen[s].w[0]), part[s].word[1] = u32(seen[s].w[1]);
  }
};

} // namespace coll::ll
