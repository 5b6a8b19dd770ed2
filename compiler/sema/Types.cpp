#include "sema/Context.h"

#include <algorithm>

namespace coll::sema {

using namespace ast;

DType instantiate(const Element &element, DType parameter) {
  DType base = element.dtype.value_or(parameter);
  return element.accumulator ? accumulatorOf(base) : base;
}

Type makeType(Type::Kind kind) {
  Type type;
  type.kind = kind;
  return type;
}

Type valueType(Element element, std::vector<Extent> shape) {
  return {Type::Kind::Value, std::move(element), std::move(shape)};
}

Extent numberExtent(std::uint64_t number) {
  Extent extent;
  extent.number = number;
  return extent;
}

std::string describe(const Type &type) {
  if (type.isValue()) return "`" + str(type) + "`";
  std::string name = str(type);
  return (std::string_view("aeiou").find(name[0]) == std::string_view::npos ? "a " : "an ") + name;
}

namespace {

/// Whether something holds of elements in every instance.
template <typename F>
bool always(const Context &context, F holds) {
  if (context.dtypes.empty()) return holds(DType::F32); // no type parameter: the instance's type does not matter
  return std::all_of(context.dtypes.begin(), context.dtypes.end(), holds);
}

} // namespace

bool sameElement(const Context &context, const Element &a, const Element &b) {
  return always(context, [&](DType type) { return instantiate(a, type) == instantiate(b, type); });
}

std::optional<Element> commonElement(const Context &context, const Element &a, const Element &b) {
  // The accumulator rounds on its own when it is stored; what was mixed with another type must be cast.
  if (sameElement(context, a, b)) return a.accumulator ? b : a;
  auto widened = [](Element element) {
    element.accumulator = true;
    return element;
  };
  if (sameElement(context, a, widened(b))) return a;
  if (sameElement(context, widened(a), b)) return b;
  return std::nullopt;
}

bool storesAs(const Context &context, const Element &from, const Element &to) {
  if (sameElement(context, from, to)) return true;
  if (!from.accumulator) return false;
  Element rounded = from;
  rounded.accumulator = false;
  return sameElement(context, rounded, to);
}

bool isFloatElement(const Context &context, const Element &element) {
  return always(context, [&](DType type) { return isFloat(instantiate(element, type)); });
}

bool isIntElement(const Context &context, const Element &element) {
  return always(context, [&](DType type) { return !isFloat(instantiate(element, type)); });
}

std::optional<std::vector<Extent>> commonShape(const std::vector<Extent> &a, const std::vector<Extent> &b) {
  const auto &longer = a.size() >= b.size() ? a : b, &shorter = a.size() >= b.size() ? b : a;
  std::vector<Extent> out = longer;
  const Extent one = numberExtent(1);
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    Extent &extent = out[longer.size() - shorter.size() + i];
    if (extent == shorter[i] || shorter[i] == one) continue;
    if (!(extent == one)) return std::nullopt;
    extent = shorter[i];
  }
  return out;
}

namespace {

bool extentFits(const Extent &value, const Extent &slot) {
  if (value == slot) return true;
  if (value.kind == Extent::Kind::Number && slot.kind == Extent::Kind::Number) return value.number <= slot.number;
  if (slot.kind == Extent::Kind::Dynamic) return extentFits(value, slot.operands[0]);
  if (value.kind == Extent::Kind::Piece || value.kind == Extent::Kind::Dynamic)
    return extentFits(value.operands[0], slot);
  return false;
}

} // namespace

bool fits(const std::vector<Extent> &value, const std::vector<Extent> &slot) {
  return value.size() == slot.size() &&
         std::equal(value.begin(), value.end(), slot.begin(), [](auto &a, auto &b) { return extentFits(a, b); });
}

std::optional<std::int64_t> valueOf(const Extent &extent, int ranks) {
  switch (extent.kind) {
  case Extent::Kind::Number: return static_cast<std::int64_t>(extent.number);
  case Extent::Kind::Ranks: return ranks;
  case Extent::Kind::Free:
  case Extent::Kind::Piece:
  case Extent::Kind::Dynamic: return std::nullopt;
  case Extent::Kind::Arith: break;
  }
  auto a = valueOf(extent.operands[0], ranks);
  if (extent.op == 'l') return a && *a > 0 ? std::optional(std::int64_t(63 - __builtin_clzll(*a))) : std::nullopt;
  auto b = valueOf(extent.operands[1], ranks);
  constexpr std::int64_t largest = std::int64_t(1) << 30;
  if (!a || !b || std::abs(*a) > largest || std::abs(*b) > largest) return std::nullopt;
  switch (extent.op) {
  case '+': return *a + *b;
  case '-': return *a - *b;
  case '*': return *a * *b;
  default: return *b > 0 ? std::optional(*a / *b) : std::nullopt;
  }
}

} // namespace coll::sema
