// How a wait ends when what it waits for never comes: an abort word and a time limit, looked at rarely.
#pragma once

#include "coll/ptx.h"

namespace coll {

/// How often a thread looks in vain before it looks at the abort word and the time. After an abort every later wait of
/// the thread gives up at its first failed look, so the kernel runs to its end with meaningless data; the host then
/// reports `Status` and discards it.
struct Watch {
  u32 patience = 1u << 14;

  __device__ void giveUp() { patience = 1; }
};

/// Whether somebody has ended all waits. Relaxed: the host or another thread may set the word at any time.
__device__ inline bool aborted(const Status *status) { return ptx::loadRelaxed4(&status->abort) != 0; }

/// Whether a wait has lasted too long. `since` is the clock at the first check of the wait, 0 before it, in units of
/// 2^20 ns and odd, so that it is never 0.
__device__ inline bool ranOut(u64 timeout, u32 &since) {
  const u32 now = u32(ptx::nanoseconds() >> 20) | 1;
  if (since == 0) since = now;
  return now - since > u32(timeout >> 20);
}

/// Says whose wait ran out and ends all others. The release makes `where` seen by whoever sees `abort`.
__device__ inline void report(Status *status, u32 me, u32 mailbox, u32 slot, u32 epoch, u32 seen) {
  const u64 where = (me | mailbox << 16) | u64(slot | blockIdx.x << 16) << 32;
  ptx::storeRelaxed16(&status->where, Words2{{where, epoch | u64(seen) << 32}});
  ptx::storeRelease4(&status->abort, 2);
}

} // namespace coll
