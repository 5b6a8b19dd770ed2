#include "coll/device.h"

namespace {

constexpr int N = 2;
using T = coll::BF16;
using Op = coll::Sum;

struct Args {
  coll::Team<N> team;
  const T *x;
  T *y;
  coll::u64 M; // elements of x and y
};

using Box = coll::ll::Mailbox<T, N, 0, 3328, 2, 32768, 2>; // box: number, offset, slots, lines a slot, copies
using Packet = Box::P;

template <class Shape>
__device__ void oneshot(const Args &a) {
  coll::Launch<N> launch(a.team);

  Shape::forEach(Packet::count(a.M), [&](typename Shape::Number i) {
    // allreduce.coll:8    forall p in ranks: x -> p.box[me]
    const auto x = coll::load<Shape, Packet>(a.x, i, a.M);
#pragma unroll
    for (int hop = 1; hop < N; ++hop) Box::send(launch, hop, launch.me(), i, x);

    // allreduce.coll:9    y = reduce(op, r in ranks: box[r])
    const auto y = coll::reduceSlots<Op, T, Box>(launch, i, x);
    coll::store<Shape>(a.y, i, a.M, y);
  });

  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512) allreduce_oneshot_ll_one(const __grid_constant__ Args a) { oneshot<coll::OnePacket>(a); }
extern "C" __global__ void __launch_bounds__(512) allreduce_oneshot_ll_whole(const __grid_constant__ Args a) { oneshot<coll::WholePackets>(a); }
extern "C" __global__ void __launch_bounds__(512) allreduce_oneshot_ll_any(const __grid_constant__ Args a) { oneshot<coll::AnyPackets>(a); }
