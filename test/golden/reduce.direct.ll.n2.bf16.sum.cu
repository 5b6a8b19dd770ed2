// reduce.direct.ll   N = 2   bf16, sum   generated from reduce.coll
//
// Contract  me != root or y == reduce(op, r in ranks: r.x), ascending, accumulated in f32 and rounded once, the same
//           bits on every rank
// Mailbox   box[2], ll, 2 copies, of which a launch uses its epoch mod 2; filled again when its readers have said so;
//           a slot holds 1048576 bytes
// Proof     box: 2 copies (1 would do); whoever fills a slot again has waited until its reader has begun a later
//           launch than the one that read it (rule T4, ack)
// Rests on  the PTX memory model, 8-byte words of data and flag being single-copy atomic; of hardware, beyond the
//           model, that no store is performed before the wait that precedes it in its thread has ended, and that the
//           end of a kernel is a fence for what the rank's next launch sends; of the host, one launch in flight per
//           region and the same sequence of launches on all ranks
#include "coll/reduce.h"
#include "coll/ll.h"
#include "coll/credit.h"
#include "coll/slots.h"

namespace {

constexpr int N = 2;
using T = coll::BF16;
using Op = coll::Sum;

struct Args {
  coll::Team<N> team;
  const T *x; // T[M]
  T *y; // T[M]
  coll::u64 M;
  alignas(8) coll::u32 root; // a rank
  coll::u64 onePacket; // every thread has at most one packet, and all are whole and aligned
};

// type, ranks, number, offset in the region, slots, packets a slot, copies
using Box = coll::ll::Mailbox<T, N, 0, 1280, 2, 131072, 2>;
using Credits = coll::Credits<N, 1152, false>; // offset in the region, whether they release
using Packet = coll::Packet<T, 8>; // what a thread handles at a time

template <class Shape>
__device__ inline void direct(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();

  Credits credits; // what this thread has waited for
  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    // reduce.coll:10    x -> root.box[me]
    const Packet x = coll::load<Shape, Packet>(launch, a.x, i, a.M);
    launch.begin();
    Credits::give(launch, i, Packet::count(a.M)); // this launch has begun: all that was read before is read
    credits.await(launch, 2, coll::hopTo<N>(me, a.root));
    if (me != a.root) Box::send(launch, coll::hopTo<N>(me, a.root), me, i, x);

    // reduce.coll:11    if me == root: y = reduce(op, r in ranks: box[r])
    if (me == a.root) {
      const Packet box = coll::reduceSlots<Op, T, Box>(launch, i, x);
      coll::store<Shape>(launch, a.y, i, a.M, box);
    }
  });
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
reduce_direct_ll_n2_bf16_sum(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) direct<coll::OnePacket>(launch, a);
  else direct<coll::AnyPackets>(launch, a);
}
