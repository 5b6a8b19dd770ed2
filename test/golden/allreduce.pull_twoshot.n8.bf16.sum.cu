// allreduce.pull_twoshot   N = 8   bf16, sum   generated from allreduce.coll
//
// Contract  y == reduce(op, r in ranks: r.x), ascending, accumulated in f32 and rounded once, the same bits on every
//           rank
// Proof     peers touch `x`, `y` only after its owner has started the launch and before that ends, by barriers of the
//           launch, so launches cannot disturb each other
// Rests on  the PTX memory model alone; of the host, one launch in flight per region and the same sequence of
//           launches, of the same grid each, on all ranks
#include "coll/reduce.h"
#include "coll/split.h"
#include "coll/bulk.h"
#include "coll/window.h"

namespace {

constexpr int N = 8;
using T = coll::BF16;
using Op = coll::Sum;

struct Args {
  coll::Team<N> team;
  const T *x[N]; // T[M], of the rank so many places after this one
  T *y[N]; // T[M], of the rank so many places after this one
  coll::u64 M;
  coll::u64 whole; // all packets are whole and aligned
};

using Packet = coll::bulk::Packet<T, 2>; // units of 16 bytes that a thread handles at a time

template <class Shape>
__device__ inline void pull_twoshot(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();
  const coll::Pieces<Shape, T, N> pieces(a.M); // split(…, N)

  // allreduce.coll:85    entry barrier
  launch.barrier(0);

  Shape::forEach(launch, Packet::count(pieces.piece), [&](coll::u32 i) {
    // allreduce.coll:86    let s = reduce(op, r in ranks: r.X[me])
    if (coll::reaches<Shape, Packet>(i, pieces.size(me))) {
      const Packet s = coll::reduceRanks<Op, T, Packet, N>([&](coll::u32 r) {
        return coll::load<Shape, Packet>(launch, a.x[coll::hopTo<N>(me, r)] + pieces.begin(me), i, pieces.size(me));
      });

      // allreduce.coll:87    forall p in ranks: s -> p.Y[me]
#pragma unroll
      for (int hop = 0; hop < N; ++hop) coll::store<Shape>(launch, a.y[hop] + pieces.begin(me), i, pieces.size(me), s);
    }
  });

  // allreduce.coll:88    exit barrier
  launch.barrier(1);
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512, 1)
allreduce_pull_twoshot_n8_bf16_sum(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.whole) pull_twoshot<coll::WholePackets>(launch, a);
  else pull_twoshot<coll::AnyPackets>(launch, a);
}
