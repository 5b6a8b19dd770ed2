// One-shot all-reduce, sync sentinel. With COPIES 1 it is wrong: a fast rank writes into what a slow one has yet to
// clear. NOT_CANONICAL sends -0.0 as it is, UNCHECKED looks at the first half of a packet alone. DEFERRED clears in the
// next launch what this one read, and needs COPIES 3; with THIS_RANGE it clears as much as that launch reads itself.
#include "coll/device.h"

namespace {

constexpr int N = RANKS;
using T = TYPE;
using Op = coll::Sum;

struct Args {
  coll::Team<N> team;
  const T *x;
  T *y;
  coll::u64 M;
  coll::u64 onePacket;
};

constexpr coll::u64 kOffset = coll::region::headerBytes(N, 0);
using Box = coll::sentinel::Mailbox<T, N, 0, kOffset, N, LINES, COPIES>;
using Packet = Box::P;

__device__ inline void send(coll::Launch<N> &launch, int hop, coll::u32 i, const Packet &x) {
#ifdef NOT_CANONICAL
  coll::ptx::storeRelaxed16(launch.team.peer[hop] + Box::at(launch.epoch, launch.me(), i), coll::detail::toWords(x));
#else
  Box::send(launch, hop, launch.me(), i, x);
#endif
}

#ifdef UNCHECKED
struct HalfWire : coll::sentinel::Wire<T> {
  __device__ static coll::u32 late(const coll::Words2 &line, coll::u32) { return coll::u32(line.w[0]) == kEmpty; }
  static constexpr coll::u32 kEmpty = coll::u32(coll::sentinel::Spare<T>::kEmpty);
};
struct Unchecked : Box {
  template <coll::u32 kCount>
  __device__ static void receive(coll::Launch<N> &launch, coll::u32 first, coll::u32 wanted, coll::u32 i,
                                 Packet (&part)[kCount]) {
    const char *lines = launch.team.peer[0] + at(launch.epoch, first, i);
    coll::Words2 seen[kCount];
    coll::detail::awaitLines<HalfWire, kCount, Lines::kSlotBytes>(launch, 0, first, wanted, lines, seen);
    for (coll::u32 s = 0; s < kCount; ++s) {
      if (wanted >> s & 1) clear(launch, first + s, i);
      part[s] = coll::detail::fromWords<Packet>(seen[s]);
    }
  }
};
using Reader = Unchecked;
#elif defined(DEFERRED)
using Reader = Box::Kept;
#else
using Reader = Box;
#endif

#ifdef DEFERRED
/// Clears the copy of the launch before, which had `packets` of them, for this thread's share.
__device__ inline void clearPrevious(coll::Launch<N> &launch, coll::u32 packets) {
  constexpr coll::u64 kEmpty = coll::sentinel::Spare<T>::kEmpty;
  for (coll::u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < packets; i += gridDim.x * blockDim.x)
    for (coll::u32 r = 0; r < N; ++r)
      coll::ptx::storeRelaxed16(launch.team.peer[0] + Box::at(launch.epoch + COPIES - 1, r, i),
                                coll::Words2{{kEmpty, kEmpty}});
}
#endif

template <class Shape>
__device__ inline void oneshot(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();

#ifdef DEFERRED
  launch.begin();
#ifdef THIS_RANGE
  clearPrevious(launch, Packet::count(a.M));
#else
  clearPrevious(launch, LINES);
#endif
#endif
  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    const Packet x = coll::load<Shape, Packet>(launch, a.x, i, a.M);
    launch.begin();
#pragma unroll
    for (int hop = 1; hop < N; ++hop) send(launch, hop, i, x);

    const Packet y = coll::reduceSlots<Op, T, Reader>(launch, i, x);
    coll::store<Shape>(launch, a.y, i, a.M, y);
  });
}

} // namespace

extern "C" __global__ void __launch_bounds__(512) allreduce(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) oneshot<coll::OnePacket>(launch, a);
  else oneshot<coll::AnyPackets>(launch, a);
  launch.finish();
}
