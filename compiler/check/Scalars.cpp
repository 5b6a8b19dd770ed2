#include "check/Scalars.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace coll::check {
namespace {

using Kind = ir::Index::Kind;
using Visit = llvm::function_ref<void(const ir::Index &)>;

void visitSlice(const ir::Slice &slice, Visit visit) {
  visit(slice.index), visit(slice.length.index);
  if (slice.owner) visit(*slice.owner);
}

void visitStatement(const ir::Stmt &stmt, Visit visit) {
  ir::match(
      stmt, [&](const ir::Load &s) { visitSlice(s.from, visit); }, [&](const ir::Store &s) { visitSlice(s.to, visit); },
      [&](const ir::StoreCount &s) { visitSlice(s.to, visit); },
      [&](const ir::Send &s) { visit(s.peer), visit(s.slot); }, [&](const ir::Poll &s) { visit(s.slot); },
      [&](const ir::Read &s) { visit(s.slot); }, [&](const ir::Clear &s) { visit(s.slot); },
      [&](const ir::Signal &s) { visit(s.peer), visit(s.slot); }, [&](const ir::Await &s) { visit(s.slot); },
      [&](const ir::Credit &s) { visit(s.peer); }, [&](const ir::AwaitCredit &s) { visit(s.peer); },
      [&](const ir::Constant &s) { s.number ? visit(*s.number) : void(); }, [&](const ir::If &s) { visit(s.condition); },
      [&](const ir::For &s) { visit(s.first), visit(s.last); }, [](const auto &) {});
}

/// Every expression in a program and its contract.
void visitExpressions(const ir::Program &program, Visit visit) {
  ir::walk(program.body, [&](const ir::Stmt &s) { visitStatement(s, visit); });
  for (const ir::Value &v : program.values) visit(v.length.index);
  for (const ir::Mailbox &m : program.mailboxes) visit(m.length.index);
  for (const ir::Ensures &e : program.ensures) {
    visitSlice(e.target, visit), visitSlice(e.source, visit), visit(e.from), visit(e.countFrom);
    if (e.on) visit(*e.on);
    if (e.count) visitSlice(*e.count, visit);
    for (const ir::FormulaNode &n : e.formula) {
      visitSlice(n.source, visit), visit(n.from);
      if (n.number) visit(*n.number);
    }
  }
}

/// The numbers at which an expression over one scalar may change: where the two sides of a comparison meet, and where a
/// quotient, remainder, minimum or maximum begins another branch.
class Turns {
public:
  Turns(const ir::Program &program, llvm::StringRef scalar) : ranks(program.ranks), scalar(scalar) {
    visitExpressions(program, [&](const ir::Index &i) { visit(i); });
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

std::int64_t least(DType type) {
  switch (type) {
  case DType::I8: return std::numeric_limits<std::int8_t>::min();
  case DType::I32: return std::numeric_limits<std::int32_t>::min();
  case DType::I64: return std::numeric_limits<std::int64_t>::min();
  default: return 0;
  }
}

std::int64_t greatest(DType type) {
  switch (type) {
  case DType::I8: return std::numeric_limits<std::int8_t>::max();
  case DType::U8: return std::numeric_limits<std::uint8_t>::max();
  case DType::I32: return std::numeric_limits<std::int32_t>::max();
  case DType::U32: return std::numeric_limits<std::uint32_t>::max();
  default: return std::numeric_limits<std::int64_t>::max();
  }
}

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

Values valuesOf(const ir::Program &program, const ir::Scalar &scalar) {
  const std::int64_t n = program.ranks;
  if (!scalar.isIndex()) return {{0}, {}}; // data: decides nothing
  const std::int64_t low = scalar.rank ? 0 : least(scalar.type), high = scalar.rank ? n - 1 : greatest(scalar.type);
  Values values;
  const auto add = [&](std::vector<std::int64_t> &to, std::int64_t v) {
    if (v >= low && v <= high && !llvm::is_contained(values.some, v) && !llvm::is_contained(values.rest, v)) to.push_back(v);
  };
  // Few ranks are all tried in a row. With many, the ends of the range and what differs stand for the others.
  constexpr std::size_t kInARow = 24;
  const Turns turns(program, scalar.name);
  for (const std::int64_t turn : turns.fixed)
    for (const std::int64_t v : {turn, turn - 1, turn + 1}) add(values.some, v);
  for (const std::int64_t v : {std::int64_t(0), std::int64_t(1)}) add(values.some, v);
  if (scalar.rank)
    for (std::int64_t r = 2; r < n; ++r)
      if (n <= 8 || r == n / 2 || r == n - 1) add(values.some, r);
  for (const std::int64_t turn : turns.at)
    for (const std::int64_t v : {turn, turn - 1, turn + 1}) add(scalar.rank && n <= 8 ? values.rest : values.some, v);
  if (scalar.rank)
    for (std::int64_t r = 0; r < n; ++r) add(values.rest, r);
  else
    for (const std::int64_t v : {std::int64_t(2), n, std::int64_t(-1), n - 1, std::min(high, std::int64_t(1) << 30)})
      add(values.some, v);
  values.keep(kInARow);
  if (turns.at.size() > turns.fixed.size()) // it meets something that differs from rank to rank
    for (std::int64_t r = 0; r < n; ++r) add(values.rest, r);
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

ScalarClasses scalarClasses(const ir::Program &program) {
  constexpr std::size_t kMostInARow = 40;
  const std::size_t most = std::max<std::size_t>(256, 4 * std::size_t(program.ranks));
  std::vector<Values> values;
  for (const ir::Scalar &s : program.scalars) values.push_back(valuesOf(program, s));
  ScalarClasses result;
  std::vector<std::vector<std::int64_t>> some;
  for (const Values &v : values) some.push_back(v.some), result.each.push_back(v.all());
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
    return result;
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
  return result;
}

} // namespace coll::check
