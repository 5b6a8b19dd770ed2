// The life of one launch: dependent launch, the epoch, its wrap, the barrier of the team, and the loop over packets.
#pragma once

#include "coll/ptx.h"
#include "coll/region.h"
#include "coll/watch.h"

namespace coll {

/// The rank `hop` places after `me`.
template <int N>
__device__ inline u32 rankAt(u64 me, u32 hop) {
  const u32 r = u32(me) + hop;
  return r < N ? r : r - N;
}

/// Waits until a word of a region, compared so that the wrap of 32 bits does no harm, has reached `want`. Acquires.
__device__ inline void awaitAtLeast(Watch &watch, u64 me, const char *word, u32 want, u32 what, u32 from) {
  u32 seen;
  while (int((seen = ptx::loadAcquire4(word)) - want) < 0) {
    if (watch.gaveUp(me, what, from, want, seen)) return;
    ptx::spinHint(word);
  }
  watch.arrived();
}

/// All CTAs of all ranks meet: each adds one to a wrap counter of every rank and waits for its own to be full.
template <int N>
__device__ inline void meetAll(const Team<N> &team, u32 counter) {
  const u64 word = region::kWrapCounters + counter * 4;
  ptx::ctaSync();
  if (threadIdx.x == 0) {
    Watch watch{team.status, team.timeout};
#pragma unroll 1
    for (u32 hop = 0; hop < N; ++hop) ptx::addRelease4(team.peer[hop] + word, 1);
    awaitAtLeast(watch, team.me, team.peer[0] + word, N * gridDim.x, kWrap, counter);
  }
  ptx::ctaSync();
}

/// At the end of launch 2^32 - 1: all ranks, at rest before and after, clear whatever carries an epoch, and the next
/// launch is number 1 again. Out of line, so that it costs the kernel nothing but the test for it.
template <int N>
__device__ __noinline__ void wrap(const Team<N> &team) {
  char *counters = team.peer[0] + region::kWrapCounters;
  const u32 first = blockIdx.x * blockDim.x + threadIdx.x;
  if (first == 0) ptx::storeRelaxed4(counters + 4, 0); // at rest since the last wrap
  meetAll(team, 0);
#pragma unroll 1
  for (u64 at = region::kBarrierWords + first * 16ull; at < team.regionBytes; at += 16ull * gridDim.x * blockDim.x)
    ptx::storeRelaxed16(team.peer[0] + at, Words2{{0, 0}});
  meetAll(team, 1);
  if (first == 0) ptx::storeRelaxed4(counters, 0);
}

/// One thread's view of its launch. Constructed first thing in a kernel, `finish`ed last.
template <int N>
struct Launch {
  const Team<N> &team;
  Watch watch;
  u32 current = 0; ///< the epoch, once it has been read; never 0 then

  /// Nothing that an earlier kernel may have written is touched before this returns.
  __device__ explicit Launch(const Team<N> &t) : team(t), watch{t.status, t.timeout} {
    ptx::gridDependencyWait();
    ptx::launchDependents();
  }

  __device__ u32 me() const { return u32(team.me); }

  /// The number of this launch, equal on all ranks, never 0. Read from memory at the first call, so that a kernel can
  /// have its first payload on the way before.
  __device__ u32 epoch() {
    if (current == 0) current = ptx::loadRelaxed4(team.peer[0] + region::kEpochs + blockIdx.x * 4) + 1;
    return current;
  }

  /// Barrier number `index` of the kernel, over all threads of this CTA and of the CTAs with its number on all ranks.
  /// What any of them wrote before it, all of them see after it. Every rank launches the same grid.
  __device__ void barrier(u32 index) {
    char *words = team.peer[0] + region::kBarrierWords + (u64(index) * kMaxCtas + blockIdx.x) * N * 4;
    const u64 mine = words - team.peer[0] + team.me * 4;
    const u32 want = epoch();
    ptx::ctaSync();
#pragma unroll 1
    for (u32 hop = threadIdx.x + 1; hop < N; hop += blockDim.x) ptx::storeRelease4(team.peer[hop] + mine, want);
#pragma unroll 1
    for (u32 hop = threadIdx.x + 1; hop < N; hop += blockDim.x)
      awaitAtLeast(watch, team.me, words + rankAt<N>(team.me, hop) * 4, want, kBarrier, rankAt<N>(team.me, hop));
    ptx::ctaSync();
  }

  /// Moves on every epoch word that this CTA answers for: c, c+G, c+2G, … for CTA c of G, so that the next launch may
  /// have any grid. The CTA barrier keeps a fast warp from moving a word that a slow one has yet to read.
  __device__ void finish() {
    u32 done = epoch();
    if (blockDim.x > 32) ptx::ctaSync();
    if (done == 0xffffffffu) wrap(team), done = 0;
    char *words = team.peer[0] + region::kEpochs;
#pragma unroll 1
    for (u32 word = blockIdx.x + threadIdx.x * gridDim.x; word < kMaxCtas; word += blockDim.x * gridDim.x)
      ptx::store4(words + u64(word) * 4, done);
  }

};

/// The three ways a kernel goes over its packets. The host picks one at each launch, from counts and alignment; the
/// thread that handles a packet, and the order, are the same in all three for the same grid.
///
/// At most one packet for each thread, all packets whole and aligned, 32-bit numbers.
struct OnePacket {
  static constexpr bool kWhole = true;
  template <class Body>
  __device__ static void forEach(u64 packets, Body body) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < u32(packets)) body(i);
  }
};

/// Any number of packets, all whole and aligned.
struct WholePackets {
  static constexpr bool kWhole = true;
  template <class Body>
  __device__ static void forEach(u64 packets, Body body) {
    const u64 step = u64(gridDim.x) * blockDim.x;
#pragma unroll 1
    for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i < packets; i += step) body(i);
  }
};

/// Any number of packets; the last one of a vector may be short, vectors may start at any element and differ in length.
struct AnyPackets {
  static constexpr bool kWhole = false;
  template <class Body>
  __device__ static void forEach(u64 packets, Body body) {
    WholePackets::forEach(packets, body);
  }
};

} // namespace coll
