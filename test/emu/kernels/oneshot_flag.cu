// One-shot all-reduce, sync flag; a rank's own packets go through its own slot. With COPIES 1 it is wrong: a fast rank
// overwrites what a slow one has yet to read. Other defects: FLAG_RELAXED raises the flag without a release, FLAG_FIRST
// before the data, NO_CTA_SYNC before the CTA mates have stored, WAIT_RELAXED reads it without an acquire.
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

using Box = coll::flag::Mailbox<T, N, 0, coll::region::headerBytes(N, 0), N, LINES, COPIES>;
using Packet = Box::P;

__device__ inline void announce(coll::Launch<N> &launch, coll::u32 slot) {
#if defined(FLAG_RELAXED) || defined(NO_CTA_SYNC)
  launch.begin();
#ifndef NO_CTA_SYNC
  coll::ptx::ctaSync();
#endif
  const coll::u32 hop = threadIdx.x + 1;
  if (hop >= N) return;
  char *flag = launch.team.peer[hop] + Box::flagOf(slot);
#ifdef FLAG_RELAXED
  coll::ptx::storeRelaxed4(flag, launch.epoch);
#else
  coll::ptx::storeRelease4(flag, launch.epoch);
#endif
#else
  Box::announce(launch, slot);
#endif
}

__device__ inline void await(coll::Launch<N> &launch) {
#ifdef WAIT_RELAXED
  if (threadIdx.x < N && threadIdx.x != launch.me()) {
    const char *flag = launch.team.peer[0] + Box::flagOf(threadIdx.x);
    while (coll::ptx::loadRelaxed4(flag) < launch.epoch) coll::ptx::spinHint(flag);
  }
  coll::ptx::ctaSync();
#else
  Box::await(launch, 0, N, launch.me());
#endif
}

template <class Shape>
__device__ inline void oneshot(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();

#ifdef FLAG_FIRST
  announce(launch, me);
#endif
  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    const Packet x = coll::load<Shape, Packet>(launch, a.x, i, a.M);
    launch.begin();
#pragma unroll
    for (int hop = 0; hop < N; ++hop) Box::send(launch, hop, me, i, x);
  });
#ifndef FLAG_FIRST
  announce(launch, me);
#endif

  await(launch);
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
