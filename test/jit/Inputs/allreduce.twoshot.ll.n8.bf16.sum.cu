#include "coll/device.h"

namespace {

constexpr int N = 8;
using T = coll::BF16;
using Op = coll::Sum;

struct Args {
  coll::Team<N> team;
  const T *x;
  T *y;
  coll::u64 M;         // elements of x and y
  coll::u64 onePacket; // whether every thread has at most one packet, and all are whole and aligned
};

using Rs = coll::ll::Mailbox<T, N, 0, 9344, 8, 32768, 1>; // rs: number, offset, slots, lines a slot, copies
using Ag = coll::ll::Mailbox<T, N, 1, 4203648, 8, 32768, 1>;
using Packet = Rs::P;

template <class Shape>
__device__ inline void twoshot(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();
  const coll::Pieces<Shape, T, N> pieces(a.M); // split(…, N)

  Shape::forEach(launch, Packet::count(pieces.piece), [&](coll::u32 i) {
    // allreduce.coll:17   forall p in ranks: X[p] -> p.rs[me]
    Packet X[N];
#pragma unroll
    for (int hop = 0; hop < N; ++hop) {
      const coll::u32 p = coll::rankAt<N>(me, hop);
      if (coll::reaches<Shape, Packet>(i, pieces.size(p)))
        X[hop] = coll::load<Shape, Packet>(launch, a.x + pieces.begin(p), i, pieces.size(p));
    }
    launch.begin();
#pragma unroll
    for (int hop = 1; hop < N; ++hop)
      if (coll::reaches<Shape, Packet>(i, pieces.size(coll::rankAt<N>(me, hop)))) Rs::send(launch, hop, me, i, X[hop]);

    // allreduce.coll:18   let s = reduce(op, r in ranks: rs[r])
    Packet s = {};
    if (coll::reaches<Shape, Packet>(i, pieces.size(me))) {
      s = coll::reduceSlots<Op, T, Rs>(launch, i, X[0]);

      // allreduce.coll:19   forall p in ranks: s -> p.ag[me]
#pragma unroll
      for (int hop = 1; hop < N; ++hop) Ag::send(launch, hop, me, i, s);
    }

    // allreduce.coll:20   forall r in ranks: Y[r] = ag[r]
    coll::eachSlot<Ag>(
        launch, i, s, [&](coll::u32 r) { return coll::reaches<Shape, Packet>(i, pieces.size(r)); },
        [&](coll::u32 r, const Packet &Yr) { coll::store<Shape>(launch, a.y + pieces.begin(r), i, pieces.size(r), Yr); });
  });
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
allreduce_twoshot_ll_n8_bf16_sum(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) twoshot<coll::OnePacket>(launch, a);
  else twoshot<coll::AnyPackets>(launch, a);
  launch.finish();
}
