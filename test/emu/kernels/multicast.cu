// One-shot all-reduce of which every rank sends its vector to all by multicast, sync SYNC: ll, flag or barrier. Defects:
// TORN_LINES stores a line of ll in words of 4 bytes; NO_BARRIER leaves out the barrier between writes and reads; and
// OWN_AT_ONCE reads this rank's own slot before anything says that it is there: a multicast reaches the sender in its own
// time, too.
#include "coll/device.h"

namespace {

constexpr int N = RANKS;
using T = TYPE;
using Op = coll::Sum;

struct Args {
  coll::Team<N> team;
  char *all;
  const T *x;
  T *y;
  coll::u64 M;
  coll::u64 onePacket;
};

using Whole = coll::SYNC::Mailbox<T, N, 0, coll::region::headerBytes(N, BARRIERS), N, LINES, COPIES>;
struct Box : Whole {
#ifdef TORN_LINES
  static constexpr coll::u32 kWordBytes = 4;
#endif
};
using Packet = Box::P;

template <class Shape>
__device__ inline void oneshot(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();
  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    const auto x = coll::load<Shape, Packet>(launch, a.x, i, a.M);
    coll::sendToAll<Box>(launch, a.all, me, i, x);
  });
#ifdef OWN_AT_ONCE
  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    coll::store<Shape>(launch, a.y, i, a.M, coll::readSlot<Whole>(launch, me, i));
  });
#endif
#if BARRIERS && !defined(NO_BARRIER)
  launch.barrier(0);
#endif
#ifdef FLAGS
  Box::announce(launch, me);
  Box::await(launch, 0, N, me); // its own slot is released before the CTA meets
#endif
  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
#ifdef OWN_AT_ONCE
    Packet own = coll::load<Shape, Packet>(launch, a.y, i, a.M);
    coll::store<Shape>(launch, a.y, i, a.M, coll::reduceSlots<Op, T, Whole>(launch, i, own));
#else
    coll::store<Shape>(launch, a.y, i, a.M, coll::reduceSlots<Op, T, Whole>(launch, i));
#endif
  });
}

} // namespace

extern "C" __global__ void __launch_bounds__(512) allreduce(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) oneshot<coll::OnePacket>(launch, a);
  else oneshot<coll::AnyPackets>(launch, a);
  launch.finish();
}
