// reduce_scatter.pull   N = 2   bf16, sum   generated from reduce_scatter.coll
//
// Contract  y == reduce(op, r in ranks: r.x[me]), ascending, accumulated in f32 and rounded once, the same bits on
//           every rank
// Proof     peers touch `x` only after its owner has started the launch and before that ends, by barriers of the
//           launch, so launches cannot disturb each other
// Rests on  the PTX memory model alone; of the host, one launch in flight per region and the same sequence of
//           launches, of the same grid each, on all ranks
#include "coll/reduce.h"
#include "coll/bulk.h"
#include "coll/window.h"

namespace {

constexpr int N = 2;
using T = coll::BF16;
using Op = coll::Sum;

struct Args {
  coll::Team<N> team;
  const T *x[N]; // T[N][M], of the rank so many places after this one
  T *y; // T[M]
  coll::u64 M;
  coll::u64 whole; // all packets are whole and aligned
};

using Packet = coll::bulk::Packet<T, 4>; // units of 16 bytes that a thread handles at a time

template <class Shape>
__device__ inline void pull(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();

  // reduce_scatter.coll:27    entry barrier
  launch.barrier(0);

  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    // reduce_scatter.coll:28    y = reduce(op, r in ranks: r.x[me])
    const Packet x = coll::reduceRanks<Op, T, Packet, N>([&](coll::u32 r) {
      return coll::load<Shape, Packet>(launch, a.x[coll::hopTo<N>(me, r)] + me * (a.M), i, a.M);
    });
    coll::store<Shape>(launch, a.y, i, a.M, x);
  });

  // reduce_scatter.coll:29    exit barrier
  launch.barrier(1);
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512, 1)
reduce_scatter_pull_n2_bf16_sum(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.whole) pull<coll::WholePackets>(launch, a);
  else pull<coll::AnyPackets>(launch, a);
}
