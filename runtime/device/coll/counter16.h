// Sync mode `counter16`: as `counter`, with a count in each line of 16 bytes.
//
// A rank adds 12 bytes of payload and, in the last 4, the number one: all of it with one reduction of 16 bytes. The owner
// looks until a line has counted all ranks; then all that they added is in it. So nobody meets and nothing is announced,
// but a reduction of 16 bytes must take effect at once, and a load see it so, which PTX does not promise: a platform
// declares it. Between GPUs the link must reduce natively.
//
// A line is zero before the first launch, and the owner makes what it has read zero again, which is released before the
// line's next use by the end of its launch, as with `sentinel`.
//
// The order of additions is that of arrival, and each rounds to the element type: results differ from run to run.
#pragma once

#include "coll/counter.h"
#include "coll/poll.h"

namespace coll::counter16 {

constexpr u32 kLineBytes = 16;

template <class T>
using Packet = coll::Packet<T, 12>;

/// `number`, at most 256, in the last element of a line of T, as the bits of its last word.
template <class T>
struct Count;
template <> struct Count<float> {
  __device__ static u32 bits(u32 number) { return ptx::floatToBits(float(number)); }
};
template <> struct Count<F16> {
  __device__ static u32 bits(u32 number) { return ptx::floatsToHalves(0, float(number)); }
};
template <> struct Count<BF16> {
  __device__ static u32 bits(u32 number) { return ptx::floatsToBfloats(0, float(number)); }
};

template <class T, int N>
struct Wire {
  /// Zero for a line that all ranks have added to.
  __device__ static u32 late(const Words2 &line, u32) { return u32(line.w[1] >> 32) ^ Count<T>::bits(N); }
  __device__ static u32 found(const Words2 &) { return 0; }
};

/// As ll::Mailbox, with packets of 12 bytes.
template <class T, int N, u32 kNumber, u64 kOffset, u32 kSlots, u64 kLines, u32 kCopies, u64 kStride = 0>
struct Mailbox {
  using P = Packet<T>;
  using Lines = region::Lines<kOffset, kSlots, kLines, kCopies, kLineBytes, kStride>;
  /// Byte offset in a region of line `i` of slot `slot` in the copy of `epoch`.
  __device__ static auto at(u32 epoch, u32 slot, u32 i) { return Lines::at(epoch, slot, i); }

  /// Adds packet `i` into `slot` of the rank `hop` places after this one. Relaxed.
  __device__ static void send(Launch<N> &launch, u32 hop, u32 slot, u32 i, const P &data) {
    launch.begin();
    if (!launch.active) return;
    const Words2 line = {{detail::pair(data.word[0], data.word[1]), detail::pair(data.word[2], Count<T>::bits(1))}};
    counter::detail::add(launch.team.peer[hop] + at(launch.epoch, slot, i), line, static_cast<T *>(nullptr));
  }

  /// Waits until all ranks have added packet `i` of the slots first .. first + kCount - 1 whose bit in `wanted` is set,
  /// returns the sums and makes the slots zero.
  template <u32 kCount>
  __device__ static void receive(Launch<N> &launch, u32 first, u32 wanted, u32 i, P (&part)[kCount]) {
    launch.begin();
    char *lines = launch.team.peer[0] + at(launch.epoch, first, i);
    Words2 seen[kCount];
    detail::awaitLines<Wire<T, N>, kCount, Lines::kSlotBytes>(launch, kNumber, first, wanted, lines, seen);
#pragma unroll
    for (u32 s = 0; s < kCount; ++s) {
      if (launch.active && (kCount == 1 || (wanted >> s & 1))) ptx::storeRelaxed16(lines + s * Lines::kSlotBytes, Words2{{0, 0}});
      part[s] = detail::fromWords<P>(seen[s]);
    }
  }
};

} // namespace coll::counter16
