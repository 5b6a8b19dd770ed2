// Arithmetic on packets, element by element: what the expressions of an algorithm are written in. Narrow floats are
// computed with in f32, everything else in its own type. No operation is contracted or approximate, so ranks, modes and the
// host agree to the bit; what is said of rounding holds for each one.
#pragma once

#include "coll/slots.h"

namespace coll {

/// The elements of a packet in the type that they are computed with in, or one number that stands for as many as there are.
template <class W, u32 kCount>
struct Elements {
  static constexpr u32 kElements = kCount;
  W value[kCount];
};
template <u32 kCount>
using Floats = Elements<float, kCount>;
template <class W>
using NumberOf = Elements<W, 1>;
using Number = NumberOf<float>;

namespace detail {

template <class T, class Wide, bool kFloat>
struct ComputedIn { using Type = T; };
template <class T, class Wide>
struct ComputedIn<T, Wide, true> { using Type = Wide; };

} // namespace detail

/// What elements of T are computed with in.
template <class T>
using Computed = typename detail::ComputedIn<T, typename Arithmetic<T>::Wide, detail::kIsFloat<typename Arithmetic<T>::Wide>>::Type;

namespace detail {

/// A word's elements of T in the type that they are computed with in, and back.
template <class T>
__device__ inline void widenWord(const u32 *word, Computed<T> *v) {
  using A = Arithmetic<T>;
  if constexpr (sizeof(Computed<T>) == sizeof(typename A::Wide)) {
    A::widen(word, v);
  } else { // an integer of 8 bits
    typename A::Wide wide[A::kElements];
    A::widen(word, wide);
#pragma unroll
    for (u32 e = 0; e < A::kElements; ++e) v[e] = Computed<T>(wide[e]);
  }
}
template <class T>
__device__ inline void narrowWord(const Computed<T> *v, u32 *word) {
  using A = Arithmetic<T>;
  if constexpr (sizeof(Computed<T>) == sizeof(typename A::Wide)) {
    A::narrow(v, word);
  } else {
    typename A::Wide wide[A::kElements];
#pragma unroll
    for (u32 e = 0; e < A::kElements; ++e) wide[e] = v[e];
    A::narrow(wide, word);
  }
}

} // namespace detail

/// A packet of T as elements to compute with, and back, rounded to nearest even.
template <class T, class P>
__device__ inline Elements<Computed<T>, P::kElements> widen(const P &p) {
  using A = Arithmetic<T>;
  Elements<Computed<T>, P::kElements> f;
#pragma unroll
  for (u32 u = 0; u < P::kWords / A::kWords; ++u) detail::widenWord<T>(p.word + u * A::kWords, f.value + u * A::kElements);
  return f;
}
template <class T, class P>
__device__ inline P narrow(const Elements<Computed<T>, P::kElements> &f) {
  using A = Arithmetic<T>;
  P p;
#pragma unroll
  for (u32 u = 0; u < P::kWords / A::kWords; ++u) detail::narrowWord<T>(f.value + u * A::kElements, p.word + u * A::kWords);
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

template <class R, class W, u32 kCount, class F>
__device__ inline Elements<R, kCount> each(const Elements<W, kCount> &a, F f) {
  Elements<R, kCount> r;
#pragma unroll
  for (u32 e = 0; e < kCount; ++e) r.value[e] = f(a.value[e]);
  return r;
}

template <class W, u32 kA, u32 kB, class F>
__device__ inline Elements<W, (kA > kB ? kA : kB)> both(const Elements<W, kA> &a, const Elements<W, kB> &b, F f) {
  static_assert(kA == kB || kA == 1 || kB == 1, "vectors of different length");
  Elements<W, (kA > kB ? kA : kB)> r;
#pragma unroll
  for (u32 e = 0; e < r.kElements; ++e) r.value[e] = f(a.value[kA == 1 ? 0 : e], b.value[kB == 1 ? 0 : e]);
  return r;
}

/// What integers have beside the operators of reductions: all of it wraps, and what is divided by 0 is 0.
template <class W>
__device__ inline W difference(W a, W b) {
  using U = typename Wrapping<W>::Type;
  if constexpr (kIsFloat<W>) return ptx::add(a, -b);
  else return W(U(a) - U(b));
}
template <class W>
__device__ inline W quotient(W a, W b) {
  if constexpr (kIsFloat<W>) return ptx::divide(a, b);
  else return b == 0 ? W(0) : b == W(-1) && W(-1) < W(0) ? difference(W(0), a) : W(a / b);
}
__device__ inline float magnitude(float v) { return ptx::bitsToFloat(ptx::floatToBits(v) & 0x7fffffffu); }
__device__ inline double magnitude(double v) { return ptx::bitsToDouble(ptx::doubleToBits(v) & ~0ull >> 1); }
template <class W>
__device__ inline W magnitude(W v) { return v < W(0) ? difference(W(0), v) : v; }

} // namespace detail

template <class W, u32 kA, u32 kB>
__device__ inline auto operator+(const Elements<W, kA> &a, const Elements<W, kB> &b) {
  return detail::both(a, b, [](W x, W y) { return Sum::apply(x, y); });
}
template <class W, u32 kA, u32 kB>
__device__ inline auto operator-(const Elements<W, kA> &a, const Elements<W, kB> &b) {
  return detail::both(a, b, [](W x, W y) { return detail::difference(x, y); });
}
template <class W, u32 kA, u32 kB>
__device__ inline auto operator*(const Elements<W, kA> &a, const Elements<W, kB> &b) {
  return detail::both(a, b, [](W x, W y) { return Prod::apply(x, y); });
}
template <class W, u32 kA, u32 kB>
__device__ inline auto operator/(const Elements<W, kA> &a, const Elements<W, kB> &b) {
  return detail::both(a, b, [](W x, W y) { return detail::quotient(x, y); });
}
/// NaN if either side is one.
template <class W, u32 kA, u32 kB>
__device__ inline auto min(const Elements<W, kA> &a, const Elements<W, kB> &b) {
  return detail::both(a, b, [](W x, W y) { return Min::apply(x, y); });
}
template <class W, u32 kA, u32 kB>
__device__ inline auto max(const Elements<W, kA> &a, const Elements<W, kB> &b) {
  return detail::both(a, b, [](W x, W y) { return Max::apply(x, y); });
}
template <class W, u32 kA>
__device__ inline auto operator-(const Elements<W, kA> &a) {
  if constexpr (detail::kIsFloat<W>) return detail::each<W>(a, [](W x) { return -x; });
  else return detail::each<W>(a, [](W x) { return detail::difference(W(0), x); });
}
template <class W, u32 kA>
__device__ inline auto abs(const Elements<W, kA> &a) {
  return detail::each<W>(a, [](W x) { return detail::magnitude(x); });
}
/// Correctly rounded in f32; in f64 the square root and the quotient each.
template <class W, u32 kA>
__device__ inline auto rsqrt(const Elements<W, kA> &a) {
  return detail::each<W>(a, [](W x) {
    if constexpr (sizeof(W) == 4) return ptx::rsqrt(x);
    else return ptx::divide(1.0, ptx::squareRoot(x));
  });
}
/// 1/a, and 0 for what is less than the least normal number.
template <u32 kA>
__device__ inline Floats<kA> inverse(const Floats<kA> &a) {
  return detail::each<float>(a, [](float x) { return x < 0x1p-126f ? 0.0f : ptx::divide(1.0f, x); });
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

/// The same of 64 bits, with a longer series.
__device__ inline double exponential(double x) {
  if (x != x) return ptx::bitsToDouble(~0ull >> 1);
  x = x < -750.0 ? -750.0 : x > 710.0 ? 710.0 : x;
  const double shifted = ptx::fma(x, 0x1.71547652b82fep+0, 0x1.8p+52), n = ptx::add(shifted, -0x1.8p+52);
  const double r = ptx::fma(n, -0x1.abc9e3b39803fp-56, ptx::fma(n, -0x1.62e42fefa39efp-1, x));
  constexpr double kTerms[] = {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
                               1.0 / 120,       1.0 / 24,       1.0 / 6,       0.5,          1.0,         1.0};
  double p = 1.0 / 6227020800; // 1/13!
#pragma unroll
  for (u32 k = 0; k < 13; ++k) p = ptx::fma(p, r, kTerms[k]);
  const int exponent = int(n), half = exponent / 2;
  p = ptx::multiply(p, ptx::bitsToDouble(u64(half + 1023) << 52));
  return ptx::multiply(p, ptx::bitsToDouble(u64(exponent - half + 1023) << 52));
}

} // namespace detail

template <class W, u32 kA>
__device__ inline auto exp(const Elements<W, kA> &a) {
  return detail::each<W>(a, [](W x) { return detail::exponential(x); });
}

namespace detail {

/// An element in another type: to nearest even; integers wrap. A float becomes an integer towards zero; what is too large
/// becomes the largest, NaN 0.
template <class W, class V>
__device__ inline W converted(V v) {
  if constexpr (kIsFloat<V> && !kIsFloat<W>) {
    constexpr bool kSigned = W(-1) < W(0);
    constexpr V kBeyond = V(W(1) << (8 * sizeof(W) - 2)) * (kSigned ? 2 : 4); // the least that is too large
    if (v != v || (!kSigned && v < 0)) return W(0);
    if (v >= kBeyond) return kSigned ? W(~(u64(1) << (8 * sizeof(W) - 1))) : W(~u64(0));
    if (kSigned && v < -kBeyond) return W(u64(1) << (8 * sizeof(W) - 1));
  }
  return W(v);
}

} // namespace detail

template <class W, class V, u32 kA>
__device__ inline Elements<W, kA> as(const Elements<V, kA> &a) {
  return detail::each<W>(a, [](V v) { return detail::converted<W>(v); });
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

/// Elements in the words of elements of U. Floats that become integers of 8 bits are rounded to nearest even and saturate;
/// as floats of 8 bits they do by themselves.
template <class U, class W, u32 kCount>
__device__ inline void toMemory(const Elements<W, kCount> &f, u32 *word) {
  using A = Arithmetic<U>;
#pragma unroll
  for (u32 e = 0; e < kCount; e += A::kElements) {
    W v[A::kElements];
#pragma unroll
    for (u32 k = 0; k < A::kElements; ++k) v[k] = e + k < kCount ? f.value[e + k] : W(0);
    if constexpr (sizeof(U) == 1 && kIsFloat<W> && !kIsFloat<typename A::Wide>) {
      word[e / A::kElements] = ptx::floatToInt8(v[0]) | ptx::floatToInt8(v[1]) << 8 | ptx::floatToInt8(v[2]) << 16 |
                               ptx::floatToInt8(v[3]) << 24;
    } else {
      narrowWord<U>(v, word + e / A::kElements * A::kWords);
    }
  }
}
template <class U, u32 kCount>
__device__ inline Elements<Computed<U>, kCount> fromMemory(const u32 *word) {
  using A = Arithmetic<U>;
  Computed<U> v[(kCount + A::kElements - 1) / A::kElements * A::kElements];
#pragma unroll
  for (u32 e = 0; e < kCount; e += A::kElements) widenWord<U>(word + e / A::kElements * A::kWords, v + e);
  Elements<Computed<U>, kCount> f;
#pragma unroll
  for (u32 e = 0; e < kCount; ++e) f.value[e] = v[e];
  return f;
}

/// The largest access of memory at multiples of so many bytes: 1, 2, 4, 8 or 16.
constexpr u32 unitOf(u32 bytes) { return bytes % 16 == 0 ? 16 : bytes & (0 - bytes); }

/// The words that so many bytes take, from memory aligned to kUnit, and back.
template <u32 kBytes, u32 kUnit = unitOf(kBytes)>
__device__ inline void loadWords(const char *from, u32 *word) {
  if constexpr (kUnit >= 4 && kBytes > kUnit) {
    loadWords<kUnit, kUnit>(from, word);
    loadWords<kBytes - kUnit, kUnit>(from + kUnit, word + kUnit / 4);
  } else if constexpr (kBytes > kUnit) {
    word[0] = 0;
#pragma unroll
    for (u32 b = 0; b < (kBytes < 4 ? kBytes : 4); b += kUnit) word[0] |= u32(loadElement<kUnit>(from + b)) << 8 * b;
    if constexpr (kBytes > 4) loadWords<kBytes - 4, kUnit>(from + 4, word + 1);
  } else if constexpr (kBytes == 16) {
    const Words2 v = ptx::load16(from);
    word[0] = u32(v.w[0]), word[1] = u32(v.w[0] >> 32), word[2] = u32(v.w[1]), word[3] = u32(v.w[1] >> 32);
  } else if constexpr (kBytes == 8) {
    const u64 v = ptx::load8(from);
    word[0] = u32(v), word[1] = u32(v >> 32);
  } else if constexpr (kBytes == 4) {
    word[0] = ptx::load4(from);
  } else if constexpr (kBytes == 2) {
    word[0] = ptx::load2(from);
  } else {
    word[0] = u32(loadElement<1>(from));
  }
}
template <u32 kBytes, u32 kUnit = unitOf(kBytes)>
__device__ inline void storeWords(char *to, const u32 *word) {
  if constexpr (kUnit >= 4 && kBytes > kUnit) {
    storeWords<kUnit, kUnit>(to, word);
    storeWords<kBytes - kUnit, kUnit>(to + kUnit, word + kUnit / 4);
  } else if constexpr (kBytes > kUnit) {
#pragma unroll
    for (u32 b = 0; b < (kBytes < 4 ? kBytes : 4); b += kUnit) storeElement<kUnit>(to + b, word[0] >> 8 * b);
    if constexpr (kBytes > 4) storeWords<kBytes - 4, kUnit>(to + 4, word + 1);
  } else if constexpr (kBytes == 16) {
    ptx::store16(to, Words2{{pair(word[0], word[1]), pair(word[2], word[3])}});
  } else if constexpr (kBytes == 8) {
    ptx::store8(to, pair(word[0], word[1]));
  } else if constexpr (kBytes == 4) {
    ptx::store4(to, word[0]);
  } else if constexpr (kBytes == 2) {
    ptx::store2(to, u16(word[0]));
  } else {
    storeElement<1>(to, word[0]);
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

/// What floats are as elements of U: rounded to nearest even; as integers of 8 bits they saturate.
template <class U, u32 kCount>
__device__ inline Elements<Computed<U>, kCount> nearest(const Floats<kCount> &f) {
  u32 word[(kCount * sizeof(U) + 3) / 4];
  detail::toMemory<U>(f, word);
  return detail::fromMemory<U, kCount>(word);
}

/// A scalar argument of a narrow type.
template <class U>
__device__ inline NumberOf<Computed<U>> numberOf(const U &argument) {
  const u32 word = argument.bits;
  return detail::fromMemory<U, 1>(&word);
}

namespace detail {

/// Elements i * kCount and on of a vector.
template <class Shape, u32 kCount, class U>
__device__ inline Elements<Computed<U>, kCount> loadDenseElements(const U *from, u64 i, u64 length) {
  constexpr u32 kBytes = kCount * sizeof(U), kWords = (kBytes + 3) / 4;
  const char *at = reinterpret_cast<const char *>(from) + u64(i) * kBytes;
  u32 word[kWords] = {};
  const u32 left = Shape::kWhole ? kCount : elementsFrom(u64(i) * kCount, length, kCount);
  if (Shape::kWhole || (left == kCount && u64(from) % 16 == 0)) loadWords<kBytes>(at, word);
  else loadShortWords<U, kCount>(at, left, word);
  return fromMemory<U, kCount>(word);
}
template <class Shape, class U, class W, u32 kCount>
__device__ inline void storeDenseElements(U *to, u64 i, u64 length, const Elements<W, kCount> &f) {
  constexpr u32 kBytes = kCount * sizeof(U), kWords = (kBytes + 3) / 4;
  char *at = reinterpret_cast<char *>(to) + u64(i) * kBytes;
  u32 word[kWords];
  toMemory<U>(f, word);
  const u32 left = Shape::kWhole ? kCount : elementsFrom(u64(i) * kCount, length, kCount);
  if (Shape::kWhole || (left == kCount && u64(to) % 16 == 0)) storeWords<kBytes>(at, word);
  else storeShortWords<U, kCount>(at, left, word);
}

/// Elements that lie beside each other, as those of most packets do.
struct Dense {
  static constexpr bool kInPieces = false;
};

} // namespace detail

/// Packet `i` of a vector of another type than the packets', as `load` and `store` of packet.h have them.
template <class Shape, class P, int N, class U>
__device__ inline Elements<Computed<U>, P::kElements> loadElements(const Launch<N> &launch, const U *from, u32 i, u64 length) {
  Elements<Computed<U>, P::kElements> f = {};
  if constexpr (P::kInPieces) {
    constexpr u32 kCount = P::Piece::kElements;
#pragma unroll
    for (u32 n = 0; n < P::kPieces; ++n) {
      if (!P::hasPiece(i, n, length)) continue;
      const auto part = detail::loadDenseElements<Shape, kCount>(from, P::piece(i, n), length);
#pragma unroll
      for (u32 e = 0; e < kCount; ++e) f.value[n * kCount + e] = part.value[e];
    }
    return f;
  } else {
    if (!launch.active) return f;
    return detail::loadDenseElements<Shape, P::kElements>(from, i, length);
  }
}
template <class Shape, class P = detail::Dense, int N, class U, class W, u32 kCount>
__device__ inline void storeElements(const Launch<N> &launch, U *to, u32 i, u64 length, const Elements<W, kCount> &f) {
  if constexpr (P::kInPieces) {
#pragma unroll
    for (u32 n = 0; n < P::kPieces; ++n) {
      Elements<W, kCount / P::kPieces> part;
#pragma unroll
      for (u32 e = 0; e < part.kElements; ++e) part.value[e] = f.value[n * part.kElements + e];
      if (P::hasPiece(i, n, length)) detail::storeDenseElements<Shape>(to, P::piece(i, n), length, part);
    }
  } else {
    if (!launch.active) return;
    detail::storeDenseElements<Shape>(to, i, length, f);
  }
}
/// The same of floats, which are rounded.
template <class Shape, class P = detail::Dense, int N, class U, u32 kCount>
__device__ inline void storeFloats(const Launch<N> &launch, U *to, u32 i, u64 length, const Floats<kCount> &f) {
  storeElements<Shape, P>(launch, to, i, length, f);
}

/// Writes what packet `i` has of the first `count` elements at `to`, and nothing beyond.
template <class P, int N, class U, class W, u32 kCount>
__device__ inline void storeFirstElements(const Launch<N> &launch, U *to, u32 i, u32 count, const Elements<W, kCount> &f) {
  if (reaches<AnyPackets, P>(i, count)) storeElements<AnyPackets, P>(launch, to, i, count, f);
}

} // namespace coll
