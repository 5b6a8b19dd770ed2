// reduce_scatter.ring.ll   N = 2   bf16, sum   generated from reduce_scatter.coll
//
// Contract  y == reduce(op, r in ranks: r.x[me]), combined alike on every rank and rounded at each step
// Mailbox   box[1], ll, 2 copies, of which a launch uses its epoch mod 2; a slot holds 4194304 bytes
// Proof     box: 2 copies; every rank waits for every other in each launch, so whoever writes epoch e+2 has received
//           e+1 from the reader of e (rule T1)
// Rests on  the PTX memory model, 8-byte words of data and flag being single-copy atomic; of hardware, beyond the
//           model, that no store is performed before the wait that precedes it in its thread has ended, and that the
//           end of a kernel is a fence for what the rank's next launch sends; of the host, one launch in flight per
//           region and the same sequence of launches on all ranks
#include "coll/reduce.h"
#include "coll/ll.h"
#include "coll/slots.h"

namespace {

constexpr int N = 2;
using T = coll::BF16;
using Op = coll::Sum;

struct Args {
  coll::Team<N> team;
  const T *x; // T[N][M]
  T *y; // T[M]
  coll::u64 M;
  coll::u64 onePacket; // every thread has at most one packet, and all are whole and aligned
};

// type, ranks, number, offset in the region, slots, packets a slot, copies
using Box = coll::ll::Mailbox<T, N, 0, 1152, 1, 524288, 2>;
using Packet = coll::Packet<T, 8>; // what a thread handles at a time

template <class Shape>
__device__ inline void ring(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();

  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    // reduce_scatter.coll:18    x[me - 1] -> (me + 1).box[0]
    const Packet x = coll::load<Shape, Packet>(launch, a.x + coll::rankAt<N>(me, 1) * (a.M), i, a.M);
    launch.begin();
    Box::send(launch, 1, 0, i, x);

    // reduce_scatter.coll:20    y = op(box[N - 2], x[me])
    const Packet x_2 = coll::load<Shape, Packet>(launch, a.x + me * (a.M), i, a.M);
    const Packet box = coll::readSlot<Box>(launch, 0, i);
    const Packet sum = coll::combine<Op, T>(box, x_2);
    coll::store<Shape>(launch, a.y, i, a.M, sum);
  });
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
reduce_scatter_ring_ll_n2_bf16_sum(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) ring<coll::OnePacket>(launch, a);
  else ring<coll::AnyPackets>(launch, a);
}
