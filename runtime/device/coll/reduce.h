// Arithmetic on packets: what an element type means, and reductions in rank order.
#pragma once

#include "coll/packet.h"

namespace coll {

/// How elements of T are accumulated: `widen` takes the kPerWord elements of a word to the accumulator's type `Wide`,
/// `narrow` rounds them back, to nearest even. Narrow floats accumulate in f32.
template <class T>
struct Arithmetic;

template <>
struct Arithmetic<float> {
  using Wide = float;
  static constexpr u32 kPerWord = 1;
  __device__ static void widen(u32 word, float *v) { v[0] = ptx::bitsToFloat(word); }
  __device__ static u32 narrow(const float *v) { return ptx::floatToBits(v[0]); }
};
template <>
struct Arithmetic<F16> {
  using Wide = float;
  static constexpr u32 kPerWord = 2;
  __device__ static void widen(u32 word, float *v) {
    v[0] = ptx::halfToFloat(u16(word)), v[1] = ptx::halfToFloat(u16(word >> 16));
  }
  __device__ static u32 narrow(const float *v) { return ptx::floatsToHalves(v[0], v[1]); }
};
template <>
struct Arithmetic<BF16> {
  using Wide = float;
  static constexpr u32 kPerWord = 2;
  __device__ static void widen(u32 word, float *v) {
    v[0] = ptx::bitsToFloat(word << 16), v[1] = ptx::bitsToFloat(word & 0xffff0000u);
  }
  __device__ static u32 narrow(const float *v) { return ptx::floatsToBfloats(v[0], v[1]); }
};
template <>
struct Arithmetic<int> {
  using Wide = u32; // integers wrap
  static constexpr u32 kPerWord = 1;
  __device__ static void widen(u32 word, u32 *v) { v[0] = word; }
  __device__ static u32 narrow(const u32 *v) { return v[0]; }
};
/// The operators. min and max give NaN if either side is one, and order -0 below +0.
struct Sum {
  __device__ static float apply(float a, float b) { return ptx::add(a, b); }
  __device__ static u32 apply(u32 a, u32 b) { return a + b; }
};
struct Prod {
  __device__ static float apply(float a, float b) { return ptx::multiply(a, b); }
  __device__ static u32 apply(u32 a, u32 b) { return a * b; }
};
struct Min {
  __device__ static float apply(float a, float b) {
    if (a != a || b != b) return ptx::bitsToFloat(0x7fffffff); // one NaN, whichever side it comes from
    if (a == b) return ptx::bitsToFloat(ptx::floatToBits(a) | ptx::floatToBits(b));
    return a < b ? a : b;
  }
  __device__ static u32 apply(u32 a, u32 b) { return int(a) < int(b) ? a : b; }
};
struct Max {
  __device__ static float apply(float a, float b) {
    if (a != a || b != b) return ptx::bitsToFloat(0x7fffffff);
    if (a == b) return ptx::bitsToFloat(ptx::floatToBits(a) & ptx::floatToBits(b));
    return a > b ? a : b;
  }
  __device__ static u32 apply(u32 a, u32 b) { return int(a) > int(b) ? a : b; }
};

/// Elements of a packet in the accumulator's type.
template <class T, class P>
struct Accumulator {
  using A = Arithmetic<T>;
  static constexpr u32 kPer = A::kPerWord;
  typename A::Wide value[P::kElements];

  __device__ void start(const P &p) {
#pragma unroll
    for (u32 w = 0; w < P::kWords; ++w) A::widen(p.word[w], value + w * kPer);
  }

  template <class Op>
  __device__ void take(const P &p) {
#pragma unroll
    for (u32 w = 0; w < P::kWords; ++w) {
      typename A::Wide v[kPer];
      A::widen(p.word[w], v);
#pragma unroll
      for (u32 e = 0; e < kPer; ++e) value[w * kPer + e] = Op::apply(value[w * kPer + e], v[e]);
    }
  }

  __device__ P rounded() const {
    P p;
#pragma unroll
    for (u32 w = 0; w < P::kWords; ++w) p.word[w] = A::narrow(value + w * kPer);
    return p;
  }
};

/// a op b, rounded once.
template <class Op, class T, class P>
__device__ inline P combine(const P &a, const P &b) {
  Accumulator<T, P> acc;
  acc.start(a);
  acc.template take<Op>(b);
  return acc.rounded();
}

} // namespace coll
