// Credits: how a writer knows that a slot may be filled again where nothing that it receives tells it (`reuse ack`).
//
// A rank that begins launch e is done with all that it read in the launches before, which have ended. It says so with
// one word in each other rank's region, word `me` of the credits there: the epoch. In launch e a mailbox of c copies
// fills again what launch e-c filled; a writer does so once the reader has begun launch e-c+1. With one copy that is
// this very launch; with two it is the one before, and the word has mostly arrived by then.
//
// No deadlock: a rank gives its credits before any of its threads waits for anything in the launch, and a launch begins
// as soon as the rank's previous one has ended.
//
// Order: the reads come before the credit because their kernel has ended. Where slots are read weakly (`flag`,
// `barrier`) the credit is released and acquired, which is all that PTX asks for. Words that show their own arrival are
// filled again by stores that depend on a relaxed look at the credit, as everywhere in those modes.
//
// Chunks. Where each chunk of a launch is an epoch, the end of a chunk is no end of a kernel, and a CTA speaks for its
// own threads alone: CTA c, whose threads have met, tells CTA c of the others, which handles the same packets of a
// chunk. Another launch may have another grid, so what was told in an earlier one counts for nothing: the first chunks
// of a launch wait until the peer has begun that launch.
//
// A credit only grows. The wrap of the epoch clears it, when every slot has been read.
#pragma once

#include "coll/launch.h"

namespace coll {

/// The credits of a kernel, N words of 4 bytes at kOffset in every rank's region, zero when fresh. kReleased: whether
/// `give` releases, for `awaitWithCta`. kOfChunks: the launch is in chunks, and there are N words for each of kMaxCtas
/// CTAs. An object is one thread's memory of what it has waited for.
template <int N, u64 kOffset, bool kReleased, bool kOfChunks = false>
struct Credits {
  /// Tells all other ranks that this one has begun the launch, or that this CTA has begun the chunk. Called by all
  /// threads, before they wait for anything.
  __device__ static void give(Launch<N> &launch) {
    launch.begin();
    if constexpr (kOfChunks) {
      ptx::ctaSync(); // all of them are done with the chunk before
      launch.settled = true;
      giveFrom(launch, threadIdx.x, blockDim.x);
    } else {
      if (blockIdx.x == 0) giveFrom(launch, threadIdx.x, blockDim.x);
    }
  }
  /// The same from within the first loop over packets, for each packet before anything is waited for, so that payload can
  /// be on its way before. The threads with the first packets of CTA 0 share the other ranks among them.
  __device__ static void give(Launch<N> &launch, u32 i, u32 packets) {
    launch.begin();
    const u32 givers = packets < blockDim.x ? packets : blockDim.x;
    if (i < givers) giveFrom(launch, i, givers);
  }

  /// Waits until all other ranks, or the one `hop` places after this one, are done with what this launch's copy of a
  /// mailbox of `copies` copies held before. Relaxed: what this thread stores into it afterwards depends on this.
  __device__ void await(Launch<N> &launch, u32 copies) {
    if (known || (!ptx::kInStep && !launch.active)) return;
    known = true;
    launch.begin();
    const u32 want = wanted(launch, copies);
    if (want == 0) return;
    // All words are looked at together; what is late is waited for one by one.
    constexpr u32 kBatch = N - 1 < 8 ? N - 1 : 8;
#pragma unroll 1
    for (u32 first = 1; first < N; first += kBatch) {
      u32 seen[kBatch];
#pragma unroll
      for (u32 s = 0; s < kBatch; ++s) seen[s] = ptx::loadRelaxed4(wordOf(launch, first + s < N ? first + s : first));
      bool late = false;
#pragma unroll
      for (u32 s = 0; s < kBatch; ++s) late |= seen[s] < want;
      if (!ptx::anyInStep(late)) continue;
#pragma unroll 1
      for (u32 hop = first; hop < first + kBatch && hop < N; ++hop) awaitWord(launch, true, hop, want);
    }
  }
  __device__ void await(Launch<N> &launch, u32 copies, u32 hop) {
    if (hop == 0 || hop == last || (!ptx::kInStep && !launch.active)) return; // nobody waits for itself
    last = hop;
    launch.begin();
    const u32 want = wanted(launch, copies);
    if (want == 0) return;
    if (ptx::anyInStep(ptx::loadRelaxed4(wordOf(launch, hop)) < want)) awaitWord(launch, true, hop, want);
  }

  /// The same for the whole CTA, all of whose threads call it. Acquires, one thread for each rank: any thread may then
  /// store into the mailbox, weakly too.
  __device__ static void awaitWithCta(Launch<N> &launch, u32 copies) {
    launch.begin();
    const u32 want = wanted(launch, copies);
    if (want != 0) {
#pragma unroll 1
      for (u32 first = 1; first < N; first += blockDim.x) {
        const u32 hop = first + threadIdx.x;
        awaitWord(launch, hop < N, hop < N ? hop : 0, want);
      }
    }
    ptx::ctaSync();
    launch.settled = true;
  }
  __device__ static void awaitWithCta(Launch<N> &launch, u32 copies, u32 hop) {
    launch.begin();
    const u32 want = wanted(launch, copies);
    if (hop != 0 && want != 0) awaitWord(launch, threadIdx.x == 0, hop, want);
    ptx::ctaSync();
    launch.settled = true;
  }

private:
  bool known = false; ///< of all ranks
  u32 last = 0;       ///< the hop waited for last

  /// The epoch that a peer must have begun before this one may fill again what launch or chunk e-c filled; 0: none.
  __device__ static u32 wanted(Launch<N> &launch, u32 copies) {
    const u32 want = launch.epoch >= copies ? launch.epoch - copies + 1 : 0;
    if constexpr (!kOfChunks) return want;
    return want > launch.firstEpoch ? want : launch.firstEpoch;
  }
  /// Of the word that tells of a rank, in bytes.
  __device__ static u64 wordFrom(u32 rank) { return kOffset + ((kOfChunks ? blockIdx.x * N : 0) + rank) * 4; }

  __device__ static void giveFrom(Launch<N> &launch, u32 first, u32 givers) {
#pragma unroll 1
    for (u32 hop = first + 1; hop < N; hop += givers) {
      char *word = launch.team.peer[hop] + wordFrom(launch.me());
      if constexpr (kReleased) ptx::storeRelease4(word, launch.epoch);
      else ptx::storeRelaxed4(word, launch.epoch);
    }
  }
  __device__ static const char *wordOf(Launch<N> &launch, u32 hop) {
    return launch.team.peer[0] + wordFrom(rankAt<N>(launch.me(), hop));
  }
  __device__ static void awaitWord(Launch<N> &launch, bool waits, u32 hop, u32 want) {
    launch.awaitAtLeast(waits, wordOf(launch, hop), want, kCredit, rankAt<N>(launch.me(), hop));
  }
};

} // namespace coll
