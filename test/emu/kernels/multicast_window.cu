// Two-shot all-reduce over the callers' vectors: rank p loads piece p of all by a load that reduces, and stores the sum to
// all. Defects: NO_ENTRY and NO_EXIT leave out a barrier.
#include "coll/device.h"

namespace {

constexpr int N = RANKS;
using T = TYPE;

struct Args {
  coll::Team<N> team;
  const T *x[N];
  const T *xOfAll;
  T *y[N];
  T *yOfAll;
  coll::u64 M;
  coll::u64 whole;
};

using Packet = coll::Packet<T, 16>;

template <class Shape>
__device__ inline void twoshot(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();
  const coll::Pieces<Shape, T, N> pieces(a.M);
#ifndef NO_ENTRY
  launch.barrier(0);
#endif
  Shape::forEach(launch, Packet::count(pieces.piece), [&](coll::u32 i) {
    if (!coll::reaches<Shape, Packet>(i, pieces.size(me))) return;
    const Packet s = coll::reduceAll<Shape, coll::OP, Packet>(launch, a.x, a.xOfAll, pieces.begin(me), i, pieces.size(me));
    coll::storeToAll<Shape>(launch, a.y, a.yOfAll, pieces.begin(me), i, pieces.size(me), s);
  });
#ifndef NO_EXIT
  launch.barrier(1);
#endif
}

} // namespace

extern "C" __global__ void __launch_bounds__(512) allreduce(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  twoshot<coll::AnyPackets>(launch, a);
  launch.finish();
}

// Puts the next launch's input where the peers look for it, and takes this one's result: what a caller's kernels between
// two launches do.
struct CopyArgs {
  coll::Team<N> team;
  const coll::u32 *from;
  coll::u32 *to;
  coll::u64 words;
  coll::u64 whole;
};
extern "C" __global__ void copy(const __grid_constant__ CopyArgs a) {
  coll::ptx::gridDependencyWait();
  for (coll::u64 i = threadIdx.x; i < a.words; i += blockDim.x) coll::ptx::store4(a.to + i, coll::ptx::load4(a.from + i));
}
