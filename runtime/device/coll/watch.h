// How a wait ends when what it waits for never comes: an abort word and a time limit, looked at rarely.
#pragma once

#include "coll/ptx.h"

namespace coll {

/// Counts the failed looks of a thread's waits. After an abort every later wait of the thread gives up at its first
/// failed look, so the kernel runs to its end with meaningless data; the host then reports `Status` and discards it.
struct Watch {
  static constexpr u32 kLooksPerCheck = 1u << 14;

  u32 looks = 0; ///< failed looks since the last check

  /// To be called after a failed look: true once in kLooksPerCheck times, when `gaveUp` is to be asked.
  __device__ bool due() { return ++looks >= kLooksPerCheck; }

  /// True when the wait must be given up. `since` is the clock at the first check of this wait, 0 before it, in units
  /// of 2^20 ns. `slot` is what is waited for, `seen` the epoch found there.
  __device__ bool gaveUp(Status *status, u64 timeout, u32 &since, u32 me, u32 mailbox, u32 slot, u32 epoch, u32 seen) {
    const u32 now = u32(ptx::nanoseconds() >> 20);
    if (since == 0) since = now;
    if (ptx::loadRelaxed4(&status->abort) == 0) {
      looks = 0;
      if (now - since <= u32(timeout >> 20)) return false;
      const u64 where = (me | mailbox << 16) | u64(slot | blockIdx.x << 16) << 32;
      ptx::storeRelaxed16(&status->where, Words2{{where, epoch | u64(seen) << 32}});
      ptx::storeRelease4(&status->abort, 2);
    }
    looks = kLooksPerCheck; // the next wait looks at the abort word at once
    return true;
  }
};

} // namespace coll
