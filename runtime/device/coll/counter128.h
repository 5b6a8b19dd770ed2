// Sync mode `counter128`: as `counter16`, with a count in each line of 128 bytes.
//
// Lines, blocks and packets are those of ll128.h. Eight lanes of a warp add a line to the owner's, of which the last element
// counts: each rank adds one to it. The owner looks until a line has counted all ranks; then all that they added is in it.
//
// Assumes of the hardware, beyond PTX, so only for platforms that declare it: when 8 lanes of a warp add 16 bytes each to
// one aligned line of 128 bytes with one instruction, all of it takes effect at once, or at least the last bytes last; and
// when they load one so, they see it at one moment. Between GPUs the link must reduce natively.
//
// A line is zero before the first launch, and the owner makes what it has read zero again, which is released before the
// line's next use by the end of its launch, as with `sentinel`.
//
// The order of additions is that of arrival, and each rounds to the element type: results differ from run to run.
#pragma once

#include "coll/counter16.h"
#include "coll/ll128.h"

namespace coll::counter128 {

template <class T>
using Packet = ll128::Packet<T>;

namespace detail {

__device__ inline void add(char *to, const Words2 &v, const float *) { ptx::addLineFloats16(to, v); }
__device__ inline void add(char *to, const Words2 &v, const F16 *) { ptx::addLineHalves16(to, v); }
__device__ inline void add(char *to, const Words2 &v, const BF16 *) { ptx::addLineBfloats16(to, v); }

} // namespace detail

/// As ll128::Mailbox.
template <class T, int N, u32 kNumber, u64 kOffset, u32 kSlots, u64 kLines, u32 kCopies, u64 kStride = 0>
struct Mailbox {
  static_assert(kOffset % 128 == 0 && kLines % ll128::kWarp == 0, "lines are aligned, warps whole");
  using P = Packet<T>;
  using Lines = region::Lines<kOffset, kSlots, kLines, kCopies, ll128::kLineBytes, kStride>;
  /// Byte offset in a region of the first 16 bytes of packet `i` of slot `slot` in the copy of `epoch`. The others lie
  /// 128 bytes further.
  __device__ static auto at(u32 epoch, u32 slot, u32 i) {
    return Lines::at(epoch, slot, i / ll128::kLanes * ll128::kLanes) + i % ll128::kLanes * 16;
  }

  /// Adds packet `i` into `slot` of the rank `hop` places after this one. By all lanes of a warp. Relaxed.
  __device__ static void send(Launch<N> &launch, u32 hop, u32 slot, u32 i, const P &data) {
    launch.begin();
    if (!launch.active) return;
    Words2 line[2];
    ll128::detail::toLines(data, i % ll128::kLanes == 7, u64(counter16::Count<T>::bits(1)) << 32, line);
    char *to = launch.team.peer[hop] + at(launch.epoch, slot, i);
    detail::add(to, line[0], static_cast<T *>(nullptr));
    detail::add(to + 128, line[1], static_cast<T *>(nullptr));
  }

  /// Waits until all ranks have added packet `i` of the slots first .. first + kCount - 1 whose bit in `wanted` is set,
  /// returns the sums and makes the slots zero. By all lanes of a warp, with the same `wanted`.
  template <u32 kCount>
  __device__ static void receive(Launch<N> &launch, u32 first, u32 wanted, u32 i, P (&part)[kCount]) {
    launch.begin();
    launch.settle();
    if (!launch.active) return;
    const bool last = i % ll128::kLanes == 7;
    char *lines = launch.team.peer[0] + at(launch.epoch, first, i);
    Words2 seen[kCount][2];
    ll128::detail::awaitBlocks<counter16::Wire<T, N>, kNumber, kCount, Lines::kSlotBytes>(launch, first, wanted, last, lines, seen);
#pragma unroll
    for (u32 s = 0; s < kCount; ++s) {
      if (kCount == 1 || (wanted >> s & 1))
#pragma unroll
        for (u32 h = 0; h < 2; ++h) ptx::storeRelaxed16(lines + s * Lines::kSlotBytes + h * 128, Words2{{0, 0}});
      ll128::detail::fromLines(seen[s], last, part[s]);
    }
  }
};

} // namespace coll::counter128
