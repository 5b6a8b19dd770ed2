// When a kernel gets where, by the clock that all GPUs of a host share nearly enough. Only kernels that `coll bench
// --trace` makes include this: a stamp costs tens of nanoseconds.
#pragma once

#include "coll/ptx.h"

namespace coll {

/// The stamps of thread 0 of each CTA.
enum Stamp : u32 {
  kEntered,  ///< the first instruction
  kMayRun,   ///< after the wait for the kernel before it
  kSends,    ///< the epoch is known, the first packet on its way
  kReceived, ///< all packets of the thread are received and stored
  kFinished, ///< the last instruction
  kStamps = 8,
};

} // namespace coll

/// Stamps of the latest launch, by CTA; nanoseconds.
extern "C" __device__ coll::u64 coll_trace[coll::kMaxCtas * coll::kStamps];
__device__ coll::u64 coll_trace[coll::kMaxCtas * coll::kStamps];

namespace coll {

__device__ inline void stamp(Stamp which) {
  if (threadIdx.x == 0) coll_trace[blockIdx.x * kStamps + which] = ptx::nanoseconds();
}

/// Keeps the first time of this launch.
__device__ inline void stampFirst(Stamp which) {
  if (threadIdx.x == 0 && coll_trace[blockIdx.x * kStamps + which] < coll_trace[blockIdx.x * kStamps + kEntered])
    stamp(which);
}

} // namespace coll
