// allreduce.counter.sentinel   N = 8   f32, sum   generated from allreduce.coll
//
// Contract  y == reduce(op, r in ranks: r.x), in any order and rounded at each step, the same bits on every rank but
//           not in every run
// Mailbox   acc[1], counter, 2 copies, of which a launch uses its epoch mod 2; a slot holds 1048576 bytes
// Mailbox   ag[8], sentinel, 1 copy; a slot holds 1048576 bytes
// Proof     acc: 2 copies, ag: 1 copy; every rank waits for every other in each launch, so whoever writes epoch e+2
//           has received e+1 from the reader of e (rule T1); the clear of a slot is released, by the end of its
//           launch at the latest, before whatever leads to the send that fills it again (rule T6)
// Rests on  the PTX memory model, all 32-bit words of a packet being compared, so that none of it is taken before it
//           has arrived; of hardware, beyond the model, that no store is performed before the wait that precedes it
//           in its thread has ended, and that the end of a kernel is a fence for what the rank's next launch sends;
//           of the host, links between GPUs that do additions natively, slots that hold the sentinel before the first
//           launch, one launch in flight per region and the same sequence of launches, of the same grid each, on all
//           ranks
#include "coll/reduce.h"
#include "coll/sentinel.h"
#include "coll/counter.h"
#include "coll/slots.h"
#include "coll/split.h"

namespace {

constexpr int N = 8;
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
using Acc = coll::counter::Mailbox<T, N, 0, 1152, 1, 65536, 2>;
using Ag = coll::sentinel::Mailbox<T, N, 1, 2100352, 8, 65536, 1>;
using Packet = coll::Packet<T, 16>; // what a thread handles at a time

template <class Shape>
__device__ inline void counter(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();
  const coll::Pieces<Shape, T, N> pieces(a.M); // split(…, N)

  Shape::forEach(launch, Packet::count(pieces.piece), [&](coll::u32 i) {
    // allreduce.coll:99    forall p in ranks: X[p] +> p.acc
    Packet x[N]; // by how many places the rank is after me
#pragma unroll
    for (int hop = 0; hop < N; ++hop) {
      const coll::u32 p = coll::rankAt<N>(me, hop);
      if (!coll::reaches<Shape, Packet>(i, pieces.size(p))) continue;
      x[hop] = coll::load<Shape, Packet>(launch, a.x + pieces.begin(p), i, pieces.size(p));
    }
    launch.begin();
#pragma unroll
    for (int hop = 0; hop < N; ++hop) {
      const coll::u32 p = coll::rankAt<N>(me, hop);
      if (!coll::reaches<Shape, Packet>(i, pieces.size(p))) continue;
      Acc::send(launch, hop, 0, i, x[hop]);
    }
  });

  Acc::announce(launch, 0);

  // allreduce.coll:100    let s = acc
  Acc::await(launch, 0, 1);

  Shape::forEach(launch, Packet::count(pieces.piece), [&](coll::u32 i) {
    Packet s = {};
    if (coll::reaches<Shape, Packet>(i, pieces.size(me))) {
      s = coll::readSlot<Acc>(launch, 0, i);

      // allreduce.coll:101    forall p in ranks: s -> p.ag[me]
#pragma unroll
      for (int hop = 1; hop < N; ++hop) Ag::send(launch, hop, me, i, s);
    }

    // allreduce.coll:102    forall r in ranks: Y[r] = ag[r]
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
allreduce_counter_sentinel_n8_f32_sum(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) counter<coll::OnePacket>(launch, a);
  else counter<coll::AnyPackets>(launch, a);
}
