// Messages that say how long they are. Beside the lines of each slot lies one more, in the form of `ll` whatever the mode:
// the message's count and the epoch. It is sent with every message, one without elements too, by the thread that has packet
// 0; whoever reads the slot waits for it first, and then for as many packets as it says.
#pragma once

#include "coll/ll.h"
#include "coll/slots.h"

namespace coll {

/// A vector that may be empty is one packet long at least, as its message is sent all the same.
__device__ inline u64 atLeastOne(u64 elements) { return elements != 0 ? elements : 1; }

namespace detail {

/// A count that is larger than what it counts ends the launch with an error, and nothing is touched beyond the vector.
__device__ __noinline__ inline u32 refuseCount(Status *status, u32 me, u32 number, u32 most, u32 count) {
  if (!aborted(status)) report(status, me, kCount, number, most, count);
  return most;
}

} // namespace detail

/// A count of elements of a vector of `length`: as it is, if it is one. `number`: which, for the report.
template <int N>
__device__ inline u32 bounded(const Launch<N> &launch, u32 count, u32 number, u64 length) {
  if (count <= length) return count;
  return detail::refuseCount(launch.team.status, launch.me(), number, u32(length), count);
}

/// Number `number` of an argument of counts, of elements of a vector of `length`.
template <int N>
__device__ inline u32 countAt(const Launch<N> &launch, const u32 *counts, u32 number, u64 length) {
  return launch.active ? bounded(launch, ptx::load4(counts + number), number, length) : 0;
}

/// Packet `i` of the first `count` elements at `from`, aligned to T alone; zero bits if it has none.
template <class P, int N, class T>
__device__ inline P loadFirst(const Launch<N> &launch, const T *from, u32 i, u32 count) {
  if (!reaches<AnyPackets, P>(i, count)) return {};
  return load<AnyPackets, P>(launch, from, i, count);
}

/// Writes what packet `i` has of the first `count` elements at `to`, and nothing beyond.
template <class P, int N, class T>
__device__ inline void storeFirst(const Launch<N> &launch, T *to, u32 i, u32 count, const P &packet) {
  if (reaches<AnyPackets, P>(i, count)) store<AnyPackets>(launch, to, i, count, packet);
}

/// Writes the count of a message, by the thread that has its packet 0.
template <int N>
__device__ inline void storeCount(const Launch<N> &launch, u32 *to, u32 i, u32 count) {
  if (launch.active && i == 0) ptx::store4(to, count);
}

/// A mailbox of any mode whose messages say how long they are, in Counts: an ll::Mailbox with a line for each slot.
template <class Box, class CountLines>
struct Counted : Box {
  using P = typename Box::P;
  using Packets = Box;
  using Counts = CountLines;
  /// Which line of a slot of Counts a thread looks at.
  __device__ static u32 countLine() { return 0; }

  /// Pushes packet `i` of a message of `count` elements, as Box::send does, or nothing if it has none; with packet 0 goes
  /// the count. Called for packet 0 of every message. No branch comes between lanes that store a line together.
  template <int N>
  __device__ static void send(Launch<N> &launch, u32 hop, u32 slot, u32 i, const P &data, u32 count) {
    send(launch, hop, slot, i, i, data, count, i == 0, 0);
  }

  /// The count alone, to line `line` if `counts`.
  template <int N>
  __device__ static void sendCount(Launch<N> &launch, u32 hop, u32 slot, u32 count, bool counts, u32 line) {
    launch.begin();
    const u64 word = detail::pair(count, launch.epoch);
    ptx::storeRelaxed16If(launch.active && counts, launch.team.peer[hop] + Counts::at(launch.epoch, slot, line),
                          Words2{{word, word}});
  }

protected:
  /// The same of packet `i` of a vector in place `k` of the slot; the count goes to line `line` if `counts`.
  template <int N>
  __device__ static void send(Launch<N> &launch, u32 hop, u32 slot, u32 k, u32 i, const P &data, u32 count, bool counts, u32 line) {
    sendCount(launch, hop, slot, count, counts, line);
    if (reaches<AnyPackets, P>(i, count)) Box::send(launch, hop, slot, k, data);
  }
};

/// The same in a launch of chunks. The count is that of the whole message, and goes with each chunk, from each CTA to the
/// one with its number in a line of its own: nothing tells CTAs when others have read one.
template <class Box, class CountLines>
struct CountedInChunks : Counted<Box, CountLines> {
  using P = typename Box::P;
  __device__ static u32 countLine() { return blockIdx.x; }

  /// Pushes packet `i` of a message, which is packet `k` of its chunk.
  template <int N>
  __device__ static void send(Launch<N> &launch, u32 hop, u32 slot, u32 k, u32 i, const P &data, u32 count) {
    Counted<Box, CountLines>::send(launch, hop, slot, k, i, data, count, k == blockIdx.x * blockDim.x, blockIdx.x);
  }
};

/// The same where a message is rows of a matrix: its count is of those.
template <class Box, class CountLines>
struct CountedRows : Counted<Box, CountLines> {
  using P = typename Box::P;

  /// Pushes packet `i` of the slot, which is one of row `row`, unless the message has fewer rows; with packet 0 goes the
  /// count. Called for packet 0 of every message.
  template <int N>
  __device__ static void send(Launch<N> &launch, u32 hop, u32 slot, u32 i, const P &data, u64 row, u32 count) {
    Counted<Box, CountLines>::sendCount(launch, hop, slot, count, i == 0, 0);
    if (row < count) Box::send(launch, hop, slot, i, data);
  }
};

/// How long the messages from all ranks are, once a thread has waited for that.
template <int N>
struct Messages {
  u32 count[N];
  bool known = false;
};

namespace detail {

/// `has(count)`: whether a message of that length has the packet, or that of another lane.
template <class Box, int N, class Has, class Use>
__device__ inline void eachMessage(Launch<N> &launch, Messages<N> &messages, u32 k, u64 length, u32 skip, u32 ownCount,
                                   const typename Box::P &own, const Has &has, const Use &use) {
  using P = typename Box::P;
  constexpr u32 kMost = kSlotsInFlight<P>, kCount = N < kMost ? N : kMost;
#pragma unroll 1
  for (u32 first = 0; first < N; first += kCount) {
    // As in eachSlot: the last batch reaches back.
    const u32 from = N % kCount == 0 || first + kCount <= N ? first : N - kCount;
    u32 wanted = 0;
#pragma unroll
    for (u32 s = 0; s < kCount; ++s) wanted |= u32(from + s >= first && from + s != skip) << s;
    if (!messages.known) {
      typename Box::Counts::P counts[kCount];
      Box::Counts::template receive<kCount>(launch, from, wanted, Box::countLine(), counts);
#pragma unroll
      for (u32 s = 0; s < kCount; ++s)
        if (wanted >> s & 1)
          messages.count[from + s] = launch.active ? bounded(launch, counts[s].word[0], from + s, length) : 0;
    }
#pragma unroll
    for (u32 s = 0; s < kCount; ++s)
      if ((wanted >> s & 1) && !has(messages.count[from + s])) wanted &= ~(1u << s);
    P part[kCount];
    Box::template receive<kCount>(launch, from, wanted, k, part);
#pragma unroll
    for (u32 s = 0; s < kCount; ++s) {
      const u32 r = from + s;
      if (r >= first) use(r, r == skip ? ownCount : messages.count[r], select(r == skip, own, part[s]));
    }
  }
  messages.known = true;
}

template <class Box, int N, class Use>
__device__ inline void eachMessage(Launch<N> &launch, Messages<N> &messages, u32 k, u32 i, u64 length, u32 skip,
                                   u32 ownCount, const typename Box::P &own, const Use &use) {
  const auto has = [&](u32 count) { return reaches<AnyPackets, typename Box::P>(i, count); };
  eachMessage<Box>(launch, messages, k, length, skip, ownCount, own, has, use);
}

/// How long one message alone is.
template <class Box, int N>
__device__ inline u32 awaitCount(Launch<N> &launch, Messages<1> &messages, u32 slot, u64 length) {
  if (messages.known) return messages.count[0];
  typename Box::Counts::P counts[1];
  Box::Counts::template receive<1>(launch, slot, 1, Box::countLine(), counts);
  messages.known = true;
  return messages.count[0] = launch.active ? bounded(launch, counts[0].word[0], slot, length) : 0;
}

/// Packet `k` of a slot, if any lane of the warp has one in the message.
template <class Box, int N>
__device__ inline typename Box::P readIf(Launch<N> &launch, bool has, u32 slot, u32 k) {
  typename Box::P part[1] = {};
  if (ptx::anyInStep(has)) Box::template receive<1>(launch, slot, 1, k, part);
  return part[0];
}

} // namespace detail

/// Packet `i` of the message in slot `slot` alone, of a vector of `length` at most, with meaning as far as its count
/// reaches, which is messages.count[0] from then on. In chunks it is packet `k` of one.
template <class Box, int N>
__device__ inline typename Box::P readMessage(Launch<N> &launch, Messages<1> &messages, u32 slot, u32 k, u32 i, u64 length) {
  const u32 count = detail::awaitCount<Box>(launch, messages, slot, length);
  return detail::readIf<Box>(launch, reaches<AnyPackets, typename Box::P>(i, count), slot, k);
}
template <class Box, int N>
__device__ inline typename Box::P readMessage(Launch<N> &launch, Messages<1> &messages, u32 slot, u32 i, u64 length) {
  return readMessage<Box>(launch, messages, slot, i, i, length);
}

/// Calls use(r, count, packet i) for the message of every rank r from 0 up, of vectors of `length` at most; the packet has
/// meaning as far as the count reaches. That in slot `me` is not waited for: it is the first ownCount elements of `own`.
template <class Box, int N, class Use>
__device__ inline void eachMessage(Launch<N> &launch, Messages<N> &messages, u32 i, u64 length, u32 ownCount,
                                   const typename Box::P &own, const Use &use) {
  detail::eachMessage<Box>(launch, messages, i, i, length, launch.me(), ownCount, own, use);
}

/// The same where this rank's message comes through its own slot.
template <class Box, int N, class Use>
__device__ inline void eachMessage(Launch<N> &launch, Messages<N> &messages, u32 i, u64 length, const Use &use) {
  detail::eachMessage<Box>(launch, messages, i, i, length, kNone, 0, {}, use);
}

/// The same of packets of a chunk.
template <class Box, int N, class Use>
__device__ inline void eachMessageOfChunk(Launch<N> &launch, Messages<N> &messages, u32 k, u32 i, u64 length, u32 ownCount,
                                          const typename Box::P &own, const Use &use) {
  detail::eachMessage<Box>(launch, messages, k, i, length, launch.me(), ownCount, own, use);
}
template <class Box, int N, class Use>
__device__ inline void eachMessageOfChunk(Launch<N> &launch, Messages<N> &messages, u32 k, u32 i, u64 length, const Use &use) {
  detail::eachMessage<Box>(launch, messages, k, i, length, kNone, 0, {}, use);
}

/// The same of rows: packet `i` of the slot, which is one of row `row`, of matrices of `rows` rows at most.
template <class Box, int N>
__device__ inline typename Box::P readMessageRow(Launch<N> &launch, Messages<1> &messages, u32 slot, u32 i, u64 row, u64 rows) {
  const u32 count = detail::awaitCount<Box>(launch, messages, slot, rows);
  return detail::readIf<Box>(launch, row < count, slot, i);
}
template <class Box, int N, class Use>
__device__ inline void eachMessageRow(Launch<N> &launch, Messages<N> &messages, u32 i, u64 row, u64 rows, const Use &use) {
  detail::eachMessage<Box>(launch, messages, i, rows, kNone, 0, {}, [&](u32 count) { return row < count; }, use);
}

} // namespace coll
