#include "ir/IndexRange.h"

#include <algorithm>
#include <cmath>

namespace coll::ir {
namespace {

using Kind = Index::Kind;

Range products(const Range &a, const Range &b) {
  const auto [low, high] = std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  return {low, high};
}

double magnitude(const Range &range) { return std::max(std::abs(range.low), std::abs(range.high)); }

/// Of a quotient rounded up or down: the divisor is a whole number other than 0.
Range quotient(const Range &a, const Range &b) {
  if (b.low < 1) return {-magnitude(a) - 1, magnitude(a) + 1};
  return {std::floor(std::min(a.low / b.low, a.low / b.high)), std::ceil(std::max(a.high / b.low, a.high / b.high))};
}

/// What bits combine to: numbers of as many bits, and a sign.
Range bits(const Range &a, const Range &b) {
  const double beyond = std::exp2(std::floor(std::log2(std::max({magnitude(a), magnitude(b), 1.0}))) + 1);
  return {a.low >= 0 && b.low >= 0 ? 0 : -beyond, beyond - 1};
}

Range operation(Kind kind, const Range &a, const Range &b) {
  switch (kind) {
  case Kind::Add: return {a.low + b.low, a.high + b.high};
  case Kind::Sub: return {a.low - b.high, a.high - b.low};
  case Kind::Mul: return products(a, b);
  case Kind::Div:
  case Kind::CeilDiv: return quotient(a, b);
  case Kind::Mod: return b.low >= 1 ? Range{0, b.high - 1} : Range{-magnitude(b), magnitude(b)};
  case Kind::Min: return {std::min(a.low, b.low), std::min(a.high, b.high)};
  case Kind::Max: return {std::max(a.low, b.low), std::max(a.high, b.high)};
  case Kind::Log2: return {0, 62};
  case Kind::Shl: return products(a, {std::exp2(std::clamp(b.low, 0.0, 62.0)), std::exp2(std::clamp(b.high, 0.0, 62.0))});
  case Kind::Xor: return bits(a, b);
  default: return {0, 1}; // conditions
  }
}

} // namespace

std::optional<Range> rangeOf(const Index &i, const Ranges &ranges) {
  if (i.kind() == Kind::Constant) return Range{double(i.value()), double(i.value())};
  if (i.kind() == Kind::Variable) {
    const auto known = ranges.find(i.name());
    return known == ranges.end() ? std::nullopt : std::optional(known->second);
  }
  const auto a = rangeOf(i.left(), ranges), b = rangeOf(i.right(), ranges);
  return a && b ? std::optional(operation(i.kind(), *a, *b)) : std::nullopt;
}

std::optional<Index> leaves(const Index &i, const Ranges &ranges, const Range &range) {
  if (i.kind() != Kind::Constant && i.kind() != Kind::Variable)
    for (const Index &operand : {i.left(), i.right()})
      if (auto part = leaves(operand, ranges, range)) return part;
  const auto own = rangeOf(i, ranges);
  return own && own->within(range.low, range.high) ? std::nullopt : std::optional(i);
}

} // namespace coll::ir
