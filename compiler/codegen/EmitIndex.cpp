#include "codegen/EmitIndex.h"

#include "ir/IndexRange.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

namespace coll::codegen {

using ir::Index;
using Kind = Index::Kind;

namespace {

using ir::Range;

constexpr double kIntMin = std::numeric_limits<int>::min(), kIntMax = std::numeric_limits<int>::max();

/// A constant and multiples of variables, in order of appearance.
struct Sum {
  std::int64_t constant = 0;
  std::vector<std::pair<std::string, std::int64_t>> terms;

  void add(const Sum &other, std::int64_t factor) {
    constant += factor * other.constant;
    for (const auto &[name, times] : other.terms) {
      auto known = llvm::find_if(terms, [&, n = name](const auto &t) { return t.first == n; });
      if (known == terms.end()) terms.emplace_back(name, factor * times);
      else if ((known->second += factor * times) == 0) terms.erase(known);
    }
  }
};

class IndexWriter {
public:
  IndexWriter(const IndexScope &s, const Index &whole) : scope(s), wide(leavesInt(whole)) {}

  std::string index(const Index &i) const {
    if (i.kind() == Kind::Constant) return std::to_string(i.value());
    if (i.kind() == Kind::Variable) return i.name();
    if (moduloRanks(i))
      if (auto shift = rotation(i.left(), scope.ranks)) return rotated(*shift);
    if (auto sum = sumOf(i, false); sum && !sum->terms.empty()) return text(*sum);
    if (auto plain = natural(i)) return unwrapped(*plain);
    return "coll::u32(" + signedText(i) + ")";
  }

  std::string hop(const Index &peer) const {
    if (peer.isVariable("me")) return "0";
    if (moduloRanks(peer))
      if (auto shift = rotation(peer.left(), scope.ranks - 1); shift && shift->base == "me") return text(shift->by);
    return "coll::hopTo<N>(me, " + index(peer) + ")";
  }

  /// A number that is computed with: it may be negative.
  std::string number(const Index &i) const {
    const auto plain = natural(i);
    return unwrapped(plain ? *plain : signedText(i));
  }

  /// With all arithmetic in `int`, or in 64 bits where that is not enough, so that differences and comparisons are what they are in the source.
  std::string signedText(const Index &i) const {
    auto infix = [&](const char *sign) { return "(" + signedText(i.left()) + sign + signedText(i.right()) + ")"; };
    switch (i.kind()) {
    case Kind::Constant: return std::to_string(i.value());
    case Kind::Variable:
      if (wide && !isScalar(i)) return "(long long)" + i.name();
      return scope.loops.count(i.name()) ? i.name() : "int(" + i.name() + ")";
    case Kind::Mod: {
      const std::string n = signedText(i.right());
      return "((" + signedText(i.left()) + " % " + n + " + " + n + ") % " + n + ")";
    }
    case Kind::CeilDiv:
      return "((" + signedText(i.left()) + " + " + signedText(i.right()) + " - 1) / " + signedText(i.right()) + ")";
    case Kind::Div: { // rounds down
      const std::string a = signedText(i.left()), b = signedText(i.right());
      if (i.right().kind() != Kind::Constant || i.right().value() <= 0) return "coll::floorDiv(" + a + ", " + b + ")";
      const auto range = rangeOf(i.left());
      if (range && range->low >= 0) return "(" + a + " / " + b + ")";
      return "((" + a + " - (" + a + " % " + b + " + " + b + ") % " + b + ") / " + b + ")";
    }
    case Kind::Min:
    case Kind::Max: {
      const std::string a = signedText(i.left()), b = signedText(i.right());
      return "(" + a + (i.kind() == Kind::Min ? " < " : " > ") + b + " ? " + a + " : " + b + ")";
    }
    case Kind::Shl:
      if (rangeOf(i)) return infix(sign(i.kind()));
      return "coll::shiftLeft(" + signedText(i.left()) + ", " + signedText(i.right()) + ")";
    case Kind::Log2: return "coll::floorLog2(" + signedText(i.left()) + ")";
    case Kind::Pow2: return "coll::isPowerOf2(" + signedText(i.left()) + ")";
    default: return infix(sign(i.kind()));
    }
  }

  static std::string unwrapped(const std::string &text) {
    return text.size() > 1 && text.front() == '(' && text.back() == ')' ? text.substr(1, text.size() - 2) : text;
  }

  std::string condition(const Index &i) const {
    if (i.kind() == Kind::Eq && i.right().isConstant(0) && isCondition(i.left().kind()))
      return "!(" + condition(i.left()) + ")";
    const auto a = isCondition(i.kind()) ? natural(i.left()) : std::nullopt;
    const auto b = a ? natural(i.right()) : std::nullopt;
    if (!b) return unwrapped(signedText(i));
    if (i.left().kind() != Kind::Constant) return *a + sign(i.kind()) + *b;
    const char *turned = i.kind() == Kind::Lt ? " > " : i.kind() == Kind::Le ? " >= " : sign(i.kind());
    return *b + turned + *a;
  }

private:
  const IndexScope &scope;
  const bool wide; ///< an int does not hold all that is reckoned with

  /// A whole number that is an argument: its text makes it one of 64 bits.
  static bool isScalar(const Index &i) { return i.kind() == Kind::Variable && llvm::StringRef(i.name()).startswith("(long long)"); }

  static bool usesScalar(const Index &i) {
    if (i.kind() == Kind::Constant || i.kind() == Kind::Variable) return isScalar(i);
    return usesScalar(i.left()) || usesScalar(i.right());
  }

  /// Of what has no such argument, and so nothing of 64 bits.
  bool leavesInt(const Index &i) const {
    if (i.kind() == Kind::Constant || i.kind() == Kind::Variable) return false;
    if (usesScalar(i)) return leavesInt(i.left()) || leavesInt(i.right());
    ir::Ranges ranges;
    addRanges(i, ranges);
    return ir::leaves(i, ranges, {kIntMin, kIntMax}).has_value();
  }

  void addRanges(const Index &i, ir::Ranges &ranges) const {
    if (i.kind() == Kind::Variable) ranges[i.name()] = *rangeOf(i);
    if (i.kind() == Kind::Variable || i.kind() == Kind::Constant) return;
    addRanges(i.left(), ranges), addRanges(i.right(), ranges);
  }

  static bool isCondition(Kind kind) {
    return kind == Kind::Eq || kind == Kind::Ne || kind == Kind::Lt || kind == Kind::Le;
  }

  static const char *sign(Kind kind) {
    switch (kind) {
    case Kind::Add: return " + ";
    case Kind::Sub: return " - ";
    case Kind::Mul: return " * ";
    case Kind::Div: return " / ";
    case Kind::Xor: return " ^ ";
    case Kind::Shl: return " << ";
    case Kind::Eq: return " == ";
    case Kind::Ne: return " != ";
    case Kind::Lt: return " < ";
    case Kind::Le: return " <= ";
    case Kind::And: return " && ";
    case Kind::Or: return " || ";
    default: return "";
    }
  }

  bool moduloRanks(const Index &i) const { return i.kind() == Kind::Mod && i.right().isConstant(scope.ranks); }

  // ---- Ranges ----

  std::optional<Range> rangeOf(const Index &i) const {
    if (i.kind() == Kind::Constant) return Range{double(i.value()), double(i.value())};
    if (i.kind() == Kind::Variable) {
      auto loop = scope.loops.find(i.name());
      if (loop == scope.loops.end()) return Range{0, double(scope.ranks - 1)};
      return Range{double(loop->second.first), double(loop->second.second)};
    }
    const auto a = rangeOf(i.left()), b = rangeOf(i.right());
    if (!a || !b) return std::nullopt;
    const bool natural = a->low >= 0 && b->low >= 0;
    switch (i.kind()) {
    case Kind::Add: return Range{a->low + b->low, a->high + b->high};
    case Kind::Sub: return Range{a->low - b->high, a->high - b->low};
    case Kind::Mul: return natural ? std::optional(Range{a->low * b->low, a->high * b->high}) : std::nullopt;
    case Kind::Mod: return b->low > 0 ? std::optional(Range{0, b->high - 1}) : std::nullopt;
    case Kind::Shl: // in 31 bits
      if (!natural || b->high > 30 || a->high * std::exp2(b->high) > kIntMax) return std::nullopt;
      return Range{a->low * std::exp2(b->low), a->high * std::exp2(b->high)};
    case Kind::Xor:
      if (!natural || std::max(a->high, b->high) > kIntMax) return std::nullopt;
      return Range{0, double(llvm::NextPowerOf2(std::uint64_t(std::max(a->high, b->high)))) - 1};
    default: return std::nullopt;
    }
  }

  Range rangeOf(const Sum &sum) const {
    Range range{double(sum.constant), double(sum.constant)};
    for (const auto &[name, times] : sum.terms) {
      const Range r = *rangeOf(Index::variable(name));
      range.low += double(times) * (times > 0 ? r.low : r.high);
      range.high += double(times) * (times > 0 ? r.high : r.low);
    }
    return range;
  }

  // ---- Sums ----

  /// Inside a remainder by N (`wraps`), remainders by N change nothing.
  std::optional<Sum> sumOf(const Index &i, bool wraps) const {
    if (i.kind() == Kind::Constant) return Sum{i.value(), {}};
    if (i.kind() == Kind::Variable) return Sum{0, {{i.name(), 1}}};
    if (wraps && moduloRanks(i)) return sumOf(i.left(), true);
    if (i.kind() != Kind::Add && i.kind() != Kind::Sub) return std::nullopt;
    auto a = sumOf(i.left(), wraps), b = sumOf(i.right(), wraps);
    if (!a || !b) return std::nullopt;
    a->add(*b, i.kind() == Kind::Add ? 1 : -1);
    return a;
  }

  /// A rank and what is added to it, from 0 up to `most`.
  struct Rotation {
    std::string base;
    Sum by;
  };
  std::optional<Rotation> rotation(const Index &i, std::int64_t most) const {
    auto sum = sumOf(i, true);
    if (!sum) return std::nullopt;
    auto isBase = [&](const auto &t) { return t.second == 1 && !scope.loops.count(t.first); };
    auto base = llvm::find_if(sum->terms, [&](const auto &t) { return t.first == "me" && isBase(t); });
    if (base == sum->terms.end()) base = llvm::find_if(sum->terms, isBase);
    if (base == sum->terms.end()) return std::nullopt;
    Rotation result{base->first, {}};
    sum->terms.erase(base);
    result.by = *sum;
    const Range range = rangeOf(result.by);
    if (!range.within(kIntMin, kIntMax)) return std::nullopt;
    const std::int64_t n = scope.ranks, low = std::int64_t(range.low);
    result.by.constant += ((low % n + n) % n) - low;
    if (rangeOf(result.by).high > double(most)) return std::nullopt;
    return result;
  }

  std::string rotated(const Rotation &r) const {
    if (r.by.terms.empty() && r.by.constant == 0) return r.base;
    return "coll::rankAt<N>(" + r.base + ", " + text(r.by) + ")";
  }

  /// Unsigned or not, a sum is right as long as what it comes to is not negative.
  std::string text(const Sum &sum) const {
    std::string out;
    auto append = [&](bool negative, const std::string &what) {
      if (out.empty()) out = (negative ? "-" : "") + what;
      else out += (negative ? " - " : " + ") + what;
    };
    auto term = [](const std::string &name, std::int64_t times) {
      return times == 1 || times == -1 ? name : std::to_string(std::abs(times)) + " * " + name;
    };
    for (const auto &[name, times] : sum.terms)
      if (times > 0) append(false, term(name, times));
    std::int64_t rest = sum.constant;
    const bool falling = llvm::any_of(sum.terms, [](const auto &t) { return t.second < 0; });
    if (falling && std::abs(rest - scope.ranks) <= 2) append(false, "N"), rest -= scope.ranks;
    if (rest != 0 || (out.empty() && sum.terms.empty())) append(rest < 0, std::to_string(std::abs(rest)));
    for (const auto &[name, times] : sum.terms)
      if (times < 0) append(true, term(name, times));
    return out;
  }

  // ---- Expressions that never go below zero ----

  std::optional<std::string> natural(const Index &i) const {
    const auto range = rangeOf(i);
    if (!range || !range->within(0, kIntMax)) return std::nullopt;
    if (i.kind() == Kind::Constant) return std::to_string(i.value());
    if (i.kind() == Kind::Variable) return i.name();
    if (i.kind() == Kind::Mod) {
      const auto left = rangeOf(i.left());
      if (moduloRanks(i) && left && left->low >= 0 && left->high < scope.ranks) return natural(i.left());
      const auto a = natural(i.left()), b = natural(i.right());
      if (!a || !b) return std::nullopt;
      return "(" + *a + " % " + (moduloRanks(i) ? "N" : *b) + ")";
    }
    if (i.kind() == Kind::Sub) return std::nullopt;
    const auto a = natural(i.left()), b = natural(i.right());
    if (!a || !b) return std::nullopt;
    return "(" + *a + sign(i.kind()) + *b + ")";
  }
};

} // namespace

std::string indexText(const Index &index, const IndexScope &scope) { return IndexWriter(scope, index).index(index); }

std::string numberText(const Index &number, const IndexScope &scope) { return IndexWriter(scope, number).number(number); }

std::string hopText(const Index &peer, const IndexScope &scope) { return IndexWriter(scope, peer).hop(peer); }

std::string conditionText(const Index &condition, const IndexScope &scope) {
  return IndexWriter(scope, condition).condition(condition);
}

} // namespace coll::codegen
