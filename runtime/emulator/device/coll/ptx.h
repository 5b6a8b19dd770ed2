// The emulator's implementation of the names of runtime/device/coll/ptx.h, which states their contracts. Takes the
// place of that file when a generated kernel is compiled for the CPU; everything else of the device headers is used
// as it is. Also supplies the words of CUDA that plain C++ lacks.
#pragma once

#include "coll/emulated.h"
#include "coll/types.h"

#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __global__ __attribute__((visibility("default")))
#define __launch_bounds__(...)
#define __grid_constant__

#define threadIdx (coll::emulated::table->coordinates()->thread)
#define blockIdx (coll::emulated::table->coordinates()->block)
#define blockDim (coll::emulated::table->coordinates()->blockDim)
#define gridDim (coll::emulated::table->coordinates()->gridDim)

namespace coll::emulated {

/// Set once, by the function that the emulator appends to the source (see runtime/emulator/KernelModule.cpp).
inline const Table *table;

template <class T>
inline T load(const void *address, Order order, unsigned elements = 1) {
  T v;
  table->load(address, &v, sizeof(T) / elements, elements, order);
  return v;
}
template <class T>
inline void store(void *address, T v, Order order, unsigned elements = 1) {
  table->store(address, &v, sizeof(T) / elements, elements, order);
}

/// Runs an entry point on a copy of its one parameter, which lies at `parameter`.
template <class Parameter>
inline void call(void (*kernel)(Parameter), const void *parameter) {
  kernel(*static_cast<const Parameter *>(parameter));
}
template <class Parameter>
constexpr unsigned long long parameterBytes(void (*)(Parameter)) {
  return sizeof(Parameter);
}

/// The one NaN that the GPU's f32 arithmetic returns.
inline float canonical(float v) { return v == v ? v : __builtin_bit_cast(float, 0x7fffffffu); }

} // namespace coll::emulated

namespace coll::ptx {

using emulated::Order;

inline u8 load1(const void *address) { return emulated::load<u8>(address, Order::Weak); }
inline u16 load2(const void *address) { return emulated::load<u16>(address, Order::Weak); }
inline u32 load4(const void *address) { return emulated::load<u32>(address, Order::Weak); }
inline u64 load8(const void *address) { return emulated::load<u64>(address, Order::Weak); }
inline Words2 load16(const void *address) { return emulated::load<Words2>(address, Order::Weak, 2); }
inline void store1(void *address, u8 v) { emulated::store(address, v, Order::Weak); }
inline void store2(void *address, u16 v) { emulated::store(address, v, Order::Weak); }
inline void store4(void *address, u32 v) { emulated::store(address, v, Order::Weak); }
inline void store8(void *address, u64 v) { emulated::store(address, v, Order::Weak); }
inline void store16(void *address, Words2 v) { emulated::store(address, v, Order::Weak, 2); }

inline Words2 loadRelaxed16(const void *address) { return emulated::load<Words2>(address, Order::Relaxed, 2); }
inline void storeRelaxed16(void *address, Words2 v) { emulated::store(address, v, Order::Relaxed, 2); }
inline void storeRelaxed16If(bool on, void *address, Words2 v) {
  if (on) storeRelaxed16(address, v);
}

inline void storeLine16(void *address, Words2 v) { emulated::table->storeLine(address, &v); }
inline Words2 loadLine16(const void *address) {
  Words2 v;
  emulated::table->loadLine(address, &v);
  return v;
}
inline void gatherLanes() {} // the lanes of a line meet at each access
inline bool anyOfWarp(bool said) { return emulated::table->anyOfWarp(said); }
constexpr bool kInStep = false;
inline bool anyInStep(bool said) { return said; }

inline u64 loadRelaxed8(const void *address) { return emulated::load<u64>(address, Order::Relaxed); }
inline void storeRelaxed8(void *address, u64 v) { emulated::store(address, v, Order::Relaxed); }

inline u32 loadRelaxed4(const void *address) { return emulated::load<u32>(address, Order::Relaxed); }
inline u32 loadAcquire4(const void *address) { return emulated::load<u32>(address, Order::Acquire); }
inline void storeRelaxed4(void *address, u32 v) { emulated::store(address, v, Order::Relaxed); }
inline void storeRelease4(void *address, u32 v) { emulated::store(address, v, Order::Release); }
inline void addRelease4(void *address, u32 v) { emulated::table->add4(address, v, Order::Release); }

inline float halfToFloat(u16 bits);
inline u16 floatToHalf(float v);
inline u16 floatToBfloat(float v);
inline float bitsToFloat(u32 bits);

/// A sum as arithmetic on elements of 4 or 2 bytes, at the moment that an addition takes effect.
inline void addFloat(void *sum, const void *value) {
  float a, b;
  __builtin_memcpy(&a, sum, 4), __builtin_memcpy(&b, value, 4);
  const auto flush = [](float v) { return __builtin_fabsf(v) < 0x1p-126f ? __builtin_copysignf(0, v) : v; };
  a = emulated::canonical(flush(flush(a) + flush(b)));
  __builtin_memcpy(sum, &a, 4);
}
inline void addHalf(void *sum, const void *value) {
  u16 a, b;
  __builtin_memcpy(&a, sum, 2), __builtin_memcpy(&b, value, 2);
  a = floatToHalf(halfToFloat(a) + halfToFloat(b));
  __builtin_memcpy(sum, &a, 2);
}
inline void addBfloat(void *sum, const void *value) {
  u16 a, b;
  __builtin_memcpy(&a, sum, 2), __builtin_memcpy(&b, value, 2);
  a = floatToBfloat(bitsToFloat(u32(a) << 16) + bitsToFloat(u32(b) << 16));
  __builtin_memcpy(sum, &a, 2);
}
inline void addFloats16(void *address, Words2 v) { emulated::table->addEach(address, &v, 4, 4, addFloat); }
inline void addHalves16(void *address, Words2 v) { emulated::table->addEach(address, &v, 2, 8, addHalf); }
inline void addBfloats16(void *address, Words2 v) { emulated::table->addEach(address, &v, 2, 8, addBfloat); }
inline void addLineFloats16(void *address, Words2 v) { emulated::table->addLine(address, &v, 4, addFloat); }
inline void addLineHalves16(void *address, Words2 v) { emulated::table->addLine(address, &v, 2, addHalf); }
inline void addLineBfloats16(void *address, Words2 v) { emulated::table->addLine(address, &v, 2, addBfloat); }

constexpr bool kMulticast = true;
inline void storeToAll8(void *address, u64 v) { emulated::table->storeToAll(address, &v, 8, 1); }
inline void storeToAll16(void *address, Words2 v) { emulated::table->storeToAll(address, &v, 4, 4); }

/// Each element of 16 bytes over all ranks, in the order that the emulator says: `add` folds one of T into an accumulator,
/// from which `round` makes the result.
template <class T, class Accumulator, class Start, class Add, class Round>
inline Words2 reduceOfAll(const void *address, Start start, Add add, Round round) {
  constexpr unsigned kElements = 16 / sizeof(T);
  T values[emulated::kMostRanks * kElements], result[kElements];
  const unsigned ranks = emulated::table->loadFromAll(address, values, sizeof(T), kElements);
  for (unsigned e = 0; e < kElements; ++e) {
    Accumulator sum = start(values[e]);
    for (unsigned r = 1; r < ranks; ++r) sum = add(sum, start(values[r * kElements + e]));
    result[e] = round(sum);
  }
  return __builtin_bit_cast(Words2, result);
}
template <class T, class Add>
inline Words2 reduceOfAll(const void *address, Add add) {
  const auto same = [](T v) { return v; };
  return reduceOfAll<T, T>(address, same, add, same);
}
inline Words2 sumOfAllFloats(const void *address) {
  return reduceOfAll<float>(address, [](float a, float b) { return emulated::canonical(a + b); });
}
inline Words2 sumOfAllDoubles(const void *address) {
  return reduceOfAll<double>(address, [](double a, double b) { return a + b; });
}
inline Words2 sumOfAllHalves(const void *address) {
  return reduceOfAll<u16, float>(address, halfToFloat, [](float a, float b) { return a + b; }, floatToHalf);
}
inline Words2 sumOfAllBfloats(const void *address) {
  return reduceOfAll<u16, float>(
      address, [](u16 v) { return bitsToFloat(u32(v) << 16); }, [](float a, float b) { return a + b; }, floatToBfloat);
}
template <class T>
inline Words2 sumOfAllIntegers(const void *address) {
  return reduceOfAll<T>(address, [](T a, T b) { return T(a + b); });
}
template <class T>
inline Words2 minOfAllIntegers(const void *address) {
  return reduceOfAll<T>(address, [](T a, T b) { return a < b ? a : b; });
}
template <class T>
inline Words2 maxOfAllIntegers(const void *address) {
  return reduceOfAll<T>(address, [](T a, T b) { return a > b ? a : b; });
}
inline Words2 sumOfAll4(const void *address) { return sumOfAllIntegers<u32>(address); }
inline Words2 minOfAll4(const void *address) { return minOfAllIntegers<u32>(address); }
inline Words2 maxOfAll4(const void *address) { return maxOfAllIntegers<u32>(address); }
inline Words2 minOfAllInts(const void *address) { return minOfAllIntegers<int>(address); }
inline Words2 maxOfAllInts(const void *address) { return maxOfAllIntegers<int>(address); }
inline Words2 sumOfAll8(const void *address) { return sumOfAllIntegers<u64>(address); }
inline Words2 minOfAll8(const void *address) { return minOfAllIntegers<u64>(address); }
inline Words2 maxOfAll8(const void *address) { return maxOfAllIntegers<u64>(address); }
inline Words2 minOfAllLongs(const void *address) { return minOfAllIntegers<long long>(address); }
inline Words2 maxOfAllLongs(const void *address) { return maxOfAllIntegers<long long>(address); }

inline void fence() { emulated::table->fence(); }
inline void ctaSync() { emulated::table->ctaSync(); }

inline void gridDependencyWait() { emulated::table->gridDependencyWait(); }
inline void launchDependents() { emulated::table->launchDependents(); }

inline u64 nanoseconds() { return emulated::table->nanoseconds(); }
inline void spinHint(const void *address) { emulated::table->spinHint(address); }
constexpr bool kParks = true;

inline float bitsToFloat(u32 bits) { return __builtin_bit_cast(float, bits); }
inline u32 floatToBits(float v) { return __builtin_bit_cast(u32, v); }
inline double bitsToDouble(u64 bits) { return __builtin_bit_cast(double, bits); }
inline u64 doubleToBits(double v) { return __builtin_bit_cast(u64, v); }

// The same bits as cvt.f32.f16, cvt.rn.f16.f32 and cvt.rn.bf16.f32.
inline float halfToFloat(u16 bits) {
  const u32 sign = u32(bits & 0x8000) << 16, exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  if (exponent == 0x1f) return bitsToFloat(fraction ? 0x7fffffffu : sign | 0x7f800000u);
  if (exponent == 0) { // zero or subnormal: a multiple of 2^-24, exact in f32
    const float magnitude = float(fraction) * 0x1p-24f;
    return bitsToFloat(sign | floatToBits(magnitude));
  }
  return bitsToFloat(sign | (exponent + 112) << 23 | fraction << 13);
}
inline u16 floatToHalf(float v) {
  if (v != v) return 0x7fff;
  const u32 bits = floatToBits(v), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude >= 0x477ff000) return u16(sign | 0x7c00); // from halfway past the largest half on: infinity
  if (magnitude < 0x38800000) {
    // Subnormal in half: adding 0.5 makes the f32 addition itself round to a multiple of 2^-24, to nearest even.
    return u16(sign | (floatToBits(bitsToFloat(magnitude) + 0.5f) - 0x3f000000));
  }
  return u16(sign | (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13);
}
inline u16 floatToBfloat(float v) {
  const u32 bits = floatToBits(v);
  return v != v ? u16(0x7fff) : u16((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
inline u32 floatsToHalves(float low, float high) { return floatToHalf(low) | u32(floatToHalf(high)) << 16; }
inline u32 floatsToBfloats(float low, float high) { return floatToBfloat(low) | u32(floatToBfloat(high)) << 16; }

inline u32 positiveZero(u32 bits) { return bits == 0x80000000u ? 0 : bits; }
inline u32 positiveZeros(u32 bits) { return bits & (((bits & 0x7fff7fffu) + 0x7fff7fffu) | 0x7fff7fffu); }
inline u64 positiveZero8(u64 bits) { return bits == 1ull << 63 ? 0 : bits; }
inline u32 positiveZeroBytes(u32 bits) { return bits & (((bits & 0x7f7f7f7fu) + 0x7f7f7f7fu) | 0x7f7f7f7fu); }

inline float add(float a, float b) { return emulated::canonical(a + b); }
inline float multiply(float a, float b) { return emulated::canonical(a * b); }
inline double oneNan(double v) { return v == v ? v : bitsToDouble(~0ull >> 1); }
inline double add(double a, double b) { return oneNan(a + b); }
inline double multiply(double a, double b) { return oneNan(a * b); }
inline double divide(double a, double b) { return oneNan(a / b); }
inline double fma(double a, double b, double c) { return oneNan(__builtin_fma(a, b, c)); }
inline double squareRoot(double v) { return oneNan(__builtin_sqrt(v)); }
inline float divide(float a, float b) { return emulated::canonical(a / b); }
inline float fma(float a, float b, float c) { return emulated::canonical(__builtin_fmaf(a, b, c)); }
// The double is so close that rounding it gives the float nearest to the exact value.
inline float rsqrt(float v) { return emulated::canonical(float(1 / __builtin_sqrt(double(v)))); }

inline u32 floatToInt8(float v) {
  if (v != v) return 0;
  return u32(v <= -128 ? -128 : v >= 127 ? 127 : int(__builtin_rintf(v))) & 0xff;
}

inline float shuffleXor(float v, u32 mask) { return bitsToFloat(emulated::table->shuffleXor(floatToBits(v), mask)); }

// All CTAs of a launch run from its start, so there is nothing to wait for before their shared memory may be touched.
constexpr u32 kSharedWords = emulated::kSharedWords;
inline float loadShared(u32 word) { return bitsToFloat(emulated::table->loadShared(word)); }
inline u32 clusterCtas() { return emulated::table->coordinates()->clusterCtas; }
inline void storeShared(u32 word, float v) { emulated::table->storeShared(blockIdx.x % clusterCtas(), word, floatToBits(v)); }
inline void storeSharedOf(u32 cta, u32 word, float v) { emulated::table->storeShared(cta, word, floatToBits(v)); }
inline void clusterSync() { emulated::table->clusterSync(); }
inline void initShared() {}
inline void expectShared(u32 counter, u32 words) { emulated::table->expectShared(counter, words); }
inline void sendShared(u32 cta, u32 word, float v, u32 counter) {
  emulated::table->sendShared(cta, word, floatToBits(v), counter);
}
inline bool awaitShared(u32 counter, u32 round) { return emulated::table->awaitShared(counter, round), true; }
inline void clusterArrive() {}
inline void clusterWait() {}

} // namespace coll::ptx
