// broadcast.ring.ll128   N = 8   f32   generated from broadcast.coll
//
// Contract  y == root.x
// Mailbox   box[1], ll128, 2 copies, of which a launch uses its epoch mod 2; filled again when its readers have said
//           so; a slot holds 184320 bytes
// Chunks    of 184320 bytes of every vector, each an epoch
// Proof     box: 2 copies (1 would do); whoever fills a slot again has waited until its reader has begun a later
//           chunk than the one that read it (rule T4, ack)
// Rests on  the PTX memory model; of hardware, beyond the model, that aligned lines of 128 bytes, each stored and
//           loaded by 8 threads of a warp at once, arrive whole, which platforms have to declare, and that no store
//           is performed before the wait that precedes it in its thread has ended, and that the end of a kernel is a
//           fence for what the rank's next launch sends; of the host, one launch in flight per region and the same
//           sequence of launches, of the same grid each, on all ranks
#include "coll/chunks.h"
#include "coll/ll128.h"
#include "coll/credit.h"
#include "coll/slots.h"

namespace {

constexpr int N = 8;
using T = float;

struct Args {
  coll::Team<N> team;
  const T *x; // T[M]
  T *y; // T[M]
  coll::u64 M;
  alignas(8) coll::u32 root; // a rank
  coll::u64 onePacket; // every thread has at most one packet, and all are whole and aligned
};

// type, ranks, number, offset in the region, slots, packets a slot, copies
using Box = coll::ll128::Mailbox<T, N, 0, 9344, 1, 6144, 2>;
using Credits = coll::Credits<N, 1152, false, true>; // offset in the region, whether they release, of chunks
using Packet = coll::ll128::Packet<T>; // what a thread handles at a time

template <class Shape>
__device__ inline void ring(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();

  // broadcast.coll:22    pipeline c in 0 .. chunks(x, 128Ki) {
  const coll::Chunks<6144> chunks(Packet::count(a.M));
#pragma unroll 1
  for (coll::u32 c = 0; c < chunks.count(); ++c) {
    launch.chunk(c, chunks.count());

    // broadcast.coll:21    mailbox box of T[M] sync S reuse ack
    Credits::give(launch);

    Credits credits; // what this thread has waited for
    Credits credits_2; // what this thread has waited for
    Shape::forEach(launch, chunks.size(c), [&](coll::u32 k) {
      const coll::u32 i = chunks.first(c) + k;
      // broadcast.coll:23    if me == root {
      if (me == a.root) {
        // broadcast.coll:24    x -> (me + 1).box
        const Packet x = coll::load<Shape, Packet>(launch, a.x, i, a.M);
        credits.await(launch, 2, 1);
        Box::send(launch, 1, 0, k, x);

        // broadcast.coll:25    y = x
        coll::store<Shape>(launch, a.y, i, a.M, x);
      } else {
        // broadcast.coll:27    let part = box
        const Packet part_2 = coll::readSlot<Box>(launch, 0, k);

        // broadcast.coll:28    if me + 1 != root: part -> (me + 1).box
        if (((me + 1) % N) != a.root) {
          credits_2.await(launch, 2, 1);
          Box::send(launch, 1, 0, k, part_2);
        }

        // broadcast.coll:29    y = part
        coll::store<Shape>(launch, a.y, i, a.M, part_2);
      }
    });
  }
  launch.finish(coll::kMostChunks);
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
broadcast_ring_ll128_n8_f32(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) ring<coll::OnePacket>(launch, a);
  else ring<coll::AnyPackets>(launch, a);
}
