// allreduce.multimem_twoshot   N = 8   f32, sum   generated from allreduce.coll
//
// Contract  y == reduce(op, r in ranks: r.x), in any order and rounded at each step, the same bits on every rank but
//           not in every run
// Proof     peers touch `x`, `y` only after its owner has started the launch and before that ends, by barriers of the
//           launch, so launches cannot disturb each other
// Rests on  the PTX memory model; of hardware, beyond the model, that what is stored and loaded by multicast is
//           ordered as if each place had one address; of the host, one launch in flight per region and the same
//           sequence of launches, of the same grid each, on all ranks
#include "coll/reduce.h"
#include "coll/split.h"
#include "coll/bulk.h"
#include "coll/multicast.h"

namespace {

constexpr int N = 8;
using T = float;
using Op = coll::Sum;

struct Args {
  coll::Team<N> team;
  const T *x[N]; // T[M], of the rank so many places after this one
  const T *xOfAll; // of all ranks at once; null without multicast
  T *y[N]; // T[M], of the rank so many places after this one
  T *yOfAll; // of all ranks at once; null without multicast
  coll::u64 M;
  coll::u64 whole; // all packets are whole and aligned
};

using Packet = coll::bulk::Packet<T, 2>; // units of 16 bytes that a thread handles at a time

template <class Shape>
__device__ inline void multimem_twoshot(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();
  const coll::Pieces<Shape, T, N> pieces(a.M); // split(…, N)

  // allreduce.coll:147    entry barrier
  launch.barrier(0);

  Shape::forEach(launch, Packet::count(pieces.piece), [&](coll::u32 i) {
    // allreduce.coll:148    let s = reduce(op, p in all: p.X[me])
    if (coll::reaches<Shape, Packet>(i, pieces.size(me))) {
      const Packet s = coll::reduceAll<Shape, Op, Packet>(launch, a.x, a.xOfAll, pieces.begin(me), i, pieces.size(me));

      // allreduce.coll:149    s -> all.Y[me]
      coll::storeToAll<Shape>(launch, a.y, a.yOfAll, pieces.begin(me), i, pieces.size(me), s);
    }
  });

  // allreduce.coll:150    exit barrier
  launch.barrier(1);
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512, 1)
allreduce_multimem_twoshot_n8_f32_sum(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.whole) multimem_twoshot<coll::WholePackets>(launch, a);
  else multimem_twoshot<coll::AnyPackets>(launch, a);
}
