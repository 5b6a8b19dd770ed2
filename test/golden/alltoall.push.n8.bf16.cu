// alltoall.push   N = 8   bf16   generated from alltoall.coll
//
// Contract  forall r in ranks: y[r] == r.x[me]
// Proof     peers touch `y` only after its owner has started the launch and before that ends, by barriers of the
//           launch, so launches cannot disturb each other
// Rests on  the PTX memory model alone; of the host, one launch in flight per region and the same sequence of
//           launches, of the same grid each, on all ranks
#include "coll/bulk.h"

namespace {

constexpr int N = 8;
using T = coll::BF16;

struct Args {
  coll::Team<N> team;
  const T *x; // T[N][M]
  T *y[N]; // T[N][M], of the rank so many places after this one
  coll::u64 M;
  coll::u64 whole; // all packets are whole and aligned
};

using Packet = coll::bulk::Packet<T, 2>; // units of 16 bytes that a thread handles at a time

template <class Shape>
__device__ inline void push(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();

  // alltoall.coll:18    entry barrier
  launch.barrier(0);

  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    // alltoall.coll:19    forall p in ranks: x[p] -> p.y[me]
    Packet x[N]; // by how many places the rank is after me
#pragma unroll
    for (int hop = 0; hop < N; ++hop) {
      const coll::u32 p = coll::rankAt<N>(me, hop);
      x[hop] = coll::load<Shape, Packet>(launch, a.x + p * (a.M), i, a.M);
    }
#pragma unroll
    for (int hop = 0; hop < N; ++hop) {
      const coll::u32 p = coll::rankAt<N>(me, hop);
      coll::store<Shape>(launch, a.y[hop] + me * (a.M), i, a.M, x[hop]);
    }
  });

  // alltoall.coll:20    exit barrier
  launch.barrier(1);
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512, 1)
alltoall_push_n8_bf16(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.whole) push<coll::WholePackets>(launch, a);
  else push<coll::AnyPackets>(launch, a);
}
