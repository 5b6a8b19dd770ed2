// What hardware does beyond what PTX promises, looked for: `coll info --litmus`. Each kernel is launched on the GPUs of a
// pair in its roles; every wait ends by itself, at the latest when `limit` nanoseconds are over. Results are four
// counters: looks or rounds, and three sorts of surprise.

using u32 = unsigned;
using u64 = unsigned long long;

static __device__ u64 nanoseconds() {
  u64 time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

/// 16 bytes as the two 8-byte words that relaxed accesses of 16 bytes move.
struct Unit {
  u64 low, high;
  __device__ u32 word(u32 i) const { return u32((i < 2 ? low : high) >> (i % 2 * 32)); }
};

static __device__ void storeUnit(void *to, Unit v) {
  asm volatile("st.relaxed.sys.global.v2.b64 [%0], {%1, %2};" ::"l"(to), "l"(v.low), "l"(v.high) : "memory");
}
static __device__ Unit loadUnit(const void *from) {
  Unit v;
  asm volatile("ld.relaxed.sys.global.v2.b64 {%0, %1}, [%2];" : "=l"(v.low), "=l"(v.high) : "l"(from) : "memory");
  return v;
}
static __device__ u32 load(const void *from) {
  u32 v;
  asm volatile("ld.relaxed.sys.global.b32 %0, [%1];" : "=r"(v) : "l"(from) : "memory");
  return v;
}
static __device__ void store(void *to, u32 v) {
  asm volatile("st.relaxed.sys.global.b32 [%0], %1;" ::"l"(to), "r"(v) : "memory");
}
static __device__ void storeRelease(void *to, u32 v) {
  asm volatile("st.release.sys.global.b32 [%0], %1;" ::"l"(to), "r"(v) : "memory");
}
static __device__ void fence() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

static __device__ void count(u64 *result, u64 rounds, u64 first, u64 second, u64 third) {
  if (rounds) atomicAdd(result, rounds);
  if (first) atomicAdd(result + 1, first);
  if (second) atomicAdd(result + 2, second);
  if (third) atomicAdd(result + 3, third);
}

/// Where lane `lane` of a CTA's warp has its 16 bytes: a line of 128 bytes for each `lanes` of them.
static __device__ char *unitOf(char *lines, u32 lanes) {
  const u32 lane = threadIdx.x, group = lane / lanes;
  return lines + (u64(blockIdx.x) * (32 / lanes) + group) * 128 + (lanes == 1 ? 0 : lane % lanes * 16);
}
static __device__ u32 leastOf(u32 v, u32 lanes) {
  for (u32 d = 1; d < lanes; d *= 2) v = min(v, __shfl_xor_sync(0xffffffffu, v, d));
  return v;
}
static __device__ u32 greatestOf(u32 v, u32 lanes) {
  for (u32 d = 1; d < lanes; d *= 2) v = max(v, __shfl_xor_sync(0xffffffffu, v, d));
  return v;
}

/// Whether `lanes` (1 or 8) times 16 bytes that lanes of a warp store at once arrive so. The writer stores 1, 2, 3, … in
/// every word; the reader looks. Counted: looks at lines; lines whose words differ; lines whose last word is newer than
/// another, which a flag there must never be.
extern "C" __global__ void stores(char *lines, u64 *result, u32 rounds, u64 limit, u32 writes, u32 lanes) {
  char *unit = unitOf(lines, lanes);
  const u64 start = nanoseconds();
  if (writes) {
    for (u32 e = 1; e <= rounds && nanoseconds() - start < limit; ++e) {
      const u64 word = u64(e) << 32 | e;
      storeUnit(unit, {word, word});
    }
    return;
  }
  u64 looks = 0, torn = 0, late = 0;
  for (u32 flag = 0; __any_sync(0xffffffffu, flag < rounds) && __any_sync(0xffffffffu, nanoseconds() - start < limit);) {
    const Unit v = loadUnit(unit);
    const u32 least = leastOf(min(min(v.word(0), v.word(1)), min(v.word(2), v.word(3))), lanes);
    const u32 most = greatestOf(max(max(v.word(0), v.word(1)), max(v.word(2), v.word(3))), lanes);
    flag = __shfl_sync(0xffffffffu, v.word(3), threadIdx.x / lanes * lanes + lanes - 1);
    if (threadIdx.x % lanes != 0) continue;
    ++looks, torn += least != most, late += least != flag && flag > least;
  }
  count(result, looks, torn, late, 0);
}

/// Whether a store waits for what precedes it in its thread. The reader waits for the flag, reads the data and answers;
/// the writer, answered, changes the data. `flag` and `data` are the reader's, `answer` is the writer's. Counted: rounds;
/// data read that was written after the answer; data read that was older than the flag, which a relaxed look may give;
/// answers that came before the flag they wait for.
extern "C" __global__ void answers(char *reader, char *writer, u64 *result, u32 rounds, u64 limit, u32 writes) {
  char *flag = reader + blockIdx.x * 256, *data = flag + 128, *answer = writer + blockIdx.x * 128;
  if (threadIdx.x != 0) return;
  const u64 start = nanoseconds();
  u64 done = 0, overtaken = 0, stale = 0, early = 0;
  for (u32 e = 1; e <= rounds; ++e) {
    if (writes) {
      early += load(answer) >= e;
      store(data, e);
      storeRelease(flag, e);
      while (load(answer) < e)
        if (nanoseconds() - start > limit) return count(result, 0, 0, 0, early);
    } else {
      while (load(flag) < e)
        if (nanoseconds() - start > limit) return count(result, done, overtaken, stale, 0);
      const u32 seen = load(data);
      store(answer, e);
      ++done, overtaken += seen > e, stale += seen < e;
    }
  }
  count(result, done, overtaken, stale, writes ? early : 0);
}

static __device__ void addUnit(void *to, float a, float last) {
#if __CUDA_ARCH__ >= 900
  asm volatile("red.relaxed.sys.global.add.v4.f32 [%0], {%1, %1, %1, %2};" ::"l"(to), "f"(a), "f"(last) : "memory");
#endif
}

/// Whether `lanes` (1 or 8) times 16 bytes that lanes of a warp add at once take effect at once, for the reader and for
/// whoever clears: all `writers` add numbers, and 1 to the last word, in which the reader waits for `writers`; then all
/// other words must hold the sum. It clears the line and lets the next round begin. Counted: lines; sums that were not
/// there, or were of the round before.
extern "C" __global__ void sums(char *lines, u64 *result, u32 rounds, u64 limit, u32 writes, u32 lanes, u32 writers) {
  char *unit = unitOf(lines, lanes), *go = lines + (1 << 20) + blockIdx.x * 128;
  const bool last = threadIdx.x % lanes == lanes - 1;
  const u64 start = nanoseconds();
  u64 done = 0, wrong = 0;
  for (u32 e = 1; e <= rounds; ++e) {
    const float number = float(e % 61 + 1);
    if (writes) {
      while (__any_sync(0xffffffffu, load(go) < e))
        if (__any_sync(0xffffffffu, nanoseconds() - start > limit)) return;
      addUnit(unit, number, last ? 1.0f : number);
      continue;
    }
    if (threadIdx.x == 0) storeRelease(go, e);
    Unit v;
    for (;;) {
      v = loadUnit(unit);
      const float here = __uint_as_float(v.word(3));
      const float counted = __shfl_sync(0xffffffffu, here, threadIdx.x / lanes * lanes + lanes - 1);
      if (__all_sync(0xffffffffu, counted == float(writers))) break;
      if (__any_sync(0xffffffffu, nanoseconds() - start > limit)) return count(result, done, wrong, 0, 0);
    }
    const float sum = number * float(writers);
    u32 bad = 0;
    for (u32 w = 0; w < (last ? 3u : 4u); ++w) bad |= __uint_as_float(v.word(w)) != sum;
    bad = greatestOf(bad, lanes);
    if (threadIdx.x % lanes == 0) ++done, wrong += bad;
    storeUnit(unit, {0, 0});
    fence();
    __syncwarp();
  }
  count(result, done, wrong, 0, 0);
}
