// What a thread keeps from loop to loop, as kept.h, of what is no packet: elements that are computed with, and numbers.
#pragma once

#include "coll/arithmetic.h"

namespace coll {

/// A place for each packet, from kOffset on in the region, for elements of W of it or one number.
template <u64 kOffset, class W>
struct KeptElements {
  /// Whole units of 16 bytes, so that threads share none.
  template <u32 kCount>
  static constexpr u32 kStride = (kCount * sizeof(W) + 15) / 16 * 16;

  template <int N, u32 kCount>
  __device__ static void put(const Launch<N> &launch, u32 i, const Elements<W, kCount> &f) {
    if (!launch.active) return;
    u32 word[kStride<kCount> / 4] = {};
    detail::toMemory<W>(f, word);
    detail::storeWords<kStride<kCount>>(launch.team.peer[0] + kOffset + u64(i) * kStride<kCount>, word);
  }
  template <u32 kCount, int N>
  __device__ static Elements<W, kCount> get(const Launch<N> &launch, u32 i) {
    Elements<W, kCount> f = {};
    if (!launch.active) return f;
    u32 word[kStride<kCount> / 4];
    detail::loadWords<kStride<kCount>>(launch.team.peer[0] + kOffset + u64(i) * kStride<kCount>, word);
    return detail::fromMemory<W, kCount>(word);
  }

  /// The same of a number that all threads of a row have: each keeps it at the place of its first packet.
  template <int N, class Row>
  __device__ static void putOfRow(const Launch<N> &launch, const Row &row, const NumberOf<W> &v) {
    if (row.has(0)) put(launch, row.place(0), v);
  }
  template <int N, class Row>
  __device__ static NumberOf<W> getOfRow(const Launch<N> &launch, const Row &row) {
    NumberOf<W> v = {};
    if (row.has(0)) v = get<1>(launch, row.place(0));
    return v;
  }
};

} // namespace coll
