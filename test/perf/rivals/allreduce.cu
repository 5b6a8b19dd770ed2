// Sums of all ranks' vectors in one exchange, once for each protocol.
//
// collective allreduce, types f32 bf16
// kernel ll: packet 8, area 16, copies 2
// kernel ll128: packet 120, area 128, threads 8, copies 2
// kernel sentinel: packet 16, area 16, copies 3, fill -0.0
// kernel pushBarrier: packet 16, area 16, ctas 128, copies 2
// kernel pullBarrier: packet 16, area 16, ctas 128, copies 1

#if COLL_BF16
constexpr u32 EMPTY = 0x80008000u; // two times -0.0
#else
constexpr u32 EMPTY = 0x80000000u; // -0.0
#endif

/// A look takes 0.1 us or more: some seconds.
constexpr u32 LOOKS = 1u << 25;

__device__ u32 thread() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ u32 threads() { return gridDim.x * blockDim.x; }

__device__ u32 nextEpoch(const Call &c) { return *(volatile u32 *)(c.epoch + blockIdx.x) + 1; }

__device__ void finish(const Call &c, u32 epoch) {
  __syncthreads();
  if (threadIdx.x == 0) c.epoch[blockIdx.x] = epoch;
}

/// Where the data of rank `from` lands in the scratch of rank `at`.
__device__ char *landing(const Call &c, u32 at, u32 copy, u32 from) {
  return c.scratch[at] + (u64(copy) * RANKS + from) * c.room;
}

// ---- ll ----

__device__ uint4 awaitLine(const char *line, u32 epoch) {
  uint4 v = loadRelaxed(line);
  for (u32 look = 0; (v.y != epoch || v.w != epoch) && look < LOOKS; ++look) v = loadRelaxed(line);
  return v;
}

extern "C" __global__ void __launch_bounds__(512, 1) ll(const __grid_constant__ Call c) {
  awaitPredecessor();
  releaseSuccessor();
  const u32 me = u32(c.me), lines = u32(c.bytes / 8);
  const uint2 *x = (const uint2 *)c.input[me];
  uint2 mine = thread() < lines ? x[thread()] : make_uint2(0, 0);
  const u32 epoch = nextEpoch(c);
  for (u32 i = thread(); i < lines; i += threads()) {
    if (i != thread()) mine = x[i];
#pragma unroll
    for (u32 hop = 1; hop < RANKS; ++hop)
      storeRelaxed(landing(c, (me + hop) % RANKS, epoch & 1, me) + u64(i) * 16, mine.x, epoch, mine.y, epoch);
    Sum low, high;
#pragma unroll
    for (u32 r = 0; r < RANKS; ++r) {
      uint2 part = mine;
      if (r != me) {
        const uint4 line = awaitLine(landing(c, me, epoch & 1, r) + u64(i) * 16, epoch);
        part = make_uint2(line.x, line.z);
      }
      low.add(part.x), high.add(part.y);
    }
    ((uint2 *)c.output)[i] = make_uint2(low.word(), high.word());
  }
  finish(c, epoch);
}

// ---- ll128: 8 lanes a line, 15 words of 8 bytes and the flag ----

__device__ ulonglong2 loadHalf(const char *from) {
  ulonglong2 v;
  asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];" : "=l"(v.x), "=l"(v.y) : "l"(from) : "memory");
  return v;
}
__device__ void storeHalf(char *to, u64 x, u64 y) {
  asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(x), "l"(y) : "memory");
}

struct Sum64 {
  Sum low, high;
  __device__ void add(u64 word) { low.add(u32(word)), high.add(u32(word >> 32)); }
  __device__ u64 word() const { return low.word() | u64(high.word()) << 32; }
};

extern "C" __global__ void __launch_bounds__(512, 1) ll128(const __grid_constant__ Call c) {
  awaitPredecessor();
  releaseSuccessor();
  const u32 me = u32(c.me), lane = threadIdx.x & 7, words = u32(c.bytes / 8);
  const u32 lines = (words + 14) / 15, group = 0xffu << (threadIdx.x & 24);
  const u64 *x = (const u64 *)c.input[me];
  const u64 epoch = nextEpoch(c);
  for (u32 line = thread() / 8; line < lines; line += threads() / 8) {
    const u32 at = line * 15 + lane * 2;
    const bool first = at < words, second = lane < 7 && at + 1 < words;
    const u64 a = first ? x[at] : 0, b = lane == 7 ? epoch : second ? x[at + 1] : 0;
    const u64 place = u64(line) * 128 + lane * 16;
#pragma unroll
    for (u32 hop = 1; hop < RANKS; ++hop) storeHalf(landing(c, (me + hop) % RANKS, epoch & 1, me) + place, a, b);
    Sum64 sumA, sumB;
#pragma unroll
    for (u32 r = 0; r < RANKS; ++r) {
      ulonglong2 part = make_ulonglong2(a, b);
      if (r != me)
        for (u32 look = 0; look < LOOKS; ++look) {
          part = loadHalf(landing(c, me, epoch & 1, r) + place);
          if (!__any_sync(group, lane == 7 && part.y != epoch)) break;
        }
      sumA.add(part.x), sumB.add(part.y);
    }
    if (first) ((u64 *)c.output)[at] = sumA.word();
    if (second) ((u64 *)c.output)[at + 1] = sumB.word();
  }
  finish(c, u32(epoch));
}

// ---- sentinel ----

__device__ u32 cleaned(u32 word) { return word == EMPTY ? 0 : word; }

__device__ bool empty(uint4 v) { return v.x == EMPTY || v.y == EMPTY || v.z == EMPTY || v.w == EMPTY; }

__device__ uint4 awaitData(const char *from) {
  uint4 v = loadRelaxed(from);
  for (u32 look = 0; empty(v) && look < LOOKS; ++look) v = loadRelaxed(from);
  return v;
}

__device__ uint4 sumOf(const uint4 (&parts)[RANKS]) {
  Sum x, y, z, w;
#pragma unroll
  for (u32 r = 0; r < RANKS; ++r) x.add(parts[r].x), y.add(parts[r].y), z.add(parts[r].z), w.add(parts[r].w);
  return make_uint4(x.word(), y.word(), z.word(), w.word());
}

extern "C" __global__ void __launch_bounds__(512, 1) sentinel(const __grid_constant__ Call c) {
  awaitPredecessor();
  releaseSuccessor();
  const u32 me = u32(c.me), packets = u32(c.bytes / 16);
  const u32 epoch = nextEpoch(c), copy = epoch % 3, cleared = (epoch + 2) % 3;
  for (u32 i = thread(); i < packets; i += threads()) {
    uint4 mine = ((const uint4 *)c.input[me])[i];
    mine = make_uint4(cleaned(mine.x), cleaned(mine.y), cleaned(mine.z), cleaned(mine.w));
#pragma unroll
    for (u32 hop = 1; hop < RANKS; ++hop)
      storeRelaxed(landing(c, (me + hop) % RANKS, copy, me) + u64(i) * 16, mine.x, mine.y, mine.z, mine.w);
    uint4 parts[RANKS];
#pragma unroll
    for (u32 r = 0; r < RANKS; ++r) {
      parts[r] = mine;
      if (r == me) continue;
      storeRelaxed(landing(c, me, cleared, r) + u64(i) * 16, EMPTY, EMPTY, EMPTY, EMPTY);
      parts[r] = awaitData(landing(c, me, copy, r) + u64(i) * 16);
    }
    ((uint4 *)c.output)[i] = sumOf(parts);
  }
  finish(c, epoch);
}

// ---- barriers: a flag of each CTA at each peer ----

__device__ void meet(const Call &c, u32 number, u32 value) {
  __syncthreads();
  const u64 row = c.flags + (number * gridDim.x + blockIdx.x) * u64(RANKS * 4);
  if (threadIdx.x < RANKS && threadIdx.x != c.me) {
    storeRelease(c.scratch[threadIdx.x] + row + c.me * 4, value);
    for (u32 look = 0; int(loadAcquire(c.scratch[c.me] + row + threadIdx.x * 4) - value) < 0 && look < LOOKS; ++look) {
    }
  }
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(512, 1) pushBarrier(const __grid_constant__ Call c) {
  awaitPredecessor();
  releaseSuccessor();
  const u32 me = u32(c.me), packets = u32(c.bytes / 16), epoch = nextEpoch(c), copy = epoch & 1;
  const uint4 *x = (const uint4 *)c.input[me];
  for (u32 i = thread(); i < packets; i += threads())
#pragma unroll
    for (u32 hop = 1; hop < RANKS; ++hop) ((uint4 *)landing(c, (me + hop) % RANKS, copy, me))[i] = x[i];
  meet(c, 0, epoch);
  for (u32 i = thread(); i < packets; i += threads()) {
    uint4 parts[RANKS];
#pragma unroll
    for (u32 r = 0; r < RANKS; ++r) parts[r] = r == me ? x[i] : __ldcg((const uint4 *)landing(c, me, copy, r) + i);
    ((uint4 *)c.output)[i] = sumOf(parts);
  }
  finish(c, epoch);
}

extern "C" __global__ void __launch_bounds__(512, 1) pullBarrier(const __grid_constant__ Call c) {
  awaitPredecessor();
  releaseSuccessor();
  const u32 packets = u32(c.bytes / 16), epoch = nextEpoch(c);
  meet(c, 0, epoch); // all inputs are there
  for (u32 i = thread(); i < packets; i += threads()) {
    uint4 parts[RANKS];
#pragma unroll
    for (u32 r = 0; r < RANKS; ++r) parts[r] = loadRelaxed((const uint4 *)c.input[r] + i);
    ((uint4 *)c.output)[i] = sumOf(parts);
  }
  meet(c, 1, epoch); // nobody reads them any more
  finish(c, epoch);
}
