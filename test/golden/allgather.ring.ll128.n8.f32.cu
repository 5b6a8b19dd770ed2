// allgather.ring.ll128   N = 8   f32   generated from allgather.coll
//
// Contract  forall r in ranks: y[r] == r.x
// Mailbox   box[7], ll128, 2 copies, of which a launch uses its epoch mod 2; a slot holds 1049280 bytes
// Proof     box: 2 copies; every rank waits for every other in each launch, so whoever writes epoch e+2 has received
//           e+1 from the reader of e (rule T1)
// Rests on  the PTX memory model; of hardware, beyond the model, that aligned lines of 128 bytes, each stored and
//           loaded by 8 threads of a warp at once, arrive whole, which platforms have to declare, and that no store
//           is performed before the wait that precedes it in its thread has ended, and that the end of a kernel is a
//           fence for what the rank's next launch sends; of the host, one launch in flight per region and the same
//           sequence of launches on all ranks
#include "coll/ll128.h"
#include "coll/slots.h"

namespace {

constexpr int N = 8;
using T = float;

struct Args {
  coll::Team<N> team;
  const T *x; // T[M]
  T *y; // T[N][M]
  coll::u64 M;
  coll::u64 onePacket; // every thread has at most one packet, and all are whole and aligned
};

// type, ranks, number, offset in the region, slots, packets a slot, copies
using Box = coll::ll128::Mailbox<T, N, 0, 1152, 7, 34976, 2>;
using Packet = coll::ll128::Packet<T>; // what a thread handles at a time

template <class Shape>
__device__ inline void ring(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();

  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    // allgather.coll:18    x -> (me + 1).box[0]
    const Packet x = coll::load<Shape, Packet>(launch, a.x, i, a.M);
    launch.begin();
    Box::send(launch, 1, 0, i, x);

    // allgather.coll:19    y[me] = x
    coll::store<Shape>(launch, a.y + me * (a.M), i, a.M, x);

    // allgather.coll:20    for s in 1 .. N - 2 {
#pragma unroll
    for (int s = 1; s <= 6; ++s) {
      // allgather.coll:21    let part = box[s - 1]
      const Packet part_2 = coll::readSlot<Box>(launch, s - 1, i);

      // allgather.coll:22    part -> (me + 1).box[s]
      Box::send(launch, 1, s, i, part_2);

      // allgather.coll:23    y[me - s] = part
      coll::store<Shape>(launch, a.y + coll::rankAt<N>(me, N - s) * (a.M), i, a.M, part_2);
    }

    // allgather.coll:25    y[me + 1] = box[N - 2]
    const Packet box = coll::readSlot<Box>(launch, 6, i);
    coll::store<Shape>(launch, a.y + coll::rankAt<N>(me, 1) * (a.M), i, a.M, box);
  });
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
allgather_ring_ll128_n8_f32(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) ring<coll::OnePacket>(launch, a);
  else ring<coll::AnyPackets>(launch, a);
}
