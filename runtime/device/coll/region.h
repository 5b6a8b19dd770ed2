// The layout of a scratch region, alike on all ranks of a member. The host's copy of these numbers is in
// runtime/context/Region.h and a test compares the two.
//
//   offset 0              the epoch: the CTAs of the last launch, then a word for each of kMaxCtas CTAs; zero when fresh
//   offset 1040           wrap counters, two words of 4 bytes
//   offset 1152           barrier words: [kBarriers][kMaxCtas][N] of 4 bytes; kBarriers is the kernel's count of barriers
//   after that, aligned   a word of 4 bytes for each rank where the kernel has credits, coll::Credits; in chunks,
//                         [kMaxCtas][N] of them
//   after that, aligned   mailboxes; the compiler gives each its offset
#pragma once

#include "coll/types.h"

namespace coll::region {

/// The epoch of a launch is known to each of its CTAs without an atomic and whatever the grid before it was. Launch e
/// of G CTAs leaves, 4 bytes each:
///
///   kLastLaunch       G, and beside it, as one value of 8 bytes, the word of CTA 0
///   4 + 4c            e, for each CTA c below G; words of other CTAs keep an older number
///
/// CTA c of the next launch reads {G, e'} and its own word w. No CTA but c writes w, and only when it is done. So:
///   G <= c             CTA c was not in the launch that left this: it is the last one, and this is launch e' + 1
///   G > c, w == e'     CTA c was in it and has not written since: likewise e' + 1
///   G > c, w != e'     CTA 0 of this very launch is done already and has left this: e'
/// Equal words and any G, as a host may set them, mean e' + 1 for all.
constexpr u64 kLastLaunch = 0;
constexpr u64 kEpochs = 4;
constexpr u64 kWrapCounters = 1040;
constexpr u64 kBarrierWords = 1152;

/// Bytes before the credits and the first mailbox of a kernel of `ranks` ranks with `barriers` barriers, a multiple of
/// 128.
__device__ constexpr u64 headerBytes(u64 ranks, u64 barriers) {
  return (kBarrierWords + barriers * kMaxCtas * ranks * 4 + 127) / 128 * 128;
}

/// Where the lines of a mailbox lie: kCopies copies, of which epoch e uses number e mod kCopies, of kSlots slots of
/// kLines lines. The copies follow each other, or begin every kStride bytes where all mailboxes of several kernels share
/// the region, so that one epoch's are together.
template <u64 kOffset, u32 kSlots, u64 kLines, u32 kCopies, u32 kLineBytes, u64 kStride = 0>
struct Lines {
  static constexpr u64 kSlotBytes = kLines * kLineBytes, kCopyBytes = kStride ? kStride : kSlots * kSlotBytes;
  static constexpr u64 kBytes = kCopies * kCopyBytes;

  /// Byte offset in a region of line `i` of slot `slot` in the copy of `epoch`. In 32 bits where the region allows it.
  __device__ static auto at(u32 epoch, u32 slot, u32 i) {
    if constexpr (kOffset + kBytes <= 0xffffffffu) {
      const u32 copy = kCopies > 1 ? epoch % kCopies * u32(kCopyBytes) : 0;
      return u32(kOffset) + copy + slot * u32(kSlotBytes) + i * kLineBytes;
    } else {
      const u64 copy = kCopies > 1 ? epoch % kCopies * kCopyBytes : 0;
      return kOffset + copy + slot * kSlotBytes + u64(i) * kLineBytes;
    }
  }
};

} // namespace coll::region
