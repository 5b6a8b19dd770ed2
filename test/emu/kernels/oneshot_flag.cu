// One-shot all-reduce by weak stores and one flag for each CTA and source. Defects: FLAG_RELAXED raises the flag
// without a release, FLAG_FIRST before the data, NO_CTA_SYNC before the CTA mates have stored, WAIT_RELAXED reads it
// without an acquire.
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

// The flags are the words of barrier 0.
using Box = coll::plain::Mailbox<T, N, 0, coll::region::headerBytes(N, 1), N, LINES, 2>;
using Packet = Box::P;

__device__ inline coll::u64 flagOf(coll::u32 source) {
  return coll::region::kBarrierWords + (blockIdx.x * N + source) * 4;
}

__device__ inline void raiseFlags(coll::Launch<N> &launch) {
  const coll::u32 hop = threadIdx.x;
  if (hop >= N) return;
  char *flag = launch.team.peer[hop] + flagOf(launch.me());
#ifdef FLAG_RELAXED
  coll::ptx::storeRelaxed4(flag, launch.epoch);
#else
  coll::ptx::storeRelease4(flag, launch.epoch);
#endif
}

__device__ inline void awaitFlags(coll::Launch<N> &launch) {
  if (threadIdx.x >= N) return;
  const char *flag = launch.team.peer[0] + flagOf(threadIdx.x);
#ifdef WAIT_RELAXED
  while (coll::ptx::loadRelaxed4(flag) < launch.epoch) coll::ptx::spinHint(flag);
#else
  while (coll::ptx::loadAcquire4(flag) < launch.epoch) coll::ptx::spinHint(flag);
#endif
}

template <class Shape>
__device__ inline void oneshot(coll::Launch<N> &launch, const Args &a) {
  launch.begin();
#ifdef FLAG_FIRST
  raiseFlags(launch);
#endif
  Shape::forEach(Packet::count(a.M), [&](coll::u32 i) {
    const auto x = coll::load<Shape, Packet>(a.x, i, a.M);
#pragma unroll
    for (int hop = 0; hop < N; ++hop) Box::send(launch, hop, launch.me(), i, x);
  });
#ifndef NO_CTA_SYNC
  coll::ptx::ctaSync();
#endif
#ifndef FLAG_FIRST
  raiseFlags(launch);
#endif
  awaitFlags(launch);
  coll::ptx::ctaSync();
  Shape::forEach(Packet::count(a.M), [&](coll::u32 i) {
    coll::store<Shape>(a.y, i, a.M, coll::reduceSlots<Op, T, Box>(launch, i));
  });
}

} // namespace

extern "C" __global__ void __launch_bounds__(512) allreduce(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) oneshot<coll::OnePacket>(launch, a);
  else oneshot<coll::AnyPackets>(launch, a);
  launch.finish();
}
