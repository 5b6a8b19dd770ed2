// allreduce_rmsnorm.oneshot.barrier   N = 8   bf16   generated from allreduce_rmsnorm.coll
//
// Contract  res == (reduce(sum, r in ranks: r.x) + (old(res) as f32)) as T
// Contract  y == ((res as f32) * rsqrt(rowmean((res as f32) * (res as f32)) + eps) * gamma) as T
// Mailbox   box[8], barrier, 2 copies, of which a launch uses its epoch mod 2; a slot holds 1048576 bytes
// Proof     box: 2 copies; every rank waits for every other in each launch, so whoever writes epoch e+2 has passed a
//           barrier of e+1 with the reader of e (rule T1)
// Rests on  the PTX memory model alone; of the host, one launch in flight per region and the same sequence of
//           launches, of the same grid each, on all ranks
#include "coll/reduce.h"
#include "coll/plain.h"
#include "coll/arithmetic.h"
#include "coll/rows.h"

namespace {

constexpr int N = 8;
using T = coll::BF16;

struct Args {
  coll::Team<N> team;
  const T *x; // T[R][H]
  T *res; // T[R][H]
  const T *gamma; // T[H]
  T *y; // T[R][H]
  coll::u64 R;
  coll::u64 H;
  alignas(8) float eps;
  coll::u64 onePacket; // every thread has at most one packet of a row, and all are whole and aligned
};

// type, ranks, number, offset in the region, slots, packets a slot, copies
using Box = coll::plain::Mailbox<T, N, 0, 9344, 8, 65536, 2>;
using Packet = coll::Packet<T, 16>; // what a thread handles at a time

template <class Shape>
__device__ inline void oneshot(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();

  coll::forRows<Shape, Packet>(launch, a.R, a.H, [&](const auto &row) {
    // allreduce_rmsnorm.coll:14    forall p in ranks: x -> p.box[me]
    Packet x[Shape::kPackets];
    row.each([&](coll::u32 k, coll::u32) {
      x[k] = row.load(a.x, k);
    });
    launch.begin();
    row.each([&](coll::u32 k, coll::u32 i) {
#pragma unroll
      for (int hop = 1; hop < N; ++hop) Box::send(launch, hop, me, i, x[k]);
    });
  });

  // allreduce_rmsnorm.coll:15    let h = (reduce(sum, r in ranks: box[r]) + (res as f32)) as T
  launch.barrier(0);

  coll::forRows<Shape, Packet>(launch, a.R, a.H, [&](const auto &row) {
    // allreduce_rmsnorm.coll:15    let h = (reduce(sum, r in ranks: box[r]) + (res as f32)) as T
    Packet x_2[Shape::kPackets], res[Shape::kPackets], gamma[Shape::kPackets];
    row.each([&](coll::u32 k, coll::u32) {
      x_2[k] = row.load(a.x, k);
      res[k] = row.load(a.res, k);
      gamma[k] = row.loadSame(a.gamma, k);
    });
    Packet h[Shape::kPackets];
    float sums[Shape::kPackets]; // of each packet
    row.each([&](coll::u32 k, coll::u32 i) {
      h[k] = coll::narrow<T, Packet>(coll::reduceSlotsWide<coll::Sum, T, Box>(launch, i, x_2[k]) + coll::widen<T>(res[k]));

      // allreduce_rmsnorm.coll:16    res = h
      row.store(a.res, k, h[k]);

      // allreduce_rmsnorm.coll:18    y = (f * rsqrt(rowmean(f * f) + eps) * gamma) as T
      const auto f = coll::widen<T>(h[k]);
      sums[k] = row.sumOf(k, f * f);
    });
    const coll::Number mean = row.mean(sums);
    const coll::Number scale = coll::rsqrt(mean + coll::Number{a.eps});
    row.each([&](coll::u32 k, coll::u32) {
      const auto f_2 = coll::widen<T>(h[k]);
      row.store(a.y, k, coll::narrow<T, Packet>((f_2 * scale) * coll::widen<T>(gamma[k])));
    });
  });
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
allreduce_rmsnorm_oneshot_barrier_n8_bf16(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) oneshot<coll::OneRowPacket>(launch, a);
  else oneshot<coll::AnyRowPackets>(launch, a);
}
