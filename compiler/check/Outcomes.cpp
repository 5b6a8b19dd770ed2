#include "check/Outcomes.h"

#include <algorithm>
#include <set>

namespace coll::check {
namespace {

using Kind = ir::Index::Kind;
using Variables = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;
using Scope = std::vector<std::pair<llvm::StringRef, std::int64_t>>;

constexpr std::size_t kMostEvaluations = 4000000; // half a second

bool isCondition(const ir::Index &i) {
  switch (i.kind()) {
  case Kind::Eq:
  case Kind::Ne:
  case Kind::Lt:
  case Kind::Le:
  case Kind::And:
  case Kind::Or:
  case Kind::Pow2: return true;
  default: return false;
  }
}

void namesIn(const ir::Index &i, std::set<std::string> &names) {
  if (i.kind() == Kind::Variable) names.insert(i.name());
  if (i.kind() == Kind::Variable || i.kind() == Kind::Constant) return;
  namesIn(i.left(), names), namesIn(i.right(), names);
}

/// The conditions that others are made of.
void parts(const ir::Index &i, std::vector<ir::Index> &out) {
  const bool negation = i.kind() == Kind::Eq && i.right().isConstant(0) && isCondition(i.left());
  if (negation) return parts(i.left(), out);
  if (i.kind() != Kind::And && i.kind() != Kind::Or) return out.push_back(i);
  parts(i.left(), out), parts(i.right(), out);
}

std::size_t combinations(const Variables &variables) {
  std::size_t count = 1;
  for (const auto &[name, values] : variables) count = std::min(count * std::max<std::size_t>(values.size(), 1), kMostEvaluations * 1000);
  return count;
}

std::optional<std::int64_t> evaluate(const ir::Index &i, const Scope &scope) {
  return i.evaluate([&](llvm::StringRef name) -> std::optional<std::int64_t> {
    for (const auto &[known, value] : scope)
      if (known == name) return value;
    return std::nullopt;
  });
}

/// For all values of variables, the last fastest; appends them to the scope meanwhile.
void forAll(const Variables &variables, Scope &scope, llvm::function_ref<void()> visit, std::size_t from = 0) {
  if (from == variables.size()) return visit();
  for (const std::int64_t v : variables[from].second) {
    scope.emplace_back(variables[from].first, v);
    forAll(variables, scope, visit, from + 1);
    scope.pop_back();
  }
}

void mix(std::uint64_t &hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  hash ^= hash >> 29;
}

} // namespace

Outcomes::Outcomes(const ir::Program &program, std::vector<Expression> all) : program(program), expressions(std::move(all)) {
  findRanges();
  for (const Expression &e : expressions) refuseOverflow(e);
  // First what stands for all values, then, of those, one for each outcome.
  std::vector<const ir::Scalar *> whole;
  for (const ir::Scalar &s : program.scalars)
    if (s.isIndex() && !s.rank) whole.push_back(&s), integers[s.name];
  std::vector<Periods> periods;
  for (const ir::Scalar *s : whole) periods.push_back(periodsOf(*s));
  Periods::relate(periods);
  for (std::size_t i = 0; i < whole.size(); ++i) integers[whole[i]->name] = candidates(*whole[i], periods[i]);
  for (const ir::Scalar &s : program.scalars)
    if (s.isIndex() && !s.rank && !refusal) integers[s.name] = distinct(s, integers[s.name]);
  constexpr std::size_t kSome = 24;
  if (refusal)
    for (auto &[name, values] : integers) values.resize(std::min(values.size(), kSome));
}

/// Two loops may have variables of one name.
void Outcomes::widen(const std::string &variable, Range range) {
  const auto [known, isNew] = ranges.emplace(variable, range);
  if (!isNew) known->second = {std::min(known->second.low, range.low), std::max(known->second.high, range.high)};
}

void Outcomes::refuse(const std::string &scalar, std::optional<ir::Index> at, ir::SourceOffset where, bool isFollowed) {
  if (refusal) return;
  refusal = ScalarClasses::Refusal{scalar, std::move(at), where};
  refusal->isFollowed = isFollowed;
}

/// Kernels reckon in 64 bits, and periods are of exact numbers.
void Outcomes::refuseOverflow(const Expression &e) {
  const auto part = ir::leaves(e.index, ranges, {-double(ir::Index::kMost), double(ir::Index::kMost)});
  if (!part || refusal) return;
  for (const ir::Scalar &s : program.scalars)
    if (s.isIndex() && part->uses(s.name)) return refuse(s.name, *part, e.where), void(refusal->overflows = true);
}

/// Those of all variables but extents.
void Outcomes::findRanges() {
  most = program.ranks - 1;
  for (const ir::Mailbox &m : program.mailboxes)
    if (m.slots.kind() == Kind::Constant) most = std::max(most, m.slots.value() - 1);
  for (const ir::Buffer &b : program.buffers)
    for (const std::string &extent : b.extents) {
      std::int64_t number = 0;
      if (!llvm::StringRef(extent).getAsInteger(10, number)) most = std::max(most, number - 1);
    }
  const Range ofRanks{0, double(program.ranks) - 1};
  ranges["me"] = ranges["r"] = ofRanks;
  ranges["slot"] = {0, double(most)};
  for (const ir::Ensures &e : program.ensures) {
    if (!e.variable.empty()) ranges[e.variable] = ofRanks;
    for (const ir::FormulaNode &n : e.formula)
      if (!n.variable.empty()) ranges[n.variable] = ofRanks;
  }
  for (const ir::Scalar &s : program.scalars)
    if (s.isIndex()) ranges[s.name] = {double(s.least()), double(s.greatest(program.ranks))};
  ir::walk(program.body, [&](const ir::Stmt &stmt) {
    if (const auto *ranks = std::get_if<ir::ForRanks>(&stmt.op())) ranges[ranks->variable] = ofRanks;
    if (const auto *reduce = std::get_if<ir::Reduce>(&stmt.op())) ranges[reduce->variable] = ofRanks;
    if (const auto *loop = std::get_if<ir::For>(&stmt.op()))
      if (const auto first = rangeOf(loop->first, ranges), last = rangeOf(loop->last, ranges); first && last)
        widen(loop->variable, {first->low, std::max(first->low, last->high)});
  });
}

/// Has noted all that uses a scalar.
Periods Outcomes::periodsOf(const ir::Scalar &scalar) {
  std::vector<std::string> others;
  for (const auto &[name, values] : integers)
    if (name != scalar.name) others.push_back(name);
  Periods periods(scalar.name, ranges, others);
  for (const Expression &e : expressions) {
    if (!e.index.uses(scalar.name) || periods.note(e.index, e.number ? std::nullopt : std::optional(most))) continue;
    refuse(scalar.name, periods.reason, e.where, periods.isFollowed);
    break;
  }
  return periods;
}

/// Numbers that have all outcomes together.
std::vector<std::int64_t> Outcomes::candidates(const ir::Scalar &scalar, const Periods &periods) {
  const std::int64_t low = scalar.least(), high = scalar.greatest(program.ranks);
  if (periods.reason) return {0, 1, 2, low, high};
  if (auto all = periods.numbers(low, high)) {
    llvm::stable_sort(*all, [](std::int64_t a, std::int64_t b) { return std::pair(std::abs(a), a < 0) < std::pair(std::abs(b), b < 0); });
    return *all;
  }
  for (const Expression &e : expressions)
    if (e.index.uses(scalar.name)) refuse(scalar.name, e.index, e.where);
  return {0, 1, 2, low, high};
}

/// The variables in an expression but some, with all values that matter.
Variables Outcomes::othersIn(const ir::Index &i, llvm::ArrayRef<std::string> but) const {
  std::set<std::string> names;
  namesIn(i, names);
  Variables others;
  for (const std::string &name : names) {
    if (llvm::is_contained(but, name)) continue;
    if (const auto integer = integers.find(name); integer != integers.end()) {
      others.emplace_back(name, integer->second);
      continue;
    }
    const auto range = ranges.find(name);
    if (range == ranges.end()) continue;
    others.emplace_back(name, std::vector<std::int64_t>());
    for (double v = range->second.low; v <= range->second.high && v < range->second.low + 1e6; ++v)
      others.back().second.push_back(std::int64_t(v));
  }
  return others;
}

/// Of values with the same outcome of everything, whatever the other variables are, the first.
std::vector<std::int64_t> Outcomes::distinct(const ir::Scalar &scalar, const std::vector<std::int64_t> &values) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> keys(values.size());
  std::size_t evaluations = 0;
  for (const Expression &e : expressions) {
    if (!e.index.uses(scalar.name)) continue;
    const Variables others = othersIn(e.index, {scalar.name});
    evaluations += combinations(others) * values.size();
    if (evaluations > kMostEvaluations) return refuse(scalar.name, e.index, e.where), values;
    for (std::size_t v = 0; v < values.size(); ++v) {
      Scope scope{{scalar.name, values[v]}};
      forAll(others, scope, [&] {
        const auto value = evaluate(e.index, scope);
        const std::uint64_t number = numberOf(e, value);
        mix(keys[v].first, number + 1), mix(keys[v].second, ~number * 31 + 7);
      });
    }
  }
  std::vector<std::int64_t> some;
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (std::size_t v = 0; v < values.size(); ++v)
    if (seen.insert(keys[v]).second) some.push_back(values[v]);
  if (const std::size_t limit = std::max<std::size_t>(256, 4 * std::size_t(program.ranks)); some.size() > limit)
    for (const Expression &e : expressions)
      if (e.index.uses(scalar.name)) refuse(scalar.name, e.index, e.where);
  return some;
}

bool Outcomes::table(const std::vector<std::vector<std::int64_t>> &values) {
  valuesOf = values;
  std::size_t all = 1;
  for (const std::vector<std::int64_t> &v : values) all = std::min<std::size_t>(all * v.size(), 1 << 30);
  for (const Expression &e : expressions) {
    std::vector<ir::Index> some{e.index};
    if (combinations(othersIn(e.index, {})) > kMostEvaluations / 4) some.clear(), parts(e.index, some);
    for (const ir::Index &i : some)
      if (!addTable({i, e.where, e.number})) return false;
  }
  if (all * tables.size() * std::size_t(program.ranks) <= 30000000) return true;
  return refuseAll(), false;
}

void Outcomes::refuseAll() {
  if (!expressions.empty()) refuse(program.scalars.front().name, std::nullopt, expressions.front().where);
}

/// A condition holds or does not; of places that there are not, one is as good as another.
std::uint64_t Outcomes::numberOf(const Expression &e, std::optional<std::int64_t> value) const {
  if (!value) return std::uint64_t(1) << 63; // no number is so far from 0
  if (e.number) return std::uint64_t(*value);
  return std::uint64_t(isCondition(e.index) ? *value != 0 : std::clamp<std::int64_t>(*value, -1, most + 1));
}

bool Outcomes::addTable(const Expression &e) {
  const ir::Index &i = e.index;
  Table table;
  Variables own;
  std::vector<std::string> names{"me"};
  for (std::size_t s = 0; s < program.scalars.size(); ++s)
    if (program.scalars[s].isIndex() && i.uses(program.scalars[s].name)) {
      table.scalars.push_back(s), names.push_back(program.scalars[s].name);
      own.emplace_back(names.back(), valuesOf[s]);
    }
  if (own.empty()) return true;
  own.emplace_back("me", std::vector<std::int64_t>());
  for (int me = 0; me < program.ranks; ++me) own.back().second.push_back(me);
  const Variables others = othersIn(i, names);
  if (combinations(own) * combinations(others) > kMostEvaluations) return refuse(names[1], i, e.where), false;
  Scope scope;
  forAll(own, scope, [&] {
    const std::int64_t me = scope.back().second;
    Table::State state{0};
    forAll(others, scope, [&] {
      const auto value = evaluate(i, scope);
      const bool holds = value && (isCondition(i) ? *value != 0 : *value == me);
      state.of |= std::uint8_t(!value ? 4 : holds ? 2 : 1);
      mix(state.all, numberOf(e, value));
    });
    table.states.push_back(state);
  });
  tables.push_back(std::move(table));
  return true;
}

std::uint64_t Outcomes::outcome(const std::vector<std::size_t> &positions, By by) const {
  const std::size_t ranks = std::size_t(program.ranks);
  std::vector<std::uint64_t> byRank(ranks);
  for (const Table &t : tables) {
    std::size_t at = 0;
    for (const std::size_t s : t.scalars) at = at * valuesOf[s].size() + positions[s];
    for (std::size_t me = 0; me < ranks; ++me) {
      const Table::State &state = t.states[at * ranks + me];
      mix(byRank[me], by == By::Rank ? state.all : state.of);
    }
  }
  if (by == By::AnyRank) {
    std::sort(byRank.begin(), byRank.end());
    byRank.erase(std::unique(byRank.begin(), byRank.end()), byRank.end());
  }
  std::uint64_t all = 0;
  for (const std::uint64_t one : byRank) mix(all, one);
  return all;
}

std::uint64_t Outcomes::of(const std::vector<std::int64_t> &combination, By by) const {
  std::vector<std::size_t> positions;
  for (std::size_t s = 0; s < combination.size(); ++s)
    positions.push_back(std::size_t(llvm::find(valuesOf[s], combination[s]) - valuesOf[s].begin()));
  return outcome(positions, by);
}

void Outcomes::each(const std::vector<std::vector<std::int64_t>> &values, By by, Visit visit) const {
  std::vector<std::size_t> positions(values.size());
  std::vector<std::int64_t> combination(values.size());
  const auto from = [&](const auto &self, std::size_t s) -> void {
    if (s == values.size()) return visit(combination, outcome(positions, by));
    for (positions[s] = 0; positions[s] < values[s].size(); ++positions[s]) combination[s] = values[s][positions[s]], self(self, s + 1);
  };
  from(from, 0);
}

} // namespace coll::check
