// allreduce_rmsnorm.twoshot.sentinel   N = 2   bf16   generated from allreduce_rmsnorm.coll
//
// Contract  res == (reduce(sum, r in ranks: r.x) + (old(res) as f32)) as T
// Contract  y == ((res as f32) * rsqrt(rowmean((res as f32) * (res as f32)) + eps) * gamma) as T
// Mailbox   rs[2], sentinel, 2 copies, of which a launch uses its epoch mod 2; a slot holds 4325376 bytes
// Mailbox   ag[2], sentinel, 1 copy; a slot holds 8650752 bytes of f32
// Proof     rs: 2 copies, ag: 1 copy; every rank waits for every other in each launch, so whoever writes epoch e+2
//           has received e+1 from the reader of e (rule T1); the clear of a slot is released, by the end of its
//           launch at the latest, before whatever leads to the send that fills it again (rule T6)
// Rests on  the PTX memory model, all 32-bit words of a packet being compared, so that none of it is taken before it
//           has arrived; of hardware, beyond the model, that no store is performed before the wait that precedes it
//           in its thread has ended, and that the end of a kernel is a fence for what the rank's next launch sends;
//           of the host, slots that hold the sentinel before the first launch, one launch in flight per region and
//           the same sequence of launches on all ranks
#include "coll/reduce.h"
#include "coll/wide.h"
#include "coll/sentinel.h"
#include "coll/slots.h"
#include "coll/arithmetic.h"
#include "coll/rows.h"
#include "coll/split.h"

namespace {

constexpr int N = 2;
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
using Rs = coll::sentinel::Mailbox<T, N, 0, 1152, 2, 270336, 2>;
using Ag = coll::wide::Mailbox<coll::sentinel::Mailbox<float, N, 1, 17302656, 2, 540672, 1>, coll::wide::Packet<float, 32>>;
using Packet = coll::Packet<T, 16>; // what a thread handles at a time

template <class Shape>
__device__ inline void twoshot(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();
  const coll::RowPieces<N> pieces(a.R); // split_rows(…, N)

  coll::forRows<Shape, Packet>(launch, pieces.rows, a.H, [&](const auto &row) {
    coll::Floats<Packet::kElements> ag[Shape::kPackets];
    // allreduce_rmsnorm.coll:35    Y[r] = (f * rsqrt(rowmean(f * f) + eps) * gamma) as T
    Packet gamma[Shape::kPackets], x[Shape::kPackets][N];
    row.each([&](coll::u32 k, coll::u32) {
      gamma[k] = row.loadSame(a.gamma, k);
#pragma unroll
      for (int hop = 0; hop < N; ++hop) {
        const coll::u32 p = coll::rankAt<N>(me, hop);
        if (pieces.has(p, row.number)) x[k][hop] = row.load(a.x + pieces.begin(p) * a.H, k);
      }
    });

    // allreduce_rmsnorm.coll:28    forall p in ranks: X[p] -> p.rs[me]
    launch.begin();
    row.each([&](coll::u32 k, coll::u32 i) {
#pragma unroll
      for (int hop = 1; hop < N; ++hop) {
        const coll::u32 p = coll::rankAt<N>(me, hop);
        if (pieces.has(p, row.number)) Rs::send(launch, hop, me, i, x[k][hop]);
      }
    });

    // allreduce_rmsnorm.coll:29    let s = reduce(sum, r in ranks: rs[r])
    if (pieces.has(me, row.number)) {
      coll::Floats<Packet::kElements> s[Shape::kPackets];
      row.each([&](coll::u32 k, coll::u32 i) {
        s[k] = coll::reduceSlotsWide<coll::Sum, T, Rs>(launch, i, x[k][0]);
      });

      // allreduce_rmsnorm.coll:30    forall p in ranks: s -> p.ag[me]
      row.each([&](coll::u32 k, coll::u32 i) {
#pragma unroll
        for (int hop = 0; hop < N; ++hop) Ag::send(launch, hop, me, i, coll::narrow<float, Ag::P>(s[k]));
      });
    }

    // allreduce_rmsnorm.coll:31    forall r in ranks {
#pragma unroll 1
    for (int hops = 0; hops <= 1; ++hops) {
      // allreduce_rmsnorm.coll:32    let h = (ag[r] + (RES[r] as f32)) as T
      Packet res[Shape::kPackets];
      row.each([&](coll::u32 k, coll::u32) {
        if (pieces.has(coll::rankAt<N>(me, hops), row.number)) res[k] = row.load(a.res + pieces.begin(coll::rankAt<N>(me, hops)) * a.H, k);
      });
      const coll::u32 piece = coll::rankAt<N>(me, hops);
      if (pieces.has(piece, row.number)) {
        row.each([&](coll::u32 k, coll::u32 i) {
          ag[k] = coll::widen<float>(coll::readSlot<Ag>(launch, piece, i));
        });
      }
      if (pieces.has(piece, row.number)) {
        Packet h[Shape::kPackets];
        float sums[Shape::kPackets]; // of each packet
        row.each([&](coll::u32 k, coll::u32) {
          h[k] = coll::narrow<T, Packet>(ag[k] + coll::widen<T>(res[k]));

          // allreduce_rmsnorm.coll:33    RES[r] = h
          row.store(a.res + pieces.begin(piece) * a.H, k, h[k]);

          // allreduce_rmsnorm.coll:35    Y[r] = (f * rsqrt(rowmean(f * f) + eps) * gamma) as T
          const auto f = coll::widen<T>(h[k]);
          sums[k] = row.sumOf(k, f * f);
        });
        const coll::Number mean = row.mean(sums);
        const coll::Number scale = coll::rsqrt(mean + coll::Number{a.eps});
        row.each([&](coll::u32 k, coll::u32) {
          const auto f_2 = coll::widen<T>(h[k]);
          row.store(a.y + pieces.begin(piece) * a.H, k, coll::narrow<T, Packet>((f_2 * scale) * coll::widen<T>(gamma[k])));
        });
      }
    }
  });
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
allreduce_rmsnorm_twoshot_sentinel_n2_bf16(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) twoshot<coll::OneRowPacket>(launch, a);
  else twoshot<coll::AnyRowPackets>(launch, a);
}
