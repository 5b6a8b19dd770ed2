// allreduce.oneshot.ll   N = 2   f32, sum   generated from allreduce.coll
//
// Contract  y == reduce(op, r in ranks: r.x), ascending, the same bits on every rank
// Mailbox   box[2], ll, 2 copies, of which a launch uses its epoch mod 2; a slot holds 1048576 bytes
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
using Box = coll::ll::Mailbox<T, N, 0, 1152, 2, 131072, 2>;
using Packet = coll::Packet<T, 8>; // what a thread handles at a time

template <class Shape>
__device__ inline void oneshot(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();

  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    // allreduce.coll:11    forall p in ranks: x -> p.box[me]
    const Packet x = coll::load<Shape, Packet>(launch, a.x, i, a.M);
    launch.begin();
#pragma unroll
    for (int hop = 1; hop < N; ++hop) Box::send(launch, hop, me, i, x);

    // allreduce.coll:12    y = reduce(op, r in ranks: box[r])
    const Packet box = coll::reduceSlots<Op, T, Box>(launch, i, x);
    coll::store<Shape>(launch, a.y, i, a.M, box);
  });
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
allreduce_oneshot_ll_n2_f32_sum(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) oneshot<coll::OnePacket>(launch, a);
  else oneshot<coll::AnyPackets>(launch, a);
}
