// Waiting for lines of 16 bytes that show themselves whether they have arrived. All loads of a batch are in flight
// together, and what is rare lies out of line, so that what runs while all is well lies close together.
//
// In step. The lanes of a warp wait together: whoever waits is called by all of them, those without a packet too, and looks
// until nobody is late any more. Were the lanes to leave the loop one by one, they could go on apart, and ptxas does not
// reckon with that: it keeps in registers of the whole warp what lanes that are still waiting have yet to read, and lets
// those ahead overwrite it (seen with NVRTC 13.0 on sm_90: the late lanes of a warp left out their last store). So what
// differs between the lanes of a warp, such as which has a packet, is a condition on what is loaded and stored, never on
// what waits.
//
// A wire form has late(line, epoch), zero if the line has arrived, and found(line), the epoch that a line which has
// not arrived carries, for the report.
#pragma once

#include "coll/packet.h"

namespace coll::detail {

/// The first s of the set bits of `wanted` whose line, at lines + s * stride, is late; kNone if all have arrived.
template <class Wire>
__device__ inline u32 firstLate(const char *lines, u64 stride, u32 wanted, u32 epoch) {
#pragma unroll 1
  for (u32 s = 0; wanted >> s != 0; ++s)
    if ((wanted >> s & 1) && Wire::late(ptx::loadRelaxed16(lines + s * stride), epoch) != 0) return s;
  return kNone;
}

/// `overdue` for a batch: finds the line to name in the report.
template <class Wire>
__device__ __noinline__ u32 overdueLine(Status *status, u64 timeout, u32 since, u32 me, u32 mailbox, u32 first, u32 wanted,
                                        u32 epoch, const char *lines, u64 stride) {
  const u32 s = firstLate<Wire>(lines, stride, wanted, epoch);
  if (s == kNone) return since != 0 ? since : coarseTime(); // there by now
  return checkTime(status, timeout, since, me, mailbox, first + s, epoch, Wire::found(ptx::loadRelaxed16(lines + s * stride)));
}

/// Waits for kCount lines, kStride apart from `lines` on, and returns them in `seen`. Line s is that of slot first + s
/// of `mailbox`; it is waited for if bit s of `wanted` is set or kCount is 1. The others are read too, but what they
/// hold has no meaning. Relaxed: a line that has arrived says nothing of any other. By all lanes of a warp; those without
/// a packet look at what is always there, and do not wait for it.
template <class Wire, u32 kCount, u64 kStride, int N>
__device__ inline void awaitLines(Launch<N> &launch, u32 mailbox, u32 first, u32 wanted, const char *lines,
                                  Words2 (&seen)[kCount]) {
  launch.settle();
  if (!ptx::kInStep && !launch.active) return;
  const u32 epoch = launch.epoch;
  if (!launch.active) lines = launch.team.peer[0];
  u32 since = 0;
  for (;;) {
    u32 late = 0;
#pragma unroll 1
    for (u32 looks = launch.watch.patience; looks != 0; --looks) {
      late = 0;
      if constexpr (kCount == 1) {
        seen[0] = ptx::loadRelaxed16(lines);
        late = Wire::late(seen[0], epoch);
      } else {
#pragma unroll
        for (u32 s = 0; s < kCount; ++s) seen[s] = ptx::loadRelaxed16(lines + s * kStride);
#pragma unroll
        for (u32 s = 0; s < kCount; ++s)
          if (wanted >> s & 1) late |= Wire::late(seen[s], epoch);
      }
      if (!launch.active) late = 0;
      if (!ptx::anyInStep(late != 0)) return;
      // One after the other, and then another look at all.
      if constexpr (ptx::kParks) { // braces: NVRTC before 13.0 cannot do without
        for (u32 s = 0; s < kCount; ++s)
          while ((kCount == 1 || (wanted >> s & 1)) && Wire::late(seen[s], epoch) != 0) {
            seen[s] = ptx::loadRelaxed16(lines + s * kStride);
            if (Wire::late(seen[s], epoch) != 0) ptx::spinHint(lines + s * kStride);
          }
      }
    }
    if (late != 0) {
      if constexpr (kCount == 1) since = overdue(launch.team, since, mailbox, first, epoch, Wire::found(seen[0]));
      else since = overdueLine<Wire>(launch.team.status, launch.team.timeout, since, launch.me(), mailbox, first, wanted,
                                     epoch, lines, kStride);
    }
    if (ptx::anyInStep(late != 0 && since == 0)) return launch.watch.giveUp();
  }
}

} // namespace coll::detail
