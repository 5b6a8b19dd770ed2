// Elements as bits: narrow floats to f32 and back, test values, and how a person reads them.
#pragma once

#include "coll/Types.h"

#include <cstddef>
#include <optional>

namespace coll {

/// The value of a float of at most 4 bytes. Every such value is a float.
float widen(DType type, std::uint64_t bits);
/// Rounds to nearest even; what is too large becomes infinity, or the largest where the type has none (fp8e4m3).
std::uint64_t narrow(DType type, float value);

std::uint64_t readElement(DType type, const std::byte *from);
void writeElement(DType type, std::byte *to, std::uint64_t bits);

/// Equal bits, or both NaN; unless `zeroSign`, also zeros of different sign.
bool sameElement(DType type, std::uint64_t a, std::uint64_t b, bool zeroSign);
/// "1.5", "nan", "-7"
std::string elementText(DType type, std::uint64_t bits);

/// A test value, a function of the key: mostly small integers, whose sums are exact, else ordinary values whose sums
/// depend on the order, and now and then an edge of the type (-0, subnormal, largest, infinity, NaN).
std::uint64_t testElement(DType type, std::uint64_t key);
/// A test value of which sums or products of up to 100 are exact in every type, so that no order of them matters; with
/// `edges` also -0 and NaN now and then, of which that is true as well.
std::uint64_t exactElement(DType type, std::optional<ReduceOp> op, bool edges, std::uint64_t key);

/// Mixes numbers into a key.
inline std::uint64_t mix(std::uint64_t key, std::uint64_t value) {
  std::uint64_t x = key + 0x9e3779b97f4a7c15u * (value + 1);
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

} // namespace coll
