// scatter.direct.ll   N = 8   bf16   generated from scatter.coll
//
// Contract  y == root.x[me]
// Mailbox   box[8], ll, 2 copies, of which a launch uses its epoch mod 2; filled again when its readers have said so;
//           a slot holds 1048576 bytes
// Proof     box: 2 copies (1 would do); whoever fills a slot again has waited until its reader has begun a later
//           launch than the one that read it (rule T4, ack)
// Rests on  the PTX memory model, 8-byte words of data and flag being single-copy atomic; of hardware, beyond the
//           model, that no store is performed before the wait that precedes it in its thread has ended, and that the
//           end of a kernel is a fence for what the rank's next launch sends; of the host, one launch in flight per
//           region and the same sequence of launches on all ranks
#include "coll/ll.h"
#include "coll/credit.h"
#include "coll/slots.h"

namespace {

constexpr int N = 8;
using T = coll::BF16;

struct Args {
  coll::Team<N> team;
  const T *x; // T[N][M]
  T *y; // T[M]
  coll::u64 M;
  alignas(8) coll::u32 root; // a rank
  coll::u64 onePacket; // every thread has at most one packet, and all are whole and aligned
};

// type, ranks, number, offset in the region, slots, packets a slot, copies
using Box = coll::ll::Mailbox<T, N, 0, 1280, 8, 131072, 2>;
using Credits = coll::Credits<N, 1152, false>; // offset in the region, whether they release
using Packet = coll::Packet<T, 8>; // what a thread handles at a time

template <class Shape>
__device__ inline void direct(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();

  Credits credits; // what this thread has waited for
  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    // scatter.coll:10    if me == root {
    launch.begin();
    Credits::give(launch, i, Packet::count(a.M)); // this launch has begun: all that was read before is read
    if (me == a.root) {
      // scatter.coll:11    for s in 1 .. N - 1: x[me + s] -> (me + s).box[me]
      credits.await(launch, 2);
      Packet x[8]; // by s
#pragma unroll
      for (int s = 1; s <= 7; ++s) {
        x[s] = coll::load<Shape, Packet>(launch, a.x + coll::rankAt<N>(me, s) * (a.M), i, a.M);
      }
#pragma unroll
      for (int s = 1; s <= 7; ++s) {
        Box::send(launch, s, me, i, x[s]);
      }
      // scatter.coll:12    y = x[me]
      const Packet x_2 = coll::load<Shape, Packet>(launch, a.x + me * (a.M), i, a.M);
      coll::store<Shape>(launch, a.y, i, a.M, x_2);
    } else {
      // scatter.coll:13    } else: y = box[root]
      const Packet box = coll::readSlot<Box>(launch, a.root, i);
      coll::store<Shape>(launch, a.y, i, a.M, box);
    }
  });
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
scatter_direct_ll_n8_bf16(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) direct<coll::OnePacket>(launch, a);
  else direct<coll::AnyPackets>(launch, a);
}
