#include "sema/Ranges.h"

#include <algorithm>
#include <bit>

namespace coll::sema {

using namespace ast;

namespace {

// Far below the limits of the type, so that sums and products of accepted values cannot overflow.
constexpr std::int64_t largest = std::int64_t(1) << 30;

std::optional<Interval> bounded(Interval value) {
  if (value.lo < -largest || value.hi > largest) return std::nullopt;
  return value;
}

bool isPoint(const Interval &value) {
  return value.lo == value.hi;
}

std::int64_t apply(BinaryOp op, std::int64_t a, std::int64_t b) {
  switch (op) {
  case BinaryOp::Add: return a + b;
  case BinaryOp::Sub: return a - b;
  case BinaryOp::Mul: return a * b;
  case BinaryOp::Div: return a / b;
  case BinaryOp::Mod: return a % b;
  case BinaryOp::Xor: return a ^ b;
  case BinaryOp::Shl: return a << b;
  default: return a >> b;
  }
}

bool isMonotone(BinaryOp op) {
  return op == BinaryOp::Add || op == BinaryOp::Sub || op == BinaryOp::Mul;
}

bool isDefined(BinaryOp op, std::int64_t a, std::int64_t b) {
  if (op == BinaryOp::Div || op == BinaryOp::Mod) return b > 0 && a >= 0;
  if (op == BinaryOp::Shl || op == BinaryOp::Shr) return a >= 0 && b >= 0 && b < 30;
  return true;
}

std::optional<bool> compare(BinaryOp op, std::int64_t a, std::int64_t b) {
  switch (op) {
  case BinaryOp::Lt: return a < b;
  case BinaryOp::Le: return a <= b;
  case BinaryOp::Gt: return a > b;
  case BinaryOp::Ge: return a >= b;
  case BinaryOp::Eq: return a == b;
  case BinaryOp::Ne: return a != b;
  default: return std::nullopt;
  }
}

} // namespace

Ranges::Ranges(int ranks, const std::vector<Loop> &loops) : ranks(ranks) {
  for (const Loop &loop : loops) {
    if (!loop.first) {
      variables[loop.variable] = {0, ranks - 1};
      continue;
    }
    std::optional<Interval> first = of(*loop.first), last = of(*loop.last);
    if (!first || !last) continue;
    if (last->hi < first->lo) isEmpty = true;
    // Ends that depend on an outer loop may be reached only in iterations where the range is not empty.
    variables[loop.variable] = {first->lo, last->hi, isPoint(*first) && isPoint(*last)};
  }
}

std::optional<Interval> Ranges::of(const Expr &expr) const {
  if (expr.type.kind == Type::Kind::Error) return std::nullopt;
  if (auto *literal = std::get_if<IntLit>(&expr.node)) {
    if (literal->value > std::uint64_t(largest)) return std::nullopt;
    auto value = static_cast<std::int64_t>(literal->value);
    return Interval{value, value};
  }
  if (auto *ref = std::get_if<NameRef>(&expr.node)) return ofName(*ref);
  if (auto *binary = std::get_if<Binary>(&expr.node)) return ofBinary(*binary);
  if (auto *unary = std::get_if<Unary>(&expr.node)) {
    auto value = of(*unary->operand);
    if (!value || unary->op != UnaryOp::Negate) return std::nullopt;
    Interval negated{-value->hi, -value->lo, value->exact, value->dense};
    return unary->moduloN ? wrapped(negated) : negated;
  }
  if (auto *cast = std::get_if<Cast>(&expr.node)) {
    auto value = of(*cast->operand);
    if (!value || cast->target.kind != Type::Kind::Rank) return std::nullopt;
    return wrapped(*value);
  }
  if (auto *call = std::get_if<Call>(&expr.node); call && call->function == Function::Log2 && call->args.size() == 1) {
    auto value = of(*call->args[0]);
    if (!value || !isPoint(*value) || value->lo < 1) return std::nullopt;
    std::int64_t log = std::bit_width(static_cast<std::uint64_t>(value->lo)) - 1;
    return Interval{log, log};
  }
  return std::nullopt;
}

std::optional<Interval> Ranges::ofName(const NameRef &ref) const {
  if (auto *builtin = std::get_if<Builtin>(&ref.ref)) {
    if (*builtin == Builtin::N) return Interval{ranks, ranks};
    if (*builtin == Builtin::Me) return Interval{0, ranks - 1};
  }
  if (auto *variable = std::get_if<const Variable *>(&ref.ref))
    if (auto found = variables.find(*variable); found != variables.end()) return found->second;
  if (auto *let = std::get_if<const Let *>(&ref.ref))
    if (!(*let)->mutableVar && (*let)->type.isIndex()) {
      auto value = of(*(*let)->value);
      if (value && !isPoint(*value)) value->exact = false;
      return value;
    }
  if (auto *param = std::get_if<const Param *>(&ref.ref))
    if ((*param)->type.kind == Type::Kind::Rank) return Interval{0, ranks - 1};
  return std::nullopt;
}

std::optional<Interval> Ranges::ofBinary(const Binary &binary) const {
  auto lhs = of(*binary.lhs), rhs = of(*binary.rhs);
  if (!lhs || !rhs) return std::nullopt;
  bool points = isPoint(*lhs) && isPoint(*rhs);
  if (!points && !isMonotone(binary.op)) return std::nullopt;
  std::int64_t corners[] = {lhs->lo, lhs->lo, lhs->hi, lhs->hi};
  const std::int64_t others[] = {rhs->lo, rhs->hi, rhs->lo, rhs->hi};
  for (int i = 0; i < 4; ++i) {
    if (!isDefined(binary.op, corners[i], others[i])) return std::nullopt;
    corners[i] = apply(binary.op, corners[i], others[i]);
  }
  auto [lo, hi] = std::minmax_element(std::begin(corners), std::end(corners));
  // Two sides that both vary may vary together.
  bool exact = lhs->exact && rhs->exact && (isPoint(*lhs) || isPoint(*rhs));
  bool dense = lhs->dense && rhs->dense && (points || binary.op != BinaryOp::Mul);
  auto value = bounded({*lo, *hi, exact, dense});
  return value && binary.moduloN ? wrapped(*value) : value;
}

Interval Ranges::wrapped(Interval value) const {
  if (isPoint(value)) {
    std::int64_t point = ((value.lo % ranks) + ranks) % ranks;
    return {point, point, value.exact, true};
  }
  if (value.lo >= 0 && value.hi < ranks) return value;
  return {0, ranks - 1, value.exact && value.dense && value.hi - value.lo + 1 >= ranks, false};
}

std::optional<bool> holds(const Expr &condition, int ranks) {
  if (condition.type.kind == Type::Kind::Error) return std::nullopt;
  Ranges ranges(ranks, {});
  if (auto *binary = std::get_if<Binary>(&condition.node)) {
    if (binary->op == BinaryOp::And || binary->op == BinaryOp::Or) {
      bool decisive = binary->op == BinaryOp::Or;
      auto lhs = holds(*binary->lhs, ranks), rhs = holds(*binary->rhs, ranks);
      if (lhs == decisive || rhs == decisive) return decisive;
      return lhs && rhs ? std::optional(!decisive) : std::nullopt;
    }
    auto lhs = ranges.of(*binary->lhs), rhs = ranges.of(*binary->rhs);
    if (!lhs || !rhs || !isPoint(*lhs) || !isPoint(*rhs)) return std::nullopt;
    return compare(binary->op, lhs->lo, rhs->lo);
  }
  if (auto *unary = std::get_if<Unary>(&condition.node); unary && unary->op == UnaryOp::Not) {
    auto value = holds(*unary->operand, ranks);
    return value ? std::optional(!*value) : std::nullopt;
  }
  if (auto *call = std::get_if<Call>(&condition.node); call && call->function == Function::Pow2) {
    auto value = ranges.of(*call->args[0]);
    if (!value || !isPoint(*value)) return std::nullopt;
    return value->lo > 0 && std::has_single_bit(static_cast<std::uint64_t>(value->lo));
  }
  return std::nullopt;
}

} // namespace coll::sema
