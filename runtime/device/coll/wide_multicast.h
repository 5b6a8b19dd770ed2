// What goes to all ranks at once in packets of several lines.
#pragma once

#include "coll/multicast.h"
#include "coll/wide.h"

namespace coll {

/// As sendToAll, line by line.
template <class Box, int N>
__device__ inline void sendLinesToAll(Launch<N> &launch, char *all, u32 slot, u32 i, const typename Box::P &data) {
#pragma unroll
  for (u32 n = 0; n < Box::kLinesOfPacket; ++n)
    sendToAll<typename Box::Lined>(launch, all, slot, Box::lineOf(i, n), Box::get(data, n));
}
template <class Box, int N>
__device__ inline void sendLinesToOthers(Launch<N> &launch, char *all, u32 slot, u32 i, const typename Box::P &data) {
#pragma unroll
  for (u32 n = 0; n < Box::kLinesOfPacket; ++n)
    sendToOthers<typename Box::Lined>(launch, all, slot, Box::lineOf(i, n), Box::get(data, n));
}

} // namespace coll
