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

/// The number of the packet that the first lane of a warp has where another has packet `i`: a CTA has whole warps.
__device__ inline u32 warpFirst(u32 i) { return i & ~31u; }

namespace detail {

/// How a word of this rank's region tells that it is not yet at `want`. A plain comparison: the wrap clears such words, and
/// one that no launch has used for 2^31 launches must not look as if it were ahead.
struct Below {
  __device__ static bool late(u32 seen, u32 want) { return seen < want; }
};

/// Waits until a word of this rank's region has reached `want`. Acquires. By all lanes of a warp, see poll.h, of which those
/// that do not wait look along.
template <class Order = Below, int N>
__device__ inline void awaitAtLeast(const Team<N> &team, Watch &watch, bool waits, const char *word, u32 want, u32 what,
                                    u32 from) {
  if (!ptx::kInStep && !waits) return;
  if (!waits) word = team.peer[0];
  u32 seen = 0, since = 0;
  for (;;) {
    bool late = false;
#pragma unroll 1
    for (u32 looks = watch.patience; looks != 0; --looks) {
      seen = ptx::loadAcquire4(word);
      late = waits && Order::late(seen, want);
      if (!ptx::anyInStep(late)) return;
      ptx::spinHint(word);
    }
    if (late) since = overdue(team, since, what, from, want, seen);
    if (ptx::anyInStep(late && since == 0)) return watch.giveUp();
  }
}

/// The number of this launch, from what the one before left in this rank's region: see region.h. Of a launch in chunks
/// that of its first; it leaves that of its last.
__device__ inline u32 readEpoch(const char *region, u32 chunks) {
  const u64 last = ptx::loadRelaxed8(region + region::kLastLaunch);
  const u32 mine = ptx::loadRelaxed4(region + region::kEpochs + blockIdx.x * 4);
  const u32 ctas = u32(last), epoch = u32(last >> 32);
  return ctas <= blockIdx.x || mine == epoch ? epoch + 1 : epoch - (chunks - 1);
}

/// Leaves it to the next launch; by thread 0.
__device__ inline void leaveEpoch(char *region, u32 epoch) {
  if (blockIdx.x == 0) ptx::storeRelaxed8(region + region::kLastLaunch, gridDim.x | u64(epoch) << 32);
  else ptx::storeRelaxed4(region + region::kEpochs + blockIdx.x * 4, epoch);
}

/// All CTAs of all ranks meet, for the `meeting`-th time of a wrap, by thread 0 of each: it adds one to a counter of every
/// rank and waits for its own to be full. Nothing here is worth a loop that looks at nothing else, as awaitAtLeast has.
template <int N>
__device__ inline void meet(const Team<N> &team, u32 meeting) {
  const u32 counter = u32(region::kWrapCounters) + meeting * 4, all = N * gridDim.x;
#pragma unroll 1
  for (u32 hop = 0; hop < N; ++hop) ptx::addRelease4(team.peer[hop] + counter, 1);
  const char *word = team.peer[0] + counter;
  u32 since = 0;
#pragma unroll 1
  for (u32 seen; (seen = ptx::loadAcquire4(word)) < all; ptx::spinHint(word)) {
    since = overdue(team, since, kWrap, meeting, all, seen);
    if (since == 0) break;
  }
}

/// At the end of launch 2^32 - 1, or where the next may need more numbers than are left: all ranks, at rest before and
/// after, clear whatever carries an epoch, and the next launch is number 1 again. By thread 0 of each CTA, when the CTA is
/// done.
template <int N>
__device__ inline void wrap(const Team<N> &team) {
  char *region = team.peer[0];
  ptx::storeRelaxed4(region + region::kWrapCounters + 4, 0); // at rest since the last wrap
#pragma unroll 1
  for (u32 meeting = 0;; ++meeting) {
    meet(team, meeting);
    if (meeting == 1) break;
    const u32 units = u32(team.clearBytes / 16);
#pragma unroll 1
    for (u32 u = blockIdx.x; u < units; u += gridDim.x)
      if (u != region::kWrapCounters / 16) ptx::storeRelaxed16(region + u64(u) * 16, Words2{{0, 0}});
  }
  ptx::storeRelaxed4(region + region::kWrapCounters, 0);
}

/// The end of a launch whose threads have yet to meet, or whose epoch, 0 where this thread has not read it, is above
/// `last`. Out of line, once for all shapes, and so that the launch stays in registers.
template <int N>
__device__ __noinline__ void finishMeeting(const Team<N> &team, char *region, u32 epoch, u32 last) {
  ptx::ctaSync();
  if (threadIdx.x != 0) return;
  if (epoch == 0) epoch = readEpoch(region, 1);
  if (epoch > last) {
    wrap(team);
    epoch = 0;
  }
  leaveEpoch(region, epoch);
}

} // namespace detail

/// One thread's view of its launch. Constructed first thing in a kernel, `finish`ed last. The flags are known when the
/// kernel is compiled, but for `active`.
template <int N>
struct Launch {
  const Team<N> &team;
  Watch watch;
  u32 epoch = 0;        ///< the number of this launch, equal on all ranks, never 0; meaningless before `begin`
  u32 firstEpoch = 0;   ///< of a launch in chunks: the number of chunk 0
  bool started = false; ///< whether earlier kernels are known to be over
  bool begun = false;
  bool active = true;   ///< whether this thread has a packet; one without goes along and touches no memory
  bool inStep = false;  ///< whether all threads of the CTA make the same calls
  bool settled = false; ///< whether all threads of the CTA have met since they have begun
  bool counts = false;  ///< whether the counters of rows.h are ready
  u32 counted = 0;      ///< meetings over rows so far that those have counted

  __device__ explicit Launch(const Team<N> &t) : team(t) {}

  /// Nothing that an earlier kernel may have written is touched before this returns. What needs no memory comes before
  /// it, while the kernel before this one still runs: parameters are no memory in this sense.
  __device__ void start() {
    if (!started) ptx::gridDependencyWait(), ptx::launchDependents();
    started = true;
  }

  /// What this thread knows of before, of earlier launches too, comes before all that it does after, for all GPUs.
  __device__ void fence() {
    start();
    ptx::fence();
  }

  __device__ u32 me() const { return u32(team.me); }

  /// Reads the epoch, if this thread has not yet. Whatever uses the epoch calls this first, so that a kernel can have
  /// its first payload on the way before: the two loads overlap. How the epoch is found: region.h. A launch in chunks
  /// leaves the epoch of its last one.
  __device__ void begin(u32 chunks = 1) {
    start();
    if (!begun) firstEpoch = epoch = detail::readEpoch(team.peer[0], chunks);
    begun = true; // said on both ways, so that the compiler drops the test from the second call on
  }

  /// Goes on to chunk `c` of `chunks`; by all threads, before anything else of the chunk.
  __device__ void chunk(u32 c, u32 chunks) {
    begin(chunks);
    epoch = firstEpoch + c;
  }

  /// The CTA's threads meet after `begin` and before their first wait, while the data is on its way. From then on one
  /// of them may move the CTA's epoch word whenever it is done: the others have read it.
  __device__ void settle() {
    if (inStep && !settled) ptx::ctaSync(), settled = true;
  }

  /// As detail::awaitAtLeast.
  __device__ void awaitAtLeast(bool waits, const char *word, u32 want, u32 what, u32 from) {
    detail::awaitAtLeast(team, watch, waits, word, want, what, from);
  }

  /// Barrier number `index` of the kernel, over all threads of this CTA and of the CTAs with its number on all ranks.
  /// What any of them wrote before it, all of them see after it. Every rank launches the same grid.
  __device__ void barrier(u32 index) {
    begin();
    const u64 words = region::kBarrierWords + (index * kMaxCtas + blockIdx.x) * N * 4;
    ptx::ctaSync();
    settled = true;
#pragma unroll 1
    for (u32 hop = threadIdx.x + 1; hop < N; hop += blockDim.x)
      ptx::storeRelease4(team.peer[hop] + words + me() * 4, epoch);
#pragma unroll 1
    for (u32 first = 1; first < N; first += blockDim.x) {
      const u32 hop = first + threadIdx.x, rank = rankAt<N>(me(), hop < N ? hop : 0);
      awaitAtLeast(hop < N, team.peer[0] + words + rank * 4, epoch, kBarrier, rank);
    }
    ptx::ctaSync();
  }

  /// Leaves the epoch to the next launch, by thread 0. It must not move a word that a slow thread, of the same warp
  /// even, has yet to read, and must not wrap while another waits: then, and unless the threads have settled, they meet.
  /// `most`: so many epochs the next launch may need.
  __device__ void finish(u32 most = 1) {
    start();
    const u32 last = 0xffffffffu - most;
    if (!settled || epoch > last) return detail::finishMeeting(team, team.peer[0], epoch, last);
    if (threadIdx.x == 0) detail::leaveEpoch(team.peer[0], epoch);
  }
};

/// The ways a kernel goes over its packets, fewer than 2^32: two of them, between which it branches once, on the last
/// word of its parameter, which the host sets at each launch from counts and alignment. For the same grid the thread
/// that handles a packet is the same in all, so ranks need not take the same one.
///
/// At most one packet for each thread, all packets whole and aligned. A thread without one goes along, so that the
/// threads of a CTA can meet on the way.
struct OnePacket {
  static constexpr bool kWhole = true, kOne = true;
  template <int N, class Body>
  __device__ static void forEach(Launch<N> &launch, u32 packets, const Body &body) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    launch.active = i < packets;
    launch.inStep = true;
    launch.start();
    body(i);
  }
};

/// Any number of packets; the last one of a vector may be short, vectors may start at any element and differ in length.
/// The lanes of a warp go along with the one that has the first.
struct AnyPackets {
  static constexpr bool kWhole = false, kOne = false;
  template <int N, class Body>
  __device__ static void forEach(Launch<N> &launch, u32 packets, const Body &body) {
    launch.start();
#pragma unroll 1
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; warpFirst(i) < packets; i += gridDim.x * blockDim.x) {
      launch.active = i < packets;
      body(i);
    }
    launch.active = true;
  }
};

/// Any number of packets, all whole and aligned, of which warps have all lanes' or none.
struct WholePackets {
  static constexpr bool kWhole = true, kOne = false;
  template <int N, class Body>
  __device__ static void forEach(Launch<N> &launch, u32 packets, Body body) {
    launch.start();
#pragma unroll 1
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < packets; i += gridDim.x * blockDim.x) body(i);
  }
};

} // namespace coll
