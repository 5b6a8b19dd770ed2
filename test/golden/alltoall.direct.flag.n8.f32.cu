// alltoall.direct.flag   N = 8   f32   generated from alltoall.coll
//
// Contract  forall r in ranks: y[r] == r.x[me]
// Mailbox   box[8], flag, 2 copies, of which a launch uses its epoch mod 2; a slot holds 1048576 bytes
// Proof     box: 2 copies; every rank waits for every other in each launch, so whoever writes epoch e+2 has received
//           e+1 from the reader of e (rule T1)
// Rests on  the PTX memory model alone; of the host, one launch in flight per region and the same sequence of
//           launches, of the same grid each, on all ranks
#include "coll/flag.h"
#include "coll/slots.h"

namespace {

constexpr int N = 8;
using T = float;

struct Args {
  coll::Team<N> team;
  const T *x; // T[N][M]
  T *y; // T[N][M]
  coll::u64 M;
  coll::u64 onePacket; // every thread has at most one packet, and all are whole and aligned
};

// type, ranks, number, offset in the region, slots, packets a slot, copies
using Box = coll::flag::Mailbox<T, N, 0, 1152, 8, 65536, 2>;
using Packet = coll::Packet<T, 16>; // what a thread handles at a time

template <class Shape>
__device__ inline void direct(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();

  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    // alltoall.coll:10    forall p in ranks: x[p] -> p.box[me]
    Packet x[N]; // by how many places the rank is after me
#pragma unroll
    for (int hop = 1; hop < N; ++hop) {
      const coll::u32 p = coll::rankAt<N>(me, hop);
      x[hop] = coll::load<Shape, Packet>(launch, a.x + p * (a.M), i, a.M);
    }
    launch.begin();
#pragma unroll
    for (int hop = 1; hop < N; ++hop) {
      const coll::u32 p = coll::rankAt<N>(me, hop);
      Box::send(launch, hop, me, i, x[hop]);
    }
  });

  Box::announce(launch, me);

  // alltoall.coll:11    forall r in ranks: y[r] = box[r]
  Box::await(launch, 0, N, me);

  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    const Packet x_2 = coll::load<Shape, Packet>(launch, a.x + me * (a.M), i, a.M);
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
alltoall_direct_flag_n8_f32(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) direct<coll::OnePacket>(launch, a);
  else direct<coll::AnyPackets>(launch, a);
}
