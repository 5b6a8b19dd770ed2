// allreduce.counter.flag   N = 2   bf16, sum   generated from allreduce.coll
//
// Contract  y == reduce(op, r in ranks: r.x), in any order and rounded at each step, the same bits on every rank but
//           not in every run
// Mailbox   acc[1], counter, 1 copy; a slot holds 4194304 bytes
// Mailbox   ag[2], flag, 1 copy; a slot holds 4194304 bytes
// Proof     acc: 1 copy, ag: 1 copy; whoever fills a slot again has, earlier in its launch, received what the reader
//           of the slot sent after reading it (rule T3); the clear of a slot is released, by the end of its launch at
//           the latest, before whatever leads to the send that fills it again (rule T6)
// Rests on  the PTX memory model alone; of the host, links between GPUs that do additions natively, one launch in
//           flight per region and the same sequence of launches, of the same grid each, on all ranks
#include "coll/reduce.h"
#include "coll/flag.h"
#include "coll/counter.h"
#include "coll/slots.h"
#include "coll/split.h"

namespace {

constexpr int N = 2;
using T = coll::BF16;
using Op = coll::Sum;

struct Args {
  coll::Team<N> team;
  const T *x; // T[M]
  T *y; // T[M]
  coll::u64 M;
  coll::u64 onePacket; // every thread has at most one packet, and all are whole and aligned
};

// type, ranks, number, offset in the region, slots, packets a slot, copies
using Acc = coll::counter::Mailbox<T, N, 0, 1152, 1, 262144, 1>;
using Ag = coll::flag::Mailbox<T, N, 1, 4197504, 2, 262144, 1>;
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
    if (coll::reaches<Shape, Packet>(i, pieces.size(me))) {
      const Packet s = coll::readSlot<Acc>(launch, 0, i);

      // allreduce.coll:101    forall p in ranks: s -> p.ag[me]
#pragma unroll
      for (int hop = 0; hop < N; ++hop) Ag::send(launch, hop, me, i, s);
    }
  });

  Ag::announce(launch, me);

  // allreduce.coll:102    forall r in ranks: Y[r] = ag[r]
  Ag::await(launch, 0, N, me);

  Shape::forEach(launch, Packet::count(pieces.piece), [&](coll::u32 i) {
    coll::eachSlot<Ag>(
        launch, i, [&](coll::u32 r) { return coll::reaches<Shape, Packet>(i, pieces.size(r)); },
        [&](coll::u32 r, const Packet &ag) {
          coll::store<Shape>(launch, a.y + pieces.begin(r), i, pieces.size(r), ag);
        });
  });
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
allreduce_counter_flag_n2_bf16_sum(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) counter<coll::OnePacket>(launch, a);
  else counter<coll::AnyPackets>(launch, a);
}
