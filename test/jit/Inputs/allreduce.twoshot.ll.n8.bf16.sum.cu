#include "coll/device.h"
namespace {
constexpr int N = 8;
using T = coll::BF16;
using Op = coll::Sum;
struct Args {
  coll::Team<N> team;
  const T *x;
  T *y;
  coll::u64 M; // elements of x and y
};
using Rs = coll::ll::Mailbox<T, N, 0, 9344, 8, 32768, 1>;
using Ag = coll::ll::Mailbox<T, N, 1, 9344+8*32768*16, 8, 32768, 1>;
using Packet = Rs::P;

template <class Shape>
__device__ void twoshot(const Args &a) {
  coll::Launch<N> launch(a.team);
  const coll::u32 me = launch.me();
  const coll::Split<T, N> X(a.M);

  Shape::forEach(Packet::count(X.piece), [&](typename Shape::Number i) {
    // allreduce.coll:17   forall p in ranks: X[p] -> p.rs[me]
    Packet own;
#pragma unroll
    for (int hop = 0; hop < N; ++hop) {
      const auto p = coll::rankAt<N>(me, hop);
      if (!coll::reaches<Shape, Packet>(i, X.size(p))) continue;
      const auto Xp = coll::load<Shape, Packet>(a.x + X.begin(p), i, X.size(p));
      if (hop == 0) own = Xp;
      else Rs::send(launch, hop, me, i, Xp);
    }
    //
    Packet s;
    if (coll::reaches<Shape, Packet>(i, X.size(me))) {
      s = coll::reduceSlots<Op, T, Rs>(launch, i, own);
#pragma unroll
      for (int hop = 1; hop < N; ++hop) Ag::send(launch, hop, me, i, s);
    }
    coll::eachSlot<Ag>(launch, i, s, [&](coll::u32 r) { return coll::reaches<Shape, Packet>(i, X.size(r)); },
      [&](coll::u32 r, const Packet &Yr) { coll::store<Shape>(a.y + X.begin(r), i, X.size(r), Yr); });
  });
  launch.finish();
}
} // namespace
extern "C" __global__ void __launch_bounds__(512) allreduce_twoshot_ll_one(const __grid_constant__ Args a) { twoshot<coll::OnePacket>(a); }
extern "C" __global__ void __launch_bounds__(512) allreduce_twoshot_ll_whole(const __grid_constant__ Args a) { twoshot<coll::WholePackets>(a); }
extern "C" __global__ void __launch_bounds__(512) allreduce_twoshot_ll_any(const __grid_constant__ Args a) { twoshot<coll::AnyPackets>(a); }
