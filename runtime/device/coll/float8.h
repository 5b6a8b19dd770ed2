// The floats of 8 bits. They accumulate in f32, as the other narrow floats do; each element is widened and rounded by
// itself in a few integer instructions, two at a time where the hardware converts them (from sm_89 on).
#pragma once

#include "coll/reduce.h"

namespace coll::detail {

/// A float of 8 bits: kMantissa bits of mantissa, an exponent with bias kBias. kLargest is what too large numbers become:
/// the largest one in e4m3, which has no infinity, infinity in e5m2.
template <u32 kMantissa, u32 kBias, u32 kLargest>
struct Float8 {
  /// To nearest even; a NaN is 0x7f.
  __device__ static u32 fromFloat(float v) {
    constexpr u32 kSmallestNormal = (128 - kBias) << 23, kDropped = 23 - kMantissa;
    // A power of two so large that adding it leaves a multiple of the smallest number.
    constexpr u32 kAligning = (127 + 24 - kBias - kMantissa) << 23;
    const u32 bits = ptx::floatToBits(v), magnitude = bits & 0x7fffffff;
    u32 rounded = 0x7f;
    if (magnitude < kSmallestNormal) {
      const float aligned = ptx::add(ptx::bitsToFloat(magnitude), ptx::bitsToFloat(kAligning));
      rounded = ptx::floatToBits(aligned) - kAligning;
    } else if (magnitude <= 0x7f800000) {
      const u32 even = magnitude >> kDropped & 1, half = (1u << (kDropped - 1)) - 1 + even;
      const u32 whole = (magnitude - ((127 - kBias) << 23) + half) >> kDropped;
      rounded = whole < kLargest ? whole : kLargest;
    }
    return rounded | (bits >> 24 & 0x80);
  }
};

struct E4M3 : Float8<3, 7, 0x7e> {
  /// As a half its exponent is 8 too low; subnormal ones come out right, too.
  __device__ static float toFloat(u32 bits) {
    if ((bits & 0x7f) == 0x7f) return ptx::bitsToFloat(0x7fffffff);
    return ptx::multiply(ptx::halfToFloat(u16((bits & 0x80) << 8 | (bits & 0x7f) << 7)), 256);
  }
#if __CUDA_ARCH__ >= 890
  __device__ static u32 toHalves(u16 pair) { return ptx::e4m3sToHalves(pair); }
  __device__ static u32 fromFloats(float low, float high) { return ptx::floatsToE4m3s(low, high); }
#endif
};

struct E5M2 : Float8<2, 15, 0x7c> {
  /// It is the high byte of a half.
  __device__ static float toFloat(u32 bits) { return ptx::halfToFloat(u16(bits << 8)); }
#if __CUDA_ARCH__ >= 890
  __device__ static u32 toHalves(u16 pair) { return ptx::e5m2sToHalves(pair); }
  /// From halfway past the largest one on they are infinite, for which the instruction gives the largest.
  __device__ static u32 fromFloats(float low, float high) {
    constexpr float kInfiniteFrom = 61440;
    const u32 bits = ptx::floatsToE5m2s(low, high);
    return bits + u32(low >= kInfiniteFrom || low <= -kInfiniteFrom) +
           (u32(high >= kInfiniteFrom || high <= -kInfiniteFrom) << 8);
  }
#endif
};

} // namespace coll::detail

namespace coll {

template <class Format>
struct ArithmeticOfFloat8 {
  using Wide = float;
  static constexpr u32 kWords = 1, kElements = 4;
  __device__ static void widen(const u32 *word, float *v) {
#pragma unroll
    for (u32 e = 0; e < 4; e += 2) {
      const u32 pair = word[0] >> (8 * e) & 0xffff;
#if __CUDA_ARCH__ >= 890
      const u32 halves = Format::toHalves(u16(pair));
      v[e] = ptx::halfToFloat(u16(halves)), v[e + 1] = ptx::halfToFloat(u16(halves >> 16));
#else
      v[e] = Format::toFloat(pair & 0xff), v[e + 1] = Format::toFloat(pair >> 8);
#endif
    }
  }
  __device__ static void narrow(const float *v, u32 *word) {
    word[0] = 0;
#pragma unroll
    for (u32 e = 0; e < 4; e += 2) {
#if __CUDA_ARCH__ >= 890
      const u32 pair = Format::fromFloats(v[e], v[e + 1]);
#else
      const u32 pair = Format::fromFloat(v[e]) | Format::fromFloat(v[e + 1]) << 8;
#endif
      word[0] |= pair << (8 * e);
    }
  }
};

template <>
struct Arithmetic<F8E4M3> : ArithmeticOfFloat8<detail::E4M3> {};
template <>
struct Arithmetic<F8E5M2> : ArithmeticOfFloat8<detail::E5M2> {};

} // namespace coll
