// allreduce.stream.ll128   N = 2   f32, sum   generated from allreduce.coll
//
// Contract  y == reduce(op, r in ranks: r.x), ascending, the same bits on every rank
// Mailbox   rs[2], ll128, 1 copy; a slot holds 552960 bytes
// Mailbox   ag[2], ll128, 1 copy; a slot holds 552960 bytes
// Chunks    of 552960 bytes of every vector, each an epoch
// Proof     rs: 1 copy, ag: 1 copy; whoever fills a slot again has, earlier in its chunk, received what the reader of
//           the slot sent after reading it (rule T3)
// Rests on  the PTX memory model; of hardware, beyond the model, that aligned lines of 128 bytes, each stored and
//           loaded by 8 threads of a warp at once, arrive whole, which platforms have to declare, and that no store
//           is performed before the wait that precedes it in its thread has ended, and that the end of a kernel is a
//           fence for what the rank's next launch sends; of the host, one launch in flight per region and the same
//           sequence of launches on all ranks
#include "coll/chunks.h"
#include "coll/reduce.h"
#include "coll/ll128.h"
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
using Rs = coll::ll128::Mailbox<T, N, 0, 1152, 2, 18432, 1>;
using Ag = coll::ll128::Mailbox<T, N, 1, 1180800, 2, 18432, 1>;
using Packet = coll::ll128::Packet<T>; // what a thread handles at a time

template <class Shape>
__device__ inline void stream(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();
  const coll::Pieces<Shape, T, N> pieces(a.M); // split(…, N)

  // allreduce.coll:123    pipeline c in 0 .. chunks(X[0], 512Ki) {
  const coll::Chunks<18432> chunks(Packet::count(pieces.piece));
#pragma unroll 1
  for (coll::u32 c = 0; c < chunks.count(); ++c) {
    launch.chunk(c, chunks.count());

    Shape::forEach(launch, chunks.size(c), [&](coll::u32 k) {
      const coll::u32 i = chunks.first(c) + k;
      // allreduce.coll:124    forall p in ranks: X[p] -> p.rs[me]
      Packet x[N]; // by how many places the rank is after me
#pragma unroll
      for (int hop = 0; hop < N; ++hop) {
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

      // allreduce.coll:125    let s = reduce(op, r in ranks: rs[r])
      Packet s = {};
      if (coll::reaches<Shape, Packet>(i, pieces.size(me))) {
        s = coll::reduceSlots<Op, T, Rs>(launch, k, x[0]);

        // allreduce.coll:126    forall p in ranks: s -> p.ag[me]
#pragma unroll
        for (int hop = 1; hop < N; ++hop) Ag::send(launch, hop, me, k, s);
      }

      // allreduce.coll:127    forall r in ranks: Y[r] = ag[r]
      coll::eachSlot<Ag>(
          launch, k, s, [&](coll::u32 r) { return coll::reaches<Shape, Packet>(i, pieces.size(r)); },
          [&](coll::u32 r, const Packet &ag) {
            coll::store<Shape>(launch, a.y + pieces.begin(r), i, pieces.size(r), ag);
          });
    });
  }
  launch.finish(coll::kMostChunks);
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
allreduce_stream_ll128_n2_f32_sum(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) stream<coll::OnePacket>(launch, a);
  else stream<coll::AnyPackets>(launch, a);
}
