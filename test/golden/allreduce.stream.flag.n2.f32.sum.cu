// allreduce.stream.flag   N = 2   f32, sum   generated from allreduce.coll
//
// Contract  y == reduce(op, r in ranks: r.x), ascending, the same bits on every rank
// Mailbox   rs[2], flag, 1 copy; a slot holds 524288 bytes
// Mailbox   ag[2], flag, 1 copy; a slot holds 524288 bytes
// Chunks    of 524288 bytes of every vector, each an epoch
// Proof     rs: 1 copy, ag: 1 copy; whoever fills a slot again has, earlier in its chunk, received what the reader of
//           the slot sent after reading it (rule T3)
// Rests on  the PTX memory model alone; of the host, one launch in flight per region and the same sequence of
//           launches, of the same grid each, on all ranks
#include "coll/chunks.h"
#include "coll/reduce.h"
#include "coll/flag.h"
#include "coll/slots.h"
#include "coll/split.h"

namespace {

constexpr int N = 2;
using T = float;
using Op = coll::Sum;

struct Args {
  coll::Team<N> team;
  const T *x; // T[M]
  T *y; // T[M]
  coll::u64 M;
  coll::u64 onePacket; // every thread has at most one packet, and all are whole and aligned
};

// type, ranks, number, offset in the region, slots, packets a slot, copies
using Rs = coll::flag::Mailbox<T, N, 0, 1152, 2, 32768, 1>;
using Ag = coll::flag::Mailbox<T, N, 1, 1051776, 2, 32768, 1>;
using Packet = coll::Packet<T, 16>; // what a thread handles at a time

template <class Shape>
__device__ inline void stream(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();
  const coll::Pieces<Shape, T, N> pieces(a.M); // split(…, N)

  // allreduce.coll:123    pipeline c in 0 .. chunks(X[0], 512Ki) {
  const coll::Chunks<32768> chunks(Packet::count(pieces.piece));
#pragma unroll 1
  for (coll::u32 c = 0; c < chunks.count(); ++c) {
    launch.chunk(c, chunks.count());

    Shape::forEach(launch, chunks.size(c), [&](coll::u32 k) {
      const coll::u32 i = chunks.first(c) + k;
      // allreduce.coll:124    forall p in ranks: X[p] -> p.rs[me]
      Packet x[N]; // by how many places the rank is after me
#pragma unroll
      for (int hop = 1; hop < N; ++hop) {
        const coll::u32 p = coll::rankAt<N>(me, hop);
        if (!coll::reaches<Shape, Packet>(i, pieces.size(p))) continue;
        x[hop] = coll::load<Shape, Packet>(launch, a.x + pieces.begin(p), i, pieces.size(p));
      }
#pragma unroll
      for (int hop = 1; hop < N; ++hop) {
        const coll::u32 p = coll::rankAt<N>(me, hop);
        if (!coll::reaches<Shape, Packet>(i, pieces.size(p))) continue;
        Rs::send(launch, hop, me, k, x[hop]);
      }
    });

    Rs::announce(launch, me);

    // allreduce.coll:125    let s = reduce(op, r in ranks: rs[r])
    Rs::await(launch, 0, N, me);

    Shape::forEach(launch, chunks.size(c), [&](coll::u32 k) {
      const coll::u32 i = chunks.first(c) + k;
      if (coll::reaches<Shape, Packet>(i, pieces.size(me))) {
        const Packet x_2 = coll::load<Shape, Packet>(launch, a.x + pieces.begin(me), i, pieces.size(me));
        const Packet s = coll::reduceSlots<Op, T, Rs>(launch, k, x_2);

        // allreduce.coll:126    forall p in ranks: s -> p.ag[me]
#pragma unroll
        for (int hop = 0; hop < N; ++hop) Ag::send(launch, hop, me, k, s);
      }
    });

    Ag::announce(launch, me);

    // allreduce.coll:127    forall r in ranks: Y[r] = ag[r]
    Ag::await(launch, 0, N, me);

    Shape::forEach(launch, chunks.size(c), [&](coll::u32 k) {
      const coll::u32 i = chunks.first(c) + k;
      coll::eachSlot<Ag>(
          launch, k, [&](coll::u32 r) { return coll::reaches<Shape, Packet>(i, pieces.size(r)); },
          [&](coll::u32 r, const Packet &ag) {
            coll::store<Shape>(launch, a.y + pieces.begin(r), i, pieces.size(r), ag);
          });
    });
  }
  launch.finish(coll::kMostChunks);
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
allreduce_stream_flag_n2_f32_sum(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) stream<coll::OnePacket>(launch, a);
  else stream<coll::AnyPackets>(launch, a);
}
