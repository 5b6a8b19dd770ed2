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

/// Says whose wait ran out and ends all others. The release makes `where` seen by whoever sees `abort`.
__device__ inline void report(Status *status, u32 me, u32 mailbox, u32 slot, u32 epoch, u32 seen) {
  const u64 where = (me | mailbox << 16) | u64(slot | blockIdx.x << 16) << 32;
  ptx::storeRelaxed16(&status->where, Words2{{where, epoch | u64(seen) << 32}});
  ptx::storeRelease4(&status->abort, 2);
}

/// The time in units of 2^20 ns; odd, so that it is never 0.
__device__ inline u32 coarseTime() { return u32(ptx::nanoseconds() >> 20) | 1; }

namespace detail {

/// Once for all waits of a kernel: see below.
__device__ __noinline__ inline u32 checkTime(Status *status, u64 timeout, u32 since, u32 me, u32 what, u32 from, u32 want,
                                             u32 seen) {
  if (aborted(status)) return 0;
  const u32 now = coarseTime();
  if (since == 0) since = now;
  if (now - since <= u32(timeout >> 20)) return since;
  report(status, me, what, from, want, seen);
  return 0;
}

} // namespace detail

/// The rare part of a wait that has looked in vain: `seen` is where there should be `want`. `since` is the coarse time of
/// its first check, 0 before it. Returns that, or 0 when the wait must be given up.
template <int N>
__device__ inline u32 overdue(const Team<N> &team, u32 since, u32 what, u32 from, u32 want, u32 seen) {
  return detail::checkTime(team.status, team.timeout, since, u32(team.me), what, from, want, seen);
}

} // namespace coll
