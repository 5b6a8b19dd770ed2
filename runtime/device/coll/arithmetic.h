// Arithmetic on packets, element by element in f32: what the expressions of an algorithm are written in. No operation is
// contracted or approximate, so ranks, modes and the host agree to the bit; what is said of rounding holds for each one.
#pragma once

#include "coll/slots.h"

namespace coll {

/// The elements of a packet, or one number that stands for as many as there are.
template <u32 kCount>
struct Floats {
  static constexpr u32 kElements = kCount;
  float value[kCount];
};
using Number = Floats<1>;

/// A packet of T as floats, and back, rounded to nearest even.
template <class T, class P>
__device__ inline Floats<P::kElements> widen(const P &p) {
  using A = Arithmetic<T>;
  Floats<P::kElements> f;
#pragma unroll
  for (u32 u = 0; u < P::kWords / A::kWords; ++u) A::widen(p.word + u * A::kWords, f.value + u * A::kElements);
  return f;
}
template <class T, class P>
__device__ inline P narrow(const Floats<P::kElements> &f) {
  using A = Arithmetic<T>;
  P p;
#pragma unroll
  for (u32 u = 0; u < P::kWords / A::kWords; ++u) A::narrow(f.value + u * A::kElements, p.word + u * A::kWords);
  return p;
}

namespace detail {

template <class T, class P>
__device__ inline Floats<P::kElements> floatsOf(const Accumulator<T, P> &acc) {
  Floats<P::kElements> f;
#pragma unroll
  for (u32 e = 0; e < P::kElements; ++e) f.value[e] = acc.value[e];
  return f;
}

template <u32 kCount, class F>
__device__ inline Floats<kCount> each(const Floats<kCount> &a, F f) {
  Floats<kCount> r;
#pragma unroll
  for (u32 e = 0; e < kCount; ++e) r.value[e] = f(a.value[e]);
  return r;
}

template <u32 kA, u32 kB, class F>
__device__ inline Floats<(kA > kB ? kA : kB)> both(const Floats<kA> &a, const Floats<kB> &b, F f) {
  static_assert(kA == kB || kA == 1 || kB == 1, "vectors of different length");
  Floats<(kA > kB ? kA : kB)> r;
#pragma unroll
  for (u32 e = 0; e < r.kElements; ++e) r.value[e] = f(a.value[kA == 1 ? 0 : e], b.value[kB == 1 ? 0 : e]);
  return r;
}

} // namespace detail

template <u32 kA, u32 kB>
__device__ inline auto operator+(const Floats<kA> &a, const Floats<kB> &b) {
  return detail::both(a, b, [](float x, float y) { return ptx::add(x, y); });
}
template <u32 kA, u32 kB>
__device__ inline auto operator-(const Floats<kA> &a, const Floats<kB> &b) {
  return detail::both(a, b, [](float x, float y) { return ptx::add(x, -y); });
}
template <u32 kA, u32 kB>
__device__ inline auto operator*(const Floats<kA> &a, const Floats<kB> &b) {
  return detail::both(a, b, [](float x, float y) { return ptx::multiply(x, y); });
}
template <u32 kA, u32 kB>
__device__ inline auto operator/(const Floats<kA> &a, const Floats<kB> &b) {
  return detail::both(a, b, [](float x, float y) { return ptx::divide(x, y); });
}
/// NaN if either side is one.
template <u32 kA, u32 kB>
__device__ inline auto min(const Floats<kA> &a, const Floats<kB> &b) {
  return detail::both(a, b, [](float x, float y) { return Min::apply(x, y); });
}
template <u32 kA, u32 kB>
__device__ inline auto max(const Floats<kA> &a, const Floats<kB> &b) {
  return detail::both(a, b, [](float x, float y) { return Max::apply(x, y); });
}
template <u32 kA>
__device__ inline Floats<kA> operator-(const Floats<kA> &a) {
  return detail::each(a, [](float x) { return -x; });
}
template <u32 kA>
__device__ inline Floats<kA> abs(const Floats<kA> &a) {
  return detail::each(a, [](float x) { return ptx::bitsToFloat(ptx::floatToBits(x) & 0x7fffffffu); });
}
/// Correctly rounded.
template <u32 kA>
__device__ inline Floats<kA> rsqrt(const Floats<kA> &a) {
  return detail::each(a, [](float x) { return ptx::rsqrt(x); });
}
/// 1/a, and 0 for what is less than the least normal number.
template <u32 kA>
__device__ inline Floats<kA> inverse(const Floats<kA> &a) {
  return detail::each(a, [](float x) { return x < 0x1p-126f ? 0.0f : ptx::divide(1.0f, x); });
}

namespace detail {

/// e^x within 3 units in the last place. 2^n * e^r for the n that makes r least, e^r by its series; the same operations
/// everywhere, each rounded once.
__device__ inline float exponential(float x) {
  if (x != x) return ptx::bitsToFloat(0x7fffffff);
  x = x < -105.0f ? -105.0f : x > 89.0f ? 89.0f : x;
  const float shifted = ptx::fma(x, 0x1.715476p+0f, 0x1.8p+23f), n = ptx::add(shifted, -0x1.8p+23f);
  const float r = ptx::fma(n, -0x1.7f7d1cp-20f, ptx::fma(n, -0x1.62e400p-1f, x));
  float p = ptx::fma(r, 0x1.6c16c2p-10f, 0x1.111112p-7f);
  p = ptx::fma(p, r, 0x1.555556p-5f);
  p = ptx::fma(p, r, 0x1.555556p-3f);
  p = ptx::fma(p, r, 0.5f);
  p = ptx::fma(p, r, 1.0f);
  p = ptx::fma(p, r, 1.0f);
  const int exponent = int(n), half = exponent / 2; // in two steps, as 2^n alone may be no float
  p = ptx::multiply(p, ptx::bitsToFloat(u32(half + 127) << 23));
  return ptx::multiply(p, ptx::bitsToFloat(u32(exponent - half + 127) << 23));
}

} // namespace detail

template <u32 kA>
__device__ inline Floats<kA> exp(const Floats<kA> &a) {
  return detail::each(a, [](float x) { return detail::exponential(x); });
}

namespace detail {

template <class Op, class T, class Box, int N>
__device__ inline Floats<Box::P::kElements> reduceSlotsWide(Launch<N> &launch, u32 i, u32 skip,
                                                            const typename Box::P &own) {
  using P = typename Box::P;
  Accumulator<T, P> acc;
  if constexpr (N == 2) { // as in reduceSlots
    if (skip != kNone) {
      acc.start(Box::sent(own));
      acc.template take<Op>(readSlot<Box>(launch, 1 - launch.me(), i));
      acc.template finish<Op, N>();
      return floatsOf(acc);
    }
  }
  eachSlot<Box>(
      launch, i, skip, own, [](u32) { return true; },
      [&](u32 r, const P &part) { r == 0 ? acc.start(part) : acc.template take<Op>(part); });
  acc.template finish<Op, N>();
  return floatsOf(acc);
}

} // namespace detail

/// Packet `i` of all ranks' slots, reduced from rank 0 up and not yet rounded. Slot `me` is `own`.
template <class Op, class T, class Box, int N>
__device__ inline Floats<Box::P::kElements> reduceSlotsWide(Launch<N> &launch, u32 i, const typename Box::P &own) {
  return detail::reduceSlotsWide<Op, T, Box>(launch, i, launch.me(), own);
}
/// The same where this rank's contribution comes through its own slot.
template <class Op, class T, class Box, int N>
__device__ inline Floats<Box::P::kElements> reduceSlotsWide(Launch<N> &launch, u32 i) {
  return detail::reduceSlotsWide<Op, T, Box>(launch, i, kNone, {});
}

namespace detail {

/// Floats in the words of elements of U, and back. An integer saturates; floats of 8 bits do by themselves.
template <class U, u32 kCount>
__device__ inline void toMemory(const Floats<kCount> &f, u32 *word) {
  using A = Arithmetic<U>;
  static_assert(A::kWords == 1, "of at most 4 bytes");
#pragma unroll
  for (u32 e = 0; e < kCount; e += A::kElements) {
    float v[A::kElements];
#pragma unroll
    for (u32 k = 0; k < A::kElements; ++k) v[k] = e + k < kCount ? f.value[e + k] : 0.0f;
    if constexpr (sizeof(U) == 1 && !kIsFloat<typename A::Wide>) {
      word[e / A::kElements] = ptx::floatToInt8(v[0]) | ptx::floatToInt8(v[1]) << 8 | ptx::floatToInt8(v[2]) << 16 |
                               ptx::floatToInt8(v[3]) << 24;
    } else {
      A::narrow(v, word + e / A::kElements);
    }
  }
}

/// The words that so many bytes take, from memory aligned to them or to 16 bytes, and back.
template <u32 kBytes>
__device__ inline void loadWords(const char *from, u32 *word) {
  if constexpr (kBytes > 16) {
    loadWords<16>(from, word);
    loadWords<kBytes - 16>(from + 16, word + 4);
  } else if constexpr (kBytes == 16) {
    const Words2 v = ptx::load16(from);
    word[0] = u32(v.w[0]), word[1] = u32(v.w[0] >> 32), word[2] = u32(v.w[1]), word[3] = u32(v.w[1] >> 32);
  } else if constexpr (kBytes == 8) {
    const u64 v = ptx::load8(from);
    word[0] = u32(v), word[1] = u32(v >> 32);
  } else if constexpr (kBytes == 4) {
    word[0] = ptx::load4(from);
  } else {
    word[0] = ptx::load2(from);
  }
}
template <u32 kBytes>
__device__ inline void storeWords(char *to, const u32 *word) {
  if constexpr (kBytes > 16) {
    storeWords<16>(to, word);
    storeWords<kBytes - 16>(to + 16, word + 4);
  } else if constexpr (kBytes == 16) {
    ptx::store16(to, Words2{{pair(word[0], word[1]), pair(word[2], word[3])}});
  } else if constexpr (kBytes == 8) {
    ptx::store8(to, pair(word[0], word[1]));
  } else if constexpr (kBytes == 4) {
    ptx::store4(to, word[0]);
  } else {
    ptx::store2(to, u16(word[0]));
  }
}

} // namespace detail

namespace detail {

/// Elements of U at any address, the first `left` of kCount: eight bytes after the other.
template <class U, u32 kCount>
__device__ inline void loadShortWords(const char *from, u32 left, u32 *word) {
  constexpr u32 kHalf = 8 / sizeof(U), kWords = (kCount * sizeof(U) + 3) / 4;
#pragma unroll
  for (u32 w = 0; w < kWords; w += 2) {
    const u32 begin = w / 2 * kHalf;
    const u64 v = left > begin ? loadShort<sizeof(U), 8>(from + 4 * w, elementsFrom(begin, left, kHalf)).w[0] : 0;
    word[w] = u32(v);
    if (w + 1 < kWords) word[w + 1] = u32(v >> 32);
  }
}
template <class U, u32 kCount>
__device__ inline void storeShortWords(char *to, u32 left, const u32 *word) {
  constexpr u32 kHalf = 8 / sizeof(U), kWords = (kCount * sizeof(U) + 3) / 4;
#pragma unroll
  for (u32 w = 0; w < kWords; w += 2) {
    const u32 begin = w / 2 * kHalf;
    const Words2 v = {{pair(word[w], w + 1 < kWords ? word[w + 1] : 0), 0}};
    if (left > begin) storeShort<sizeof(U), 8>(to + 4 * w, elementsFrom(begin, left, kHalf), v);
  }
}

} // namespace detail

/// Elements i * kCount and on of a vector of another type than the packets', as `load` and `store` of packet.h have them.
template <class Shape, u32 kCount, int N, class U>
__device__ inline Floats<kCount> loadFloats(const Launch<N> &launch, const U *from, u32 i, u64 length) {
  constexpr u32 kBytes = kCount * sizeof(U), kWords = (kBytes + 3) / 4, kPer = Arithmetic<U>::kElements;
  const char *at = reinterpret_cast<const char *>(from) + u64(i) * kBytes;
  u32 word[kWords] = {};
  const u32 left = Shape::kWhole ? kCount : detail::elementsFrom(u64(i) * kCount, length, kCount);
  if (!launch.active) {
  } else if (Shape::kWhole || (left == kCount && u64(from) % 16 == 0)) {
    detail::loadWords<kBytes>(at, word);
  } else {
    detail::loadShortWords<U, kCount>(at, left, word);
  }
  float v[kWords * kPer];
#pragma unroll
  for (u32 w = 0; w < kWords; ++w) Arithmetic<U>::widen(word + w, v + w * kPer);
  Floats<kCount> f;
#pragma unroll
  for (u32 e = 0; e < kCount; ++e) f.value[e] = v[e];
  return f;
}
template <class Shape, int N, class U, u32 kCount>
__device__ inline void storeFloats(const Launch<N> &launch, U *to, u32 i, u64 length, const Floats<kCount> &f) {
  constexpr u32 kBytes = kCount * sizeof(U), kWords = (kBytes + 3) / 4;
  char *at = reinterpret_cast<char *>(to) + u64(i) * kBytes;
  if (!launch.active) return;
  u32 word[kWords];
  detail::toMemory<U>(f, word);
  const u32 left = Shape::kWhole ? kCount : detail::elementsFrom(u64(i) * kCount, length, kCount);
  if (Shape::kWhole || (left == kCount && u64(to) % 16 == 0)) detail::storeWords<kBytes>(at, word);
  else detail::storeShortWords<U, kCount>(at, left, word);
}

} // namespace coll
