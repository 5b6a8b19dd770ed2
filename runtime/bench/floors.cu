// What `coll bench` measures its floors and opens its gates with. Every wait ends by itself.

using u32 = unsigned;
using u64 = unsigned long long;

static __device__ u64 nanoseconds() {
  u64 time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

static __device__ u32 loadSystem(const u32 *from) {
  u32 value;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}

/// Keeps its stream waiting until the host writes `ticket` or a later one, so that everything behind it is queued by
/// then and begins on all GPUs at once.
extern "C" __global__ void gate(const u32 *opened, u32 ticket, u64 limit) {
  const u64 start = nanoseconds();
  while (int(loadSystem(opened) - ticket) < 0 && nanoseconds() - start < limit) {
  }
}

/// The least a node of a graph can do.
extern "C" __global__ void emptyNode() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/// Two words of {data, flag}: the 16-byte line of the `ll` mode.
struct Line {
  u64 first, second;
};

static __device__ void storeLine(Line *to, u32 flag) {
  const u64 word = u64(flag) << 32 | 1;
  asm volatile("st.relaxed.sys.global.v2.b64 [%0], {%1, %2};" ::"l"(to), "l"(word), "l"(word) : "memory");
}

static __device__ Line loadLine(const Line *from) {
  Line line;
  asm volatile("ld.relaxed.sys.global.v2.b64 {%0, %1}, [%2];"
               : "=l"(line.first), "=l"(line.second)
               : "l"(from)
               : "memory");
  return line;
}

static __device__ bool arrived(Line line, u32 flag) {
  return u32(line.first >> 32) == flag && u32(line.second >> 32) == flag;
}

/// A look takes 0.1 us or more, so this is a second or so.
constexpr u32 kLooks = 1u << 23;

/// False if the peer's line did not come.
template <int kInFlight>
static __device__ bool await(const Line *mine, u32 flag) {
  if (kInFlight == 1) {
    for (u32 look = 0; look < kLooks; ++look)
      if (arrived(loadLine(mine), flag)) return true;
    return false;
  }
  // The second look is on its way while the first is tested.
  Line next = loadLine(mine);
  for (u32 look = 0; look < kLooks; ++look) {
    const Line line = next;
    next = loadLine(mine);
    if (arrived(line, flag)) return true;
  }
  return false;
}

/// The first rounds start both sides up and are not timed.
constexpr u32 kRoundsUntimed = 64;

template <int kInFlight>
static __device__ void play(Line *mine, Line *theirs, u32 base, u32 rounds, bool serves, u64 *result) {
  u64 start = 0;
  for (u32 round = 1; round <= rounds; ++round) {
    if (round == kRoundsUntimed + 1) start = nanoseconds();
    if (serves) storeLine(theirs, base + round);
    if (!await<kInFlight>(mine, base + round)) return; // the result stays as it was
    if (!serves) storeLine(theirs, base + round);
  }
  result[0] = nanoseconds() - start;
  result[1] = rounds - kRoundsUntimed;
}

/// One thread of each of two GPUs stores a line in the other's memory as soon as it has seen the other's. `result`:
/// nanoseconds, and the round trips that took them; left alone if a line did not come. Flags run from base + 1.
extern "C" __global__ void pingPong(Line *mine, Line *theirs, u32 base, u32 rounds, u32 serves, u32 inFlight,
                                    u64 *result) {
  if (inFlight == 1)
    play<1>(mine, theirs, base, rounds, serves != 0, result);
  else
    play<2>(mine, theirs, base, rounds, serves != 0, result);
}

/// Copies `count` units of 16 bytes with four of each thread's in flight.
extern "C" __global__ void __launch_bounds__(512) copyUnits(uint4 *to, const uint4 *from, u64 count) {
  const u64 step = u64(gridDim.x) * blockDim.x;
  u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + 3 * step < count; i += 4 * step) {
    const uint4 a = from[i], b = from[i + step], c = from[i + 2 * step], d = from[i + 3 * step];
    to[i] = a, to[i + step] = b, to[i + 2 * step] = c, to[i + 3 * step] = d;
  }
  for (; i < count; i += step) to[i] = from[i];
}
