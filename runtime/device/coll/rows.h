// Matrices by rows: a row belongs to a group of CTAs that stand beside each other in the grid, a cluster or a single
// CTA. Its packets stay in the threads' registers while the row is summed up.
//
// A row is summed as a balanced binary tree over its elements, padded with zeros: first those of a packet, then the
// packets of a warp, 32 that follow each other, then these blocks. So the result does not depend on how many packets,
// threads or CTAs there are, and is the same on all ranks, for all sync modes and grids.
#pragma once

#include "coll/arithmetic.h"

namespace coll {

/// The two ways to go over a matrix, see OnePacket and AnyPackets: at most one packet of a row for each thread, all whole
/// and aligned, or up to kRowPackets of any kind.
constexpr u32 kRowPackets = 16;
struct OneRowPacket {
  static constexpr bool kWhole = true;
  static constexpr u32 kPackets = 1;
};
struct AnyRowPackets {
  static constexpr bool kWhole = false;
  static constexpr u32 kPackets = kRowPackets;
};

namespace detail {

struct RowSum {
  __device__ static float nothing() { return 0.0f; }
  __device__ static float apply(float a, float b) { return ptx::add(a, b); }
};
struct RowMax {
  __device__ static float nothing() { return ptx::bitsToFloat(0xff800000u); } // -infinity
  __device__ static float apply(float a, float b) { return Max::apply(a, b); }
};

template <class Op, u32 kCount>
__device__ inline float treeOf(const float *v) {
  if constexpr (kCount == 1) return v[0];
  else return Op::apply(treeOf<Op, kCount / 2>(v), treeOf<Op, kCount / 2>(v + kCount / 2));
}

/// Over lanes that differ in their lowest bits alone, kLanes of them.
template <class Op, u32 kLanes>
__device__ inline float treeOfLanes(float v) {
#pragma unroll
  for (u32 mask = 1; mask < kLanes; mask *= 2) v = Op::apply(v, ptx::shuffleXor(v, mask));
  return v;
}

/// The threads that share rows, as one of them sees them.
struct RowGroup {
  u32 ctas, thread, threads;
  u32 meetings = 0; ///< so far; the words of shared memory alternate, as a fast warp may be one ahead of a slow one
  bool started = false; ///< whether the others are known to run, so that their shared memory may be written
};

} // namespace detail

/// One row, as one of the threads that share it sees it: its packets are number thread + k * threads, k < kPackets. What
/// says "all threads" is to be called by all that share the row, with or without packets.
template <class Shape, class P, int N>
struct Row {
  static constexpr u32 kPackets = Shape::kPackets, kElements = P::kElements;
  Launch<N> &launch;
  detail::RowGroup &group;
  u64 number, length; ///< of the row, and elements in it
  u32 packets, first; ///< packets in it, and the place of packet 0 in a slot
  float share;        ///< 1/length, rounded

  __device__ u32 packet(u32 k) const { return group.thread + k * group.threads; }
  __device__ bool has(u32 k) const { return packet(k) < packets; }
  /// Where the row begins in a matrix.
  template <class T>
  __device__ T *of(T *matrix) const { return matrix + number * length; }

  /// Calls body(k, i) for each packet that this thread has, or another lane of its warp: then it is not `active`. i is its
  /// place in a slot.
  template <class Body>
  __device__ void each(Body body) const {
    if constexpr (kPackets == 1) {
      if (warpFirst(packet(0)) < packets) call(body, 0);
    } else {
#pragma unroll 1
      for (u32 k = 0; k < kPackets && warpFirst(packet(k)) < packets; ++k) call(body, k);
    }
  }

  /// This thread's packet k of the row, of a matrix or of one row that stands for all.
  template <class T>
  __device__ P load(const T *matrix, u32 k) const { return coll::load<Shape, P>(launch, matrix + number * length, packet(k), length); }
  template <class T>
  __device__ P loadSame(const T *row, u32 k) const { return coll::load<Shape, P>(launch, row, packet(k), length); }
  template <class T>
  __device__ void store(T *matrix, u32 k, const P &p) const {
    coll::store<Shape>(launch, matrix + number * length, packet(k), length, p);
  }
  /// The same of another type than the packets'.
  template <class U>
  __device__ Elements<Computed<U>, kElements> loadElements(const U *matrix, u32 k) const {
    return coll::loadElements<Shape, P>(launch, matrix + number * length, packet(k), length);
  }
  template <class U>
  __device__ Elements<Computed<U>, kElements> loadSameElements(const U *row, u32 k) const {
    return coll::loadElements<Shape, P>(launch, row, packet(k), length);
  }
  template <class U, class W>
  __device__ void storeElements(U *matrix, u32 k, const Elements<W, kElements> &f) const {
    coll::storeElements<Shape, P>(launch, matrix + number * length, packet(k), length, f);
  }
  template <class U>
  __device__ void storeFloats(U *matrix, u32 k, const Floats<kElements> &f) const {
    coll::storeFloats<Shape, P>(launch, matrix + number * length, packet(k), length, f);
  }

  /// What is the same for all of a row, or for kGroup elements of it, to the vector that has one element for each. All
  /// threads; the second by the threads that have packet k.
  template <class U>
  __device__ void storeOne(U *vector, const Number &v) const {
    if (group.thread == 0) coll::storeFloats<AnyPackets>(launch, vector, u32(number), number + 1, v);
  }
  template <u32 kGroup, class U>
  __device__ void storeGroup(U *vector, u32 k, const Number &v) const {
    constexpr u32 kOfGroup = kGroup / kElements;
    const u64 groups = length / kGroup, at = packet(k) / kOfGroup;
    if (packet(k) % kOfGroup == 0 && at < groups)
      coll::storeFloats<AnyPackets>(launch, vector + number * groups, u32(at), groups, v);
  }

  /// A packet's part of the row's sum or maximum: its elements that are in the row, combined.
  __device__ float sumOf(u32 k, const Floats<kElements> &f) const { return partOf<detail::RowSum>(k, f); }
  __device__ float maxOf(u32 k, const Floats<kElements> &f) const { return partOf<detail::RowMax>(k, f); }

  /// All threads: what their parts come to, the same in each.
  __device__ Number sum(const float (&part)[kPackets]) const { return {{ptx::add(meet<detail::RowSum>(part), 0.0f)}}; }
  __device__ Number mean(const float (&part)[kPackets]) const { return sum(part) * Number{{share}}; }
  __device__ Number max(const float (&part)[kPackets]) const { return {{meet<detail::RowMax>(part)}}; }

  /// All threads: the largest of each kGroup elements, in place of the parts.
  template <u32 kGroup>
  __device__ void maxOfGroups(float (&part)[kPackets]) const {
    static_assert(kGroup / kElements <= 32, "a group's packets are in one warp");
#pragma unroll
    for (u32 k = 0; k < kPackets; ++k)
      if (blockOf(k) * 32 < packets)
        part[k] = detail::treeOfLanes<detail::RowMax, kGroup / kElements>(has(k) ? part[k] : detail::RowMax::nothing());
  }

private:
  template <class Body>
  __device__ void call(Body body, u32 k) const {
    launch.active = has(k);
    body(k, first + packet(k));
    launch.active = true;
  }

  template <class Op>
  __device__ float partOf(u32 k, Floats<kElements> f) const {
    if constexpr (!Shape::kWhole) {
      const u32 left = detail::elementsFrom(u64(packet(k)) * kElements, length, kElements);
#pragma unroll
      for (u32 e = 0; e < kElements; ++e)
        if (e >= left) f.value[e] = Op::nothing();
    }
    return detail::treeOf<Op, kElements>(f.value);
  }

  __device__ u32 blockOf(u32 k) const { return packet(k) / 32; }

  /// Each warp makes one of its blocks of 32 packets and tells it to all CTAs of the group; then all make one of these.
  template <class Op>
  __device__ float meet(const float (&part)[kPackets]) const {
    const u32 blocks = (packets + 31) / 32, lane = threadIdx.x % 32, base = group.meetings % 2 * ptx::kSharedWords / 2;
    if (group.ctas > 1 && !group.started) ptx::clusterWait();
    group.started = true;
#pragma unroll 1
    for (u32 k = 0; k < kPackets && blockOf(k) < blocks; ++k) {
      const float v = detail::treeOfLanes<Op, 32>(has(k) ? part[k] : Op::nothing());
      if (group.ctas > 1) {
        if (lane < group.ctas) ptx::storeSharedOf(lane, base + blockOf(k), v);
      } else if (lane == 0) {
        ptx::storeShared(base + blockOf(k), v);
      }
    }
    ++group.meetings;
    if (group.ctas > 1) ptx::clusterSync();
    else ptx::ctaSync();
    if (launch.begun) launch.settled = true; // all have read the epoch
    return ofBlocks<Op>(blocks, base);
  }

  /// The tree over the blocks' words: each lane takes as many that follow each other, then the lanes meet.
  template <class Op>
  __device__ static float ofBlocks(u32 blocks, u32 base) {
    const u32 lane = threadIdx.x % 32;
    if (blocks <= 32) return detail::treeOfLanes<Op, 32>(lane < blocks ? ptx::loadShared(base + lane) : Op::nothing());
    if (blocks <= 64) {
      const float low = 2 * lane < blocks ? ptx::loadShared(base + 2 * lane) : Op::nothing();
      const float high = 2 * lane + 1 < blocks ? ptx::loadShared(base + 2 * lane + 1) : Op::nothing();
      return detail::treeOfLanes<Op, 32>(Op::apply(low, high));
    }
    u32 each = 4;
    while (each * 32 < blocks) each *= 2;
    const float v = ofRun<Op>(lane * each, each, blocks, base);
    return detail::treeOfLanes<Op, 32>(v);
  }
  template <class Op>
  __device__ __noinline__ static float ofRun(u32 from, u32 count, u32 blocks, u32 base) {
    // The partial results of a balanced tree, one for each bit that is set in the number of words taken so far.
    float waiting[8];
#pragma unroll 1
    for (u32 taken = 0; taken < count; ++taken) {
      float v = from + taken < blocks ? ptx::loadShared(base + from + taken) : Op::nothing();
      u32 level = 0;
#pragma unroll 1
      for (; taken >> level & 1; ++level) v = Op::apply(waiting[level], v);
      waiting[level] = v;
    }
    u32 top = 0;
    while (1u << top < count) ++top;
    return waiting[top];
  }
};

/// Calls body(row) for the rows of a matrix that this CTA has a share in; by all threads of the grid.
template <class Shape, class P, int N, class Body>
__device__ inline void forRows(Launch<N> &launch, u64 rows, u64 length, Body body) {
  detail::RowGroup group;
  group.ctas = ptx::clusterCtas();
  group.thread = blockIdx.x % group.ctas * blockDim.x + threadIdx.x;
  group.threads = group.ctas * blockDim.x;
  if (group.ctas > 1) ptx::clusterArrive();
  const u32 packets = P::count(length);
  const float share = ptx::divide(1.0f, float(length));
  launch.start();
#pragma unroll 1
  for (u64 r = blockIdx.x / group.ctas; r < rows; r += gridDim.x / group.ctas)
    body(Row<Shape, P, N>{launch, group, r, length, packets, u32(r) * packets, share});
  if (group.ctas > 1 && !group.started) ptx::clusterWait();
}

} // namespace coll
