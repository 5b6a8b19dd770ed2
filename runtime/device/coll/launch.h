// The life of one launch: dependent launch, the epoch, its wrap, the barrier of the team, and the loop over packets.
#pragma once

#include "coll/ptx.h"
#include "coll/region.h"
#include "coll/watch.h"

namespace coll {

/// The rank `hop` places after `me`.
template <int N>
__device__ inline u32 rankAt(u32 me, u32 hop) {
  const u32 r = me + hop;
  return r < N ? r : r - N;
}

/// How many places after `me` rank `r` lies: the inverse of rankAt.
template <int N>
__device__ inline u32 hopTo(u32 me, u32 r) {
  return r >= me ? r - me : r + N - me;
}

/// One thread's view of its launch. Constructed first thing in a kernel, `finish`ed last.
template <int N>
struct Launch {
  const Team<N> &team;
  Watch watch;
  u32 epoch = 0;      ///< the number of this launch, equal on all ranks, never 0; meaningless before `begin`
  bool begun = false;

  /// Nothing that an earlier kernel may have written is touched before this returns.
  __device__ explicit Launch(const Team<N> &t) : team(t) {
    ptx::gridDependencyWait();
    ptx::launchDependents();
  }

  __device__ u32 me() const { return u32(team.me); }

  /// Reads the epoch, if this thread has not yet. Whatever uses the epoch calls this first, so that a kernel can have
  /// its first payload on the way before: the two loads overlap. How the epoch is found: region.h.
  __device__ void begin() {
    if (!begun) {
      const char *region = team.peer[0];
      const u64 last = ptx::loadRelaxed8(region + region::kLastLaunch);
      const u32 mine = ptx::loadRelaxed4(region + region::kEpochs + blockIdx.x * 4);
      const u32 ctas = u32(last);
      epoch = u32(last >> 32);
      if (ctas <= blockIdx.x || mine == epoch) ++epoch;
    }
    begun = true; // said on both ways, so that the compiler drops the test from the second call on
  }

  /// Waits until a word of this rank's region has reached `want`. Acquires. A plain comparison: the wrap clears such
  /// words, and one that no launch has used for 2^31 launches must not look as if it were ahead.
  __device__ void awaitAtLeast(const char *word, u32 want, u32 what, u32 from) {
    u32 seen, since = 0;
    while ((seen = ptx::loadAcquire4(word)) < want) {
      if (watch.due()) {
        if (aborted(team.status)) return;
        if (ranOut(team.timeout, since)) return report(team.status, me(), what, from, want, seen);
        watch.goOn();
      }
      ptx::spinHint(word);
    }
  }

  /// Barrier number `index` of the kernel, over all threads of this CTA and of the CTAs with its number on all ranks.
  /// What any of them wrote before it, all of them see after it. Every rank launches the same grid.
  __device__ void barrier(u32 index) {
    begin();
    const u64 words = region::kBarrierWords + (index * kMaxCtas + blockIdx.x) * N * 4;
    ptx::ctaSync();
#pragma unroll 1
    for (u32 hop = threadIdx.x + 1; hop < N; hop += blockDim.x)
      ptx::storeRelease4(team.peer[hop] + words + me() * 4, epoch);
#pragma unroll 1
    for (u32 hop = threadIdx.x + 1; hop < N; hop += blockDim.x) {
      const u32 rank = rankAt<N>(me(), hop);
      awaitAtLeast(team.peer[0] + words + rank * 4, epoch, kBarrier, rank);
    }
    ptx::ctaSync();
  }

  /// At the end of launch 2^32 - 1: all ranks, at rest before and after, clear whatever carries an epoch, and the next
  /// launch is number 1 again. Thread 0 of each CTA does it, when the CTA is done. Twice all CTAs of all ranks meet:
  /// each adds one to a counter of every rank and waits for its own to be full.
  __device__ void wrap() {
    char *region = team.peer[0];
    ptx::storeRelaxed4(region + region::kWrapCounters + 4, 0); // at rest since the last wrap
#pragma unroll 1
    for (u32 meeting = 0; meeting < 2; ++meeting) {
      const u32 counter = u32(region::kWrapCounters) + meeting * 4;
#pragma unroll 1
      for (u32 hop = 0; hop < N; ++hop) ptx::addRelease4(team.peer[hop] + counter, 1);
      awaitAtLeast(region + counter, N * gridDim.x, kWrap, meeting);
      if (meeting == 1) break;
      const u32 units = u32(team.clearBytes / 16);
#pragma unroll 1
      for (u32 u = blockIdx.x; u < units; u += gridDim.x)
        if (u != region::kWrapCounters / 16) ptx::storeRelaxed16(region + u64(u) * 16, Words2{{0, 0}});
    }
    ptx::storeRelaxed4(region + region::kWrapCounters, 0);
  }

  /// Leaves the epoch to the next launch. The CTA barrier keeps a fast thread from moving a word that a slow one, of
  /// the same warp even, has yet to read.
  __device__ void finish() {
    ptx::ctaSync();
    if (threadIdx.x != 0) return;
    begin();
    if (epoch == 0xffffffffu) wrap(), epoch = 0;
    char *region = team.peer[0];
    if (blockIdx.x == 0) ptx::storeRelaxed8(region + region::kLastLaunch, gridDim.x | u64(epoch) << 32);
    else ptx::storeRelaxed4(region + region::kEpochs + blockIdx.x * 4, epoch);
  }
};

/// The two ways a kernel goes over its packets, fewer than 2^32; it branches once, on the last word of its parameter,
/// which the host sets at each launch from counts and alignment. For the same grid the thread that handles a packet is
/// the same in both, so ranks need not take the same one.
///
/// At most one packet for each thread, all packets whole and aligned.
struct OnePacket {
  static constexpr bool kWhole = true;
  template <class Body>
  __device__ static void forEach(u32 packets, Body body) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < packets) body(i);
  }
};

/// Any number of packets; the last one of a vector may be short, vectors may start at any element and differ in length.
struct AnyPackets {
  static constexpr bool kWhole = false;
  template <class Body>
  __device__ static void forEach(u32 packets, Body body) {
#pragma unroll 1
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < packets; i += gridDim.x * blockDim.x) body(i);
  }
};

} // namespace coll
