// One-shot all-reduce, sync barrier. Defects: NO_BARRIER leaves out the barrier between writes and reads, and with
// COPIES 1 nothing keeps the next launch from overwriting what is being read.
#include "coll/device.h"

namespace {

constexpr int N = RANKS;
using T = TYPE;
using Op = coll::Sum;

struct Args {
  coll::Team<N> team;
  const T *x;
  T *y;
  coll::u64 M;
  coll::u64 onePacket;
};

using Box = coll::plain::Mailbox<T, N, 0, coll::region::headerBytes(N, 1), N, LINES, COPIES>;
using Packet = Box::P;

template <class Shape>
__device__ inline void oneshot(coll::Launch<N> &launch, const Args &a) {
  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    const auto x = coll::load<Shape, Packet>(launch, a.x, i, a.M);
#pragma unroll
    for (int hop = 0; hop < N; ++hop) Box::send(launch, hop, launch.me(), i, x);
  });
#ifndef NO_BARRIER
  launch.barrier(0);
#endif
  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    coll::store<Shape>(launch, a.y, i, a.M, coll::reduceSlots<Op, T, Box>(launch, i));
  });
}

} // namespace

extern "C" __global__ void __launch_bounds__(512) allreduce(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) oneshot<coll::OnePacket>(launch, a);
  else oneshot<coll::AnyPackets>(launch, a);
  launch.finish();
}
