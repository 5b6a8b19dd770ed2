// Matrices by rows: a row belongs to a group of CTAs that stand beside each other in the grid, a cluster or a single
// CTA. Its packets stay in the threads' registers while the row is summed up.
//
// A row is summed as a balanced binary tree over its elements, padded with zeros: first those of a packet, then the
// packets of a warp, 32 that follow each other, then these blocks. So the result does not depend on how many packets,
// threads or CTAs there are, and is the same on all ranks, for all sync modes and grids. Packets in the lines of `ll128` lie
// among each other in the row: there the units of 16 bytes take the packets' place, and warps find those of a block in
// shared memory.
#pragma once

#include "coll/arithmetic.h"

namespace coll {

/// The two ways to go over a matrix, see OnePacket and AnyPackets: at most one packet of a row for each thread, all whole
/// and aligned, or up to kRowPackets of any kind.
constexpr u32 kRowPackets = 16;
constexpr u32 kRowUnits = 2112; ///< of 16 bytes, of a row in lines: its numbers in shared memory, before those of their blocks
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
  template <class W>
  __device__ static W nothing() { return W(0); }
  template <class W>
  __device__ static W apply(W a, W b) { return Sum::apply(a, b); }
};
struct RowMax {
  template <class W>
  __device__ static W nothing() {
    if constexpr (!kIsFloat<W>) return W(-1) < W(0) ? W(u64(1) << (8 * sizeof(W) - 1)) : W(0); // the least
    else if constexpr (sizeof(W) == 8) return ptx::bitsToDouble(0xfff0000000000000ull); // -infinity
    else return ptx::bitsToFloat(0xff800000u);
  }
  template <class W>
  __device__ static W apply(W a, W b) { return Max::apply(a, b); }
};

/// A number as words of 4 bytes, kWords of them, and back: what goes from thread to thread.
template <class W>
struct Words {
  static constexpr u32 kWords = sizeof(W) == 8 ? 2 : 1;
  __device__ static void split(W v, float *word) {
    if constexpr (sizeof(W) == 8) {
      u64 bits;
      if constexpr (kIsFloat<W>) bits = ptx::doubleToBits(v);
      else bits = u64(v);
      word[0] = ptx::bitsToFloat(u32(bits)), word[1] = ptx::bitsToFloat(u32(bits >> 32));
    } else if constexpr (kIsFloat<W>) {
      word[0] = v;
    } else {
      word[0] = ptx::bitsToFloat(u32(v));
    }
  }
  __device__ static W join(const float *word) {
    if constexpr (sizeof(W) == 8) {
      const u64 bits = pair(ptx::floatToBits(word[0]), ptx::floatToBits(word[1]));
      if constexpr (kIsFloat<W>) return ptx::bitsToDouble(bits);
      else return W(bits);
    } else if constexpr (kIsFloat<W>) {
      return word[0];
    } else {
      return W(ptx::floatToBits(word[0]));
    }
  }
  __device__ static W ofLane(W v, u32 mask) {
    float word[kWords];
    split(v, word);
#pragma unroll
    for (u32 w = 0; w < kWords; ++w) word[w] = ptx::shuffleXor(word[w], mask);
    return join(word);
  }
  /// Number `i` of those from word `base` of shared memory on.
  __device__ static W load(u32 base, u32 i) {
    float word[kWords];
#pragma unroll
    for (u32 w = 0; w < kWords; ++w) word[w] = ptx::loadShared(base + i * kWords + w);
    return join(word);
  }
  __device__ static void store(u32 base, u32 i, W v) {
    float word[kWords];
    split(v, word);
#pragma unroll
    for (u32 w = 0; w < kWords; ++w) ptx::storeShared(base + i * kWords + w, word[w]);
  }
  __device__ static void storeOf(u32 cta, u32 base, u32 i, W v) {
    float word[kWords];
    split(v, word);
#pragma unroll
    for (u32 w = 0; w < kWords; ++w) ptx::storeSharedOf(cta, base + i * kWords + w, word[w]);
  }
  __device__ static void send(u32 cta, u32 base, u32 i, W v, u32 counter) {
    float word[kWords];
    split(v, word);
#pragma unroll
    for (u32 w = 0; w < kWords; ++w) ptx::sendShared(cta, base + i * kWords + w, word[w], counter);
  }
};

template <class Op, u32 kCount, class W>
__device__ inline W treeOf(const W *v) {
  if constexpr (kCount == 1) return v[0];
  else return Op::apply(treeOf<Op, kCount / 2>(v), treeOf<Op, kCount / 2>(v + kCount / 2));
}

/// Over lanes that differ in their lowest bits alone, kLanes of them.
template <class Op, u32 kLanes, class W>
__device__ inline W treeOfLanes(W v) {
#pragma unroll
  for (u32 mask = 1; mask < kLanes; mask *= 2) v = Op::apply(v, Words<W>::ofLane(v, mask));
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
template <class Shape, class Payload, int N>
struct Row {
  using P = Payload;
  static constexpr u32 kPackets = Shape::kPackets, kElements = P::kElements;
  Launch<N> &launch;
  detail::RowGroup &group;
  u64 number, length; ///< of the row, and elements in it
  u32 packets, first; ///< packets in it, and the place of packet 0 in a slot
  float share;        ///< 1/length, rounded

  __device__ u32 packet(u32 k) const { return group.thread + k * group.threads; }
  __device__ bool has(u32 k) const { return packet(k) < packets; }
  __device__ u32 place(u32 k) const { return first + packet(k); }
  /// Whether this is the thread that does for all what is to be done once for the row.
  __device__ bool isFirst() const { return group.thread == 0; }
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
  /// The same where a matrix has `rows` rows at most; zero bits of others.
  template <class T>
  __device__ P loadFirst(const T *matrix, u32 k, u32 rows) const {
    P p = {};
    if (number < rows) p = load(matrix, k);
    return p;
  }
  template <class U>
  __device__ Elements<Computed<U>, kElements> loadFirstElements(const U *matrix, u32 k, u32 rows) const {
    Elements<Computed<U>, kElements> f = {};
    if (number < rows) f = loadElements(matrix, k);
    return f;
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
  /// threads; the last by the threads that have packet k.
  template <class U, class W>
  __device__ void storeOne(U *vector, const NumberOf<W> &v) const {
    if (isEmpty()) return;
    if (group.thread == 0) coll::storeElements<AnyPackets>(launch, vector, u32(number), number + 1, v);
  }
  template <class U>
  __device__ NumberOf<Computed<U>> loadOne(const U *vector) const {
    if (isEmpty()) return {};
    return detail::loadDenseElements<OneRowPacket, 1>(vector, number, number + 1);
  }
  /// All threads: the same of a vector that one of them stores to as well. What it has stored is there, and nothing is stored
  /// before all have what was.
  template <class U>
  __device__ NumberOf<Computed<U>> loadSettled(const U *vector) const {
    if (group.ctas > 1 && isFirst()) launch.fence();
    freeWords();
    const NumberOf<Computed<U>> v = loadOne(vector);
    sync();
    return v;
  }
  template <u32 kGroup, class U, u32 kNumbers>
  __device__ void storeGroup(U *vector, u32 k, const Floats<kNumbers> &v) const {
    const u64 groups = length / kGroup;
    const auto put = [&](u64 group, float number) {
      if (group < groups) coll::storeFloats<AnyPackets>(launch, vector + this->number * groups, u32(group), groups, Number{{number}});
    };
    if constexpr (P::kOfWarps) { // a packet is of pieces of several groups
      eachGroup<kGroup>(k, [&](u32 n, u64 group, bool isFirst) {
        if (isFirst) put(group, v.value[n * P::Piece::kElements]);
      });
    } else {
      constexpr u32 kOfGroup = kGroup / kElements;
      if (packet(k) % kOfGroup == 0) put(packet(k) / kOfGroup, v.value[0]);
    }
  }

  /// A packet's part of the row's sum or maximum: its elements that are in the row, combined.
  template <class W>
  __device__ W sumOf(u32 k, const Elements<W, kElements> &f) const { return partOf<detail::RowSum>(k, f); }
  template <class W>
  __device__ W maxOf(u32 k, const Elements<W, kElements> &f) const { return partOf<detail::RowMax>(k, f); }

  /// All threads: what their parts come to, the same in each.
  template <class W>
  __device__ NumberOf<W> sum(const W (&part)[kPackets]) const {
    return {{detail::RowSum::apply(meet<detail::RowSum>(part), W(0))}};
  }
  template <class W>
  __device__ NumberOf<W> mean(const W (&part)[kPackets]) const {
    if constexpr (sizeof(W) == 8) return sum(part) * NumberOf<W>{{ptx::divide(1.0, double(length))}};
    else return sum(part) * NumberOf<W>{{share}};
  }
  template <class W>
  __device__ NumberOf<W> max(const W (&part)[kPackets]) const { return {{meet<detail::RowMax>(part)}}; }

  /// All threads: the largest of each kGroup elements, in place of the parts.
  template <u32 kGroup>
  __device__ void maxOfGroups(float (&part)[kPackets]) const {
    static_assert(kGroup % kElements == 0, "groups are whole packets");
    if constexpr (kGroup / kElements > 32) return maxOfWideGroups<kGroup / kElements / 32>(part);
#pragma unroll
    for (u32 k = 0; k < kPackets; ++k)
      if (blockOf(k) * 32 < packets)
        part[k] = detail::treeOfLanes<detail::RowMax, kGroup / kElements>(has(k) ? part[k] : detail::RowMax::nothing<float>());
  }

  /// The same in lines, whose packets are of pieces of several groups: for each element the number of its group.
  template <u32 kGroup>
  __device__ void maxOfGroups(Floats<kElements> (&most)[kPackets]) const {
    constexpr u32 kUnits = kGroup / P::Piece::kElements, kBlocks = kUnits > 32 ? kUnits / 32 : 1;
    const u32 numbers = tellOfGroups<(kUnits < 32 ? kUnits : 32)>();
#pragma unroll
    for (u32 k = 0; k < kPackets; ++k)
      eachGroup<kGroup>(k, [&](u32 n, u64 group, bool) {
        float v = ptx::loadShared(numbers + u32(group) * kBlocks);
#pragma unroll 1
        for (u32 b = 1; b < kBlocks; ++b) v = detail::RowMax::apply(v, ptx::loadShared(numbers + u32(group) * kBlocks + b));
#pragma unroll
        for (u32 e = 0; e < P::Piece::kElements; ++e) most[k].value[n * P::Piece::kElements + e] = v;
      });
  }
  /// Calls body(n, group, isFirst) for each piece n that packet k has in the row: which group of kGroup elements it is of, and
  /// whether it is the first of that.
  template <u32 kGroup, class Body>
  __device__ void eachGroup(u32 k, const Body &body) const {
    constexpr u32 kUnits = kGroup / P::Piece::kElements;
    static_assert(kGroup % P::Piece::kElements == 0, "groups are whole pieces");
#pragma unroll
    for (u32 n = 0; n < P::kPieces; ++n) {
      const u32 unit = P::piece(packet(k), n);
      if (has(k) && P::hasPiece(packet(k), n, length)) body(n, unit / kUnits, unit % kUnits == 0);
    }
  }
  /// All threads: what they were told of reductions before, they have read. In lines, where reductions of groups or of numbers
  /// of unlike sizes take each other's words.
  __device__ void freeWords() const {
    startOthers();
    sync();
  }

private:
  /// Whether it is only there for a message: see forRowsOfMessages.
  __device__ bool isEmpty() const { return !Shape::kWhole && length == 0; }
  template <class Body>
  __device__ void call(Body body, u32 k) const {
    launch.active = has(k);
    body(k, place(k));
    launch.active = true;
  }

  template <class Op, class W>
  __device__ W partOf(u32 k, Elements<W, kElements> f) const {
    if constexpr (P::kOfWarps) return noteUnits<Op>(k, f), W(0);
    if constexpr (!Shape::kWhole) {
      const u32 left = detail::elementsFrom(u64(packet(k)) * kElements, length, kElements);
#pragma unroll
      for (u32 e = 0; e < kElements; ++e)
        if (e >= left) f.value[e] = Op::template nothing<W>();
    }
    return detail::treeOf<Op, kElements>(f.value);
  }

  __device__ u32 blockOf(u32 k) const { return packet(k) / 32; }
  /// The words of shared memory that belong to the next meeting.
  __device__ u32 words() const { return group.meetings % 2 * ptx::kSharedWords / 2; }
  /// The same for units that lie among each other: all words for numbers of 8 bytes, as between the reading of one
  /// reduction's blocks and the next one's there is a meeting anyway. Beside reductions of 4 bytes there is `freeWords`.
  template <class W>
  __device__ u32 unitWords() const { return sizeof(W) == 8 ? 0 : words(); }
  /// Before other CTAs' shared memory is written.
  __device__ void startOthers() const {
    if (group.ctas > 1 && !group.started) ptx::clusterWait();
    group.started = true;
  }

  /// Each unit's part of the row goes to the CTA that makes its block.
  template <class Op, class W>
  __device__ void noteUnits(u32 k, const Elements<W, kElements> &f) const {
    constexpr u32 kUnit = P::Piece::kElements;
    startOthers();
#pragma unroll
    for (u32 n = 0; n < P::kPieces; ++n) {
      if (!has(k) || !P::hasPiece(packet(k), n, length)) continue;
      const u32 unit = P::piece(packet(k), n);
      W v[kUnit];
#pragma unroll
      for (u32 e = 0; e < kUnit; ++e)
        v[e] = Shape::kWhole || u64(unit) * kUnit + e < length ? f.value[n * kUnit + e] : Op::template nothing<W>();
      if (group.ctas > 1) detail::Words<W>::storeOf(unit / 32 % group.ctas, unitWords<W>(), unit, detail::treeOf<Op, kUnit>(v));
      else detail::Words<W>::store(unitWords<W>(), unit, detail::treeOf<Op, kUnit>(v));
    }
  }
  /// Each warp makes some of the blocks of 32 units, and tells them as `tell` does.
  template <class Op, class W>
  __device__ u32 tellOfUnits(u32 units) const {
    using Words = detail::Words<W>;
    const u32 base = unitWords<W>(), blocks = base + kRowUnits * Words::kWords, lane = threadIdx.x % 32;
    startOthers();
    sync();
#pragma unroll 1
    for (u32 b = blockIdx.x % group.ctas + threadIdx.x / 32 * group.ctas; b * 32 < units; b += blockDim.x / 32 * group.ctas) {
      const u32 unit = b * 32 + lane;
      const W v = detail::treeOfLanes<Op, 32>(unit < units ? Words::load(base, unit) : Op::template nothing<W>());
      if (group.ctas > 1) {
        if (lane < group.ctas) Words::storeOf(lane, blocks, b, v);
      } else if (lane == 0) {
        Words::store(blocks, b, v);
      }
    }
    ++group.meetings;
    sync();
    return blocks;
  }
  /// The same of groups of kLanes units, of which all threads are told: from the word on that is returned.
  template <u32 kLanes>
  __device__ u32 tellOfGroups() const {
    const u32 base = unitWords<float>(), numbers = ptx::kSharedWords / 2 - base, lane = threadIdx.x % 32;
    const u32 units = u32(length / P::Piece::kElements);
    sync();
#pragma unroll 1
    for (u32 b = blockIdx.x % group.ctas + threadIdx.x / 32 * group.ctas; b * 32 < units; b += blockDim.x / 32 * group.ctas) {
      const u32 unit = b * 32 + lane;
      const float v = detail::treeOfLanes<detail::RowMax, kLanes>(unit < units ? ptx::loadShared(base + unit) : detail::RowMax::nothing<float>());
#pragma unroll 1
      for (u32 c = 0; c < group.ctas && lane % kLanes == 0 && unit < units; ++c)
        if (group.ctas > 1) ptx::storeSharedOf(c, numbers + unit / kLanes, v);
        else ptx::storeShared(numbers + unit / kLanes, v);
    }
    ++group.meetings;
    sync();
    if (launch.begun) launch.settled = true;
    return numbers;
  }
  /// Of all threads that share the row.
  __device__ void sync() const {
    if (group.ctas > 1) ptx::clusterSync();
    else ptx::ctaSync();
  }

  /// Groups of kBlocks blocks of 32 packets. A maximum is the same in any order.
  template <u32 kBlocks>
  __device__ void maxOfWideGroups(float (&part)[kPackets]) const {
    const u32 base = tell<detail::RowMax>(part);
#pragma unroll
    for (u32 k = 0; k < kPackets; ++k) {
      if (blockOf(k) * 32 >= packets) continue;
      const u32 first = blockOf(k) / kBlocks * kBlocks;
      part[k] = ptx::loadShared(base + first);
#pragma unroll 1
      for (u32 b = 1; b < kBlocks; ++b) part[k] = detail::RowMax::apply(part[k], ptx::loadShared(base + first + b));
    }
  }

  /// Each warp makes one of its blocks of 32 packets and tells it to all CTAs of the group, from the word on that is
  /// returned.
  template <class Op, class W>
  __device__ u32 tell(const W (&part)[kPackets]) const {
    const u32 base = words();
    if (group.ctas > 1) {
      tellOthers<Op>(part, base);
    } else {
      tellBlocks<Op>(part, 0, [&](u32 block, W v) {
        if (threadIdx.x % 32 == 0) detail::Words<W>::store(base, block, v);
      });
      meetInCta();
    }
    ++group.meetings;
    return base;
  }
  /// Without a barrier of the cluster, which would wait for all that its threads have stored in global memory. Every warp
  /// sends at least one word, made of no packet if it has none: so who has got all words of a meeting knows that all warps
  /// are done with the meeting before, whose words are written next.
  template <class Op, class W>
  __device__ void tellOthers(const W (&part)[kPackets], u32 base) const {
    const u32 counter = launch.counted % 2, blocks = (packets + 31) / 32, warps = group.threads / 32;
    startOthers();
    if (threadIdx.x == 0) ptx::expectShared(counter, (blocks > warps ? blocks : warps) * detail::Words<W>::kWords);
    tellBlocks<Op>(part, 1, [&](u32 block, W v) {
      const u32 cta = threadIdx.x % 32;
      if (cta < group.ctas) detail::Words<W>::send(cta, base, block, v, counter);
    });
    if (!launch.settled) meetInCta(); // while the words are on their way
    const u32 round = launch.counted++ / 2;
#pragma unroll 1
    while (ptx::anyOfWarp(!ptx::awaitShared(counter, round))) {}
  }
  /// Calls tell(block, v) for the blocks of this warp, at least `least` of them.
  template <class Op, class W, class Tell>
  __device__ void tellBlocks(const W (&part)[kPackets], u32 least, Tell tell) const {
    const u32 blocks = (packets + 31) / 32;
#pragma unroll 1
    for (u32 k = 0; k < kPackets && (k < least || blockOf(k) < blocks); ++k)
      tell(blockOf(k), detail::treeOfLanes<Op, 32>(has(k) ? part[k] : Op::template nothing<W>()));
  }
  __device__ void meetInCta() const {
    ptx::ctaSync();
    if (launch.begun) launch.settled = true; // all have read the epoch
  }
  template <class Op, class W>
  __device__ W meet(const W (&part)[kPackets]) const {
    if constexpr (P::kOfWarps) {
      const u32 units = u32((length + P::Piece::kElements - 1) / P::Piece::kElements);
      const u32 blocks = tellOfUnits<Op, W>(units);
      if (launch.begun) launch.settled = true;
      return ofBlocks<Op, W>((units + 31) / 32, blocks);
    } else {
      return ofBlocks<Op, W>((packets + 31) / 32, tell<Op>(part));
    }
  }

  /// The tree over the blocks' numbers: each lane takes as many that follow each other, then the lanes meet.
  template <class Op, class W>
  __device__ static W ofBlocks(u32 blocks, u32 base) {
    using Words = detail::Words<W>;
    const u32 lane = threadIdx.x % 32;
    const auto of = [&](u32 i) { return i < blocks ? Words::load(base, i) : Op::template nothing<W>(); };
    if (blocks <= 32) return detail::treeOfLanes<Op, 32>(of(lane));
    if (blocks <= 64) return detail::treeOfLanes<Op, 32>(Op::apply(of(2 * lane), of(2 * lane + 1)));
    u32 each = 4;
    while (each * 32 < blocks) each *= 2;
    return detail::treeOfLanes<Op, 32>(ofRun<Op, W>(lane * each, each, blocks, base));
  }
  template <class Op, class W>
  __device__ __noinline__ static W ofRun(u32 from, u32 count, u32 blocks, u32 base) {
    // The partial results of a balanced tree, one for each bit that is set in the number of words taken so far.
    W waiting[8];
#pragma unroll 1
    for (u32 taken = 0; taken < count; ++taken) {
      W v = from + taken < blocks ? detail::Words<W>::load(base, from + taken) : Op::template nothing<W>();
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

namespace detail {

/// `more`: packets of a row that has no elements.
template <class Shape, class P, int N, class Body>
__device__ inline void forRows(Launch<N> &launch, u64 rows, u64 length, u32 more, const Body &body) {
  detail::RowGroup group;
  group.ctas = ptx::clusterCtas();
  group.thread = blockIdx.x % group.ctas * blockDim.x + threadIdx.x;
  group.threads = group.ctas * blockDim.x;
  if (group.ctas > 1) {
    if (!launch.counts && threadIdx.x == 0) ptx::initShared();
    launch.counts = true;
    ptx::clusterArrive();
  }
  const u32 packets = P::count(length) + more;
  const float share = ptx::divide(1.0f, float(length));
  launch.start();
#pragma unroll 1
  for (u64 r = blockIdx.x / group.ctas; r < rows; r += gridDim.x / group.ctas) {
    body(Row<Shape, P, N>{launch, group, r, length, packets, u32(r) * packets, share});
    if constexpr (P::kOfWarps) ptx::gatherLanes();
  }
  if (group.ctas > 1 && !group.started) ptx::clusterWait();
}

} // namespace detail

/// Calls body(row) for the rows of a matrix that this CTA has a share in; by all threads of the grid.
template <class Shape, class P, int N, class Body>
__device__ inline void forRows(Launch<N> &launch, u64 rows, u64 length, const Body &body) {
  detail::forRows<Shape, P>(launch, rows, length, 0, body);
}

/// The same where messages say how many rows they have: a matrix without elements is one row of them, with the packets that
/// their counts go with.
template <class Shape, class P, int N, class Body>
__device__ inline void forRowsOfMessages(Launch<N> &launch, u64 rows, u64 length, const Body &body) {
  const bool isEmpty = rows == 0 || length == 0;
  detail::forRows<Shape, P>(launch, isEmpty ? 1 : rows, isEmpty ? 0 : length, isEmpty ? P::count(1) : 0, body);
}

} // namespace coll
