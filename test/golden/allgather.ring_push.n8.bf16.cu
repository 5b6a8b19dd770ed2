// allgather.ring_push   N = 8   bf16   generated from allgather.coll
//
// Contract  forall r in ranks: y[r] == r.x
// Mailbox   y[8], flags that announce what is stored in the window
// Proof     peers touch `y` only after its owner has started the launch and before that ends, by barriers and waits
//           of the launch, so launches cannot disturb each other
// Rests on  the PTX memory model alone; of the host, one launch in flight per region and the same sequence of
//           launches, of the same grid each, on all ranks
#include "coll/flag.h"
#include "coll/bulk.h"

namespace {

constexpr int N = 8;
using T = coll::BF16;

struct Args {
  coll::Team<N> team;
  const T *x; // T[M]
  T *y[N]; // T[N][M], of the rank so many places after this one
  coll::u64 M;
  coll::u64 whole; // all packets are whole and aligned
};

// type, ranks, number, offset in the region, slots, packets a slot, copies
using Y = coll::flag::Mailbox<T, N, 0, 9344, 8, 0, 1>;
using Packet = coll::bulk::Packet<T, 2>; // units of 16 bytes that a thread handles at a time

template <class Shape>
__device__ inline void ring_push(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();

  // allgather.coll:51    entry barrier
  launch.barrier(0);

  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    // allgather.coll:52    y[me] = x
    const Packet x = coll::load<Shape, Packet>(launch, a.x, i, a.M);
    coll::store<Shape>(launch, a.y[0] + me * (a.M), i, a.M, x);
  });

  // allgather.coll:53    for s in 0 .. N - 2 {
#pragma unroll 1
  for (int s = 0; s <= 6; ++s) {
    Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
      // allgather.coll:54    y[me - s] -> (me + 1).y[me - s]
      const Packet y = coll::load<Shape, Packet>(launch, a.y[0] + coll::rankAt<N>(me, N - s) * (a.M), i, a.M);
      coll::store<Shape>(launch, a.y[1] + coll::rankAt<N>(me, N - s) * (a.M), i, a.M, y);
    });

    Y::announce(launch, 1, coll::rankAt<N>(me, N - s));

    // allgather.coll:55    await y[me - s - 1]
    Y::await(launch, coll::rankAt<N>(me, N - 1 - s), 1);
  }
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512, 1)
allgather_ring_push_n8_bf16(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.whole) ring_push<coll::WholePackets>(launch, a);
  else ring_push<coll::AnyPackets>(launch, a);
}
