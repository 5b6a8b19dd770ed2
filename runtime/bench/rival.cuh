// What a hand-written rival of `coll bench` is given. Stands before the file's own text, after the number of RANKS and
// the choice of the type.

using u16 = unsigned short;
using u32 = unsigned;
using u64 = unsigned long long;

/// One call on one rank. All memory of other ranks is mapped here.
struct Call {
  const void *input[8]; ///< [rank]: every rank's input
  void *output;         ///< this rank's
  char *scratch[8];     ///< [rank]: every rank's, alike: copies x ranks x room, then 64 KiB of zeros for flags
  u32 *epoch;           ///< a word for each CTA, this rank's alone; 0 before the first call of a size
  u64 room;             ///< bytes for one rank in one copy
  u64 flags;            ///< where the zeros begin
  u64 bytes;            ///< of the vector
  u64 me;
};

/// The elements of a 32-bit word, added up wide and rounded once.
struct Sum {
#if COLL_BF16
  float low = 0, high = 0;
  __device__ void add(u32 word) { low += __uint_as_float(word << 16), high += __uint_as_float(word & 0xffff0000u); }
  static __device__ u32 rounded(float value) {
    u16 bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
  }
  __device__ u32 word() const { return rounded(low) | rounded(high) << 16; }
#else
  float value = 0;
  __device__ void add(u32 word) { value += __uint_as_float(word); }
  __device__ u32 word() const { return __float_as_uint(value); }
#endif
};

/// All that a kernel does comes after the first; the second lets the next kernel of the stream begin.
__device__ inline void awaitPredecessor() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ inline void releaseSuccessor() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/// Four words that another GPU may be writing or reading at the time.
__device__ inline uint4 loadRelaxed(const void *from) {
  uint4 v;
  asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from)
               : "memory");
  return v;
}
__device__ inline void storeRelaxed(void *to, u32 x, u32 y, u32 z, u32 w) {
  asm volatile("st.relaxed.sys.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(x), "r"(y), "r"(z), "r"(w)
               : "memory");
}
__device__ inline void storeRelease(void *to, u32 value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}
__device__ inline u32 loadAcquire(const void *from) {
  u32 value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}
