// Sync mode `ll128`: lines of 128 bytes by 8 lanes of a warp, of which the last 8 bytes say that the line has arrived.
//
// Assumes of the hardware, beyond PTX, so only for platforms that declare it: when 8 lanes of a warp store 16 bytes
// each to one aligned line of 128 bytes with one instruction, the line arrives whole, or at least its last bytes last;
// and when they load one so, they see it at one moment. The flag is the epoch, as in `ll`, so nothing is cleared.
//
// Eight lanes move two lines at a time, a block of 256 bytes with 15 pieces of 16 bytes. Lane j carries piece j in the
// first line and piece 8 + j in the second; lane 7, which has half of each line for the flag, carries piece 7 alone, a
// half in each line. So every lane reads and writes its pieces of a vector in units of 16 bytes, and no data goes
// between lanes.
//
//   line 0   piece 0 | piece 1 | ... | piece 6  | first half of piece 7, epoch
//   line 1   piece 8 | piece 9 | ... | piece 14 | second half of piece 7, epoch
//
// Packet i is what lane i mod 8 has of block i / 8. The lanes of a warp do everything together, as the instructions by
// which they meet are quick only for whole warps: counts of packets and threads of a CTA are multiples of 32, so the
// loops of launch.h keep a warp together, and `reaches` says the same to all of it. The last warp may send some empty
// blocks.
#pragma once

#include "coll/poll.h"

namespace coll::ll128 {

constexpr u32 kWarp = 32;
constexpr u32 kLanes = 8; ///< of a line
constexpr u32 kLineBytes = 32;     ///< of a packet's place in a mailbox
constexpr u32 kPiecesOfBlock = 15; ///< 240 bytes of payload in 256
constexpr u32 kPayloadOfBlock = 16 * kPiecesOfBlock;

/// Two pieces of 16 bytes, in words 0 to 3 and 4 to 7. Lane 7 has the first alone.
template <class T>
struct Packet : coll::Packet<T, 32> {
  using Piece = coll::Packet<T, 16>;
  static constexpr bool kInPieces = true, kOfWarps = true;
  static constexpr u32 kPieces = 2;

  static constexpr u32 kElementsOfWarp = kWarp / kLanes * kPayloadOfBlock / sizeof(T);

  /// Packets that `elements` take: those of whole warps.
  __device__ static u32 count(u64 elements) {
    return u32((elements + kElementsOfWarp - 1) / kElementsOfWarp) * kWarp;
  }
  /// The first element of the packets of the warp that has packet `i`.
  __device__ static u64 warpBegin(u32 i) { return u64(i / kWarp) * kElementsOfWarp; }
  /// Which piece of a vector is piece `n` of packet `i`, and whether the packet has it and it has any element. Counted in
  /// pieces: those of the vector are the same for all threads.
  __device__ static u32 piece(u32 i, u32 n) { return i / kLanes * kPiecesOfBlock + n * kLanes + i % kLanes; }
  __device__ static bool hasPiece(u32 i, u32 n, u64 length) {
    return (n == 0 || i % kLanes != 7) && piece(i, n) < u32((length + Piece::kElements - 1) / Piece::kElements);
  }
  __device__ void setPiece(u32 n, const Piece &p) {
#pragma unroll
    for (u32 w = 0; w < 4; ++w) this->word[n * 4 + w] = p.word[w];
  }
  __device__ Piece getPiece(u32 n) const {
    Piece p;
#pragma unroll
    for (u32 w = 0; w < 4; ++w) p.word[w] = this->word[n * 4 + w];
    return p;
  }
};

/// What shows that a line has arrived: its last 8 bytes are the epoch. As the wire forms of poll.h.
struct Wire {
  __device__ static u32 late(const Words2 &line, u32 epoch) { return u32(line.w[1]) ^ epoch; }
  __device__ static u32 found(const Words2 &line) { return u32(line.w[1]); }
};

namespace detail {

/// Lane 7's: its part of the first wanted line that is late; null if all have arrived.
template <class Wire>
__device__ inline const char *firstLate(const char *lines, u64 stride, u32 wanted, u32 epoch) {
#pragma unroll 1
  for (u32 s = 0; wanted >> s != 0; ++s)
#pragma unroll 1
    for (u32 h = 0; h < 2; ++h) {
      const char *line = lines + s * stride + h * 128;
      if ((wanted >> s & 1) && Wire::late(ptx::loadRelaxed16(line), epoch) != 0) return line;
    }
  return nullptr;
}

/// As coll::detail::overdueLine.
template <class Wire>
__device__ __noinline__ u32 overdueLine(Status *status, u64 timeout, u32 since, u32 me, u32 mailbox, u32 first, u32 wanted,
                                        u32 epoch, const char *lines, u64 stride) {
  const char *line = firstLate<Wire>(lines, stride, wanted, epoch);
  if (line == nullptr) return since != 0 ? since : coarseTime(); // there by now
  const u32 slot = first + u32((line - lines) / stride);
  return coll::detail::checkTime(status, timeout, since, me, mailbox, slot, epoch, Wire::found(ptx::loadRelaxed16(line)));
}

/// Waits for both lines of kCount blocks, kStride apart, all loads in flight together, and returns this lane's parts. By
/// all lanes of a warp, with the same `wanted`. Lane 7 of each 8 looks, counts and gives up for them.
template <class Wire, u32 kNumber, u32 kCount, u64 kStride, int N>
__device__ inline void awaitBlocks(Launch<N> &launch, u32 first, u32 wanted, bool last, const char *lines,
                                   Words2 (&seen)[kCount][2]) {
  const u32 epoch = launch.epoch;
  u32 since = 0, looks = launch.watch.patience;
  for (;;) {
#pragma unroll
    for (u32 s = 0; s < kCount; ++s)
#pragma unroll
      for (u32 h = 0; h < 2; ++h) seen[s][h] = ptx::loadLine16(lines + s * kStride + h * 128);
    u32 late = 0;
#pragma unroll
    for (u32 s = 0; s < kCount; ++s)
      if (kCount == 1 || (wanted >> s & 1)) late |= Wire::late(seen[s][0], epoch) | Wire::late(seen[s][1], epoch);
    bool again = last && late != 0;
    if (again) {
      if constexpr (ptx::kParks)
        if (const char *line = firstLate<Wire>(lines, kStride, wanted, epoch)) ptx::spinHint(line + 8);
      if (--looks == 0) {
        since = overdueLine<Wire>(launch.team.status, launch.team.timeout, since, launch.me(), kNumber, first, wanted, epoch,
                                  lines, kStride);
        if (since == 0) again = false, launch.watch.giveUp();
        looks = launch.watch.patience;
      }
    }
    if (!ptx::anyOfWarp(again)) break;
  }
}

/// What this lane sends in each of the two lines of a block, whose last 8 bytes are `mark`.
template <class P>
__device__ inline void toLines(const P &data, bool last, u64 mark, Words2 (&line)[2]) {
  const u64 a = coll::detail::pair(data.word[0], data.word[1]), b = coll::detail::pair(data.word[2], data.word[3]);
  const u64 c = coll::detail::pair(data.word[4], data.word[5]), d = coll::detail::pair(data.word[6], data.word[7]);
  line[0] = Words2{{a, last ? mark : b}};
  line[1] = Words2{{last ? b : c, last ? mark : d}};
}

template <class P>
__device__ inline void fromLines(const Words2 (&line)[2], bool last, P &data) {
  const u64 words[4] = {line[0].w[0], last ? line[1].w[0] : line[0].w[1], line[1].w[0], line[1].w[1]};
#pragma unroll
  for (u32 w = 0; w < 4; ++w) data.word[2 * w] = u32(words[w]), data.word[2 * w + 1] = u32(words[w] >> 32);
}

} // namespace detail

/// A mailbox of kSlots slots of kLines packets, a multiple of 32, at kOffset, a multiple of 128. Otherwise as
/// ll::Mailbox.
template <class T, int N, u32 kNumber, u64 kOffset, u32 kSlots, u64 kLines, u32 kCopies, u64 kStride = 0>
struct Mailbox {
  static_assert(kOffset % 128 == 0 && kLines % kWarp == 0, "lines are aligned, warps whole");
  using P = Packet<T>;
  using Lines = region::Lines<kOffset, kSlots, kLines, kCopies, kLineBytes, kStride>;
  /// Byte offset in a region of the first 16 bytes of packet `i` of slot `slot` in the copy of `epoch`. The others lie
  /// 128 bytes further.
  __device__ static auto at(u32 epoch, u32 slot, u32 i) {
    return Lines::at(epoch, slot, i / kLanes * kLanes) + i % kLanes * 16;
  }

  /// What a packet is when it arrives: itself.
  __device__ static const P &sent(const P &data) { return data; }

  /// Pushes packet `i` into `slot` of the rank `hop` places after this one. By all lanes of a warp. Relaxed: ordered
  /// with nothing but its own arrival.
  __device__ static void send(Launch<N> &launch, u32 hop, u32 slot, u32 i, const P &data) {
    launch.begin();
    if (!launch.active) return;
    Words2 line[2];
    detail::toLines(data, i % kLanes == 7, launch.epoch, line);
    char *to = launch.team.peer[hop] + at(launch.epoch, slot, i);
    ptx::storeLine16(to, line[0]);
    ptx::storeLine16(to + 128, line[1]);
  }

  /// Waits for packet `i` in the slots first .. first + kCount - 1, all loads in flight together, and returns them in
  /// `part`. By all lanes of a warp, with the same `wanted`, whose bit s stands for slot first + s; other slots are
  /// read but not waited for: their part has no meaning. Lane 7 of each 8 looks, counts and gives up for them.
  template <u32 kCount>
  __device__ static void receive(Launch<N> &launch, u32 first, u32 wanted, u32 i, P (&part)[kCount]) {
    launch.begin();
    launch.settle();
    if (!launch.active) return;
    const bool last = i % kLanes == 7;
    const char *lines = launch.team.peer[0] + at(launch.epoch, first, i);
    Words2 seen[kCount][2];
    detail::awaitBlocks<Wire, kNumber, kCount, Lines::kSlotBytes>(launch, first, wanted, last, lines, seen);
#pragma unroll
    for (u32 s = 0; s < kCount; ++s) detail::fromLines(seen[s], last, part[s]);
  }
};

} // namespace coll::ll128
