// barrier.direct   N = 8   f32   generated from barrier.coll
//
// Proof     no mailbox is used, so launches cannot disturb each other
// Rests on  the PTX memory model alone; of the host, one launch in flight per region and the same sequence of
//           launches, of the same grid each, on all ranks
#include "coll/packet.h"

namespace {

constexpr int N = 8;
using T = float;

struct Args {
  coll::Team<N> team;
  coll::u64 onePacket; // every thread has at most one packet, and all are whole and aligned
};

using Packet = coll::Packet<T, 16>; // what a thread handles at a time

template <class Shape>
__device__ inline void direct(coll::Launch<N> &launch, const Args &a) {
  // barrier.coll:6    algorithm direct for barrier on lsa(2..72) { barrier }
  launch.barrier(0);
  launch.finish();
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
barrier_direct_n8_f32(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) direct<coll::OnePacket>(launch, a);
  else direct<coll::AnyPackets>(launch, a);
}
