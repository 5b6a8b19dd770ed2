// Packets that take several lines of a mailbox: where an algorithm has mailboxes of unlike lines or element types, a thread
// handles as many elements at a time as are whole lines of each.
#pragma once

#include "coll/ll128.h"

namespace coll::wide {

namespace detail {

/// The most bytes, at most 16, that `bytes` are a multiple of: what is moved at a time.
__device__ constexpr u32 unitOf(u32 bytes) { return bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : 4; }

/// A packet in units, of which a derived type says where in a vector each lies.
template <class T, u32 kBytes, u32 kUnitBytes>
struct InUnits : coll::Packet<T, kBytes> {
  using Piece = coll::Packet<T, kUnitBytes>;
  static constexpr bool kInPieces = true;
  static constexpr u32 kPieces = kBytes / kUnitBytes;

  __device__ void setPiece(u32 n, const Piece &p) {
#pragma unroll
    for (u32 w = 0; w < Piece::kWords; ++w) this->word[n * Piece::kWords + w] = p.word[w];
  }
  __device__ Piece getPiece(u32 n) const {
    Piece p;
#pragma unroll
    for (u32 w = 0; w < Piece::kWords; ++w) p.word[w] = this->word[n * Piece::kWords + w];
    return p;
  }
};

} // namespace detail

/// `kBytes` bytes that follow each other, more than 16.
template <class T, u32 kBytes>
struct Packet : detail::InUnits<T, kBytes, detail::unitOf(kBytes)> {
  using Base = detail::InUnits<T, kBytes, detail::unitOf(kBytes)>;
  using Piece = typename Base::Piece;

  __device__ static u64 warpBegin(u32 i) { return u64(warpFirst(i)) * Base::kElements; }
  __device__ static u32 piece(u32 i, u32 n) { return i * Base::kPieces + n; }
  __device__ static bool hasPiece(u32 i, u32 n, u64 length) { return u64(piece(i, n)) * Piece::kElements < length; }
};

/// As ll128::Packet, with two pieces of kPieceBytes instead of 16.
template <class T, u32 kPieceBytes>
struct LinePacket : detail::InUnits<T, 2 * kPieceBytes, detail::unitOf(kPieceBytes)> {
  using Base = detail::InUnits<T, 2 * kPieceBytes, detail::unitOf(kPieceBytes)>;
  using Piece = typename Base::Piece;
  static constexpr bool kOfWarps = true;
  static constexpr u32 kUnits = Base::kPieces / 2; ///< of each of the two
  static constexpr u32 kElementsOfWarp = ll128::kWarp / ll128::kLanes * ll128::kPiecesOfBlock * (kPieceBytes / sizeof(T));

  __device__ static u32 count(u64 elements) {
    return u32((elements + kElementsOfWarp - 1) / kElementsOfWarp) * ll128::kWarp;
  }
  __device__ static u64 warpBegin(u32 i) { return u64(i / ll128::kWarp) * kElementsOfWarp; }
  __device__ static u32 piece(u32 i, u32 n) { return ll128::Packet<u32>::piece(i, n / kUnits) * kUnits + n % kUnits; }
  __device__ static bool hasPiece(u32 i, u32 n, u64 length) {
    return (n < kUnits || i % ll128::kLanes != 7) && piece(i, n) < u32((length + Piece::kElements - 1) / Piece::kElements);
  }
};

/// `Box` with packets of type `Packet`, each in as many of its lines as it takes. The lines of a packet lie a warp's width
/// apart, so that each store of a warp is one stretch; a slot has those of whole warps. Otherwise as Box.
template <class Box, class Packet>
struct Mailbox : Box {
  using P = Packet;
  using Lined = Box;
  using Line = typename Box::P;
  /// Where both are in two pieces, a line has a unit of each.
  static constexpr bool kOfPieces = Line::kInPieces;
  static constexpr u32 kLineWords = kOfPieces ? 4 : Line::kWords, kAll = kOfPieces ? P::kWords / 2 : P::kWords;
  static constexpr u32 kLinesOfPacket = (kAll + kLineWords - 1) / kLineWords;

  /// Which line of a slot is line `n` of packet `i`.
  __device__ static u32 lineOf(u32 i, u32 n) { return i / 32 * (32 * kLinesOfPacket) + n * 32 + i % 32; }

  __device__ static Line get(const P &packet, u32 n) {
    Line line;
#pragma unroll
    for (u32 w = 0; w < Line::kWords; ++w) {
      const u32 at = n * kLineWords + w % kLineWords;
      line.word[w] = at < kAll ? packet.word[w / kLineWords * kAll + at] : 0;
    }
    return line;
  }
  __device__ static void set(P &packet, u32 n, const Line &line) {
#pragma unroll
    for (u32 w = 0; w < Line::kWords; ++w) {
      const u32 at = n * kLineWords + w % kLineWords;
      if (at < kAll) packet.word[w / kLineWords * kAll + at] = line.word[w];
    }
  }

  __device__ static P sent(const P &data) {
    P p = {};
#pragma unroll
    for (u32 n = 0; n < kLinesOfPacket; ++n) set(p, n, Box::sent(get(data, n)));
    return p;
  }

  template <int N>
  __device__ static void send(Launch<N> &launch, u32 hop, u32 slot, u32 i, const P &data) {
#pragma unroll
    for (u32 n = 0; n < kLinesOfPacket; ++n) Box::send(launch, hop, slot, lineOf(i, n), get(data, n));
  }

  template <u32 kCount, int N>
  __device__ static void receive(Launch<N> &launch, u32 first, u32 wanted, u32 i, P (&part)[kCount]) {
#pragma unroll
    for (u32 n = 0; n < kLinesOfPacket; ++n) {
      Line line[kCount];
      Box::template receive<kCount>(launch, first, wanted, lineOf(i, n), line);
#pragma unroll
      for (u32 s = 0; s < kCount; ++s) set(part[s], n, line[s]);
    }
  }
};

} // namespace coll::wide
