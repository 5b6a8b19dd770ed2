// reduce_scatter.multimem   N = 2   f32, sum   generated from reduce_scatter.coll
//
// Contract  y == reduce(op, r in ranks: r.x[me]), in any order and rounded at each step, the same bits on every rank
//           but not in every run
// Proof     peers touch `x` only after its owner has started the launch and before that ends, by barriers of the
//           launch, so launches cannot disturb each other
// Rests on  the PTX memory model; of hardware, beyond the model, that what is stored and loaded by multicast is
//           ordered as if each place had one address; of the host, one launch in flight per region and the same
//           sequence of launches, of the same grid each, on all ranks
#include "coll/reduce.h"
#include "coll/bulk.h"
#include "coll/multicast.h"

namespace {

constexpr int N = 2;
using T = float;
using Op = coll::Sum;

struct Args {
  coll::Team<N> team;
  const T *x[N]; // T[N][M], of the rank so many places after this one
  const T *xOfAll; // of all ranks at once; null without multicast
  T *y; // T[M]
  coll::u64 M;
  coll::u64 whole; // all packets are whole and aligned
};

using Packet = coll::bulk::Packet<T, 4>; // units of 16 bytes that a thread handles at a time

template <class Shape>
__device__ inline void multimem(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();

  // reduce_scatter.coll:47    entry barrier
  launch.barrier(0);

  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    // reduce_scatter.coll:48    y = reduce(op, p in all: p.x[me])
    const Packet x = coll::reduceAll<Shape, Op, Packet>(launch, a.x, a.xOfAll, me * (a.M), i, a.M);
    coll::store<Shape>(launch, a.y, i, a.M, x);
  });

  // reduce_scatter.coll:49    exit barrier
  launch.barrier(1);
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512, 1)
reduce_scatter_multimem_n2_f32_sum(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.whole) multimem<coll::WholePackets>(launch, a);
  else multimem<coll::AnyPackets>(launch, a);
}
