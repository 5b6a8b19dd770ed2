// allgather.multimem.barrier   N = 8   f32   generated from allgather.coll
//
// Contract  forall r in ranks: y[r] == r.x
// Mailbox   box[8], barrier, 2 copies, of which a launch uses its epoch mod 2; a slot holds 1048576 bytes
// Proof     box: 2 copies; every rank waits for every other in each launch, so whoever writes epoch e+2 has passed a
//           barrier of e+1 with the reader of e (rule T1)
// Rests on  the PTX memory model; of hardware, beyond the model, that what is stored and loaded by multicast is
//           ordered as if each place had one address; of the host, one launch in flight per region and the same
//           sequence of launches, of the same grid each, on all ranks
#include "coll/plain.h"
#include "coll/slots.h"
#include "coll/multicast.h"

namespace {

constexpr int N = 8;
using T = float;

struct Args {
  coll::Team<N> team;
  char *all; // the regions of all ranks at once; null without multicast
  const T *x; // T[M]
  T *y; // T[N][M]
  coll::u64 M;
  coll::u64 onePacket; // every thread has at most one packet, and all are whole and aligned
};

// type, ranks, number, offset in the region, slots, packets a slot, copies
using Box = coll::plain::Mailbox<T, N, 0, 9344, 8, 65536, 2>;
using Packet = coll::Packet<T, 16>; // what a thread handles at a time

template <class Shape>
__device__ inline void multimem(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();

  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    // allgather.coll:73    x -> all.box[me]
    const Packet x = coll::load<Shape, Packet>(launch, a.x, i, a.M);
    launch.begin();
    coll::sendToOthers<Box>(launch, a.all, me, i, x);
  });

  // allgather.coll:74    forall r in ranks: y[r] = box[r]
  launch.barrier(0);

  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    const Packet x_2 = coll::load<Shape, Packet>(launch, a.x, i, a.M);
    coll::eachSlot<Box>(
        launch, i, x_2, [](coll::u32) { return true; },
        [&](coll::u32 r, const Packet &box) {
          coll::store<Shape>(launch, a.y + r * (a.M), i, a.M, box);
        });
  });
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
allgather_multimem_barrier_n8_f32(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) multimem<coll::OnePacket>(launch, a);
  else multimem<coll::AnyPackets>(launch, a);
}
