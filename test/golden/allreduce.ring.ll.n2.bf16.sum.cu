// allreduce.ring.ll   N = 2   bf16, sum   generated from allreduce.coll
//
// Contract  y == reduce(op, r in ranks: r.x), combined alike on every rank and rounded at each step
// Mailbox   rs[1], ll, 1 copy; a slot holds 4194304 bytes
// Mailbox   ag[1], ll, 1 copy; a slot holds 4194304 bytes
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
using Rs = coll::ll::Mailbox<T, N, 0, 1152, 1, 524288, 1>;
using Ag = coll::ll::Mailbox<T, N, 1, 8389760, 1, 524288, 1>;
using Packet = coll::Packet<T, 8>; // what a thread handles at a time

template <class Shape>
__device__ inline void ring(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();
  const coll::Pieces<Shape, T, N> pieces(a.M); // split(…, N)

  Shape::forEach(launch, Packet::count(pieces.piece), [&](coll::u32 i) {
    // allreduce.coll:56    X[me] -> (me + 1).rs[0]
    launch.begin();
    if (coll::reaches<Shape, Packet>(i, pieces.size(me))) {
      const Packet x = coll::load<Shape, Packet>(launch, a.x + pieces.begin(me), i, pieces.size(me));
      Rs::send(launch, 1, 0, i, x);
    }

    // allreduce.coll:58    let total = op(rs[N - 2], X[me + 1])
    const coll::u32 piece = coll::rankAt<N>(me, 1);
    if (coll::reaches<Shape, Packet>(i, pieces.size(piece))) {
      const Packet x_2 = coll::load<Shape, Packet>(launch, a.x + pieces.begin(piece), i, pieces.size(piece));
      const Packet rs = coll::readSlot<Rs>(launch, 0, i);
      const Packet total = coll::combine<Op, T>(rs, x_2);

      // allreduce.coll:59    total -> (me + 1).ag[0]
      Ag::send(launch, 1, 0, i, total);

      // allreduce.coll:60    Y[me + 1] = total
      coll::store<Shape>(launch, a.y + pieces.begin(piece), i, pieces.size(piece), total);
    }

    // allreduce.coll:66    Y[me + 2] = ag[N - 2]
    if (coll::reaches<Shape, Packet>(i, pieces.size(me))) {
      const Packet ag = coll::readSlot<Ag>(launch, 0, i);
      coll::store<Shape>(launch, a.y + pieces.begin(me), i, pieces.size(me), ag);
    }
  });
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
allreduce_ring_ll_n2_bf16_sum(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) ring<coll::OnePacket>(launch, a);
  else ring<coll::AnyPackets>(launch, a);
}
