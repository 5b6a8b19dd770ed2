// What a promise with steps comes to, computed on the host one rounding at a time.
#pragma once

#include "context/Reference.h"

namespace coll {

/// Sources of one launch, as f32, by the parts of arguments that they are.
using ReadPart = std::function<std::vector<float>(const Manifest::Promise::Part &part, bool atExit)>;

/// The elements that the output of a promise with steps must hold. `rowLength` is that of a row of its vectors.
std::vector<float> evaluate(const Manifest::Promise &promise, std::uint64_t rowLength, const LaunchSizes &sizes,
                            const ReadPart &read);

/// A float in the bits of a type; to an integer of 8 bits, rounded to nearest even and bounded, NaN being 0.
std::uint64_t roundTo(DType type, float value);

} // namespace coll
