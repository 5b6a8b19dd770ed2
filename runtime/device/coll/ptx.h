// The only file of the device headers with inline PTX: loads, stores and fences by scope, dependent launch, the clock
// and the conversions. Real CUDA; compiles under NVRTC and nvcc and includes nothing of theirs. The emulator has a
// second implementation of exactly these names (runtime/emulator/device/ptx.h).
//
// Everything here is `asm volatile` with a "memory" clobber: the compiler keeps these accesses in program order and
// never turns one into a read-only load. What the hardware may reorder is what PTX says of each.
#pragma once

#include "coll/types.h"

namespace coll::ptx {

/// Weak accesses of 1 to 16 bytes, for memory that no other GPU touches without a barrier in between.
/// `address` is aligned to the size. Order with other accesses: none but program order in one thread.
__device__ inline u8 load1(const void *address) {
  u32 v;
  asm volatile("ld.global.u8 %0, [%1];" : "=r"(v) : "l"(address) : "memory");
  return u8(v);
}
__device__ inline u16 load2(const void *address) {
  u16 v;
  asm volatile("ld.global.u16 %0, [%1];" : "=h"(v) : "l"(address) : "memory");
  return v;
}
__device__ inline u32 load4(const void *address) {
  u32 v;
  asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(address) : "memory");
  return v;
}
__device__ inline u64 load8(const void *address) {
  u64 v;
  asm volatile("ld.global.u64 %0, [%1];" : "=l"(v) : "l"(address) : "memory");
  return v;
}
__device__ inline Words2 load16(const void *address) {
  Words2 v;
  asm volatile("ld.global.v2.u64 {%0, %1}, [%2];" : "=l"(v.w[0]), "=l"(v.w[1]) : "l"(address) : "memory");
  return v;
}
__device__ inline void store1(void *address, u8 v) {
  asm volatile("st.global.u8 [%0], %1;" ::"l"(address), "r"(u32(v)) : "memory");
}
__device__ inline void store2(void *address, u16 v) {
  asm volatile("st.global.u16 [%0], %1;" ::"l"(address), "h"(v) : "memory");
}
__device__ inline void store4(void *address, u32 v) {
  asm volatile("st.global.u32 [%0], %1;" ::"l"(address), "r"(v) : "memory");
}
__device__ inline void store8(void *address, u64 v) {
  asm volatile("st.global.u64 [%0], %1;" ::"l"(address), "l"(v) : "memory");
}
__device__ inline void store16(void *address, Words2 v) {
  asm volatile("st.global.v2.u64 [%0], {%1, %2};" ::"l"(address), "l"(v.w[0]), "l"(v.w[1]) : "memory");
}

/// Relaxed 16-byte accesses at system scope, as two 8-byte words. Each word is single-copy atomic (PTX 8.10.3); the
/// two may arrive in either order. No order with any other access.
__device__ inline Words2 loadRelaxed16(const void *address) {
  Words2 v;
  asm volatile("ld.relaxed.sys.global.v2.b64 {%0, %1}, [%2];"
               : "=l"(v.w[0]), "=l"(v.w[1])
               : "l"(address)
               : "memory");
  return v;
}
__device__ inline void storeRelaxed16(void *address, Words2 v) {
  asm volatile("st.relaxed.sys.global.v2.b64 [%0], {%1, %2};" ::"l"(address), "l"(v.w[0]), "l"(v.w[1]) : "memory");
}

/// storeRelaxed16 if `on`, as one predicated instruction: what leads up to it is not kept behind a branch.
__device__ inline void storeRelaxed16If(bool on, void *address, Words2 v) {
  asm volatile("{.reg .pred p; setp.ne.u32 p, %3, 0; @p st.relaxed.sys.global.v2.b64 [%0], {%1, %2};}" ::"l"(address),
               "l"(v.w[0]), "l"(v.w[1]), "r"(u32(on))
               : "memory");
}

/// Relaxed accesses of 8 bytes, one scalar: arrives whole.
__device__ inline u64 loadRelaxed8(const void *address) {
  u64 v;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(address) : "memory");
  return v;
}
__device__ inline void storeRelaxed8(void *address, u64 v) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(address), "l"(v) : "memory");
}

/// Relaxed accesses of aligned lines of 128 bytes by a whole warp, four lines at a time: each 8 lanes, from a multiple
/// of 8 on, have one, 16 bytes each. To PTX they are as above, in no order between lanes; for what ll128.h assumes of
/// them they must go out as one instruction, so the lanes meet first; what brings lanes together that a branch has left apart
/// is gatherLanes. (Masks of fewer lanes, which differ within a warp, would make the compiler take the warp apart.)
__device__ inline void storeLine16(void *address, Words2 v) {
  asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
  storeRelaxed16(address, v);
}
__device__ inline Words2 loadLine16(const void *address) { return loadRelaxed16(address); }

/// The CTA's threads meet so that the lanes of its warps go on together, which `bar.warp.sync` does not see to: lanes that
/// came apart meet there and go on apart, and what they store next to a line tears it (seen with NVRTC 13.0 on sm_90 behind
/// the scales of a row).
__device__ inline void gatherLanes() { asm volatile("bar.sync 0;" ::: "memory"); }

/// Whether any lane of the warp says so. All lanes meet. No memory order.
__device__ inline bool anyOfWarp(bool said) { return __any_sync(0xffffffffu, said); }

/// The same for loops that wait, which all lanes of a warp enter, go round and leave together: "In step" in poll.h. To the
/// emulator lanes are threads like others, and each goes by what it says itself.
constexpr bool kInStep = true;
__device__ inline bool anyInStep(bool said) { return __any_sync(0xffffffffu, said); }

/// 4-byte accesses at system scope. An acquiring load that sees a releasing store also sees all that came before the
/// store: by its thread, and by threads that met it at ctaSync (causality is transitive).
__device__ inline u32 loadRelaxed4(const void *address) {
  u32 v;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(address) : "memory");
  return v;
}
__device__ inline u32 loadAcquire4(const void *address) {
  u32 v;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(address) : "memory");
  return v;
}
__device__ inline void storeRelaxed4(void *address, u32 v) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(address), "r"(v) : "memory");
}
__device__ inline void storeRelease4(void *address, u32 v) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(address), "r"(v) : "memory");
}

/// Adds to a counter of any rank; releases like storeRelease4.
__device__ inline void addRelease4(void *address, u32 v) {
  asm volatile("red.release.sys.global.add.u32 [%0], %1;" ::"l"(address), "r"(v) : "memory");
}

/// Adds 16 bytes of elements to memory of any rank. Each element takes effect whole, in any order with the others and
/// with anything else: relaxed, at system scope. Needs sm_90. Floats lose what is below the smallest normal number.
__device__ inline void addFloats16(void *address, Words2 v) {
#if __CUDA_ARCH__ >= 900
  asm volatile("red.relaxed.sys.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(address),
               "f"(__int_as_float(int(v.w[0]))), "f"(__int_as_float(int(v.w[0] >> 32))),
               "f"(__int_as_float(int(v.w[1]))), "f"(__int_as_float(int(v.w[1] >> 32)))
               : "memory");
#endif
}
__device__ inline void addHalves16(void *address, Words2 v) {
#if __CUDA_ARCH__ >= 900
  asm volatile("red.relaxed.sys.global.add.noftz.v4.f16x2 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(u32(v.w[0])),
               "r"(u32(v.w[0] >> 32)), "r"(u32(v.w[1])), "r"(u32(v.w[1] >> 32))
               : "memory");
#endif
}
__device__ inline void addBfloats16(void *address, Words2 v) {
#if __CUDA_ARCH__ >= 900
  asm volatile("red.relaxed.sys.global.add.noftz.v4.bf16x2 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(u32(v.w[0])),
               "r"(u32(v.w[0] >> 32)), "r"(u32(v.w[1])), "r"(u32(v.w[1] >> 32))
               : "memory");
#endif
}

/// The same of lines of 128 bytes by a whole warp, as storeLine16, and with no more promised of them.
__device__ inline void addLineFloats16(void *address, Words2 v) {
  asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
  addFloats16(address, v);
}
__device__ inline void addLineHalves16(void *address, Words2 v) {
  asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
  addHalves16(address, v);
}
__device__ inline void addLineBfloats16(void *address, Words2 v) {
  asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
  addBfloats16(address, v);
}

/// Whether addresses that stand for a place of all ranks can be used. The host gives none to kernels below sm_90.
#if __CUDA_ARCH__ >= 900
constexpr bool kMulticast = true;
#else
constexpr bool kMulticast = false;
#endif

/// Stores to a place of every rank, relaxed at system scope: an aligned word of 8 bytes, or four of 4 bytes. Each word
/// reaches each rank whole and in its own time. The address is one that stands for all.
__device__ inline void storeToAll8(void *address, u64 v) {
#if __CUDA_ARCH__ >= 900
  asm volatile("multimem.st.relaxed.sys.global.b64 [%0], %1;" ::"l"(address), "l"(v) : "memory");
#endif
}
__device__ inline void storeToAll16(void *address, Words2 v) {
#if __CUDA_ARCH__ >= 900
  asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(address),
               "f"(__int_as_float(int(v.w[0]))), "f"(__int_as_float(int(v.w[0] >> 32))),
               "f"(__int_as_float(int(v.w[1]))), "f"(__int_as_float(int(v.w[1] >> 32)))
               : "memory");
#endif
}

/// 16 bytes of elements, each reduced over the place that the address stands for on every rank, in no promised order: it
/// may be another each time. Relaxed at system scope; every element of every rank is read at a moment of its own. Halves
/// are summed in f32 and rounded once.
__device__ inline Words2 sumOfAllFloats(const void *address) {
  u32 v[4] = {};
#if __CUDA_ARCH__ >= 900
  asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
               : "l"(address)
               : "memory");
#endif
  return {{v[0] | u64(v[1]) << 32, v[2] | u64(v[3]) << 32}};
}
__device__ inline Words2 sumOfAllHalves(const void *address) {
  u32 v[4] = {};
#if __CUDA_ARCH__ >= 900
  asm volatile("multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.f16x2 {%0, %1, %2, %3}, [%4];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
               : "l"(address)
               : "memory");
#endif
  return {{v[0] | u64(v[1]) << 32, v[2] | u64(v[3]) << 32}};
}
__device__ inline Words2 sumOfAllBfloats(const void *address) {
  u32 v[4] = {};
#if __CUDA_ARCH__ >= 900
  asm volatile("multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.bf16x2 {%0, %1, %2, %3}, [%4];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
               : "l"(address)
               : "memory");
#endif
  return {{v[0] | u64(v[1]) << 32, v[2] | u64(v[3]) << 32}};
}

// What the network reduces one by one: four elements of 4 bytes, two of 8.
#if __CUDA_ARCH__ >= 900
#define COLL_REDUCE_ALL(constraint, operation, v, address) \
  asm volatile("multimem.ld_reduce.relaxed.sys.global." operation " %0, [%1];" : "=" constraint(v) : "l"(address) : "memory")
#else
#define COLL_REDUCE_ALL(constraint, operation, v, address) v = 0
#endif
#define COLL_REDUCE_ALL4(name, operation) \
  __device__ inline Words2 name(const void *address) { \
    u32 v[4]; \
    for (u32 e = 0; e < 4; ++e) COLL_REDUCE_ALL("r", operation, v[e], static_cast<const u32 *>(address) + e); \
    return {{v[0] | u64(v[1]) << 32, v[2] | u64(v[3]) << 32}}; \
  }
#define COLL_REDUCE_ALL8(name, operation) \
  __device__ inline Words2 name(const void *address) { \
    Words2 v; \
    for (u32 e = 0; e < 2; ++e) COLL_REDUCE_ALL("l", operation, v.w[e], static_cast<const u64 *>(address) + e); \
    return v; \
  }
COLL_REDUCE_ALL4(sumOfAll4, "add.u32")
COLL_REDUCE_ALL4(minOfAll4, "min.u32")
COLL_REDUCE_ALL4(maxOfAll4, "max.u32")
COLL_REDUCE_ALL4(minOfAllInts, "min.s32")
COLL_REDUCE_ALL4(maxOfAllInts, "max.s32")
COLL_REDUCE_ALL8(sumOfAll8, "add.u64")
COLL_REDUCE_ALL8(minOfAll8, "min.u64")
COLL_REDUCE_ALL8(maxOfAll8, "max.u64")
COLL_REDUCE_ALL8(minOfAllLongs, "min.s64")
COLL_REDUCE_ALL8(maxOfAllLongs, "max.s64")
__device__ inline Words2 sumOfAllDoubles(const void *address) {
  double v[2] = {};
#if __CUDA_ARCH__ >= 900
  for (u32 e = 0; e < 2; ++e)
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.f64 %0, [%1];"
                 : "=d"(v[e])
                 : "l"(static_cast<const double *>(address) + e)
                 : "memory");
#endif
  return {{u64(__double_as_longlong(v[0])), u64(__double_as_longlong(v[1]))}};
}
#undef COLL_REDUCE_ALL
#undef COLL_REDUCE_ALL4
#undef COLL_REDUCE_ALL8

/// Orders every earlier access of this thread before every later one, for all GPUs.
__device__ inline void fence() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

/// Barrier of the CTA. All threads of the CTA call it. A CTA of one warp has no need of the hardware's barrier.
__device__ inline void ctaSync() {
  if (blockDim.x > 32) asm volatile("bar.sync 0;" ::: "memory");
  else asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}

/// Returns when the kernels before this one in the stream are complete and their writes visible. Without dependent
/// launch, and below sm_90, that holds at the start of the kernel.
__device__ inline void gridDependencyWait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
/// Lets the next kernel of the stream be scheduled; it still waits for this one to complete before it touches memory.
__device__ inline void launchDependents() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Nanoseconds of a clock that all GPUs of a host share well enough for timeouts of milliseconds.
__device__ inline u64 nanoseconds() {
  u64 now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/// Called in a wait, after a look at `address` that did not satisfy it. The emulator parks the thread here until
/// something is stored there.
__device__ inline void spinHint(const void *) {}

/// Whether spinHint does anything, and so needs the address of what is late.
constexpr bool kParks = false;

__device__ inline float bitsToFloat(u32 bits) { return __int_as_float(int(bits)); }
__device__ inline u32 floatToBits(float v) { return u32(__float_as_int(v)); }
__device__ inline double bitsToDouble(u64 bits) { return __longlong_as_double((long long)(bits)); }
__device__ inline u64 doubleToBits(double v) { return u64(__double_as_longlong(v)); }

/// Conversions round to nearest even and keep NaN a NaN.
__device__ inline float halfToFloat(u16 bits) {
  float v;
  asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(bits));
  return v;
}
__device__ inline u16 floatToHalf(float v) {
  u16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(v));
  return bits;
}
__device__ inline u16 floatToBfloat(float v) {
  u16 bits;
#if __CUDA_ARCH__ >= 800
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(v));
#else
  const u32 f = floatToBits(v);
  bits = v != v ? u16(0x7fff) : u16((f + 0x7fff + (f >> 16 & 1)) >> 16);
#endif
  return bits;
}

/// Two conversions at once, the first in the low half.
__device__ inline u32 floatsToHalves(float low, float high) {
#if __CUDA_ARCH__ >= 800
  u32 bits;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
#else
  return floatToHalf(low) | u32(floatToHalf(high)) << 16;
#endif
}
__device__ inline u32 floatsToBfloats(float low, float high) {
#if __CUDA_ARCH__ >= 800
  u32 bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
#else
  return floatToBfloat(low) | u32(floatToBfloat(high)) << 16;
#endif
}

/// The float, or the two halves of either kind, with +0.0 for -0.0 and all other bits as they are. As one asm, so that
/// the compiler makes it once for all uses instead of keeping what it is made of.
__device__ inline u32 positiveZero(u32 bits) {
  u32 v;
  asm("{.reg .pred p; setp.eq.u32 p, %1, 0x80000000; selp.b32 %0, 0, %1, p;}" : "=r"(v) : "r"(bits));
  return v;
}
/// A half's sign bit stays where any bit below it is set: the sum carries into it then, and never beyond.
__device__ inline u32 positiveZeros(u32 bits) {
  u32 v;
  asm("{.reg .b32 t; and.b32 t, %1, 0x7fff7fff; add.u32 t, t, 0x7fff7fff; or.b32 t, t, 0x7fff7fff; and.b32 %0, %1, t;}"
      : "=r"(v)
      : "r"(bits));
  return v;
}

/// The same for 64 bits, and for 4 x 8.
__device__ inline u64 positiveZero8(u64 bits) { return bits == 1ull << 63 ? 0 : bits; }
__device__ inline u32 positiveZeroBytes(u32 bits) {
  u32 v;
  asm("{.reg .b32 t; and.b32 t, %1, 0x7f7f7f7f; add.u32 t, t, 0x7f7f7f7f; or.b32 t, t, 0x7f7f7f7f; and.b32 %0, %1, t;}"
      : "=r"(v)
      : "r"(bits));
  return v;
}

#if __CUDA_ARCH__ >= 890
/// Two floats of 8 bits to two halves, exactly, and two floats to floats of 8 bits, the first in the low half; those too
/// large, infinities too, become the largest finite one. The emulator has no such instructions: see float8.h.
__device__ inline u32 e4m3sToHalves(u16 bits) {
  u32 v;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(v) : "h"(bits));
  return v;
}
__device__ inline u32 e5m2sToHalves(u16 bits) {
  u32 v;
  asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(v) : "h"(bits));
  return v;
}
__device__ inline u16 floatsToE4m3s(float low, float high) {
  u16 bits;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(bits) : "f"(high), "f"(low));
  return bits;
}
__device__ inline u16 floatsToE5m2s(float low, float high) {
  u16 bits;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(bits) : "f"(high), "f"(low));
  return bits;
}
#endif

/// Products and sums that are never contracted to a fused multiply-add, so that every rank and the host agree. All are
/// correctly rounded, subnormals included.
__device__ inline float add(float a, float b) { return __fadd_rn(a, b); }
__device__ inline float multiply(float a, float b) { return __fmul_rn(a, b); }
__device__ inline float divide(float a, float b) { return __fdiv_rn(a, b); }
__device__ inline float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ inline float rsqrt(float v) { return __frsqrt_rn(v); }
/// In 64 bits the hardware hands on the NaN of one operand; here all NaNs are one, as in 32, so that the order of the two
/// does not show.
__device__ inline double oneNan(double v) { return v == v ? v : bitsToDouble(~0ull >> 1); }
__device__ inline double add(double a, double b) { return oneNan(__dadd_rn(a, b)); }
__device__ inline double multiply(double a, double b) { return oneNan(__dmul_rn(a, b)); }
__device__ inline double divide(double a, double b) { return oneNan(__ddiv_rn(a, b)); }
__device__ inline double fma(double a, double b, double c) { return oneNan(__fma_rn(a, b, c)); }
__device__ inline double squareRoot(double v) { return oneNan(__dsqrt_rn(v)); }

/// To an integer of 8 bits, rounded to nearest even; what is too large becomes the largest, NaN 0.
__device__ inline u32 floatToInt8(float v) {
  int n;
  asm("cvt.rni.sat.s8.f32 %0, %1;" : "=r"(n) : "f"(v));
  return u32(n) & 0xff;
}

/// `v` of the lane whose number differs in the bits of `mask`. All lanes of a warp call it.
__device__ inline float shuffleXor(float v, u32 mask) { return __shfl_xor_sync(0xffffffffu, v, int(mask)); }

/// Words of a CTA's shared memory, for what its threads tell each other. Words that another CTA of the cluster writes may
/// be read after the clusterSync that follows, or the awaitShared that counts them.
constexpr u32 kSharedWords = 4384;
namespace detail {
__device__ inline float *sharedWords() {
  __shared__ float words[kSharedWords];
  return words;
}
/// The address of one of the CTA's two counters (mbarriers) of words that arrive.
__device__ inline u32 sharedCounter(u32 counter) {
  __shared__ u64 counters[2];
  return u32(__cvta_generic_to_shared(counters + counter));
}
} // namespace detail
__device__ inline float loadShared(u32 word) {
  return static_cast<volatile float *>(detail::sharedWords())[word];
}
__device__ inline void storeShared(u32 word, float v) {
  static_cast<volatile float *>(detail::sharedWords())[word] = v;
}
/// Writes a word of CTA number `cta` of the cluster.
__device__ inline void storeSharedOf(u32 cta, u32 word, float v) {
#if __CUDA_ARCH__ >= 900
  const u32 own = u32(__cvta_generic_to_shared(detail::sharedWords() + word));
  asm volatile("{.reg .b32 a; mapa.shared::cluster.u32 a, %0, %1; st.shared::cluster.f32 [a], %2;}" ::"r"(own), "r"(cta),
               "f"(v)
               : "memory");
#endif
}

/// Makes both counters ready; by one thread of each CTA, before clusterArrive.
__device__ inline void initShared() {
#if __CUDA_ARCH__ >= 900
  for (u32 counter = 0; counter < 2; ++counter)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(detail::sharedCounter(counter)) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}
/// The next round of a counter is over when this CTA has got so many words; by one thread of it, once a round.
__device__ inline void expectShared(u32 counter, u32 words) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(detail::sharedCounter(counter)), "r"(words * 4)
               : "memory");
#endif
}
/// Writes a word of CTA number `cta` of the cluster, and counts it there. Orders nothing else, so unlike at clusterSync
/// nobody waits for what this thread has stored in global memory.
__device__ inline void sendShared(u32 cta, u32 word, float v, u32 counter) {
#if __CUDA_ARCH__ >= 900
  const u32 own = u32(__cvta_generic_to_shared(detail::sharedWords() + word));
  asm volatile("{.reg .b32 a, c; mapa.shared::cluster.u32 a, %0, %2; mapa.shared::cluster.u32 c, %1, %2; "
               "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [a], %3, [c];}" ::"r"(own),
               "r"(detail::sharedCounter(counter)), "r"(cta), "r"(__float_as_uint(v))
               : "memory");
#endif
}
/// Waits a while for the end of the counter's latest round, number `round` from 0 on; whether it is over, so that the
/// words of it may be read.
__device__ inline bool awaitShared(u32 counter, u32 round) {
#if __CUDA_ARCH__ >= 900
  u32 over;
  asm volatile("{.reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
               : "=r"(over)
               : "r"(detail::sharedCounter(counter)), "r"(round & 1)
               : "memory");
  return over != 0;
#else
  return true;
#endif
}

/// The CTAs of this one's cluster, which stand beside each other in the grid; 1 below sm_90.
__device__ inline u32 clusterCtas() {
#if __CUDA_ARCH__ >= 900
  u32 n;
  asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(n));
  return n;
#else
  return 1;
#endif
}
/// Barrier of the cluster: what its threads wrote before, in shared memory too, all of them see after. All its threads
/// call it. `clusterArrive` and `clusterWait` are its halves, without that order: after the second all CTAs of the
/// cluster are running, before which nothing may touch their shared memory.
__device__ inline void clusterSync() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}
__device__ inline void clusterArrive() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}
__device__ inline void clusterWait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
#endif
}

} // namespace coll::ptx
