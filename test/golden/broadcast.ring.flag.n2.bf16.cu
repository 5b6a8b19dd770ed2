// broadcast.ring.flag   N = 2   bf16   generated from broadcast.coll
//
// Contract  y == root.x
// Mailbox   box[1], flag, 2 copies, of which a launch uses its epoch mod 2; filled again when its readers have said
//           so; a slot holds 131072 bytes
// Chunks    of 131072 bytes of every vector, each an epoch
// Proof     box: 2 copies (1 would do); whoever fills a slot again has waited until its reader has begun a later
//           chunk than the one that read it (rule T4, ack)
// Rests on  the PTX memory model alone; of the host, one launch in flight per region and the same sequence of
//           launches, of the same grid each, on all ranks
#include "coll/chunks.h"
#include "coll/flag.h"
#include "coll/credit.h"
#include "coll/slots.h"

namespace {

constexpr int N = 2;
using T = coll::BF16;

struct Args {
  coll::Team<N> team;
  const T *x; // T[M]
  T *y; // T[M]
  coll::u64 M;
  alignas(8) coll::u32 root; // a rank
  coll::u64 onePacket; // every thread has at most one packet, and all are whole and aligned
};

// type, ranks, number, offset in the region, slots, packets a slot, copies
using Box = coll::flag::Mailbox<T, N, 0, 3200, 1, 8192, 2>;
using Credits = coll::Credits<N, 1152, true, true>; // offset in the region, whether they release, of chunks
using Packet = coll::Packet<T, 16>; // what a thread handles at a time

template <class Shape>
__device__ inline void ring(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();

  // broadcast.coll:22    pipeline c in 0 .. chunks(x, 128Ki) {
  const coll::Chunks<8192> chunks(Packet::count(a.M));
#pragma unroll 1
  for (coll::u32 c = 0; c < chunks.count(); ++c) {
    launch.chunk(c, chunks.count());

    // broadcast.coll:21    mailbox box of T[M] sync S reuse ack
    Credits::give(launch);

    // broadcast.coll:23    if me == root {
    if (me == a.root) {
      // broadcast.coll:24    x -> (me + 1).box
      Credits::awaitWithCta(launch, 2, 1);
    }

    Shape::forEach(launch, chunks.size(c), [&](coll::u32 k) {
      const coll::u32 i = chunks.first(c) + k;
      // broadcast.coll:23    if me == root {
      if (me == a.root) {
        // broadcast.coll:24    x -> (me + 1).box
        const Packet x = coll::load<Shape, Packet>(launch, a.x, i, a.M);
        Box::send(launch, 1, 0, k, x);

        // broadcast.coll:25    y = x
        coll::store<Shape>(launch, a.y, i, a.M, x);
      }
    });

    // broadcast.coll:23    if me == root {
    if (me == a.root) {
      // broadcast.coll:24    x -> (me + 1).box
      Box::announce(launch, 1, 0);
    }

    // broadcast.coll:23    if me == root {
    if (me != a.root) {
      // broadcast.coll:27    let part = box
      Box::await(launch, 0, 1);

      // broadcast.coll:28    if me + 1 != root: part -> (me + 1).box
      if (((me + 1) % N) != a.root) {
        Credits::awaitWithCta(launch, 2, 1);
      }

      Shape::forEach(launch, chunks.size(c), [&](coll::u32 k) {
        const coll::u32 i = chunks.first(c) + k;
        // broadcast.coll:27    let part = box
        const Packet part_2 = coll::readSlot<Box>(launch, 0, k);

        // broadcast.coll:28    if me + 1 != root: part -> (me + 1).box
        if (((me + 1) % N) != a.root) {
          Box::send(launch, 1, 0, k, part_2);
        }

        // broadcast.coll:29    y = part
        coll::store<Shape>(launch, a.y, i, a.M, part_2);
      });

      // broadcast.coll:28    if me + 1 != root: part -> (me + 1).box
      if (((me + 1) % N) != a.root) {
        Box::announce(launch, 1, 0);
      }
    }
  }
  launch.finish(coll::kMostChunks);
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
broadcast_ring_flag_n2_bf16(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) ring<coll::OnePacket>(launch, a);
  else ring<coll::AnyPackets>(launch, a);
}
