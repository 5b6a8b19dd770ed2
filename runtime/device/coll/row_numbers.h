// Numbers of rows, or of groups of a row's elements, that go from rank to rank: each in a line of `ll` of its own, whatever
// the mode of the mailboxes beside it. One of the threads that share the row or group sends it, and all of them wait for it.
#pragma once

#include "coll/counted.h"
#include "coll/rows.h"

namespace coll {

namespace detail {

/// A line holds one number, of type T.
template <class Box, class T, class W>
__device__ inline typename Box::P lineOf(const NumberOf<W> &v) {
  Elements<Computed<T>, Box::P::kElements> all;
#pragma unroll
  for (u32 e = 0; e < Box::P::kElements; ++e) all.value[e] = v.value[0];
  return narrow<T, typename Box::P>(all);
}

template <class Box, class T, class Row, class W>
__device__ inline void sendLine(const Row &row, bool sends, u32 hop, u32 slot, u32 line, const NumberOf<W> &v) {
  const bool active = row.launch.active;
  row.launch.active = active && sends;
  Box::send(row.launch, hop, slot, line, lineOf<Box, T>(v));
  row.launch.active = active;
}

template <class Box, class T, class Row>
__device__ inline NumberOf<Computed<T>> readLine(const Row &row, u32 slot, u32 line) {
  return {{widen<T>(readSlot<Box>(row.launch, slot, line)).value[0]}};
}

/// The groups of kGroup elements that packet k is of: in lines of 128 bytes one for each piece, else one for all of it. Which it
/// is, whether the packet has the first of it, and the place of its number in a slot.
template <u32 kGroup, class Row>
struct GroupOf {
  static constexpr bool kInLines = Row::P::kOfWarps;
  u32 unit, units;
  const Row &row;
  __device__ GroupOf(const Row &r, u32 k, u32 n) : row(r) {
    if constexpr (kInLines) unit = Row::P::piece(r.packet(k), n), units = kGroup / Row::P::Piece::kElements;
    else unit = r.packet(k), units = kGroup / Row::kElements;
  }
  __device__ bool has(u32 k, u32 n) const {
    if constexpr (kInLines) return Row::P::hasPiece(row.packet(k), n, row.length);
    else return true;
  }
  __device__ bool isFirst() const { return unit % units == 0; }
  __device__ u32 line() const { return u32(row.number * (row.length / kGroup)) + unit / units; }
};

/// How many groups a packet may be of, and so numbers it has: for each element that of its group, or one.
template <class Row>
constexpr u32 groupsOf() {
  if constexpr (Row::P::kOfWarps) return Row::P::kPieces;
  else return 1;
}
template <class Row, class W>
using GroupNumbers = Elements<W, Row::P::kOfWarps ? Row::kElements : 1>;

template <u32 kGroup, class Box, class T, class Row, class W>
__device__ inline void sendGroups(const Row &row, u32 k, u32 hop, u32 slot, const GroupNumbers<Row, W> &v) {
  constexpr u32 kEach = GroupNumbers<Row, W>::kElements / groupsOf<Row>();
#pragma unroll
  for (u32 n = 0; n < groupsOf<Row>(); ++n) {
    const GroupOf<kGroup, Row> group(row, k, n);
    sendLine<Box, T>(row, group.has(k, n) && group.isFirst(), hop, slot, group.line(), NumberOf<W>{{v.value[n * kEach]}});
  }
}

/// `has`: whether the message has the row.
template <u32 kGroup, class Box, class T, class Row>
__device__ inline GroupNumbers<Row, Computed<T>> readGroups(const Row &row, u32 k, bool has, u32 slot) {
  constexpr u32 kEach = GroupNumbers<Row, Computed<T>>::kElements / groupsOf<Row>();
  GroupNumbers<Row, Computed<T>> v;
  const bool active = row.launch.active;
#pragma unroll
  for (u32 n = 0; n < groupsOf<Row>(); ++n) {
    const GroupOf<kGroup, Row> group(row, k, n);
    row.launch.active = active && has && group.has(k, n);
    const auto number = widen<T>(readIf<Box>(row.launch, has, slot, group.line())).value[0];
#pragma unroll
    for (u32 e = 0; e < kEach; ++e) v.value[n * kEach + e] = number;
  }
  row.launch.active = active;
  return v;
}

} // namespace detail

/// Sends the number of the row; by all its threads. With `rows` it is one of a message of so many.
template <class Box, class T, class Row, class W>
__device__ inline void sendNumber(const Row &row, u32 hop, u32 slot, const NumberOf<W> &v) {
  detail::sendLine<Box, T>(row, row.isFirst(), hop, slot, u32(row.number), v);
}
template <class Box, class T, class Row, class W>
__device__ inline void sendNumber(const Row &row, u32 hop, u32 slot, const NumberOf<W> &v, u32 rows) {
  Box::sendCount(row.launch, hop, slot, rows, row.number == 0 && row.isFirst(), 0);
  if (row.number < rows) detail::sendLine<typename Box::Packets, T>(row, row.isFirst(), hop, slot, u32(row.number), v);
}

/// The number of the row that has come in a slot; by all its threads. Zero if the message has fewer rows.
template <class Box, class T, class Row>
__device__ inline NumberOf<Computed<T>> readNumber(const Row &row, u32 slot) {
  return detail::readLine<Box, T>(row, slot, u32(row.number));
}
template <class Box, class T, class Row>
__device__ inline NumberOf<Computed<T>> readNumber(const Row &row, Messages<1> &messages, u32 slot, u64 rows) {
  const u32 count = detail::awaitCount<Box>(row.launch, messages, slot, rows);
  NumberOf<Computed<T>> v = {};
  if (row.number < count) v = detail::readLine<typename Box::Packets, T>(row, slot, u32(row.number));
  return v;
}

/// The same of the group of kGroup elements that packet k is of; for each packet.
template <u32 kGroup, class Box, class T, class W, class Row>
__device__ inline void sendGroupNumber(const Row &row, u32 k, u32 hop, u32 slot, const detail::GroupNumbers<Row, W> &v) {
  detail::sendGroups<kGroup, Box, T, Row, W>(row, k, hop, slot, v);
}
template <u32 kGroup, class Box, class T, class W, class Row>
__device__ inline void sendGroupNumber(const Row &row, u32 k, u32 hop, u32 slot, const detail::GroupNumbers<Row, W> &v, u32 rows) {
  Box::sendCount(row.launch, hop, slot, rows, row.place(k) == 0, 0);
  if (row.number < rows) detail::sendGroups<kGroup, typename Box::Packets, T, Row, W>(row, k, hop, slot, v);
}
template <u32 kGroup, class Box, class T, class Row>
__device__ inline auto readGroupNumber(const Row &row, u32 k, u32 slot) {
  return detail::readGroups<kGroup, Box, T>(row, k, true, slot);
}
template <u32 kGroup, class Box, class T, class Row>
__device__ inline auto readGroupNumber(const Row &row, u32 k, Messages<1> &messages, u32 slot, u64 rows) {
  const u32 count = detail::awaitCount<Box>(row.launch, messages, slot, rows);
  return detail::readGroups<kGroup, typename Box::Packets, T>(row, k, row.number < count, slot);
}

} // namespace coll
