// broadcast.direct.ll128   N = 8   f32   generated from broadcast.coll
//
// Contract  y == root.x
// Mailbox   box[8], ll128, 2 copies, of which a launch uses its epoch mod 2; filled again when its readers have said
//           so; a slot holds 1049280 bytes
// Proof     box: 2 copies (1 would do); whoever fills a slot again has waited until its reader has begun a later
//           launch than the one that read it (rule T4, ack)
// Rests on  the PTX memory model; of hardware, beyond the model, that aligned lines of 128 bytes, each stored and
//           loaded by 8 threads of a warp at once, arrive whole, which platforms have to declare, and that no store
//           is performed before the wait that precedes it in its thread has ended, and that the end of a kernel is a
//           fence for what the rank's next launch sends; of the host, one launch in flight per region and the same
//           sequence of launches on all ranks
#include "coll/ll128.h"
#include "coll/credit.h"
#include "coll/slots.h"

namespace {

constexpr int N = 8;
using T = float;

struct Args {
  coll::Team<N> team;
  const T *x; // T[M]
  T *y; // T[M]
  coll::u64 M;
  alignas(8) coll::u32 root; // a rank
  coll::u64 onePacket; // every thread has at most one packet, and all are whole and aligned
};

// type, ranks, number, offset in the region, slots, packets a slot, copies
using Box = coll::ll128::Mailbox<T, N, 0, 1280, 8, 34976, 2>;
using Credits = coll::Credits<N, 1152, false>; // offset in the region, whether they release
using Packet = coll::ll128::Packet<T>; // what a thread handles at a time

template <class Shape>
__device__ inline void direct(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();

  Credits credits; // what this thread has waited for
  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    // broadcast.coll:11    if me == root {
    if (me == a.root) {
      // broadcast.coll:12    for s in 1 .. N - 1: x -> (me + s).box[me]
      const Packet x = coll::load<Shape, Packet>(launch, a.x, i, a.M);
      launch.begin();
      Credits::give(launch, i, Packet::count(a.M)); // this launch has begun: all that was read before is read
      credits.await(launch, 2);
#pragma unroll
      for (int s = 1; s <= 7; ++s) {
        Box::send(launch, s, me, i, x);
      }

      // broadcast.coll:13    y = x
      coll::store<Shape>(launch, a.y, i, a.M, x);
    } else {
      // broadcast.coll:14    } else: y = box[root]
      launch.begin();
      Credits::give(launch, i, Packet::count(a.M)); // this launch has begun: all that was read before is read
      const Packet box = coll::readSlot<Box>(launch, a.root, i);
      coll::store<Shape>(launch, a.y, i, a.M, box);
    }
  });
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
broadcast_direct_ll128_n8_f32(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) direct<coll::OnePacket>(launch, a);
  else direct<coll::AnyPackets>(launch, a);
}
