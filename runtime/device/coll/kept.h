// What a thread keeps of a vector from one loop over packets to the next, where registers do not last: in memory of its
// own rank.
#pragma once

#include "coll/packet.h"

namespace coll {

/// A place for each packet, from kOffset on in the region. A packet is one thread's for a whole launch, and launches follow
/// each other, so nothing here needs an order; no other rank looks at it.
template <u64 kOffset>
struct Kept {
  /// Whole units of 16 bytes, so that threads share none.
  template <class P>
  static constexpr u32 kStride = (P::kBytes + 15) / 16 * 16;

  template <int N, class P>
  __device__ static void put(const Launch<N> &launch, u32 i, const P &packet) {
    if (!launch.active) return;
    char *at = launch.team.peer[0] + kOffset + u64(i) * kStride<P>;
    if constexpr (P::kInPieces) {
#pragma unroll
      for (u32 n = 0; n < P::kPieces; ++n) detail::storeWhole(at + n * P::Piece::kBytes, packet.getPiece(n));
    } else {
      detail::storeWhole(at, packet);
    }
  }

  template <class P, int N>
  __device__ static P get(const Launch<N> &launch, u32 i) {
    P packet = {};
    if (!launch.active) return packet;
    const char *at = launch.team.peer[0] + kOffset + u64(i) * kStride<P>;
    if constexpr (P::kInPieces) {
#pragma unroll
      for (u32 n = 0; n < P::kPieces; ++n) packet.setPiece(n, detail::loadWhole<typename P::Piece>(at + n * P::Piece::kBytes));
      return packet;
    } else {
      return detail::loadWhole<P>(at);
    }
  }
};

} // namespace coll
