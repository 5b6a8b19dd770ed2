// Arithmetic on packets: what an element type means, and reductions in rank order.
#pragma once

#include "coll/packet.h"

namespace coll {

/// How elements of T are accumulated: `widen` takes the kElements elements of kWords words to the accumulator's type
/// `Wide`, `narrow` rounds them back, to nearest even. Floats of 16 bits accumulate in f32; those of 8 are in float8.h.
template <class T>
struct Arithmetic;

template <>
struct Arithmetic<float> {
  using Wide = float;
  static constexpr u32 kWords = 1, kElements = 1;
  __device__ static void widen(const u32 *word, float *v) { v[0] = ptx::bitsToFloat(word[0]); }
  __device__ static void narrow(const float *v, u32 *word) { word[0] = ptx::floatToBits(v[0]); }
};
template <>
struct Arithmetic<double> {
  using Wide = double;
  static constexpr u32 kWords = 2, kElements = 1;
  __device__ static void widen(const u32 *word, double *v) { v[0] = ptx::bitsToDouble(detail::pair(word[0], word[1])); }
  __device__ static void narrow(const double *v, u32 *word) {
    const u64 bits = ptx::doubleToBits(v[0]);
    word[0] = u32(bits), word[1] = u32(bits >> 32);
  }
};
template <>
struct Arithmetic<F16> {
  using Wide = float;
  static constexpr u32 kWords = 1, kElements = 2;
  __device__ static void widen(const u32 *word, float *v) {
    v[0] = ptx::halfToFloat(u16(word[0])), v[1] = ptx::halfToFloat(u16(word[0] >> 16));
  }
  __device__ static void narrow(const float *v, u32 *word) { word[0] = ptx::floatsToHalves(v[0], v[1]); }
};
template <>
struct Arithmetic<BF16> {
  using Wide = float;
  static constexpr u32 kWords = 1, kElements = 2;
  __device__ static void widen(const u32 *word, float *v) {
    v[0] = ptx::bitsToFloat(word[0] << 16), v[1] = ptx::bitsToFloat(word[0] & 0xffff0000u);
  }
  __device__ static void narrow(const float *v, u32 *word) { word[0] = ptx::floatsToBfloats(v[0], v[1]); }
};

/// Integers of 4 and 1 bytes: `W` is int or u32, which has the order of the type; what is beyond it wraps.
template <class W>
struct ArithmeticOfInts {
  using Wide = W;
  static constexpr u32 kWords = 1, kElements = 1;
  __device__ static void widen(const u32 *word, W *v) { v[0] = W(word[0]); }
  __device__ static void narrow(const W *v, u32 *word) { word[0] = u32(v[0]); }
};
template <class W>
struct ArithmeticOfBytes {
  using Wide = W;
  static constexpr u32 kWords = 1, kElements = 4;
  __device__ static void widen(const u32 *word, W *v) {
#pragma unroll
    for (u32 e = 0; e < 4; ++e) v[e] = W(word[0] << (24 - 8 * e)) >> 24;
  }
  __device__ static void narrow(const W *v, u32 *word) {
    word[0] = (u32(v[0]) & 0xff) | (u32(v[1]) & 0xff) << 8 | (u32(v[2]) & 0xff) << 16 | u32(v[3]) << 24;
  }
};
template <class W>
struct ArithmeticOfLongs {
  using Wide = W;
  static constexpr u32 kWords = 2, kElements = 1;
  __device__ static void widen(const u32 *word, W *v) { v[0] = W(detail::pair(word[0], word[1])); }
  __device__ static void narrow(const W *v, u32 *word) { word[0] = u32(v[0]), word[1] = u32(u64(v[0]) >> 32); }
};
template <> struct Arithmetic<int> : ArithmeticOfInts<int> {};
template <> struct Arithmetic<u32> : ArithmeticOfInts<u32> {};
template <> struct Arithmetic<signed char> : ArithmeticOfBytes<int> {};
template <> struct Arithmetic<u8> : ArithmeticOfBytes<u32> {};
template <> struct Arithmetic<long long> : ArithmeticOfLongs<long long> {};
template <> struct Arithmetic<u64> : ArithmeticOfLongs<u64> {};

namespace detail {

/// The type in which an accumulator's sums and products are made: unsigned for integers, which wrap.
template <class W> struct Wrapping { using Type = W; };
template <> struct Wrapping<int> { using Type = u32; };
template <> struct Wrapping<long long> { using Type = u64; };

template <class W> constexpr bool kIsFloat = false;
template <> constexpr bool kIsFloat<float> = true;
template <> constexpr bool kIsFloat<double> = true;

} // namespace detail

/// The operators. min and max give NaN if either side is one, and order -0 below +0.
struct Sum {
  template <class W>
  __device__ static W apply(W a, W b) {
    using U = typename detail::Wrapping<W>::Type;
    if constexpr (detail::kIsFloat<W>) return ptx::add(a, b);
    else return W(U(a) + U(b));
  }
};
struct Prod {
  template <class W>
  __device__ static W apply(W a, W b) {
    using U = typename detail::Wrapping<W>::Type;
    if constexpr (detail::kIsFloat<W>) return ptx::multiply(a, b);
    else return W(U(a) * U(b));
  }
};
struct Min {
  __device__ static float apply(float a, float b) {
    if (a != a || b != b) return ptx::bitsToFloat(0x7fffffff); // one NaN, whichever side it comes from
    if (a == b) return ptx::bitsToFloat(ptx::floatToBits(a) | ptx::floatToBits(b));
    return a < b ? a : b;
  }
  __device__ static double apply(double a, double b) {
    if (a != a || b != b) return ptx::bitsToDouble(~0ull >> 1);
    if (a == b) return ptx::bitsToDouble(ptx::doubleToBits(a) | ptx::doubleToBits(b));
    return a < b ? a : b;
  }
  template <class W>
  __device__ static W apply(W a, W b) { return a < b ? a : b; }
};
struct Max {
  __device__ static float apply(float a, float b) {
    if (a != a || b != b) return ptx::bitsToFloat(0x7fffffff);
    if (a == b) return ptx::bitsToFloat(ptx::floatToBits(a) & ptx::floatToBits(b));
    return a > b ? a : b;
  }
  __device__ static double apply(double a, double b) {
    if (a != a || b != b) return ptx::bitsToDouble(~0ull >> 1);
    if (a == b) return ptx::bitsToDouble(ptx::doubleToBits(a) & ptx::doubleToBits(b));
    return a > b ? a : b;
  }
  template <class W>
  __device__ static W apply(W a, W b) { return a > b ? a : b; }
};
/// The sum, multiplied in the end by one over the number of ranks.
struct Avg : Sum {};

namespace detail {

template <class Op> constexpr bool kAverages = false;
template <> constexpr bool kAverages<Avg> = true;

/// into = into op v, element by element, by halves (see selectWords); where these are all of kRanks ranks, as a reduction.
template <class Op, u32 kCount, int kRanks = 0, class W>
__device__ inline void applyEach(W *into, const W *v) {
  constexpr u32 kHalf = kCount / 2;
  if constexpr (kCount > 1) {
    applyEach<Op, kHalf, kRanks>(into, v);
    applyEach<Op, kCount - kHalf, kRanks>(into + kHalf, v + kHalf);
  } else {
    *into = Op::apply(*into, *v);
    if constexpr (kRanks != 0 && kAverages<Op>) *into = ptx::multiply(*into, W(1) / kRanks);
  }
}

} // namespace detail

/// Elements of a packet in the accumulator's type.
template <class T, class P>
struct Accumulator {
  using A = Arithmetic<T>;
  using Wide = typename A::Wide;
  static constexpr u32 kUnits = P::kWords / A::kWords, kPer = A::kElements;
  Wide value[P::kElements];

  __device__ void start(const P &p) { startUnits<kUnits>(p.word, value); }

  template <class Op>
  __device__ void take(const P &p) { takeUnits<Op, kUnits>(p.word, value); }

  /// After the packets of kRanks ranks: what is left to do before rounding.
  template <class Op, int kRanks>
  __device__ void finish() {
    if constexpr (detail::kAverages<Op>) {
#pragma unroll
      for (u32 e = 0; e < P::kElements; ++e) value[e] = ptx::multiply(value[e], Wide(1) / kRanks);
    }
  }

  __device__ P rounded() const {
    P p;
#pragma unroll
    for (u32 u = 0; u < kUnits; ++u) A::narrow(value + u * kPer, p.word + u * A::kWords);
    return p;
  }

private:
  template <u32 kCount>
  __device__ static void startUnits(const u32 *words, Wide *into) {
    constexpr u32 kHalf = kCount / 2;
    if constexpr (kCount == 1) {
      A::widen(words, into);
    } else {
      startUnits<kHalf>(words, into);
      startUnits<kCount - kHalf>(words + kHalf * A::kWords, into + kHalf * kPer);
    }
  }

  template <class Op, u32 kCount>
  __device__ static void takeUnits(const u32 *words, Wide *into) {
    constexpr u32 kHalf = kCount / 2;
    if constexpr (kCount == 1) {
      Wide v[kPer];
      A::widen(words, v);
      detail::applyEach<Op, kPer>(into, v);
    } else {
      takeUnits<Op, kHalf>(words, into);
      takeUnits<Op, kCount - kHalf>(words + kHalf * A::kWords, into + kHalf * kPer);
    }
  }
};

namespace detail {

/// kUnits units of A::kWords words.
template <class Op, class A, int kRanks, u32 kUnits>
__device__ inline void combineUnits(const u32 *a, const u32 *b, u32 *to) {
  constexpr u32 kHalf = kUnits / 2, kWords = kHalf * A::kWords;
  if constexpr (kUnits == 1) {
    typename A::Wide x[A::kElements], y[A::kElements];
    A::widen(a, x), A::widen(b, y);
    applyEach<Op, A::kElements, kRanks>(x, y);
    A::narrow(x, to);
  } else {
    combineUnits<Op, A, kRanks, kHalf>(a, b, to);
    combineUnits<Op, A, kRanks, kUnits - kHalf>(a + kWords, b + kWords, to + kWords);
  }
}

} // namespace detail

/// a op b, rounded once; where these are all, a reduction over kRanks. Word by word, which compiles faster than two
/// accumulators.
template <class Op, class T, int kRanks = 0, class P>
__device__ inline P combine(const P &a, const P &b) {
  using A = Arithmetic<T>;
  P p;
  detail::combineUnits<Op, A, kRanks, P::kWords / A::kWords>(a.word, b.word, p.word);
  return p;
}

} // namespace coll
