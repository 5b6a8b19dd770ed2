// allreduce.counter128   N = 8   bf16, sum   generated from allreduce.coll
//
// Contract  y == reduce(op, r in ranks: r.x), in any order and rounded at each step, the same bits on every rank but
//           not in every run
// Mailbox   acc[1], counter128, 2 copies, of which a launch uses its epoch mod 2; a slot holds 1049280 bytes
// Mailbox   ag[8], ll128, 1 copy; a slot holds 1049280 bytes
// Proof     acc: 2 copies, ag: 1 copy; every rank waits for every other in each launch, so whoever writes epoch e+2
//           has received e+1 from the reader of e (rule T1); the clear of a slot is released, by the end of its
//           launch at the latest, before whatever leads to the send that fills it again (rule T6)
// Rests on  the PTX memory model; of hardware, beyond the model, that lines of 128 bytes, each added and loaded by 8
//           threads of a warp at once, are summed and seen at once, which platforms have to declare, and that aligned
//           lines of 128 bytes, each stored and loaded by 8 threads of a warp at once, arrive whole, which platforms
//           have to declare, and that no store is performed before the wait that precedes it in its thread has ended,
//           and that the end of a kernel is a fence for what the rank's next launch sends; of the host, links between
//           GPUs that do additions natively, one launch in flight per region and the same sequence of launches on all
//           ranks
#include "coll/reduce.h"
#include "coll/ll128.h"
#include "coll/counter128.h"
#include "coll/slots.h"
#include "coll/split.h"

namespace {

constexpr int N = 8;
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
using Acc = coll::counter128::Mailbox<T, N, 0, 1152, 1, 34976, 2>;
using Ag = coll::ll128::Mailbox<T, N, 1, 2239616, 8, 34976, 1>;
using Packet = coll::counter128::Packet<T>; // what a thread handles at a time

template <class Shape>
__device__ inline void counter128(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();
  const coll::Pieces<Shape, T, N> pieces(a.M); // split(…, N)

  Shape::forEach(launch, Packet::count(pieces.piece), [&](coll::u32 i) {
    // allreduce.coll:159    forall p in ranks: X[p] +> p.acc
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

    // allreduce.coll:160    let s = acc
    Packet s = {};
    if (coll::reaches<Shape, Packet>(i, pieces.size(me))) {
      s = coll::readSlot<Acc>(launch, 0, i);

      // allreduce.coll:161    forall p in ranks: s -> p.ag[me]
#pragma unroll
      for (int hop = 1; hop < N; ++hop) Ag::send(launch, hop, me, i, s);
    }

    // allreduce.coll:162    forall r in ranks: Y[r] = ag[r]
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
allreduce_counter128_n8_bf16_sum(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) counter128<coll::OnePacket>(launch, a);
  else counter128<coll::AnyPackets>(launch, a);
}
