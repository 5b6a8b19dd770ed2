// A launch in chunks: so many packets of every vector at a time, that mailboxes need not be as long as the vectors.
//
// To a mailbox a chunk is what a launch is otherwise: it has an epoch of its own. Epochs go up by the number of chunks in
// a launch, which is the same on all ranks, as they have the same counts. A packet of a slot belongs to the same thread
// in every chunk, and nothing orders two threads of different chunks.
#pragma once

#include "coll/launch.h"

namespace coll {

/// In one launch at most; the host refuses more. The epoch wraps when fewer are left.
constexpr u32 kMostChunks = 1u << 20;

/// The chunks of `packets` packets, at least one. kPackets is that of a full one.
template <u32 kPackets>
struct Chunks {
  u32 packets;

  __device__ explicit Chunks(u32 p) : packets(p) {}

  __device__ u32 count() const { return packets <= kPackets ? 1 : (packets - 1) / kPackets + 1; }
  /// The first packet of chunk `c` within its vector, and how many it has.
  __device__ static u32 first(u32 c) { return c * kPackets; }
  __device__ u32 size(u32 c) const { return packets - first(c) < kPackets ? packets - first(c) : kPackets; }
};

} // namespace coll
