// Arithmetic on packets: what an element type means, and reductions in rank order.
#pragma once

#include "coll/packet.h"

namespace coll {

/// How elements of T are accumulated: `Wide` is the type of the accumulator, `widen` takes element bits to it and
/// `narrow` rounds back, to nearest even. Narrow floats accumulate in f32.
template <class T>
struct Arithmetic;

template <>
struct Arithmetic<float> {
  using Wide = float;
  __device__ static float widen(u32 bits) { return ptx::bitsToFloat(bits); }
  __device__ static u32 narrow(float v) { return ptx::floatToBits(v); }
};
template <>
struct Arithmetic<F16> {
  using Wide = float;
  __device__ static float widen(u32 bits) { return ptx::halfToFloat(u16(bits)); }
  __device__ static u32 narrow(float v) { return ptx::floatToHalf(v); }
};
template <>
struct Arithmetic<BF16> {
  using Wide = float;
  __device__ static float widen(u32 bits) { return ptx::bitsToFloat(bits << 16); }
  __device__ static u32 narrow(float v) { return ptx::floatToBfloat(v); }
};
template <>
struct Arithmetic<int> {
  using Wide = u32; // integers wrap
  __device__ static u32 widen(u32 bits) { return bits; }
  __device__ static u32 narrow(u32 v) { return v; }
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
    if (a != a) return a;
    if (a == b) return ptx::bitsToFloat(ptx::floatToBits(a) | ptx::floatToBits(b));
    return a < b ? a : b;
  }
  __device__ static u32 apply(u32 a, u32 b) { return int(a) < int(b) ? a : b; }
};
struct Max {
  __device__ static float apply(float a, float b) {
    if (a != a) return a;
    if (a == b) return ptx::bitsToFloat(ptx::floatToBits(a) & ptx::floatToBits(b));
    return a > b ? a : b;
  }
  __device__ static u32 apply(u32 a, u32 b) { return int(a) > int(b) ? a : b; }
};

/// Elements of a packet in the accumulator's type.
template <class T, class P>
struct Accumulator {
  typename Arithmetic<T>::Wide value[P::kElements];

  __device__ static u32 bits(const P &p, int e) {
    constexpr int kBits = int(sizeof(T)) * 8;
    const u32 word = p.word[e * kBits / 32];
    if constexpr (kBits == 32) return word;
    else return word >> (e * kBits % 32) & ((1u << kBits) - 1);
  }

  __device__ static Accumulator of(const P &p) {
    Accumulator a;
#pragma unroll
    for (int e = 0; e < P::kElements; ++e) a.value[e] = Arithmetic<T>::widen(bits(p, e));
    return a;
  }

  template <class Op>
  __device__ void take(const P &p) {
#pragma unroll
    for (int e = 0; e < P::kElements; ++e) value[e] = Op::apply(value[e], Arithmetic<T>::widen(bits(p, e)));
  }

  __device__ P rounded() const {
    constexpr int kBits = int(sizeof(T)) * 8;
    P p = {};
#pragma unroll
    for (int e = 0; e < P::kElements; ++e) p.word[e * kBits / 32] |= Arithmetic<T>::narrow(value[e]) << (e * kBits % 32);
    return p;
  }
};

/// part[0] op part[1] op … from rank 0 up, accumulated wide and rounded once.
template <class Op, class T, int N, class P>
__device__ inline P reduce(const P (&part)[N]) {
  auto acc = Accumulator<T, P>::of(part[0]);
#pragma unroll
  for (int r = 1; r < N; ++r) acc.template take<Op>(part[r]);
  return acc.rounded();
}

} // namespace coll
