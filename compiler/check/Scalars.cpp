#include "check/Scalars.h"

#include "check/Outcomes.h"
#include "ir/Indices.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace coll::check {
namespace {

using Kind = ir::Index::Kind;

/// The numbers at which an expression over one scalar may change: where the two sides of a comparison meet, and where a
/// quotient, remainder, minimum or maximum begins another branch.
class Turns {
public:
  Turns(const ir::Program &program, llvm::StringRef scalar) : ranks(program.ranks), scalar(scalar) {
    ir::forEachIndex(program, [&](const ir::Index &i, ir::SourceOffset, bool) { visit(i); });
  }

  std::set<std::int64_t> at;
  std::set<std::int64_t> fixed; ///< of these, those that the program's numbers alone say

private:
  static constexpr std::int64_t kMost = std::int64_t(1) << 40; ///< more is of no use, and products must not overflow
  const std::int64_t ranks;
  const llvm::StringRef scalar;
  bool isFixed = true; ///< of the values in hand

  void visit(const ir::Index &i) {
    if (i.kind() == Kind::Constant || i.kind() == Kind::Variable || !i.uses(scalar)) return;
    const ir::Index left = i.left(), right = i.right();
    if (i.kind() != Kind::And && i.kind() != Kind::Or) {
      meet(left, right), meet(right, left);
      if (i.kind() == Kind::Mod || i.kind() == Kind::Div || i.kind() == Kind::CeilDiv) solve(left, 0, right);
    }
    visit(left), visit(right);
  }

  /// What an expression may be on one rank or another; the least, the greatest and one beside the least of each variable.
  std::set<std::int64_t> samples(const ir::Index &i) const {
    std::set<std::int64_t> some;
    for (const std::int64_t v : {std::int64_t(0), std::int64_t(1), ranks - 1})
      if (const auto value = i.evaluate([&](llvm::StringRef) { return std::optional(v); })) some.insert(*value);
    return some;
  }

  void meet(const ir::Index &side, const ir::Index &other) {
    if (side.uses(scalar))
      for (const std::int64_t v : samples(other)) solve(side, v, other);
  }

  /// The same, where `target` is a value of `from`.
  void solve(const ir::Index &i, std::int64_t target, const ir::Index &from) {
    const bool before = std::exchange(isFixed, isFixed && from.kind() == Kind::Constant);
    solve(i, target);
    isFixed = before;
  }

  /// Notes the values of the scalar, or the next below, with which `i` is `target`.
  void solve(const ir::Index &i, std::int64_t target) {
    if (std::abs(target) > kMost) return;
    if (i.isVariable(scalar)) {
      at.insert(target);
      if (isFixed) fixed.insert(target);
      return;
    }
    if (i.kind() == Kind::Constant || i.kind() == Kind::Variable) return;
    const ir::Index left = i.left(), right = i.right();
    const bool before = isFixed;
    if (left.uses(scalar)) {
      isFixed &= right.kind() == Kind::Constant;
      for (const std::int64_t v : samples(right)) invert(i.kind(), left, v, target);
      isFixed = before;
    }
    if (!right.uses(scalar)) return;
    isFixed &= left.kind() == Kind::Constant;
    for (const std::int64_t v : samples(left))
      i.kind() == Kind::Sub ? solve(right, v - target) : invert(i.kind(), right, v, target);
    isFixed = before;
  }

  /// Where `operand` with `v` on its other side is `target`.
  void invert(Kind kind, const ir::Index &operand, std::int64_t v, std::int64_t target) {
    if (std::abs(v) > kMost) return;
    const bool fits = std::abs(target) < (std::int64_t(1) << 20) && std::abs(v) < (std::int64_t(1) << 20);
    switch (kind) {
    case Kind::Add: return solve(operand, target - v);
    case Kind::Sub: return solve(operand, target + v);
    case Kind::Mul: return v ? solve(operand, target / v) : void();
    case Kind::Div: return fits ? (solve(operand, target * v), solve(operand, target * v + v)) : void();
    case Kind::CeilDiv: return fits ? (solve(operand, target * v), solve(operand, target * v - v)) : void();
    case Kind::Mod: return solve(operand, target), solve(operand, target + v), solve(operand, target - v);
    case Kind::Xor: return solve(operand, target ^ v);
    case Kind::Shl: return v >= 0 && v < 40 ? solve(operand, target >> v) : void();
    default: return solve(operand, target), solve(operand, v);
    }
  }
};

constexpr std::size_t kInARow = 24;

/// The values of one scalar: those for launches in a row, and the others.
struct Values {
  std::vector<std::int64_t> some, rest;

  std::vector<std::int64_t> all() const {
    std::vector<std::int64_t> both = some;
    both.insert(both.end(), rest.begin(), rest.end());
    return both;
  }
  void keep(std::size_t most) {
    if (some.size() <= most) return;
    rest.insert(rest.begin(), some.begin() + long(most), some.end());
    some.resize(most);
  }
};

/// Of a rank. Few ranks are all tried in a row; with many, the ends of the range and what differs stand for the others.
Values ranksOf(const ir::Program &program, const ir::Scalar &scalar) {
  const std::int64_t n = program.ranks;
  Values values;
  const auto add = [&](std::vector<std::int64_t> &to, std::int64_t v) {
    if (v >= 0 && v < n && !llvm::is_contained(values.some, v) && !llvm::is_contained(values.rest, v)) to.push_back(v);
  };
  const Turns turns(program, scalar.name);
  for (const std::int64_t turn : turns.fixed)
    for (const std::int64_t v : {turn, turn - 1, turn + 1}) add(values.some, v);
  for (const std::int64_t v : {std::int64_t(0), std::int64_t(1)}) add(values.some, v);
  for (std::int64_t r = 2; r < n; ++r)
    if (n <= 8 || r == n / 2 || r == n - 1) add(values.some, r);
  for (const std::int64_t turn : turns.at)
    for (const std::int64_t v : {turn, turn - 1, turn + 1}) add(n <= 8 ? values.rest : values.some, v);
  for (std::int64_t r = 0; r < n; ++r) add(values.rest, r);
  values.keep(kInARow);
  return values;
}

Values valuesOf(const ir::Program &program, const ir::Scalar &scalar, const Outcomes &outcomes) {
  if (!scalar.isIndex()) return {{0}, {}}; // data: decides nothing
  if (scalar.rank) return ranksOf(program, scalar);
  Values values{outcomes.integer(scalar.name), {}};
  values.keep(kInARow);
  return values;
}

/// All combinations.
std::vector<std::vector<std::int64_t>> product(const std::vector<std::vector<std::int64_t>> &each) {
  std::vector<std::vector<std::int64_t>> all{{}};
  for (const std::vector<std::int64_t> &values : each) {
    std::vector<std::vector<std::int64_t>> longer;
    for (const std::vector<std::int64_t> &begin : all)
      for (const std::int64_t v : values) {
        longer.push_back(begin);
        longer.back().push_back(v);
      }
    all = std::move(longer);
  }
  return all;
}

std::size_t combinations(const std::vector<std::vector<std::int64_t>> &each) {
  std::size_t count = 1;
  for (const std::vector<std::int64_t> &values : each) count = std::min<std::size_t>(count * values.size(), 1000000);
  return count;
}

/// By scalar its first values, at most so many.
std::vector<std::vector<std::int64_t>> firstOf(std::vector<std::vector<std::int64_t>> each, std::size_t most) {
  for (std::vector<std::int64_t> &values : each) values.resize(std::min(values.size(), most));
  return each;
}

} // namespace

/// One combination of each outcome that none of `tried` has, but no more than `most` and one.
static std::vector<std::vector<std::int64_t>> untriedOutcomes(const Outcomes &outcomes, Outcomes::By by, const ScalarClasses &result,
                                                              llvm::ArrayRef<std::vector<std::int64_t>> tried, std::size_t most) {
  std::set<std::uint64_t> seen;
  for (const std::vector<std::int64_t> &values : tried) seen.insert(outcomes.of(values, by));
  std::vector<std::vector<std::int64_t>> missing;
  outcomes.each(result.each, by, [&](const std::vector<std::int64_t> &values, std::uint64_t outcome) {
    if (missing.size() <= most && seen.insert(outcome).second) missing.push_back(values);
  });
  return missing;
}

/// Puts one combination of values of each outcome that is not there yet among those for launches in a row.
static void addToRow(Outcomes &outcomes, ScalarClasses &result) {
  constexpr std::size_t kMost = 1000;
  auto missing = untriedOutcomes(outcomes, Outcomes::By::AnyRank, result,
                                 llvm::ArrayRef(result.values).take_front(std::size_t(result.few)), kMost);
  if (missing.size() > kMost) return outcomes.refuseAll();
  for (std::vector<std::int64_t> &values : missing) {
    const auto at = llvm::find(result.values, values);
    if (at != result.values.end()) result.values.erase(at);
    const bool inARow = result.few < int(3 * kInARow);
    result.values.insert(inARow ? result.values.begin() + result.few : result.values.end(), std::move(values));
    result.few += inARow;
  }
}

/// Adds what differs in anything from all that is tried. Of ranks that is mostly as much as there are combinations: then the
/// proof says that not all are tried.
static void addDifferent(const ir::Program &program, Outcomes &outcomes, ScalarClasses &result) {
  constexpr std::size_t kMost = 500;
  auto missing = untriedOutcomes(outcomes, Outcomes::By::Rank, result, result.values, kMost);
  const bool ranks = llvm::any_of(program.scalars, [](const ir::Scalar &s) { return s.rank; });
  if (missing.size() > kMost) return ranks ? void() : outcomes.refuseAll();
  result.values.insert(result.values.end(), missing.begin(), missing.end());
}

/// Those that follow each other, then the others.
static void combine(const ir::Program &program, std::vector<std::vector<std::int64_t>> some, ScalarClasses &result) {
  constexpr std::size_t kMostInARow = 40;
  const std::size_t most = std::max<std::size_t>(256, 4 * std::size_t(program.ranks));
  // Of several scalars, only the first takes more than a few.
  for (const auto &[first, others] : {std::pair(24, 4), std::pair(10, 4), std::pair(10, 2), std::pair(10, 1)})
    for (std::size_t s = some.size(); s-- > 0 && combinations(some) > kMostInARow;)
      some[s].resize(std::min(some[s].size(), std::size_t(s ? others : first)));
  result.values = product(some);
  result.few = int(result.values.size());
  std::set<std::vector<std::int64_t>> known(result.values.begin(), result.values.end());
  const auto add = [&](const std::vector<std::vector<std::int64_t>> &each) {
    for (std::vector<std::int64_t> &v : product(each))
      if (known.insert(v).second) result.values.push_back(std::move(v));
  };
  if (combinations(result.each) <= most) {
    add(result.each);
    return;
  }
  // Too many combinations: all of each beside a few of the others.
  for (std::size_t few : {4, 3, 2, 1}) {
    result.edges = firstOf(result.each, few);
    std::size_t count = 0;
    for (std::size_t s = 0; s < result.each.size(); ++s)
      count += combinations(result.edges) / result.edges[s].size() * result.each[s].size();
    if (count <= most) break;
  }
  for (std::size_t s = 0; s < result.each.size(); ++s) {
    std::vector<std::vector<std::int64_t>> star = result.edges;
    star[s] = result.each[s];
    add(star);
  }
}

ScalarClasses scalarClasses(const ir::Program &program) {
  ScalarClasses result;
  std::vector<Expression> expressions;
  ir::forEachIndex(program, [&](const ir::Index &i, ir::SourceOffset where, bool number) {
    const auto uses = [&](const ir::Scalar &s) { return s.isIndex() && i.uses(s.name); };
    const auto same = [&](const Expression &e) { return e.index == i && e.number == number; };
    if (llvm::any_of(program.scalars, uses) && llvm::none_of(expressions, same)) expressions.push_back({i, where, number});
  });
  Outcomes outcomes(program, std::move(expressions));
  std::vector<std::vector<std::int64_t>> some;
  for (const ir::Scalar &s : program.scalars) {
    const Values values = valuesOf(program, s, outcomes);
    some.push_back(values.some), result.each.push_back(values.all());
  }
  combine(program, std::move(some), result);
  // All values of one scalar that follow each other need no others.
  const bool all = result.few == int(result.values.size()) && result.edges.empty();
  if (!all && !outcomes.refusal && outcomes.table(result.each)) {
    addToRow(outcomes, result);
    if (!result.edges.empty()) addDifferent(program, outcomes, result);
  }
  result.refusal = outcomes.refusal;
  return result;
}

} // namespace coll::check
