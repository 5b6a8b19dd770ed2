// Sync mode `ll`: data and its arrival in one line.
//
// A line of 16 bytes carries 8 bytes of payload in two words {data32, epoch32}. Each 8-byte word is one PTX scalar and
// so arrives whole: no fence, no order between the words is needed. A line is full when both epochs are the launch's;
// a line of an earlier launch never is, so nothing has to be cleared.
#pragma once

#include "coll/packet.h"

namespace coll::ll {

constexpr int kLineBytes = 16;
constexpr int kPayloadBytes = 8;

template <class T>
using Packet = coll::Packet<T, kPayloadBytes>;

/// Writes one line; `to` may be any rank's memory. Relaxed: ordered with nothing but its own arrival.
template <class P>
__device__ inline void put(char *to, const P &data, u32 epoch) {
  const u64 flag = u64(epoch) << 32;
  ptx::storeRelaxed16(to, Words2{{data.word[0] | flag, data.word[1] | flag}});
}

/// A mailbox of kSlots slots of kLines lines, in kCopies copies of which epoch e uses number e mod kCopies, at
/// kOffset in every rank's region. kNumber is its number in the manifest.
template <class T, int N, int kNumber, u64 kOffset, int kSlots, u64 kLines, int kCopies>
struct Mailbox {
  using P = Packet<T>;

  /// Byte offset in a region of line `i` of slot `slot` in the copy of `epoch`.
  __device__ static u64 at(u32 epoch, u32 slot, u64 i) {
    return kOffset + ((u64(kCopies > 1 ? epoch % kCopies : 0) * kSlots + slot) * kLines + i) * kLineBytes;
  }

  /// Pushes packet `i` into `slot` of the rank `hop` places after this one.
  __device__ static void send(Launch<N> &launch, int hop, u32 slot, u64 i, const P &data) {
    const u32 epoch = launch.epoch();
    put(launch.team.peer[hop] + at(epoch, slot, i), data, epoch);
  }

  /// Waits for packet `i` in the slots first .. first + kCount - 1, all loads in flight together, and returns them in
  /// `part`. Slots for which `wanted(slot)` is false are skipped and their part left alone.
  template <int kCount, class Wanted>
  __device__ static void receive(Launch<N> &launch, u32 first, u64 i, P *part, Wanted wanted) {
    const u32 epoch = launch.epoch();
    const char *lines = launch.team.peer[0] + at(epoch, first, i);
    Words2 line[kCount];
    for (;;) {
      int late = -1;
#pragma unroll
      for (int s = 0; s < kCount; ++s)
        if (wanted(first + s)) line[s] = ptx::loadRelaxed16(lines + s * kLines * kLineBytes);
#pragma unroll
      for (int s = 0; s < kCount; ++s)
        if (wanted(first + s) && !full(line[s], epoch)) late = s;
      if (late < 0) break;
      if (gaveUp(launch, line, late, first, epoch)) return;
      ptx::spinHint(lines + late * kLines * kLineBytes);
    }
    launch.watch.arrived();
#pragma unroll
    for (int s = 0; s < kCount; ++s)
      if (wanted(first + s)) part[s].word[0] = u32(line[s].w[0]), part[s].word[1] = u32(line[s].w[1]);
  }

private:
  __device__ static bool full(const Words2 &line, u32 epoch) {
    return u32(line.w[0] >> 32) == epoch && u32(line.w[1] >> 32) == epoch;
  }

  template <int kCount>
  __device__ static bool gaveUp(Launch<N> &launch, const Words2 (&line)[kCount], int late, u32 first, u32 epoch) {
    u32 seen = 0;
#pragma unroll
    for (int s = 0; s < kCount; ++s)
      if (s == late) seen = u32(line[s].w[0] >> 32);
    return launch.watch.gaveUp(launch.team.me, kNumber, first + late, epoch, seen);
  }
};

} // namespace coll::ll
