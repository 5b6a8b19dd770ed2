// Mailboxes that do not keep the sign of a zero (`sentinel`, and those that are added to): where would it show in more
// than the sign of a zero?
#pragma once

#include "check/Check.h"

namespace coll::check {

/// The first operation whose result another sign of a zero changes (the divisor of a quotient, `rsqrt`), or that stores
/// what the contract promises as a copy. Empty if there is none.
std::optional<Refutation> refuteZeroSigns(const ir::Program &program);

} // namespace coll::check
