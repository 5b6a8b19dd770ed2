// The host's copy of the numbers in runtime/device/coll/region.h and types.h; a test compares the two.
#pragma once

#include <cstdint>

namespace coll::region {

constexpr unsigned kMaxCtas = 256;
constexpr unsigned kEpochWords = 4; ///< byte offset of a word for each CTA: the number of its last launch

/// Whom a wait was for, in LaunchStatus::where, where it is not the number of a mailbox.
constexpr unsigned kBarrier = 0xffff;
constexpr unsigned kWrap = 0xfffe;
constexpr unsigned kCredit = 0xfffd;
constexpr unsigned kCount = 0xfffc;

} // namespace coll::region
