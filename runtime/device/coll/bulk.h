// Packets for large messages: several units of 16 bytes a thread, whose loads are in flight together.
#pragma once

#include "coll/packet.h"

namespace coll::bulk {

constexpr u32 kWarp = 32;

/// kUnits units of 16 bytes, each a warp's width behind the one before, so that every access of a warp is one stretch
/// of 512 bytes. Units past the end of a vector are zero bits when loaded and not stored.
template <class T, u32 kUnits>
struct Packet : coll::Packet<T, 16 * kUnits> {
  using Piece = coll::Packet<T, 16>;
  static constexpr bool kInPieces = true;
  static constexpr u32 kPieces = kUnits;
  static constexpr u32 kElementsOfWarp = kWarp * kUnits * Piece::kElements;

  /// Packets that `elements` take: those of whole warps.
  __device__ static u32 count(u64 elements) {
    return u32((elements + kElementsOfWarp - 1) / kElementsOfWarp) * kWarp;
  }
  /// The first element of the packets of the warp that has packet `i`.
  __device__ static u64 warpBegin(u32 i) { return u64(i / kWarp) * kElementsOfWarp; }
  /// Which unit of a vector is unit `n` of packet `i`, and whether it has any element.
  __device__ static u64 piece(u32 i, u32 n) { return u64(i / kWarp) * (kWarp * kUnits) + i % kWarp + n * kWarp; }
  __device__ static bool hasPiece(u32 i, u32 n, u64 length) {
    const u32 left = detail::elementsFrom(piece(i, 0) * Piece::kElements, length, kElementsOfWarp);
    return n * kWarp * Piece::kElements < left;
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

} // namespace coll::bulk
