// y = x + 1, of a rank's own memory, to be launched as one of a chain. It lets the next launch begin as soon as it has
// waited for the one before. TRIGGER_FIRST lets it before that; NO_WAIT does not wait; READ_EARLY reads x before it does.
#include "coll/device.h"

namespace {

constexpr int N = RANKS;

struct Args {
  coll::Team<N> team;
  const int *x;
  int *y;
  coll::u64 M;
  coll::u64 onePacket;
};

} // namespace

extern "C" __global__ void add_one(const __grid_constant__ Args a) {
  const coll::u32 i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef TRIGGER_FIRST
  coll::ptx::launchDependents();
#endif
#ifdef READ_EARLY
  const coll::u32 x = i < a.M ? coll::ptx::load4(a.x + i) : 0;
#endif
#ifndef NO_WAIT
  coll::ptx::gridDependencyWait();
#endif
#ifndef TRIGGER_FIRST
  coll::ptx::launchDependents();
#endif
#ifndef READ_EARLY
  const coll::u32 x = i < a.M ? coll::ptx::load4(a.x + i) : 0;
#endif
  if (i < a.M) coll::ptx::store4(a.y + i, x + 1);
}

// All CTAs with the same number of all ranks meet.
extern "C" __global__ void meet_once(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  launch.barrier(0);
  launch.finish();
}
