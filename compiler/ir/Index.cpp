#include "ir/Index.h"

#include <algorithm>
#include <bit>

namespace coll::ir {

struct Index::Node {
  Kind kind;
  std::int64_t value = 0;
  std::string name;
  std::shared_ptr<const Node> left, right;
};

namespace {

std::int64_t floorMod(std::int64_t a, std::int64_t b) { return ((a % b) + b) % b; }

bool fits(std::int64_t v) { return v >= -Index::kMost && v <= Index::kMost; }

std::optional<std::int64_t> product(std::int64_t a, std::int64_t b) {
  std::int64_t value = 0;
  return __builtin_mul_overflow(a, b, &value) ? std::nullopt : std::optional(value);
}

/// Of operands that fit.
std::optional<std::int64_t> valueOf(Index::Kind kind, std::int64_t a, std::int64_t b) {
  switch (kind) {
  case Index::Kind::Add: return a + b;
  case Index::Kind::Sub: return a - b;
  case Index::Kind::Mul: return product(a, b);
  case Index::Kind::Div: return b ? std::optional((a - floorMod(a, b)) / b) : std::nullopt;
  case Index::Kind::CeilDiv: return b ? std::optional((a + floorMod(-a, b)) / b) : std::nullopt;
  case Index::Kind::Mod: return b ? std::optional(floorMod(a, b)) : std::nullopt;
  case Index::Kind::Min: return std::min(a, b);
  case Index::Kind::Max: return std::max(a, b);
  case Index::Kind::Xor: return a ^ b;
  case Index::Kind::Shl: return b >= 0 && b < 63 ? product(a, std::int64_t(1) << b) : std::nullopt;
  case Index::Kind::Log2: return a > 0 ? std::optional<std::int64_t>(std::bit_width(std::uint64_t(a)) - 1) : std::nullopt;
  case Index::Kind::Pow2: return a > 0 && std::has_single_bit(std::uint64_t(a));
  case Index::Kind::Eq: return a == b;
  case Index::Kind::Ne: return a != b;
  case Index::Kind::Lt: return a < b;
  case Index::Kind::Le: return a <= b;
  case Index::Kind::And: return a && b;
  case Index::Kind::Or: return a || b;
  case Index::Kind::Constant:
  case Index::Kind::Variable: break;
  }
  return std::nullopt;
}

std::optional<std::int64_t> apply(Index::Kind kind, std::int64_t a, std::int64_t b) {
  const auto value = fits(a) && fits(b) ? valueOf(kind, a, b) : std::nullopt;
  return value && fits(*value) ? value : std::nullopt;
}

} // namespace

Index::Index() : Index(constant(0)) {}
Index::Index(std::shared_ptr<const Node> n) : node(std::move(n)) {}

Index Index::constant(std::int64_t value) {
  static const Index zero(std::make_shared<const Node>(Node{Kind::Constant, 0, {}, {}, {}})); // by far the most
  if (value == 0) return zero;
  return Index(std::make_shared<const Node>(Node{Kind::Constant, value, {}, {}, {}}));
}

Index Index::variable(llvm::StringRef name) {
  return Index(std::make_shared<const Node>(Node{Kind::Variable, 0, name.str(), {}, {}}));
}

Index Index::make(Kind kind, Index a, Index b) {
  if (a.kind() == Kind::Constant && b.kind() == Kind::Constant)
    if (auto folded = apply(kind, a.value(), b.value())) return constant(*folded);
  switch (kind) {
  case Kind::Add:
    if (a.isConstant(0)) return b;
    if (b.isConstant(0)) return a;
    break;
  case Kind::Sub:
    if (a == b) return constant(0);
    if (b.kind() == Kind::Constant && fits(b.value())) return add(a, constant(-b.value())); // one form, so that equal places compare equal
    break;
  case Kind::Mul:
    if (a.isConstant(0) || b.isConstant(1)) return a;
    if (b.isConstant(0) || a.isConstant(1)) return b;
    break;
  case Kind::Div:
  case Kind::CeilDiv:
    if (b.isConstant(1)) return a;
    break;
  case Kind::Mod:
    if (b.isConstant(1)) return constant(0);
    // (a mod b) mod b, and a constant that is a multiple of b inside a sum, are the common leftovers of rank arithmetic.
    if (a.kind() == Kind::Mod && a.right() == b) return a;
    break;
  case Kind::Min:
  case Kind::Max:
    if (a == b) return a;
    break;
  default: break;
  }
  return Index(std::make_shared<const Node>(Node{kind, 0, {}, a.node, b.node}));
}

Index Index::negate(Index condition) {
  if (condition.kind() == Kind::Eq) return make(Kind::Ne, condition.left(), condition.right());
  if (condition.kind() == Kind::Ne) return make(Kind::Eq, condition.left(), condition.right());
  return make(Kind::Eq, condition, constant(0));
}

Index Index::add(Index a, Index b) { return make(Kind::Add, a, b); }
Index Index::sub(Index a, Index b) { return make(Kind::Sub, a, b); }
Index Index::mul(Index a, Index b) { return make(Kind::Mul, a, b); }
Index Index::div(Index a, Index b) { return make(Kind::Div, a, b); }
Index Index::ceilDiv(Index a, Index b) { return make(Kind::CeilDiv, a, b); }
Index Index::mod(Index a, Index b) { return make(Kind::Mod, a, b); }
Index Index::min(Index a, Index b) { return make(Kind::Min, a, b); }
Index Index::max(Index a, Index b) { return make(Kind::Max, a, b); }
Index Index::exclusiveOr(Index a, Index b) { return make(Kind::Xor, a, b); }
Index Index::shiftLeft(Index a, Index b) { return make(Kind::Shl, a, b); }
Index Index::log2(Index a) { return make(Kind::Log2, a, Index()); }
Index Index::isPowerOf2(Index a) { return make(Kind::Pow2, a, Index()); }

Index::Kind Index::kind() const { return node->kind; }
std::int64_t Index::value() const { return node->value; }
const std::string &Index::name() const { return node->name; }
Index Index::left() const { return Index(node->left); }
Index Index::right() const { return Index(node->right); }

bool Index::uses(llvm::StringRef variable) const {
  const auto within = [&](const auto &self, const Node &n) -> bool {
    if (n.kind == Kind::Variable) return n.name == variable;
    return n.kind != Kind::Constant && (self(self, *n.left) || self(self, *n.right));
  };
  return within(within, *node);
}

bool Index::operator==(const Index &other) const {
  const auto same = [](const auto &self, const Node &a, const Node &b) -> bool {
    if (&a == &b) return true;
    if (a.kind != b.kind) return false;
    if (a.kind == Kind::Constant) return a.value == b.value;
    if (a.kind == Kind::Variable) return a.name == b.name;
    return self(self, *a.left, *b.left) && self(self, *a.right, *b.right);
  };
  return same(same, *node, *other.node);
}

Index Index::substitute(llvm::StringRef variable, const Index &by) const {
  if (!uses(variable)) return *this;
  if (kind() == Kind::Variable) return by;
  return make(kind(), left().substitute(variable, by), right().substitute(variable, by));
}

std::optional<std::int64_t> Index::evaluate(const Lookup &lookup) const {
  const auto value = [&](const auto &self, const Node &n) -> std::optional<std::int64_t> {
    if (n.kind == Kind::Constant) return n.value;
    if (n.kind == Kind::Variable) return lookup(n.name);
    const auto a = self(self, *n.left);
    if (a && ((n.kind == Kind::And && !*a) || (n.kind == Kind::Or && *a))) return *a != 0; // the rest need have no value
    const auto b = self(self, *n.right);
    return a && b ? apply(n.kind, *a, *b) : std::nullopt;
  };
  return value(value, *node);
}

std::string Index::str() const {
  auto infix = [&](const char *sign) { return "(" + left().str() + " " + sign + " " + right().str() + ")"; };
  auto call = [&](const char *f) { return std::string(f) + "(" + left().str() + ", " + right().str() + ")"; };
  switch (kind()) {
  case Kind::Constant: return std::to_string(value());
  case Kind::Variable: return name();
  case Kind::Add: return infix("+");
  case Kind::Sub: return infix("-");
  case Kind::Mul: return infix("*");
  case Kind::Div: return infix("/");
  case Kind::CeilDiv: return call("ceildiv");
  case Kind::Mod: return infix("mod");
  case Kind::Min: return call("min");
  case Kind::Max: return call("max");
  case Kind::Xor: return infix("^");
  case Kind::Shl: return infix("<<");
  case Kind::Log2: return "log2(" + left().str() + ")";
  case Kind::Pow2: return "pow2(" + left().str() + ")";
  case Kind::Eq: return infix("==");
  case Kind::Ne: return infix("!=");
  case Kind::Lt: return infix("<");
  case Kind::Le: return infix("<=");
  case Kind::And: return infix("and");
  case Kind::Or: return infix("or");
  }
  return {};
}

} // namespace coll::ir
