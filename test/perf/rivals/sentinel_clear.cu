// What the clear of `sentinel` costs, and what deferring it could save: one exchange in four kernels that differ in
// nothing else. Sums of all ranks' vectors.
//
// collective allreduce, types f32 bf16
// kernel eager: packet 16, area 16, copies 2, fill -0.0
// kernel deferred: packet 16, area 16, copies 3, fill -0.0
// kernel deferredEarly: packet 16, area 16, copies 3, fill -0.0
// kernel uncleared: packet 16, area 16, copies 2

#if COLL_BF16
constexpr u32 EMPTY = 0x80008000u; // two times -0.0
#else
constexpr u32 EMPTY = 0x80000000u; // -0.0
#endif

/// A look takes 0.1 us or more: some seconds.
constexpr u32 LOOKS = 1u << 25;

__device__ u32 thread() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ u32 threads() { return gridDim.x * blockDim.x; }

/// Where packet i of rank `from` lands in the scratch of rank `at`.
__device__ char *landing(const Call &c, u32 at, u32 copy, u32 from, u32 i) {
  return c.scratch[at] + (u64(copy) * RANKS + from) * c.room + u64(i) * 16;
}

__device__ void clear(char *packet) { storeRelaxed(packet, EMPTY, EMPTY, EMPTY, EMPTY); }

__device__ u32 cleaned(u32 word) { return word == EMPTY ? 0 : word; }
__device__ bool empty(uint4 v) { return v.x == EMPTY || v.y == EMPTY || v.z == EMPTY || v.w == EMPTY; }

__device__ uint4 sumOf(const uint4 (&parts)[RANKS]) {
  Sum x, y, z, w;
#pragma unroll
  for (u32 r = 0; r < RANKS; ++r) x.add(parts[r].x), y.add(parts[r].y), z.add(parts[r].z), w.add(parts[r].w);
  return make_uint4(x.word(), y.word(), z.word(), w.word());
}

enum class Clear {
  Eager,         // the slot just read, after the read: two copies, as Coll's kernels do
  Deferred,      // the slot read by the launch before, after the sends and before the wait: three copies
  DeferredEarly, // the same, before the sends
  Never,         // the last word of a packet is the epoch, so that a reader still waits: that word of sums is wrong
};

template <Clear CLEAR>
__device__ void exchange(const Call &c) {
  awaitPredecessor();
  releaseSuccessor();
  constexpr u32 COPIES = CLEAR == Clear::Eager || CLEAR == Clear::Never ? 2 : 3;
  const u32 me = u32(c.me), packets = u32(c.bytes / 16);
  uint4 mine = thread() < packets ? ((const uint4 *)c.input[me])[thread()] : make_uint4(0, 0, 0, 0);
  const u32 epoch = *(volatile u32 *)(c.epoch + blockIdx.x) + 1;
  const u32 copy = epoch % COPIES, before = (epoch + COPIES - 1) % COPIES;
  for (u32 i = thread(); i < packets; i += threads()) {
    if (i != thread()) mine = ((const uint4 *)c.input[me])[i];
    mine = make_uint4(cleaned(mine.x), cleaned(mine.y), cleaned(mine.z), cleaned(mine.w));
#pragma unroll
    for (u32 r = 0; r < RANKS; ++r)
      if (CLEAR == Clear::DeferredEarly && r != me) clear(landing(c, me, before, r, i));
#pragma unroll
    for (u32 hop = 1; hop < RANKS; ++hop)
      storeRelaxed(landing(c, (me + hop) % RANKS, copy, me, i), mine.x, mine.y, mine.z,
                   CLEAR == Clear::Never ? epoch : mine.w);
    uint4 parts[RANKS];
#pragma unroll
    for (u32 r = 0; r < RANKS; ++r)
      if (CLEAR == Clear::Deferred && r != me) clear(landing(c, me, before, r, i));
#pragma unroll
    for (u32 r = 0; r < RANKS; ++r) {
      parts[r] = mine;
      if (r == me) continue;
      char *const packet = landing(c, me, copy, r, i);
      const auto late = [&](uint4 v) { return CLEAR == Clear::Never ? v.w != epoch : empty(v); };
      parts[r] = loadRelaxed(packet);
      for (u32 look = 0; late(parts[r]) && look < LOOKS; ++look) parts[r] = loadRelaxed(packet);
      if (CLEAR == Clear::Eager) clear(packet);
    }
    ((uint4 *)c.output)[i] = sumOf(parts);
  }
  __syncthreads();
  if (threadIdx.x == 0) c.epoch[blockIdx.x] = epoch;
}

extern "C" __global__ void __launch_bounds__(512, 1) eager(const __grid_constant__ Call c) {
  exchange<Clear::Eager>(c);
}
extern "C" __global__ void __launch_bounds__(512, 1) deferred(const __grid_constant__ Call c) {
  exchange<Clear::Deferred>(c);
}
extern "C" __global__ void __launch_bounds__(512, 1) deferredEarly(const __grid_constant__ Call c) {
  exchange<Clear::DeferredEarly>(c);
}
extern "C" __global__ void __launch_bounds__(512, 1) uncleared(const __grid_constant__ Call c) {
  exchange<Clear::Never>(c);
}
