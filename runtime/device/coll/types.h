// The scalar types of a generated kernel, and what a launch passes to it. No behaviour lives here.
#pragma once

namespace coll {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;

/// The most CTAs a launch may have; a scratch region holds one epoch word for each.
constexpr u32 kMaxCtas = 256;

/// No rank, no slot.
constexpr u32 kNone = 0xffffffffu;

/// Element types whose arithmetic C++ does not have. They are bits; `Arithmetic<T>` in reduce.h gives them meaning.
struct F16 { u16 bits; };
struct BF16 { u16 bits; };
struct F8E4M3 { u8 bits; };
struct F8E5M2 { u8 bits; };

/// A value of 16 bytes as two 8-byte words, the unit that relaxed 16-byte accesses move.
struct alignas(16) Words2 {
  u64 w[2];
};

/// Where a kernel reports a wait that did not end. Lies in host memory mapped into every GPU of the context, written
/// by the threads that give up (the host reads one of them). Nothing in the launch path of the host reads it.
struct alignas(16) Status {
  u32 abort;     ///< 0: go on. Anything else ends every wait: 1 the host asked, 2 a wait ran out of time
  u32 unused[3];
  u64 where;     ///< rank (16 bits), mailbox (16), slot (16), CTA (16), from the low end
  u64 epochs;    ///< the epoch waited for (32 bits), the one found there instead (32)
};

/// The mailbox in `Status::where` is its number in the manifest, or one of these: a barrier (the slot is then the rank
/// waited for), the meeting of all CTAs at the wrap of the epoch, a credit (again the slot is the rank), and no wait at all but
/// a count that is larger than what it counts (the slot is its number, the epochs are the most it may be and the count).
constexpr u32 kBarrier = 0xffff;
constexpr u32 kWrap = 0xfffe;
constexpr u32 kCredit = 0xfffd;
constexpr u32 kCount = 0xfffc;

/// What every launch passes, whatever the algorithm. All fields are 8 bytes, so that host and device agree on the
/// layout without a packing rule: N pointers, then four words.
template <int N>
struct Team {
  /// peer[h] is the scratch region of rank (me + h) mod N, so that after unrolling the index is a constant;
  /// peer[0] is this rank's own. Regions are 128-byte aligned and laid out alike on all ranks (see region.h).
  char *peer[N];
  Status *status;  ///< never null
  u64 timeout;     ///< nanoseconds a single wait may take
  u64 me;          ///< this rank, 0 .. N-1
  u64 clearBytes;  ///< how much of a scratch region the wrap of the epoch clears: all but mailboxes with a fill of
                   ///< their own, which lie last
};

} // namespace coll
