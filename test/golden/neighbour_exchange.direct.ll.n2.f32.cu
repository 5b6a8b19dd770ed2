// neighbour_exchange.direct.ll   N = 2   f32   generated from neighbour_exchange.coll
//
// Contract  from_left == (me - 1).to_right
// Contract  from_right == (me + 1).to_left
// Mailbox   left[1], ll, 2 copies, of which a launch uses its epoch mod 2; a slot holds 8388608 bytes
// Mailbox   right[1], ll, 2 copies, of which a launch uses its epoch mod 2; a slot holds 8388608 bytes
// Proof     left: 2 copies, right: 2 copies; every rank waits for every other in each launch, so whoever writes epoch
//           e+2 has received e+1 from the reader of e (rule T1)
// Rests on  the PTX memory model, 8-byte words of data and flag being single-copy atomic; of hardware, beyond the
//           model, that no store is performed before the wait that precedes it in its thread has ended, and that the
//           end of a kernel is a fence for what the rank's next launch sends; of the host, one launch in flight per
//           region and the same sequence of launches on all ranks
#include "coll/ll.h"
#include "coll/slots.h"

namespace {

constexpr int N = 2;
using T = float;

struct Args {
  coll::Team<N> team;
  const T *to_left; // T[M]
  const T *to_right; // T[M]
  T *from_left; // T[M]
  T *from_right; // T[M]
  coll::u64 M;
  coll::u64 onePacket; // every thread has at most one packet, and all are whole and aligned
};

// type, ranks, number, offset in the region, slots, packets a slot, copies
using Left = coll::ll::Mailbox<T, N, 0, 1152, 1, 1048576, 2>;
using Right = coll::ll::Mailbox<T, N, 1, 33555584, 1, 1048576, 2>;
using Packet = coll::Packet<T, 8>; // what a thread handles at a time

template <class Shape>
__device__ inline void direct(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();

  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    // neighbour_exchange.coll:12    to_left -> (me - 1).right
    const Packet to_left = coll::load<Shape, Packet>(launch, a.to_left, i, a.M);
    launch.begin();
    Right::send(launch, 1, 0, i, to_left);

    // neighbour_exchange.coll:13    to_right -> (me + 1).left
    const Packet to_right = coll::load<Shape, Packet>(launch, a.to_right, i, a.M);
    Left::send(launch, 1, 0, i, to_right);

    // neighbour_exchange.coll:14    from_left = left
    const Packet left = coll::readSlot<Left>(launch, 0, i);
    coll::store<Shape>(launch, a.from_left, i, a.M, left);

    // neighbour_exchange.coll:15    from_right = right
    const Packet right = coll::readSlot<Right>(launch, 0, i);
    coll::store<Shape>(launch, a.from_right, i, a.M, right);
  });
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
neighbour_exchange_direct_ll_n2_f32(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) direct<coll::OnePacket>(launch, a);
  else direct<coll::AnyPackets>(launch, a);
}
