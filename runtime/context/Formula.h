// What a promise with steps comes to, computed on the host one rounding at a time.
#pragma once

#include "context/Reference.h"

namespace coll {

/// The bits of an element as those of what it is computed with in, f32 for narrow floats, and back, rounded.
std::uint64_t computedWith(DType type, std::uint64_t bits);
std::uint64_t stored(DType type, std::uint64_t bits);

/// Sources of one launch, as computedWith has them, by the parts of arguments that they are.
using ReadPart = std::function<std::vector<std::uint64_t>(const Manifest::Promise::Part &part, bool atExit)>;

/// The elements that the output of a promise with steps must hold, likewise. `rowLength` is that of a row of its vectors.
std::vector<std::uint64_t> evaluate(const Manifest::Promise &promise, std::uint64_t rowLength, const LaunchSizes &sizes,
                                    const ReadPart &read);

} // namespace coll
