// A packet: what one thread moves and reduces at a time. Its size is the payload of one line of the sync mode.
#pragma once

#include "coll/launch.h"

namespace coll {

/// `kBytes` bytes of elements of T in words of 4, element i in the bytes from i * sizeof(T) up.
template <class T, int kBytes>
struct Packet {
  static constexpr int kElements = kBytes / int(sizeof(T));
  static constexpr int kWords = kBytes / 4;
  u32 word[kWords];

  /// How many packets `elements` take, the last one perhaps short.
  __device__ static u64 count(u64 elements) { return (elements + kElements - 1) / kElements; }
};

/// Reads packet `i` of the vector of `length` elements at `from`. With Shape::kWhole the packet is whole and aligned;
/// otherwise `from` is aligned to T alone and elements past the end read as zero bits.
template <class Shape, class P, class T>
__device__ inline P load(const T *from, u64 i, u64 length);

/// Writes packet `i` of the vector of `length` elements at `to`; elements past the end are not touched.
template <class Shape, class P, class T>
__device__ inline void store(T *to, u64 i, u64 length, const P &packet);

/// Whether packet `i` has any element of a vector of `length`: always so with Shape::kWhole, whose vectors are all of
/// the loop's length.
template <class Shape, class P>
__device__ inline bool reaches(u64 i, u64 length) {
  return Shape::kWhole || i * P::kElements < length;
}

namespace detail {

template <int kBytes>
__device__ inline void loadBytes(const void *from, u32 *word) {
  if constexpr (kBytes == 16) {
    const Words2 v = ptx::load16(from);
    word[0] = u32(v.w[0]), word[1] = u32(v.w[0] >> 32), word[2] = u32(v.w[1]), word[3] = u32(v.w[1] >> 32);
  } else {
    static_assert(kBytes == 8);
    const u64 v = ptx::load8(from);
    word[0] = u32(v), word[1] = u32(v >> 32);
  }
}

template <int kBytes>
__device__ inline void storeBytes(void *to, const u32 *word) {
  if constexpr (kBytes == 16) {
    ptx::store16(to, Words2{{word[0] | u64(word[1]) << 32, word[2] | u64(word[3]) << 32}});
  } else {
    static_assert(kBytes == 8);
    ptx::store8(to, word[0] | u64(word[1]) << 32);
  }
}

/// One element as the low bits of a word.
template <int kSize>
__device__ inline u32 loadElement(const char *from) {
  if constexpr (kSize == 4) return ptx::load4(from);
  else if constexpr (kSize == 2) return ptx::load2(from);
  else return ptx::load1(from);
}
template <int kSize>
__device__ inline void storeElement(char *to, u32 bits) {
  if constexpr (kSize == 4) ptx::store4(to, bits);
  else if constexpr (kSize == 2) ptx::store2(to, u16(bits));
  else ptx::store1(to, u8(bits));
}

} // namespace detail

template <class Shape, class P, class T>
__device__ inline P load(const T *from, u64 i, u64 length) {
  constexpr int kSize = int(sizeof(T)), kBytes = P::kElements * kSize;
  const char *at = reinterpret_cast<const char *>(from) + i * kBytes;
  P packet = {};
  if (Shape::kWhole || ((i + 1) * P::kElements <= length && u64(at) % kBytes == 0)) {
    detail::loadBytes<kBytes>(at, packet.word);
  } else if constexpr (!Shape::kWhole) {
#pragma unroll
    for (int e = 0; e < P::kElements; ++e)
      if (i * P::kElements + e < length)
        packet.word[e * kSize / 4] |= detail::loadElement<kSize>(at + e * kSize) << (e * kSize % 4 * 8);
  }
  return packet;
}

template <class Shape, class P, class T>
__device__ inline void store(T *to, u64 i, u64 length, const P &packet) {
  constexpr int kSize = int(sizeof(T)), kBytes = P::kElements * kSize;
  char *at = reinterpret_cast<char *>(to) + i * kBytes;
  if (Shape::kWhole || ((i + 1) * P::kElements <= length && u64(at) % kBytes == 0)) {
    detail::storeBytes<kBytes>(at, packet.word);
  } else if constexpr (!Shape::kWhole) {
#pragma unroll
    for (int e = 0; e < P::kElements; ++e)
      if (i * P::kElements + e < length)
        detail::storeElement<kSize>(at + e * kSize, packet.word[e * kSize / 4] >> (e * kSize % 4 * 8));
  }
}

} // namespace coll
