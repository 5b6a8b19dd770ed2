// allreduce_rmsnorm_int8_group.oneshot.sentinel   N = 8   bf16   generated from allreduce_rmsnorm_int8_group.coll
//
// Contract  res == (reduce(sum, r in ranks: r.x) + (old(res) as f32)) as T
// Contract  q == quant(((res as f32) * rsqrt(rowmean((res as f32) * (res as f32)) + eps) * gamma) as T, i8,
//           group(128))
// Contract  scales == quant(((res as f32) * rsqrt(rowmean((res as f32) * (res as f32)) + eps) * gamma) as T, i8,
//           group(128)).scale
// Mailbox   box[8], sentinel, 2 copies, of which a launch uses its epoch mod 2; a slot holds 1048576 bytes
// Proof     box: 2 copies; every rank waits for every other in each launch, so whoever writes epoch e+2 has received
//           e+1 from the reader of e (rule T1); the clear of a slot is released, by the end of its launch at the
//           latest, before whatever leads to the send that fills it again (rule T6)
// Rests on  the PTX memory model, all 32-bit words of a packet being compared, so that none of it is taken before it
//           has arrived; of hardware, beyond the model, that no store is performed before the wait that precedes it
//           in its thread has ended, and that the end of a kernel is a fence for what the rank's next launch sends;
//           of the host, slots that hold the sentinel before the first launch, one launch in flight per region and
//           the same sequence of launches on all ranks
#include "coll/reduce.h"
#include "coll/sentinel.h"
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
  signed char *q; // i8[R][H]
  float *scales; // f32[R][H/128]
  coll::u64 R;
  coll::u64 H;
  alignas(8) float eps;
  coll::u64 onePacket; // every thread has at most one packet of a row, and all are whole and aligned
};

// type, ranks, number, offset in the region, slots, packets a slot, copies
using Box = coll::sentinel::Mailbox<T, N, 0, 1152, 8, 65536, 2>;
using Packet = coll::Packet<T, 16>; // what a thread handles at a time

template <class Shape>
__device__ inline void oneshot(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();

  coll::forRows<Shape, Packet>(launch, a.R, a.H, [&](const auto &row) {
    // allreduce_rmsnorm_int8_group.coll:14    forall p in ranks: x -> p.box[me]
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

    // allreduce_rmsnorm_int8_group.coll:15    let h = (reduce(sum, r in ranks: box[r]) + (res as f32)) as T
    Packet h[Shape::kPackets];
    float sums[Shape::kPackets]; // of each packet
    row.each([&](coll::u32 k, coll::u32 i) {
      h[k] = coll::narrow<T, Packet>(coll::reduceSlotsWide<coll::Sum, T, Box>(launch, i, x[k]) + coll::widen<T>(res[k]));

      // allreduce_rmsnorm_int8_group.coll:16    res = h
      row.store(a.res, k, h[k]);

      // allreduce_rmsnorm_int8_group.coll:18    let norm = (f * rsqrt(rowmean(f * f) + eps) * gamma) as T
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

      // allreduce_rmsnorm_int8_group.coll:19    let o = quant(norm, i8, group(128))
      most[k] = row.maxOf(k, coll::abs(coll::widen<T>(norm[k])));
    });
    row.template maxOfGroups<128>(most);
    row.each([&](coll::u32 k, coll::u32) {
      const auto part_2 = coll::Number{most[k]} / coll::Number{127.0f};
      const auto o = coll::widen<T>(norm[k]) * coll::inverse(part_2);

      // allreduce_rmsnorm_int8_group.coll:20    q = o
      row.storeFloats(a.q, k, o);

      // allreduce_rmsnorm_int8_group.coll:21    scales = o.scale
      row.template storeGroup<128>(a.scales, k, part_2);
    });
  });
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
allreduce_rmsnorm_int8_group_oneshot_sentinel_n8_bf16(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) oneshot<coll::OneRowPacket>(launch, a);
  else oneshot<coll::AnyRowPackets>(launch, a);
}
