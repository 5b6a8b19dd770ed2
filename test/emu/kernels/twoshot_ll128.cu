// Two-shot all-reduce, sync ll128: pieces to their owners, reduced, and back to all. One copy is enough.
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
using Rs = coll::ll128::Mailbox<T, N, 0, kOffset, N, LINES, 1>;
using Ag = coll::ll128::Mailbox<T, N, 1, kOffset + coll::u64(N) * LINES * 32, N, LINES, 1>;
using Packet = Rs::P;

template <class Shape>
__device__ inline void twoshot(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();
  const coll::Pieces<Shape, T, N> pieces(a.M);
  Shape::forEach(launch, Packet::count(pieces.piece), [&](coll::u32 i) {
    const auto reaches = [&](coll::u32 r) { return coll::reaches<Shape, Packet>(i, pieces.size(r)); };
    Packet own = {};
#pragma unroll
    for (int hop = 0; hop < N; ++hop) {
      const auto p = coll::rankAt<N>(me, hop);
      if (!reaches(p)) continue;
      const auto Xp = coll::load<Shape, Packet>(launch, a.x + pieces.begin(p), i, pieces.size(p));
      if (hop == 0) own = Xp;
      else Rs::send(launch, hop, me, i, Xp);
    }
    Packet s = {};
    if (reaches(me)) {
      s = coll::reduceSlots<Op, T, Rs>(launch, i, own);
#pragma unroll
      for (int hop = 1; hop < N; ++hop) Ag::send(launch, hop, me, i, s);
    }
    coll::eachSlot<Ag>(launch, i, s, reaches, [&](coll::u32 r, const Packet &Yr) {
      coll::store<Shape>(launch, a.y + pieces.begin(r), i, pieces.size(r), Yr);
    });
  });
}

} // namespace

extern "C" __global__ void __launch_bounds__(512) allreduce(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) twoshot<coll::OnePacket>(launch, a);
  else twoshot<coll::AnyPackets>(launch, a);
  launch.finish();
}
