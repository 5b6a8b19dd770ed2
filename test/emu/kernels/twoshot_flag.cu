// Two-shot all-reduce, sync flag: pieces to their owners, reduced, and back to all. One copy is enough: who sends again
// has been announced the owner's reduced piece, which the owner's CTA announced after it had read.
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
constexpr coll::u64 kBoxBytes = coll::u64(COPIES) * N * LINES * 16 + coll::flag::flagBytes(N);
using Rs = coll::flag::Mailbox<T, N, 0, kOffset, N, LINES, COPIES>;
using Ag = coll::flag::Mailbox<T, N, 1, kOffset + kBoxBytes, N, LINES, COPIES>;
using Packet = Rs::P;

template <class Shape>
__device__ inline void twoshot(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();
  const coll::Pieces<Shape, T, N> pieces(a.M);
  const coll::u32 packets = Packet::count(pieces.piece);

  Shape::forEach(launch, packets, [&](coll::u32 i) {
    launch.begin();
#pragma unroll
    for (int hop = 0; hop < N; ++hop) {
      const coll::u32 p = coll::rankAt<N>(me, hop);
      if (!coll::reaches<Shape, Packet>(i, pieces.size(p))) continue;
      Rs::send(launch, hop, me, i, coll::load<Shape, Packet>(launch, a.x + pieces.begin(p), i, pieces.size(p)));
    }
  });
  Rs::announce(launch, me);

  Rs::await(launch, 0, N, me);
  Shape::forEach(launch, packets, [&](coll::u32 i) {
    if (!coll::reaches<Shape, Packet>(i, pieces.size(me))) return;
    const Packet s = coll::reduceSlots<Op, T, Rs>(launch, i);
#pragma unroll
    for (int hop = 0; hop < N; ++hop) Ag::send(launch, hop, me, i, s);
  });
  Ag::announce(launch, me);

  Ag::await(launch, 0, N, me);
  Shape::forEach(launch, packets, [&](coll::u32 i) {
    coll::eachSlot<Ag>(
        launch, i, [&](coll::u32 r) { return coll::reaches<Shape, Packet>(i, pieces.size(r)); },
        [&](coll::u32 r, const Packet &Yr) { coll::store<Shape>(launch, a.y + pieces.begin(r), i, pieces.size(r), Yr); });
  });
}

} // namespace

extern "C" __global__ void __launch_bounds__(512) allreduce(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) twoshot<coll::OnePacket>(launch, a);
  else twoshot<coll::AnyPackets>(launch, a);
  launch.finish();
}
