// allreduce.doubling.ll   N = 2   f32, sum   generated from allreduce.coll
//
// Contract  y == reduce(op, r in ranks: r.x), combined alike on every rank and rounded at each step
// Mailbox   box[1], ll, 2 copies, of which a launch uses its epoch mod 2; a slot holds 262144 bytes
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
using Box = coll::ll::Mailbox<T, N, 0, 1152, 1, 32768, 2>;
using Packet = coll::Packet<T, 8>; // what a thread handles at a time

template <class Shape>
__device__ inline void doubling(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();

  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    // allreduce.coll:35    var total = x
    Packet total = coll::load<Shape, Packet>(launch, a.x, i, a.M);

    // allreduce.coll:39    for k in 0 .. log2(N) - 1 {
    launch.begin();
#pragma unroll
    for (int k = 0; k <= 0; ++k) {
      // allreduce.coll:40    total -> (me ^ (1 << k)).box[k]
      Box::send(launch, coll::hopTo<N>(me, me ^ (1 << k)), k, i, total);

      // allreduce.coll:41    total = op(total, box[k])
      const Packet box = coll::readSlot<Box>(launch, k, i);
      total = coll::combine<Op, T>(total, box);
    }

    // allreduce.coll:46    y = total
    coll::store<Shape>(launch, a.y, i, a.M, total);
  });
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
allreduce_doubling_ll_n2_f32_sum(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) doubling<coll::OnePacket>(launch, a);
  else doubling<coll::AnyPackets>(launch, a);
}
