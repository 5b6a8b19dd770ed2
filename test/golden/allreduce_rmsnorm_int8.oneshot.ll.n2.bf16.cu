// allreduce_rmsnorm_int8.oneshot.ll   N = 2   bf16   generated from allreduce_rmsnorm_int8.coll
//
// Contract  res == (reduce(sum, r in ranks: r.x) + (old(res) as f32)) as T
// Contract  q == quant(((res as f32) * rsqrt(rowmean((res as f32) * (res as f32)) + eps) * gamma) as T, i8, per_row)
// Contract  scales == quant(((res as f32) * rsqrt(rowmean((res as f32) * (res as f32)) + eps) * gamma) as T, i8,
//           per_row).scale
// Mailbox   box[2], ll, 2 copies, of which a launch uses its epoch mod 2; a slot holds 1048576 bytes
// Proof     box: 2 copies; every rank waits for every other in each launch, so whoever writes epoch e+2 has received
//           e+1 from the reader of e (rule T1)
// Rests on  the PTX memory model, 8-byte words of data and flag being single-copy atomic; of hardware, beyond the
//           model, that no store is performed before the wait that precedes it in its thread has ended, and that the
//           end of a kernel is a fence for what the rank's next launch sends; of the host, one launch in flight per
//           region and the same sequence of launches on all ranks
#include "coll/reduce.h"
#include "coll/ll.h"
#include "coll/arithmetic.h"
#include "coll/rows.h"

namespace {

constexpr int N = 2;
using T = coll::BF16;

struct Args {
  coll::Team<N> team;
  const T *x; // T[R][H]
  T *res; // T[R][H]
  const T *gamma; // T[H]
  signed char *q; // i8[R][H]
  float *scales; // f32[R][1]
  coll::u64 R;
  coll::u64 H;
  alignas(8) float eps;
  coll::u64 onePacket; // every thread has at most one packet of a row, and all are whole and aligned
};

// type, ranks, number, offset in the region, slots, packets a slot, copies
using Box = coll::ll::Mailbox<T, N, 0, 1152, 2, 131072, 2>;
using Packet = coll::Packet<T, 8>; // what a thread handles at a time

template <class Shape>
__device__ inline void oneshot(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();

  coll::forRows<Shape, Packet>(launch, a.R, a.H, [&](const auto &row) {
    // allreduce_rmsnorm_int8.coll:14    forall p in ranks: x -> p.box[me]
    Packet x[Shape::kPackets], res[Shape::kPackets], gamma[Shape::kPackets];
    row.each([&](coll::u32 k, coll::u32) {
      x[k] = row.load(a.x, k);
      res[k] = row.load(a.res, k);
      gamma[k] = row.loadSame(a.gamma, k);
    });
    launch.begin();
    row.each([&](coll::u32 k, coll::u32 i) {
#pragma unroll
      for (int hop = 1; hop < N; ++hop) Box::send(launch, hop, me, i, x[k]);
    });

    // allreduce_rmsnorm_int8.coll:15    let h = (reduce(sum, r in ranks: box[r]) + (res as f32)) as T
    Packet h[Shape::kPackets];
    float sums[Shape::kPackets]; // of each packet
    row.each([&](coll::u32 k, coll::u32 i) {
      h[k] = coll::narrow<T, Packet>(coll::reduceSlotsWide<coll::Sum, T, Box>(launch, i, x[k]) + coll::widen<T>(res[k]));

      // allreduce_rmsnorm_int8.coll:16    res = h
      row.store(a.res, k, h[k]);

      // allreduce_rmsnorm_int8.coll:18    let norm = (f * rsqrt(rowmean(f * f) + eps) * gamma) as T
      const auto f = coll::widen<T>(h[k]);
      sums[k] = row.sumOf(k, f * f);
    });
    const coll::Number mean = row.mean(sums);
    const coll::Number scale = coll::rsqrt(mean + coll::Number{a.eps});
    Packet norm[Shape::kPackets];
    float most[Shape::kPackets]; // of each packet
    row.each([&](coll::u32 k, coll::u32) {
      const auto f_2 = coll::widen<T>(h[k]);
      norm[k] = coll::narrow<T, Packet>((f_2 * scale) * coll::widen<T>(gamma[k]));

      // allreduce_rmsnorm_int8.coll:19    let o = quant(norm, i8, per_row)
      most[k] = row.maxOf(k, coll::abs(coll::widen<T>(norm[k])));
    });
    const coll::Number largest = row.max(most);
    const coll::Number scale_2 = largest / coll::Number{127.0f};
    const coll::Number scale_3 = coll::inverse(scale_2);
    row.each([&](coll::u32 k, coll::u32) {
      const auto o = coll::widen<T>(norm[k]) * scale_3;

      // allreduce_rmsnorm_int8.coll:20    q = o
      row.storeFloats(a.q, k, o);
    });

    // allreduce_rmsnorm_int8.coll:21    scales = o.scale
    row.storeOne(a.scales, scale_2);
  });
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
allreduce_rmsnorm_int8_oneshot_ll_n2_bf16(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) oneshot<coll::OneRowPacket>(launch, a);
  else oneshot<coll::AnyRowPackets>(launch, a);
}
