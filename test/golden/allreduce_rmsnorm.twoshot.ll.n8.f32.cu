// allreduce_rmsnorm.twoshot.ll   N = 8   f32   generated from allreduce_rmsnorm.coll
//
// Contract  res == (reduce(sum, r in ranks: r.x) + (old(res) as f32)) as T
// Contract  y == ((res as f32) * rsqrt(rowmean((res as f32) * (res as f32)) + eps) * gamma) as T
// Mailbox   rs[8], ll, 1 copy; a slot holds 1114112 bytes
// Mailbox   ag[8], ll, 1 copy; a slot holds 1114112 bytes
// Proof     rs: 1 copy, ag: 1 copy; whoever fills a slot again has, earlier in its launch, received what the reader
//           of the slot sent after reading it (rule T3)
// Rests on  the PTX memory model, 8-byte words of data and flag being single-copy atomic; of hardware, beyond the
//           model, that no store is performed before the wait that precedes it in its thread has ended, and that the
//           end of a kernel is a fence for what the rank's next launch sends; of the host, one launch in flight per
//           region and the same sequence of launches on all ranks
#include "coll/reduce.h"
#include "coll/ll.h"
#include "coll/slots.h"
#include "coll/arithmetic.h"
#include "coll/rows.h"
#include "coll/split.h"

namespace {

constexpr int N = 8;
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
using Rs = coll::ll::Mailbox<T, N, 0, 1152, 8, 139264, 1>;
using Ag = coll::ll::Mailbox<T, N, 1, 17826944, 8, 139264, 1>;
using Packet = coll::Packet<T, 8>; // what a thread handles at a time

template <class Shape>
__device__ inline void twoshot(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();
  const coll::RowPieces<N> pieces(a.R); // split_rows(…, N)

  coll::forRows<Shape, Packet>(launch, pieces.rows, a.H, [&](const auto &row) {
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
      Packet s[Shape::kPackets];
      row.each([&](coll::u32 k, coll::u32 i) {
        s[k] = coll::reduceSlots<coll::Sum, T, Rs>(launch, i, x[k][0]);
      });

      // allreduce_rmsnorm.coll:30    forall p in ranks: s -> p.ag[me]
      row.each([&](coll::u32 k, coll::u32 i) {
#pragma unroll
        for (int hop = 0; hop < N; ++hop) Ag::send(launch, hop, me, i, s[k]);
      });
    }

    // allreduce_rmsnorm.coll:31    forall r in ranks {
#pragma unroll 1
    for (int hops = 0; hops <= 7; ++hops) {
      // allreduce_rmsnorm.coll:32    let h = (ag[r] + (RES[r] as f32)) as T
      Packet res[Shape::kPackets];
      row.each([&](coll::u32 k, coll::u32) {
        if (pieces.has(coll::rankAt<N>(me, hops), row.number)) res[k] = row.load(a.res + pieces.begin(coll::rankAt<N>(me, hops)) * a.H, k);
      });
      const coll::u32 piece = coll::rankAt<N>(me, hops);
      if (pieces.has(piece, row.number)) {
        coll::Floats<Packet::kElements> f[Shape::kPackets];
        float sums[Shape::kPackets]; // of each packet
        row.each([&](coll::u32 k, coll::u32 i) {
          const Packet ag = coll::readSlot<Ag>(launch, piece, i);
          f[k] = coll::widen<T>(ag) + coll::widen<T>(res[k]);

          // allreduce_rmsnorm.coll:33    RES[r] = h
          row.store(a.res + pieces.begin(piece) * a.H, k, coll::narrow<T, Packet>(f[k]));

          // allreduce_rmsnorm.coll:35    Y[r] = (f * rsqrt(rowmean(f * f) + eps) * gamma) as T
          sums[k] = row.sumOf(k, f[k] * f[k]);
        });
        const coll::Number mean = row.mean(sums);
        const coll::Number scale = coll::rsqrt(mean + coll::Number{a.eps});
        row.each([&](coll::u32 k, coll::u32) {
          row.store(a.y + pieces.begin(piece) * a.H, k, coll::narrow<T, Packet>((f[k] * scale) * coll::widen<T>(gamma[k])));
        });
      }
    }
  });
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
allreduce_rmsnorm_twoshot_ll_n8_f32(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) twoshot<coll::OneRowPacket>(launch, a);
  else twoshot<coll::AnyRowPackets>(launch, a);
}
