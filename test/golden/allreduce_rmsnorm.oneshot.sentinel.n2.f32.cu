// allreduce_rmsnorm.oneshot.sentinel   N = 2   f32   generated from allreduce_rmsnorm.coll
//
// Contract  res == (reduce(sum, r in ranks: r.x) + (old(res) as f32)) as T
// Contract  y == ((res as f32) * rsqrt(rowmean((res as f32) * (res as f32)) + eps) * gamma) as T
// Mailbox   box[2], sentinel, 2 copies, of which a launch uses its epoch mod 2; a slot holds 1048576 bytes
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
#include "coll/slots.h"
#include "coll/arithmetic.h"
#include "coll/rows.h"

namespace {

constexpr int N = 2;
using T = float;

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
using Box = coll::sentinel::Mailbox<T, N, 0, 1152, 2, 65536, 2>;
using Packet = coll::Packet<T, 16>; // what a thread handles at a time

template <class Shape>
__device__ inline void oneshot(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();

  coll::forRows<Shape, Packet>(launch, a.R, a.H, [&](const auto &row) {
    // allreduce_rmsnorm.coll:14    forall p in ranks: x -> p.box[me]
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

    // allreduce_rmsnorm.coll:15    let h = (reduce(sum, r in ranks: box[r]) + (res as f32)) as T
    coll::Floats<Packet::kElements> f[Shape::kPackets];
    float sums[Shape::kPackets]; // of each packet
    row.each([&](coll::u32 k, coll::u32 i) {
      f[k] = coll::widen<T>(coll::reduceSlots<coll::Sum, T, Box>(launch, i, x[k])) + coll::widen<T>(res[k]);

      // allreduce_rmsnorm.coll:16    res = h
      row.store(a.res, k, coll::narrow<T, Packet>(f[k]));

      // allreduce_rmsnorm.coll:18    y = (f * rsqrt(rowmean(f * f) + eps) * gamma) as T
      sums[k] = row.sumOf(k, f[k] * f[k]);
    });
    const coll::Number mean = row.mean(sums);
    const coll::Number scale = coll::rsqrt(mean + coll::Number{a.eps});
    row.each([&](coll::u32 k, coll::u32) {
      row.store(a.y, k, coll::narrow<T, Packet>((f[k] * scale) * coll::widen<T>(gamma[k])));
    });
  });
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
allreduce_rmsnorm_oneshot_sentinel_n2_f32(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) oneshot<coll::OneRowPacket>(launch, a);
  else oneshot<coll::AnyRowPackets>(launch, a);
}
