// How a wait ends when what it waits for never comes: an abort word and a time limit, looked at rarely.
#pragma once

#include "coll/ptx.h"

namespace coll {

/// Counts the failed looks of a thread's waits. After an abort every later wait of the thread gives up at its first
/// failed look, so the kernel runs to its end with meaningless data; the host then reports `Status` and discards it.
struct Watch {
  Status *status;
  u64 timeout;
  u32 looks = 0; ///< failed looks since the last check
  u64 since = 0; ///< clock at the first check of the present wait; 0 before it

  static constexpr u32 kLooksPerCheck = 1u << 14;

  /// To be called after a failed look. True when the wait must be given up.
  __device__ bool gaveUp(u64 me, u32 mailbox, u32 slot, u32 epoch, u32 seen) {
    if (++looks < kLooksPerCheck) return false;
    const u64 now = ptx::nanoseconds();
    if (since == 0) since = now;
    looks = 0;
    if (ptx::loadRelaxed4(&status->abort) == 0) {
      if (now - since <= timeout) return false;
      const u64 where = me | mailbox << 16 | u64(slot) << 32 | u64(blockIdx.x) << 48;
      ptx::storeRelaxed16(&status->where, Words2{{where, epoch | u64(seen) << 32}});
      ptx::storeRelease4(&status->abort, 2);
    }
    looks = kLooksPerCheck; // the next wait looks at the abort word at once
    return true;
  }

  /// To be called when a wait has succeeded.
  __device__ void arrived() { since = 0; }
};

} // namespace coll
