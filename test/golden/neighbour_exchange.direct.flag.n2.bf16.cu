// neighbour_exchange.direct.flag   N = 2   bf16   generated from neighbour_exchange.coll
//
// Contract  from_left == (me - 1).to_right
// Contract  from_right == (me + 1).to_left
// Mailbox   left[1], flag, 2 copies, of which a launch uses its epoch mod 2; a slot holds 8388608 bytes
// Mailbox   right[1], flag, 2 copies, of which a launch uses its epoch mod 2; a slot holds 8388608 bytes
// Proof     left: 2 copies, right: 2 copies; every rank waits for every other in each launch, so whoever writes epoch
//           e+2 has received e+1 from the reader of e (rule T1)
// Rests on  the PTX memory model alone; of the host, one launch in flight per region and the same sequence of
//           launches, of the same grid each, on all ranks
#include "coll/flag.h"
#include "coll/slots.h"

namespace {

constexpr int N = 2;
using T = coll::BF16;

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
using Left = coll::flag::Mailbox<T, N, 0, 1152, 1, 524288, 2>;
using Right = coll::flag::Mailbox<T, N, 1, 16779392, 1, 524288, 2>;
using Packet = coll::Packet<T, 16>; // what a thread handles at a time

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
  });

  // neighbour_exchange.coll:12    to_left -> (me - 1).right
  Right::announce(launch, 1, 0);

  // neighbour_exchange.coll:13    to_right -> (me + 1).left
  Left::announce(launch, 1, 0);

  // neighbour_exchange.coll:14    from_left = left
  Left::await(launch, 0, 1);

  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    const Packet left = coll::readSlot<Left>(launch, 0, i);
    coll::store<Shape>(launch, a.from_left, i, a.M, left);
  });

  // neighbour_exchange.coll:15    from_right = right
  Right::await(launch, 0, 1);

  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    const Packet right = coll::readSlot<Right>(launch, 0, i);
    coll::store<Shape>(launch, a.from_right, i, a.M, right);
  });
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
neighbour_exchange_direct_flag_n2_bf16(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) direct<coll::OnePacket>(launch, a);
  else direct<coll::AnyPackets>(launch, a);
}
