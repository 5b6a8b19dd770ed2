#include "coll/device.h"

namespace {

constexpr int N = 8;
using T = coll::BF16;
using Op = coll::Sum;

struct Args {
  coll::Team<N> team;
  const T *x;
  T *y;
  coll::u64 M;         // elements of x and y
  coll::u64 onePacket; // whether every thread has at most one packet, and all are whole and aligned
};

using Box = coll::ll::Mailbox<T, N, 0, 9344, 8, 32768, 2>; // box: number, offset, slots, lines a slot, copies
using Packet = Box::P;

template <class Shape>
__device__ inline void oneshot(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();

  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    // allreduce.coll:8    forall p in ranks: x -> p.box[me]
    const Packet x = coll::load<Shape, Packet>(launch, a.x, i, a.M);
    launch.begin();
#pragma unroll
    for (int hop = 1; hop < N; ++hop) Box::send(launch, hop, me, i, x);

    // allreduce.coll:9    y = reduce(op, r in ranks: box[r])
    const Packet y = coll::reduceSlots<Op, T, Box>(launch, i, x);
    coll::store<Shape>(launch, a.y, i, a.M, y);
  });
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
allreduce_oneshot_ll_n8_bf16_sum(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) oneshot<coll::OnePacket>(launch, a);
  else oneshot<coll::AnyPackets>(launch, a);
  launch.finish();
}
