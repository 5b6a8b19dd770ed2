// One-shot all-reduce, sync ll128. With COPIES 1 it is wrong, as in sync ll, and so it is wherever lines of 128 bytes
// do not arrive whole or in ascending order. ALONE lets a lane go that has no piece, while its warp has.
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

using Box = coll::ll128::Mailbox<T, N, 0, coll::region::headerBytes(N, 0), N, LINES, COPIES>;
using Packet = Box::P;

template <class Shape>
__device__ inline void oneshot(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();

  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    const Packet x = coll::load<Shape, Packet>(launch, a.x, i, a.M);
    launch.begin();
#ifdef ALONE
    if (!Packet::hasPiece(i, 0, a.M)) return;
#endif
#pragma unroll
    for (int hop = 1; hop < N; ++hop) Box::send(launch, hop, me, i, x);

    const Packet y = coll::reduceSlots<Op, T, Box>(launch, i, x);
    coll::store<Shape>(launch, a.y, i, a.M, y);
  });
}

} // namespace

extern "C" __global__ void __launch_bounds__(512) allreduce(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) oneshot<coll::OnePacket>(launch, a);
  else oneshot<coll::AnyPackets>(launch, a);
  launch.finish();
}
