// A packet: what one thread moves and reduces at a time. Its size is the payload of one line of the sync mode.
#pragma once

#include "coll/launch.h"

namespace coll {

/// `kBytes` bytes, 8, 12 or 16, of elements of T in words of 4, element i in the bytes from i * sizeof(T) up.
template <class T, int kBytesOfAll>
struct Packet {
  static constexpr u32 kBytes = kBytesOfAll, kElements = kBytes / sizeof(T), kWords = kBytes / 4;
  static constexpr u32 kAlignment = kBytes % 16 == 0 ? 16 : kBytes % 8 == 0 ? 8 : 4; ///< of a whole one in memory
  static constexpr bool kInPieces = false; ///< whether it is scattered over its vector, as in ll128.h
  static constexpr bool kOfWarps = false;  ///< whether those of a warp lie among each other
  u32 word[kWords];

  /// How many packets `elements` take, the last one perhaps short.
  __device__ static u32 count(u64 elements) { return u32((elements + kElements - 1) / kElements); }
};

namespace detail {

/// What is done to each of a few words is written by halves: NVRTC takes long to undo loops, also those of two rounds.
template <u32 kWords>
__device__ inline void selectWords(bool first, const u32 *a, const u32 *b, u32 *to) {
  constexpr u32 kHalf = kWords / 2;
  if constexpr (kWords == 1) {
    *to = first ? *a : *b;
  } else {
    selectWords<kHalf>(first, a, b, to);
    selectWords<kWords - kHalf>(first, a + kHalf, b + kHalf, to + kHalf);
  }
}

} // namespace detail

/// `a` or `b`, word by word, so that both stay in registers.
template <class P>
__device__ inline P select(bool first, const P &a, const P &b) {
  P p;
  detail::selectWords<P::kWords>(first, a.word, b.word, p.word);
  return p;
}

namespace detail {

__device__ inline u64 pair(u32 low, u32 high) { return low | u64(high) << 32; }

/// A packet as the two words of 8 bytes that memory takes, of which a packet of 8 or 12 bytes does not use all.
template <class P>
__device__ inline Words2 toWords(const P &p) {
  if constexpr (P::kWords == 2) return {{pair(p.word[0], p.word[1]), 0}};
  else if constexpr (P::kWords == 3) return {{pair(p.word[0], p.word[1]), p.word[2]}};
  else return {{pair(p.word[0], p.word[1]), pair(p.word[2], p.word[3])}};
}
template <class P>
__device__ inline P fromWords(const Words2 &v) {
  if constexpr (P::kWords == 2) return {{u32(v.w[0]), u32(v.w[0] >> 32)}};
  else if constexpr (P::kWords == 3) return {{u32(v.w[0]), u32(v.w[0] >> 32), u32(v.w[1])}};
  else return {{u32(v.w[0]), u32(v.w[0] >> 32), u32(v.w[1]), u32(v.w[1] >> 32)}};
}

template <class P>
__device__ inline P loadWhole(const char *from) {
  if constexpr (P::kBytes == 8) {
    const u64 v = ptx::load8(from);
    return {{u32(v), u32(v >> 32)}};
  } else if constexpr (P::kBytes == 12) return {{ptx::load4(from), ptx::load4(from + 4), ptx::load4(from + 8)}};
  else return fromWords<P>(ptx::load16(from));
}
template <class P>
__device__ inline void storeWhole(char *to, const P &p) {
  if constexpr (P::kBytes == 8) ptx::store8(to, pair(p.word[0], p.word[1]));
  else if constexpr (P::kBytes == 12) ptx::store4(to, p.word[0]), ptx::store4(to + 4, p.word[1]), ptx::store4(to + 8, p.word[2]);
  else ptx::store16(to, toWords(p));
}

/// One element as the low bits of a word.
template <u32 kSize>
__device__ inline u64 loadElement(const char *from) {
  if constexpr (kSize == 8) return ptx::load8(from);
  else if constexpr (kSize == 4) return ptx::load4(from);
  else if constexpr (kSize == 2) return ptx::load2(from);
  else return ptx::load1(from);
}
template <u32 kSize>
__device__ inline void storeElement(char *to, u64 bits) {
  if constexpr (kSize == 8) ptx::store8(to, bits);
  else if constexpr (kSize == 4) ptx::store4(to, u32(bits));
  else if constexpr (kSize == 2) ptx::store2(to, u16(bits));
  else ptx::store1(to, u8(bits));
}

/// 16 bytes moved by one element, to its end and to its begin; zeros follow.
template <u32 kSize>
__device__ inline Words2 shiftUp(const Words2 &v) {
  if constexpr (kSize == 8) return {{0, v.w[0]}};
  else return {{v.w[0] << 8 * kSize, v.w[1] << 8 * kSize | v.w[0] >> (64 - 8 * kSize)}};
}
template <u32 kSize>
__device__ inline Words2 shiftDown(const Words2 &v) {
  if constexpr (kSize == 8) return {{v.w[1], 0}};
  else return {{v.w[0] >> 8 * kSize | v.w[1] << (64 - 8 * kSize), v.w[1] >> 8 * kSize}};
}

/// The first `left` elements of a packet of kBytes, zeros after them, at an address aligned to the element alone: what
/// vectors that begin or end anywhere need, out of line for all packets.
template <u32 kSize, u32 kBytes>
__device__ __noinline__ Words2 loadShort(const char *from, u32 left) {
  Words2 v = {{0, 0}};
#pragma unroll 1
  for (; left != 0; --left) {
    v = shiftUp<kSize>(v);
    v.w[0] |= loadElement<kSize>(from + (left - 1) * kSize);
    if constexpr (kBytes == 8) v.w[1] = 0;
  }
  return v;
}
template <u32 kSize, u32 kBytes>
__device__ __noinline__ void storeShort(char *to, u32 left, Words2 v) {
  if constexpr (kBytes == 8) v.w[1] = 0;
#pragma unroll 1
  for (const char *end = to + left * kSize; to != end; to += kSize) {
    storeElement<kSize>(to, v.w[0]);
    v = shiftDown<kSize>(v);
  }
}

/// Whether a packet is two elements of a word each. Short ones are then taken in place, which compiles faster than a call.
template <class P, class T>
constexpr bool kTwoWords = P::kElements == 2 && sizeof(T) == 4;

/// How many elements of a vector of `length` there are for a packet that begins at `begin`: at most `most`.
__device__ inline u32 elementsFrom(u64 begin, u64 length, u32 most) {
  return begin >= length ? 0 : length - begin < most ? u32(length - begin) : most;
}

template <class Shape, class P, class T>
__device__ inline P loadDense(const T *from, u64 i, u64 length) {
  const char *at = reinterpret_cast<const char *>(from) + u64(i) * P::kBytes;
  if constexpr (Shape::kWhole) return loadWhole<P>(at);
  const u32 left = elementsFrom(u64(i) * P::kElements, length, P::kElements);
  if (left == P::kElements && u64(from) % P::kAlignment == 0) return loadWhole<P>(at);
  if constexpr (kTwoWords<P, T>) return {{left > 0 ? ptx::load4(at) : 0, left > 1 ? ptx::load4(at + 4) : 0}};
  else return fromWords<P>(loadShort<sizeof(T), P::kBytes>(at, left));
}

template <class Shape, class P, class T>
__device__ inline void storeDense(T *to, u64 i, u64 length, const P &packet) {
  char *at = reinterpret_cast<char *>(to) + u64(i) * P::kBytes;
  if constexpr (Shape::kWhole) return storeWhole(at, packet);
  const u32 left = elementsFrom(u64(i) * P::kElements, length, P::kElements);
  if (left == P::kElements && u64(to) % P::kAlignment == 0) return storeWhole(at, packet);
  if constexpr (kTwoWords<P, T>) {
    if (left > 0) ptx::store4(at, packet.word[0]);
    if (left > 1) ptx::store4(at + 4, packet.word[1]);
  } else {
    storeShort<sizeof(T), P::kBytes>(at, left, toWords(packet));
  }
}

} // namespace detail

/// Whether packet `i`, or that of another lane of its warp, has any element of a vector of `length`: the lanes of a warp
/// send and wait together. Always so with Shape::kWhole, whose vectors are all of the loop's length.
template <class Shape, class P>
__device__ inline bool reaches(u32 i, u64 length) {
  if constexpr (P::kInPieces) return Shape::kWhole || P::warpBegin(i) < length;
  else return Shape::kWhole || u64(warpFirst(i)) * P::kElements < length;
}

/// Reads packet `i` of the vector of `length` elements at `from`. With Shape::kWhole the packet is whole and aligned;
/// otherwise `from` is aligned to T alone and elements past the end read as zero bits. A thread without a packet has no piece
/// of one in pieces, so nothing asks whether it is active: a branch there would have the epoch wait for the load's address.
template <class Shape, class P, int N, class T>
__device__ inline P load(const Launch<N> &launch, const T *from, u32 i, u64 length) {
  P p = {};
  if constexpr (P::kInPieces) {
#pragma unroll
    for (u32 n = 0; n < P::kPieces; ++n)
      if (P::hasPiece(i, n, length))
        p.setPiece(n, detail::loadDense<Shape, typename P::Piece>(from, P::piece(i, n), length));
    return p;
  } else {
    if (!launch.active) return p;
    return detail::loadDense<Shape, P>(from, i, length);
  }
}

/// Writes packet `i` of the vector of `length` elements at `to`; elements past the end are not touched.
template <class Shape, class P, int N, class T>
__device__ inline void store(const Launch<N> &launch, T *to, u32 i, u64 length, const P &packet) {
  if constexpr (P::kInPieces) {
#pragma unroll
    for (u32 n = 0; n < P::kPieces; ++n)
      if (P::hasPiece(i, n, length)) detail::storeDense<Shape>(to, P::piece(i, n), length, packet.getPiece(n));
  } else {
    static_assert(P::kElements * sizeof(T) == P::kBytes, "a packet of the vector's type");
    if (!launch.active) return;
    detail::storeDense<Shape>(to, i, length, packet);
  }
}

} // namespace coll
