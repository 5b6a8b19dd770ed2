// Multicast: a store that reaches the same place of every rank, and a load that reduces one. The network does both, where
// the team has it: then kernels get an address that stands for a place of all ranks, else null, and go over the ranks.
//
// Such a store reaches each rank in its own time, this one too, and not as stores to its own memory do: it is there
// when it shows that it is, or behind a release. Its order with what goes by ordinary addresses of the same places is no
// part of PTX's model (they are aliases), but what a release or an acquire of this thread orders on shipping hardware.
#pragma once

#include "coll/window.h"

namespace coll {

namespace detail {

/// 16 bytes to all ranks, in words that are whole when they arrive.
template <u32 kWordBytes>
__device__ inline void storeToAll16(char *to, const Words2 &v) {
  if constexpr (kWordBytes == 8) ptx::storeToAll8(to, v.w[0]), ptx::storeToAll8(to + 8, v.w[1]);
  else ptx::storeToAll16(to, v);
}

template <class Box, int kFirst, int N>
__device__ inline void send(Launch<N> &launch, char *all, u32 slot, u32 i, const typename Box::P &data) {
  launch.begin();
  if (ptx::kMulticast && all) {
    if (launch.active)
      storeToAll16<Box::kWordBytes>(all + Box::at(launch.epoch, slot, i), Box::line(launch.epoch, data));
    return;
  }
#pragma unroll
  for (int hop = kFirst; hop < N; ++hop) Box::send(launch, hop, slot, i, data);
}

} // namespace detail

/// Pushes packet `i` into `slot` of every rank, and to all but this one at least, in the order that Box::send states.
/// `all` is the region of all ranks at once, or null.
template <class Box, int N>
__device__ inline void sendToAll(Launch<N> &launch, char *all, u32 slot, u32 i, const typename Box::P &data) {
  detail::send<Box, 0>(launch, all, slot, i, data);
}
template <class Box, int N>
__device__ inline void sendToOthers(Launch<N> &launch, char *all, u32 slot, u32 i, const typename Box::P &data) {
  detail::send<Box, 1>(launch, all, slot, i, data);
}

namespace detail {

/// Packet `i` of a vector, if it is whole.
template <class Shape, class P, class T>
__device__ inline void storeWholeToAll(T *all, u64 i, const P &packet) {
  char *to = reinterpret_cast<char *>(all) + u64(i) * P::kBytes;
  const Words2 v = toWords(packet);
  if constexpr (P::kBytes == 8) ptx::storeToAll8(to, v.w[0]);
  else ptx::storeToAll16(to, v);
}

/// Whether all of packet `i` that is in the vector are whole, aligned units.
template <class Shape, class P, class T>
__device__ inline bool isWhole(const T *vector, u32 i, u64 length) {
  if constexpr (Shape::kWhole) return true;
  else if constexpr (P::kInPieces) {
    using Piece = typename P::Piece;
    return u64(vector) % Piece::kBytes == 0 &&
           (length % Piece::kElements == 0 || u64(P::piece(i, P::kPieces - 1) + 1) * Piece::kElements <= length);
  } else {
    return u64(vector) % P::kBytes == 0 && u64(i + 1) * P::kElements <= length;
  }
}

} // namespace detail

/// Writes packet `i` of the vector of `length` elements that begins `begin` elements into every rank's `to`. Weak, to be
/// seen after a barrier. `all` is that of all ranks at once, or null; packets that are not whole go to each.
template <class Shape, class P, int N, class T>
__device__ inline void storeToAll(const Launch<N> &launch, T *const (&to)[N], T *all, u64 begin, u32 i, u64 length,
                                  const P &packet) {
  if (!launch.active) return;
  constexpr bool kFits = P::kBytes == 8 || P::kBytes % 16 == 0;
  if (ptx::kMulticast && kFits && all && detail::isWhole<Shape, P>(all + begin, i, length)) {
    if constexpr (P::kInPieces) {
#pragma unroll
      for (u32 n = 0; n < P::kPieces; ++n)
        if (P::hasPiece(i, n, length)) detail::storeWholeToAll<Shape>(all + begin, P::piece(i, n), packet.getPiece(n));
    } else {
      detail::storeWholeToAll<Shape>(all + begin, i, packet);
    }
    return;
  }
#pragma unroll
  for (int hop = 0; hop < N; ++hop) store<Shape>(launch, to[hop] + begin, i, length, packet);
}

/// What the network reduces: elements of 16 bytes of all ranks, in an order of its own, floats accumulated in f32 or more.
/// Only what has every property of the loop but that order: minima and maxima of floats would lose a NaN, and a sum of
/// f16 is no step to an average that may be smaller.
template <class Op, class T>
struct NetworkReduction {
  static constexpr bool kExists = false;
};

namespace detail {
template <class T, Words2 (*reduce)(const void *)>
struct Reduction {
  static constexpr bool kExists = true;
  __device__ static Words2 load(const void *all) { return reduce(all); }
};
} // namespace detail

template <> struct NetworkReduction<Sum, float> : detail::Reduction<float, ptx::sumOfAllFloats> {};
template <> struct NetworkReduction<Avg, float> : detail::Reduction<float, ptx::sumOfAllFloats> {};
template <> struct NetworkReduction<Sum, double> : detail::Reduction<double, ptx::sumOfAllDoubles> {};
template <> struct NetworkReduction<Avg, double> : detail::Reduction<double, ptx::sumOfAllDoubles> {};
template <> struct NetworkReduction<Sum, F16> : detail::Reduction<F16, ptx::sumOfAllHalves> {};
template <> struct NetworkReduction<Sum, BF16> : detail::Reduction<BF16, ptx::sumOfAllBfloats> {};
template <> struct NetworkReduction<Avg, BF16> : detail::Reduction<BF16, ptx::sumOfAllBfloats> {};
template <> struct NetworkReduction<Sum, int> : detail::Reduction<int, ptx::sumOfAll4> {};
template <> struct NetworkReduction<Sum, u32> : detail::Reduction<u32, ptx::sumOfAll4> {};
template <> struct NetworkReduction<Sum, long long> : detail::Reduction<long long, ptx::sumOfAll8> {};
template <> struct NetworkReduction<Sum, u64> : detail::Reduction<u64, ptx::sumOfAll8> {};
template <> struct NetworkReduction<Min, int> : detail::Reduction<int, ptx::minOfAllInts> {};
template <> struct NetworkReduction<Max, int> : detail::Reduction<int, ptx::maxOfAllInts> {};
template <> struct NetworkReduction<Min, u32> : detail::Reduction<u32, ptx::minOfAll4> {};
template <> struct NetworkReduction<Max, u32> : detail::Reduction<u32, ptx::maxOfAll4> {};
template <> struct NetworkReduction<Min, long long> : detail::Reduction<long long, ptx::minOfAllLongs> {};
template <> struct NetworkReduction<Max, long long> : detail::Reduction<long long, ptx::maxOfAllLongs> {};
template <> struct NetworkReduction<Min, u64> : detail::Reduction<u64, ptx::minOfAll8> {};
template <> struct NetworkReduction<Max, u64> : detail::Reduction<u64, ptx::maxOfAll8> {};

namespace detail {

template <class T> struct NotConst { using Type = T; };
template <class T> struct NotConst<const T> { using Type = T; };

/// What is left of an average once the sum is there.
template <class Op, class T, int N, class P>
__device__ inline P finished(const P &sum) {
  if constexpr (!kAverages<Op>) return sum;
  Accumulator<T, P> acc;
  acc.start(sum);
  acc.template finish<Op, N>();
  return acc.rounded();
}

template <class Op, class T, class P>
__device__ inline P loadFromAll(const T *all, u32 i, u64 length) {
  const auto piece = [&](u64 number) {
    return NetworkReduction<Op, T>::load(reinterpret_cast<const char *>(all) + u64(number) * 16);
  };
  if constexpr (P::kInPieces) {
    P p = {};
#pragma unroll
    for (u32 n = 0; n < P::kPieces; ++n)
      if (P::hasPiece(i, n, length)) p.setPiece(n, fromWords<typename P::Piece>(piece(P::piece(i, n))));
    return p;
  } else {
    return fromWords<P>(piece(i));
  }
}

} // namespace detail

/// Packet `i` of the vectors of `length` elements that begin `begin` elements into `from` of every rank, reduced: by the
/// network in its order, or where that cannot (`all` is null, or the packet is not whole) from rank 0 up, accumulated wide
/// and rounded once. After a barrier.
template <class Shape, class Op, class P, int N, class T>
__device__ inline P reduceAll(const Launch<N> &launch, T *const (&from)[N], T *all, u64 begin, u32 i, u64 length) {
  using E = typename detail::NotConst<T>::Type;
  if constexpr (ptx::kMulticast && NetworkReduction<Op, E>::kExists && P::kBytes % 16 == 0) {
    if (!launch.active) return {};
    if (all && detail::isWhole<Shape, P>(all + begin, i, length))
      return detail::finished<Op, E, N>(detail::loadFromAll<Op, E, P>(all + begin, i, length));
  }
  return reduceRanks<Op, E, P, N>([&](u32 rank) {
    return load<Shape, P>(launch, from[hopTo<N>(launch.me(), rank)] + begin, i, length);
  });
}

} // namespace coll
