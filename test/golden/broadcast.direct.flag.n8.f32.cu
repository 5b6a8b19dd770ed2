// broadcast.direct.flag   N = 8   f32   generated from broadcast.coll
//
// Contract  y == root.x
// Mailbox   box[8], flag, 2 copies, of which a launch uses its epoch mod 2; filled again when its readers have said
//           so; a slot holds 1048576 bytes
// Proof     box: 2 copies (1 would do); whoever fills a slot again has waited until its reader has begun a later
//           launch than the one that read it (rule T4, ack)
// Rests on  the PTX memory model alone; of the host, one launch in flight per region and the same sequence of
//           launches, of the same grid each, on all ranks
#include "coll/flag.h"
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
using Box = coll::flag::Mailbox<T, N, 0, 1280, 8, 65536, 2>;
using Credits = coll::Credits<N, 1152, true>; // offset in the region, whether they release
using Packet = coll::Packet<T, 16>; // what a thread handles at a time

template <class Shape>
__device__ inline void direct(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();

  // broadcast.coll:10    mailbox box[N] of T[M] sync S reuse ack
  Credits::give(launch);

  // broadcast.coll:11    if me == root {
  if (me == a.root) {
    // broadcast.coll:12    for s in 1 .. N - 1: x -> (me + s).box[me]
    Credits::awaitWithCta(launch, 2);
  }

  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    // broadcast.coll:11    if me == root {
    if (me == a.root) {
      // broadcast.coll:12    for s in 1 .. N - 1: x -> (me + s).box[me]
      const Packet x = coll::load<Shape, Packet>(launch, a.x, i, a.M);
#pragma unroll
      for (int s = 1; s <= 7; ++s) {
        Box::send(launch, s, me, i, x);
      }

      // broadcast.coll:13    y = x
      coll::store<Shape>(launch, a.y, i, a.M, x);
    }
  });

  // broadcast.coll:11    if me == root {
  if (me == a.root) {
    // broadcast.coll:12    for s in 1 .. N - 1: x -> (me + s).box[me]
    Box::announce(launch, me);
  }

  // broadcast.coll:11    if me == root {
  if (me != a.root) {
    // broadcast.coll:14    } else: y = box[root]
    Box::await(launch, a.root, 1, me);

    Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
      const Packet box = coll::readSlot<Box>(launch, a.root, i);
      coll::store<Shape>(launch, a.y, i, a.M, box);
    });
  }
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
broadcast_direct_flag_n8_f32(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) direct<coll::OnePacket>(launch, a);
  else direct<coll::AnyPackets>(launch, a);
}
