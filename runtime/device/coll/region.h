// The layout of a scratch region, alike on all ranks of a member. The host's copy of these numbers is in
// runtime/context/Region.h and a test compares the two.
//
//   offset 0              kMaxCtas epoch words of 4 bytes, all equal between launches; zero when fresh
//   offset 1024           wrap counters, two words of 4 bytes, in 128 bytes
//   offset 1152           barrier words: [kBarriers][kMaxCtas][N] of 4 bytes; kBarriers is the kernel's count of barriers
//   after that, aligned   mailboxes; the compiler gives each its offset
#pragma once

#include "coll/types.h"

namespace coll::region {

constexpr u64 kEpochs = 0;
constexpr u64 kWrapCounters = kMaxCtas * 4;
constexpr u64 kBarrierWords = kWrapCounters + 128;

/// Bytes before the first mailbox of a kernel of `ranks` ranks with `barriers` barriers, a multiple of 128.
constexpr u64 headerBytes(u64 ranks, u64 barriers) {
  return (kBarrierWords + barriers * kMaxCtas * ranks * 4 + 127) / 128 * 128;
}

} // namespace coll::region
