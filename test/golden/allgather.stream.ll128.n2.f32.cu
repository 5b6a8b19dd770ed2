// allgather.stream.ll128   N = 2   f32   generated from allgather.coll
//
// Contract  forall r in ranks: y[r] == r.x
// Mailbox   box[2], ll128, 3 copies, of which a launch uses its epoch mod 3; a slot holds 552960 bytes
// Chunks    of 552960 bytes of every vector, each an epoch
// Proof     box: 3 copies; every rank waits for every other in each chunk, so whoever writes epoch e+3 has received
//           e+2 from the reader of e (rule T1)
// Rests on  the PTX memory model; of hardware, beyond the model, that aligned lines of 128 bytes, each stored and
//           loaded by 8 threads of a warp at once, arrive whole, which platforms have to declare, and that no store
//           is performed before the wait that precedes it in its thread has ended, and that the end of a kernel is a
//           fence for what the rank's next launch sends; of the host, one launch in flight per region and the same
//           sequence of launches on all ranks
#include "coll/chunks.h"
#include "coll/ll128.h"
#include "coll/slots.h"

namespace {

constexpr int N = 2;
using T = float;

struct Args {
  coll::Team<N> team;
  const T *x; // T[M]
  T *y; // T[N][M]
  coll::u64 M;
  coll::u64 onePacket; // every thread has at most one packet, and all are whole and aligned
};

// type, ranks, number, offset in the region, slots, packets a slot, copies
using Box = coll::ll128::Mailbox<T, N, 0, 1152, 2, 18432, 3>;
using Packet = coll::ll128::Packet<T>; // what a thread handles at a time

template <class Shape>
__device__ inline void stream(coll::Launch<N> &launch, const Args &a) {
  const coll::u32 me = launch.me();

  // allgather.coll:63    pipeline c in 0 .. chunks(x, 512Ki) {
  const coll::Chunks<18432> chunks(Packet::count(a.M));
#pragma unroll 1
  for (coll::u32 c = 0; c < chunks.count(); ++c) {
    launch.chunk(c, chunks.count());

    Shape::forEach(launch, chunks.size(c), [&](coll::u32 k) {
      const coll::u32 i = chunks.first(c) + k;
      // allgather.coll:64    forall p in ranks: x -> p.box[me]
      const Packet x = coll::load<Shape, Packet>(launch, a.x, i, a.M);
#pragma unroll
      for (int hop = 1; hop < N; ++hop) Box::send(launch, hop, me, k, x);

      // allgather.coll:65    forall r in ranks: y[r] = box[r]
      coll::eachSlot<Box>(
          launch, k, x, [](coll::u32) { return true; },
          [&](coll::u32 r, const Packet &box) {
            coll::store<Shape>(launch, a.y + r * (a.M), i, a.M, box);
          });
    });
  }
  launch.finish(coll::kMostChunks);
}

} // namespace

extern "C" __global__ void __launch_bounds__(512)
allgather_stream_ll128_n2_f32(const __grid_constant__ Args a) {
  coll::Launch<N> launch(a.team);
  if (a.onePacket) stream<coll::OnePacket>(launch, a);
  else stream<coll::AnyPackets>(launch, a);
}
