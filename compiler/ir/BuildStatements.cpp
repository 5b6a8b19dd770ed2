// Assignments, loops, conditions and pipelines: what a statement does with the values it names.
#include "ir/BuildContract.h"
#include "ir/BuildCounts.h"
#include "ir/Builder.h"

#include "coll/Extent.h"
#include "llvm/ADT/StringExtras.h"

namespace coll::ir {
namespace {

/// How many groups a row of so many elements has, as Buffer::extents has it.
std::string groupsIn(const std::string &row, unsigned group) {
  if (llvm::all_of(row, llvm::isDigit)) return std::to_string(std::stoull(row) / group);
  return (isComputed(row) ? "(" + row + ")" : row) + "/" + std::to_string(group);
}

} // namespace

bool isPerRow(const Value &value, const Length &to) {
  if (value.spread != Spread::Row && value.spread != Spread::Group) return false;
  if (value.length.isPieceOfRows() != to.isPieceOfRows()) return false;
  std::vector<std::string> extents = value.length.extents;
  extents.back() = value.spread == Spread::Row ? "1" : groupsIn(extents.back(), value.group);
  return to.extents == extents;
}

void Builder::let(const ast::Let &s, ast::Span span, Block &out) {
  if (!s.mutableVar && !s.value->type.isValue()) return; // a number of the text or of ranks: it stands where it is used
  if (s.mutableVar && !s.value->type.isValue()) return slipOfNumber(s.value->span);
  const auto *call = std::get_if<ast::Call>(&s.value->node);
  const bool quantised = call && call->function == ast::Function::Quant;
  const ValueId v = quantised ? quantise(s, *call, out) : value(*s.value, out, computedWith.count(&s));
  if (!ok) return;
  if (!s.mutableVar && !program.values[v].variable) { // what a variable holds now must be kept
    program.values[v].name = s.name.text;
    lets[&s] = v;
    return;
  }
  const Value from = program.values[v];
  if (from.spread == Spread::Everywhere) return slipOfNumber(s.value->span);
  if (from.count) return slipOfVariable(s.value->span);
  asItself(v);
  const ValueId variable = program.addValue(s.name.text, from.length, from.dtype, from.spread);
  program.values[variable].variable = true, program.values[variable].group = from.group;
  lets[&s] = variable;
  out.push_back(Assign{variable, v, span.begin});
}

void Builder::slipOfVariable(ast::Span where) {
  slip(DiagnosticKind::TypeMismatch, where, "a `var` is of whole vectors, and this is as long as a message says", "name it by `let`");
}

void Builder::slipOfNumber(ast::Span where) {
  slip(DiagnosticKind::TypeMismatch, where, "a `var` is of vectors, and this is one number",
       "begin with a vector, as in `var a = x`; name a number that does not change by `let`, count by the variable of a `for`, "
       "and give one from outside as a scalar argument");
}

void Builder::assign(const ast::Assign &s, SourceOffset where, Block &out) {
  if (const auto *name = std::get_if<ast::NameRef>(&s.target->node))
    if (const auto *let = std::get_if<const ast::Let *>(&name->ref); let && lets.count(*let)) {
      const Value &to = program.values[lets.at(*let)];
      const ValueId v = converted(value(*s.value, out, to.dtype != program.packetType()), to.dtype, s.value->span, out);
      if (!ok) return;
      if (program.values[v].count) return slipOfVariable(s.value->span);
      asItself(v);
      return out.push_back(Assign{lets.at(*let), v, where});
    }
  if (const auto *member = std::get_if<ast::Member>(&s.value->node); member && isCount(*member))
    return storeCount(*s.target, *member, where, out);
  if (const auto *call = prefixIn(*s.target)) return assignPrefix(*call, s, where, out);
  auto to = slice(*s.target);
  if (!to) return slipOfPart(*s.target);
  const ValueId v = converted(value(*s.value, out, isOfOtherType(s.target->type)), program.buffers[to->buffer].dtype, s.value->span, out);
  if (ok) storeTo(*to, v, s.value->span, where, out);
}

void Builder::storeTo(const Slice &to, ValueId v, ast::Span span, SourceOffset where, Block &out) {
  if (program.values[v].spread == Spread::Everywhere && program.values[v].length.extents.empty())
    program.values[v].length = to.length;
  Block *before = std::exchange(block, &out);
  if (stretchable.count(v)) v = stretched(v, to.length, span);
  block = before;
  if (!ok) return;
  asItself(v);
  const bool perRow = isPerRow(program.values[v], to.length);
  if (!perRow && !program.values[v].length.sameDomain(to.length)) return slipOfLength(span);
  out.push_back(Store{to, v, where, perRow});
}

void Builder::forall(const ast::Forall &s, ast::Span span, Block &out) {
  ForRanks loop{s.variable.name.text, {}, span.begin}; // `from` is a hint on order; the order is free
  loops.emplace_back(loop.variable, &out);
  for (const ast::Stmt &stmt : s.body) statement(stmt, loop.body);
  loops.pop_back();
  if (!ok) return;
  out.push_back(std::move(loop));
}

void Builder::forLoop(const ast::For &s, ast::Span span, Block &out) {
  For loop{s.variable.name.text, index(*s.first), index(*s.last), {}, span.begin};
  if (!ok) return;
  if (loop.first.kind() != Index::Kind::Constant || loop.last.kind() != Index::Kind::Constant) return boundedFor(std::move(loop), s, span, out);
  constexpr std::int64_t kMostIterations = 1024; // they are written out when they are checked and compiled
  if (loop.first.value() < -kMostIterations || loop.last.value() > kMostIterations)
    return unbounded(span, "a `for` beyond " + std::to_string(kMostIterations), "each iteration is written out for the proof");
  if (loop.first.value() > loop.last.value()) return; // what is in it is never done
  loopRanges[loop.variable] = {loop.first.value(), loop.last.value()};
  if (!areFew(span)) return;
  loops.emplace_back(loop.variable, &out);
  for (const ast::Stmt &stmt : s.body) statement(stmt, loop.body);
  loops.pop_back();
  if (!ok) return;
  loopRanges.erase(loop.variable);
  out.push_back(std::move(loop));
}

/// Whether the innermost statements of the loops around are done a moderate number of times: the proof goes through each.
bool Builder::areFew(ast::Span span) {
  constexpr std::int64_t kMostNested = 65536;
  std::int64_t all = 1;
  for (const auto &[variable, bounds] : loopRanges) all *= std::max<std::int64_t>(bounds.second - bounds.first + 1, 1);
  if (all <= kMostNested) return true;
  return unbounded(span, "loops in each other with " + std::to_string(all) + " iterations",
                   "there may be " + std::to_string(kMostNested) + ", as each is written out for the proof"), false;
}

void Builder::unbounded(ast::Span span, const std::string &what, const std::string &help) {
  if (ok) diagnostics.error(DiagnosticKind::Unbounded, span, what).help(help);
  ok = false;
}

/// Bounds that are another on each rank, or in each launch: the loop goes from the least to the greatest, with a condition.
void Builder::boundedFor(For loop, const ast::For &s, ast::Span span, Block &out) {
  const auto first = range(loop.first), last = range(loop.last);
  if (!first || !last)
    return unbounded(span, "a `for` whose bounds may be any number",
                     "bounds may have numbers, `N`, `me`, arguments of type `rank` and variables of loops around it");
  const Index variable = Index::variable(loop.variable);
  If branch{Index::make(Index::Kind::And, Index::make(Index::Kind::Le, loop.first, variable), Index::make(Index::Kind::Le, variable, loop.last)),
            {}, span.begin};
  if (loop.first.kind() == Index::Kind::Constant) branch.condition = branch.condition.right();
  else if (loop.last.kind() == Index::Kind::Constant) branch.condition = branch.condition.left();
  loop.first = Index::constant(first->first), loop.last = Index::constant(last->second);
  if (loop.first.value() > loop.last.value()) return;
  loopRanges[loop.variable] = {loop.first.value(), loop.last.value()};
  if (!areFew(span)) return;
  const std::size_t before = sure;
  loops.emplace_back(loop.variable, &out);
  sure = loops.size();
  for (const ast::Stmt &stmt : s.body) statement(stmt, branch.body);
  loops.pop_back();
  sure = before;
  loopRanges.erase(loop.variable);
  if (branch.body.empty()) return;
  loop.body.push_back(std::move(branch));
  if (ok) out.push_back(std::move(loop));
}

/// Calls `visit` for what an index comes to, over all ranks, all values of ranks among the arguments and all iterations of
/// the loops around, until it says that it has seen enough. False where that is not known, or of more than so many.
bool Builder::eachValue(const Index &index, int most, llvm::function_ref<bool(std::int64_t)> visit) const {
  std::vector<std::pair<std::string, std::pair<std::int64_t, std::int64_t>>> variables;
  const std::pair<std::int64_t, std::int64_t> ranks{0, program.ranks - 1};
  const auto add = [&](const std::string &name, std::pair<std::int64_t, std::int64_t> values) {
    if (index.uses(name)) variables.emplace_back(name, values);
  };
  add("me", ranks);
  for (const Scalar &s : program.scalars)
    if (s.rank) add(s.name, ranks);
  for (const auto &[name, block] : loops) {
    const auto known = loopRanges.find(name);
    add(name, known == loopRanges.end() ? ranks : known->second);
  }
  std::map<std::string, std::int64_t> values;
  for (const auto &[name, of] : variables) values[name] = of.first;
  for (int tried = 0; tried < most; ++tried) {
    const auto here = index.evaluate([&](llvm::StringRef name) -> std::optional<std::int64_t> {
      const auto value = values.find(name.str());
      return value == values.end() ? std::nullopt : std::optional(value->second);
    });
    if (!here) return false;
    if (!visit(*here)) return true;
    std::size_t at = 0; // the next of all combinations
    for (; at < variables.size() && ++values[variables[at].first] > variables[at].second.second; ++at)
      values[variables[at].first] = variables[at].second.first;
    if (at == variables.size()) return true;
  }
  return false;
}

/// The least and the greatest of those.
std::optional<std::pair<std::int64_t, std::int64_t>> Builder::range(const Index &index) const {
  std::optional<std::pair<std::int64_t, std::int64_t>> result;
  const bool known = eachValue(index, 1000000, [&](std::int64_t value) {
    result = result ? std::pair{std::min(result->first, value), std::max(result->second, value)} : std::pair{value, value};
    return true;
  });
  return known ? result : std::nullopt;
}

void Builder::conditional(const ast::If &s, ast::Span span, Block &out) {
  auto condition = integer(*s.condition, program.ranks);
  if (!condition)
    return slip(DiagnosticKind::Misplaced, s.condition->span, "the condition `" + ast::print(*s.condition) + "` is not one of whole numbers that are known before the launch",
                "it may have numbers, `N`, `me`, arguments that are ranks or whole numbers, and variables of loops");
  if (const auto always = sameEverywhere(*condition)) {
    for (const ast::Stmt &stmt : *always ? s.then : s.otherwise) statement(stmt, out);
    return;
  }
  If branch{*condition, {}, span.begin}, other{Index::negate(*condition), {}, span.begin};
  const std::size_t before = std::exchange(sure, loops.size());
  for (const ast::Stmt &stmt : s.then) statement(stmt, branch.body);
  for (const ast::Stmt &stmt : s.otherwise) statement(stmt, other.body);
  sure = before;
  if (!ok) return;
  if (!branch.body.empty()) out.push_back(std::move(branch));
  if (!other.body.empty()) out.push_back(std::move(other));
}

std::optional<bool> Builder::sameEverywhere(const Index &condition) const {
  std::optional<bool> outcome;
  bool same = true;
  const bool known = eachValue(condition, 65536, [&](std::int64_t value) {
    same = !outcome || *outcome == (value != 0);
    outcome = value != 0;
    return same;
  });
  return known && same ? outcome : std::nullopt;
}

void Builder::pipeline(const ast::Pipeline &s, ast::Span span, Block &out) {
  const auto v = slice(*s.vector);
  if (!v)
    return slip(DiagnosticKind::Misplaced, s.vector->span, "chunks of `" + ast::print(*s.vector) + "`, which is no argument and no part of one",
                "name an argument, a row or a piece that is as long, as in `chunks(X[0], 256Ki)`");
  program.chunks = Chunks{v->length, s.chunkBytes / sizeOf(program.dtype), span.begin};
  program.chunks->of.index = Index();
  inChunks = true;
  for (const ast::Stmt &stmt : s.body) statement(stmt, out);
  inChunks = false;
}

} // namespace coll::ir
