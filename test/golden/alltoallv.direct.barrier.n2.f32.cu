// alltoallv.direct.barrier   N = 2   f32   generated from alltoallv.coll
//
// Contract  forall r in ranks: got[r] == r.n[me]
// Contract  forall r in ranks: prefix(y[r], got[r]) == prefix(r.x[me], got[r])
// Mailbox   box[2], barrier, 2 copies, of which a launch uses its epoch mod 2; a message says how long it is; a slot
//           holds 4194304 bytes
// Proof     box: 2 copies; every rank waits for every other in each launch, so whoever writes epoch e+2 has passed a
//           barrier of e+1 with the reader of e (rule T1)
// Rests on  the PTX memory model alone; of the host, one launch in flight per region and the same sequence of
//           launches, of the same grid each, on all ranks
#include "coll/ll.h"
#include "coll/plain.h"
#include "coll/counted.h"

namespace {

constexpr int N = 2;
using T = float;

struct Args {
  coll::Team<N> team;
  const T *x; // T[N][M]
  const coll::u32 *n; // u32[N]
  T *y; // T[N][M]
  coll::u32 *got; // u32[N]
  coll::u64 M;
  coll::u64 onePacket; // every thread has at most one packet, and all are whole and aligned
};

// type, ranks, number, offset in the region, slots, packets a slot, copies
using Box = coll::Counted<coll::plain::Mailbox<T, N, 0, 3200, 2, 262144, 2>, coll::ll::Mailbox<coll::u32, N, 0, 16780416, 2, 1, 2>>;
using Packet = coll::Packet<T, 16>; // what a thread handles at a time

template <class Shape>
__device__ inline void direct(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();

  Shape::forEach(launch, Packet::count(coll::atLeastOne(a.M)), [&](coll::u32 i) {
    // alltoallv.coll:12    forall p in ranks: prefix(x[p], n[p]) -> p.box[me]
    launch.begin();
    coll::u32 n[N]; // by how many places the rank is after me
#pragma unroll
    for (int hop = 0; hop < N; ++hop) {
      const coll::u32 p = coll::rankAt<N>(me, hop);
      n[hop] = coll::countAt(launch, a.n, p, a.M);
    }
    Packet x[N]; // all there may be, not waiting for the count
#pragma unroll
    for (int hop = 0; hop < N; ++hop) {
      const coll::u32 p = coll::rankAt<N>(me, hop);
      x[hop] = coll::load<Shape, Packet>(launch, a.x + p * (a.M), i, a.M);
    }
#pragma unroll
    for (int hop = 1; hop < N; ++hop) Box::send(launch, hop, me, i, x[hop], n[hop]);
  });

  // alltoallv.coll:14    got[r] = box[r].count
  launch.barrier(0);

  coll::Messages<N> messages; // how long this thread knows them to be
  Shape::forEach(launch, Packet::count(coll::atLeastOne(a.M)), [&](coll::u32 i) {
    // alltoallv.coll:13    forall r in ranks {
    const coll::u32 n_2 = coll::countAt(launch, a.n, me, a.M);
    const Packet x_2 = coll::load<Shape, Packet>(launch, a.x + me * (a.M), i, a.M); // all there may be
    coll::eachMessage<Box>(
        launch, messages, i, a.M, n_2, x_2,
        [&](coll::u32 r, coll::u32 count, const Packet &box) {
          // alltoallv.coll:14    got[r] = box[r].count
          coll::storeCount(launch, a.got + r, i, count);

          // alltoallv.coll:15    prefix(y[r], got[r]) = box[r]
          coll::storeFirst(launch, a.y + r * (a.M), i, count, box);
        });
  });
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
alltoallv_direct_barrier_n2_f32(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) direct<coll::OnePacket>(launch, a);
  else direct<coll::AnyPackets>(launch, a);
}
