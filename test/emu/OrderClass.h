// What the order class of a reduction promises, on any fabric: the emulator's matrix and the GPUs' ask it.
#pragma once

#include "coll/coll.h"

namespace coll::test {

/// The same launch with two shapes: alike on all ranks that get the same; to the bit what the reference has, if the order
/// is ascending; near it and alike for both shapes, if it is fixed; near it, if it may be any. What is not so, or nothing.
std::string whereSumsDiffer(Context &context, const Kernel &kernel, const Shape &one, const Shape &other);

} // namespace coll::test
