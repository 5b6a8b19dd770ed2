// allreduce.twoshot.ll   N = 2   f32, sum   generated from allreduce.coll
//
// Contract  y == reduce(op, r in ranks: r.x), ascending, the same bits on every rank
// Mailbox   rs[2], ll, 1 copy; a slot holds 4194304 bytes
// Mailbox   ag[2], ll, 1 copy; a slot holds 4194304 bytes
// Proof     rs: 1 copy, ag: 1 copy; whoever fills a slot again has, earlier in its launch, received what the reader
//           of the slot sent after reading it (rule T3)
// Rests on  the PTX memory model, 8-byte words of data and flag being single-copy atomic; of hardware, beyond the
//           model, that no store is performed before the wait that precedes it in its thread has ended, and that the
//           end of a kernel is a fence for what the rank's next launch sends; of the host, one launch in flight per
//           region and the same sequence of launches on all ranks
#include "coll/reduce.h"
#include "coll/ll.h"
#include "coll/slots.h"
#include "coll/split.h"

namespace {

constexpr int N = 2;
using T = float;
using Op = coll::Sum;

struct Args {
  coll::Team<N> team;
  const T *x; // T[M]
  T *y; // T[M]
  coll::u64 M;
  coll::u64 onePacket; // every thread has at most one packet, and all are whole and aligned
};

// type, ranks, number, offset in the region, slots, packets a slot, copies
using Rs = coll::ll::Mailbox<T, N, 0, 1152, 2, 524288, 1>;
using Ag = coll::ll::Mailbox<T, N, 1, 16778368, 2, 524288, 1>;
using Packet = coll::Packet<T, 8>; // what a thread handles at a time

template <class Shape>
__device__ inline void twoshot(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();
  const coll::Pieces<Shape, T, N> pieces(a.M); // split(…, N)

  Shape::forEach(launch, Packet::count(pieces.piece), [&](coll::u32 i) {
    // allreduce.coll:22    forall p in ranks: X[p] -> p.rs[me]
    Packet x[N]; // by how many places the rank is after me
#pragma unroll
    for (int hop = 0; hop < N; ++hop) {
      const coll::u32 p = coll::rankAt<N>(me, hop);
      if (!coll::reaches<Shape, Packet>(i, pieces.size(p))) continue;
      x[hop] = coll::load<Shape, Packet>(launch, a.x + pieces.begin(p), i, pieces.size(p));
    }
    launch.begin();
#pragma unroll
    for (int hop = 1; hop < N; ++hop) {
      const coll::u32 p = coll::rankAt<N>(me, hop);
      if (!coll::reaches<Shape, Packet>(i, pieces.size(p))) continue;
      Rs::send(launch, hop, me, i, x[hop]);
    }

    // allreduce.coll:23    let s = reduce(op, r in ranks: rs[r])
    Packet s = {};
    if (coll::reaches<Shape, Packet>(i, pieces.size(me))) {
      s = coll::reduceSlots<Op, T, Rs>(launch, i, x[0]);

      // allreduce.coll:24    forall p in ranks: s -> p.ag[me]
#pragma unroll
      for (int hop = 1; hop < N; ++hop) Ag::send(launch, hop, me, i, s);
    }

    // allreduce.coll:25    forall r in ranks: Y[r] = ag[r]
    coll::eachSlot<Ag>(
        launch, i, s, [&](coll::u32 r) { return coll::reaches<Shape, Packet>(i, pieces.size(r)); },
        [&](coll::u32 r, const Packet &ag) {
          coll::store<Shape>(launch, a.y + pieces.begin(r), i, pieces.size(r), ag);
        });
  });
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
allreduce_twoshot_ll_n2_f32_sum(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) twoshot<coll::OnePacket>(launch, a);
  else twoshot<coll::AnyPackets>(launch, a);
}
