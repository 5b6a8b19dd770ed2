// One-shot all-reduce, sync ll. With COPIES 1 it is wrong: a fast rank overwrites lines that a slow one has yet to
// read. TORN_LINES sends a line as four separate words, as st.v4.b32 may. EARLY_EPOCH moves the epoch on before all
// threads of the CTA have read it: they meet neither on the way nor at the end. NO_WRAP moves it past its largest value
// without the clearing that this takes.
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

constexpr coll::u64 kOffset = coll::region::headerBytes(N, 0);
using Box = coll::ll::Mailbox<T, N, 0, kOffset, N, LINES, COPIES>;
using Packet = Box::P;

__device__ inline void send(coll::Launch<N> &launch, int hop, coll::u64 i, const Packet &x) {
#ifdef TORN_LINES
  launch.begin();
  const coll::u32 epoch = launch.epoch;
  char *line = launch.team.peer[hop] + Box::at(epoch, launch.me(), i);
  coll::ptx::storeRelaxed4(line, x.word[0]);
  coll::ptx::storeRelaxed4(line + 4, epoch);
  coll::ptx::storeRelaxed4(line + 8, x.word[1]);
  coll::ptx::storeRelaxed4(line + 12, epoch);
#else
  Box::send(launch, hop, launch.me(), i, x);
#endif
}

__device__ inline void finish(coll::Launch<N> &launch) {
#if defined(EARLY_EPOCH) || defined(NO_WRAP)
#ifdef NO_WRAP
  coll::ptx::ctaSync();
#endif
  if (threadIdx.x != 0) return;
  launch.begin();
  char *region = launch.team.peer[0];
  const coll::u64 last = gridDim.x | coll::u64(launch.epoch) << 32;
  if (blockIdx.x == 0) coll::ptx::storeRelaxed8(region + coll::region::kLastLaunch, last);
  else coll::ptx::storeRelaxed4(region + coll::region::kEpochs + blockIdx.x * 4, launch.epoch);
#else
  launch.finish();
#endif
}

template <class Shape>
__device__ inline void oneshot(coll::Launch<N> &launch, const Args &a) {
#ifdef EARLY_EPOCH
  launch.settled = true;
#endif
  Shape::forEach(launch, Packet::count(a.M), [&](coll::u32 i) {
    const auto x = coll::load<Shape, Packet>(launch, a.x, i, a.M);
#pragma unroll
    for (int hop = 1; hop < N; ++hop) send(launch, hop, i, x);
    const auto y = coll::reduceSlots<Op, T, Box>(launch, i, x);
    coll::store<Shape>(launch, a.y, i, a.M, y);
  });
}

} // namespace

extern "C" __global__ void __launch_bounds__(512) allreduce(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) oneshot<coll::OnePacket>(launch, a);
  else oneshot<coll::AnyPackets>(launch, a);
  finish(launch);
}
