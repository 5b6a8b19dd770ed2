// Assignments, loops, conditions and pipelines: what a statement does with the values it names.
#include "ir/BuildContract.h"
#include "ir/BuildCounts.h"
#include "ir/Builder.h"

namespace coll::ir {
namespace {

/// Whether a target has one element for each row or group of a value that is constant there.
bool isPerRow(const Value &value, const Length &to) {
  if (value.spread != Spread::Row && value.spread != Spread::Group) return false;
  std::vector<std::string> extents = value.length.extents;
  extents.back() = value.spread == Spread::Row ? "1" : extents.back() + "/128";
  return to.extents == extents;
}

bool awaitsAlone(const ForRanks &loop) {
  bool awaits = false;
  walk(loop.body, [&](const Stmt &s) { awaits |= std::holds_alternative<Await>(s.op()); });
  const auto *only = loop.body.size() == 1 ? std::get_if<Await>(&loop.body.front().op()) : nullptr;
  return !awaits || (only && only->slot.isVariable(loop.variable));
}

} // namespace

void Builder::let(const ast::Let &s, ast::Span span, Block &out) {
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
  if (from.spread != Spread::Element) return refuse(span, "a variable that is not a vector", s.mutableVar ? "name what does not change by `let`" : "");
  const ValueId variable = program.addValue(s.name.text, from.length, from.dtype, from.spread);
  program.values[variable].variable = true;
  lets[&s] = variable;
  out.push_back(Assign{variable, v, span.begin});
}

void Builder::assign(const ast::Assign &s, SourceOffset where, Block &out) {
  if (const auto *name = std::get_if<ast::NameRef>(&s.target->node))
    if (const auto *let = std::get_if<const ast::Let *>(&name->ref); let && lets.count(*let)) {
      const Value &to = program.values[lets.at(*let)];
      const ValueId v = converted(value(*s.value, out, to.dtype != program.dtype), to.dtype, s.value->span, out);
      if (ok) out.push_back(Assign{lets.at(*let), v, where});
      return;
    }
  if (const auto *member = std::get_if<ast::Member>(&s.value->node); member && isCount(*member))
    return storeCount(*s.target, *member, where, out);
  if (const auto *call = prefixIn(*s.target)) return assignPrefix(*call, s, where, out);
  auto to = slice(*s.target);
  if (!to) return refuse(s.target->span, "this target of an assignment");
  const ValueId v = converted(value(*s.value, out), program.buffers[to->buffer].dtype, s.value->span, out);
  if (!ok) return;
  if (program.values[v].spread == Spread::Everywhere && program.values[v].length.extents.empty())
    program.values[v].length = to->length;
  stretchRows(to->length, s.value->span);
  const bool perRow = isPerRow(program.values[v], to->length);
  if (!perRow && !program.values[v].length.sameDomain(to->length)) return refuse(s.value->span, "a change of shape");
  if (perRow && to->length.kind != Length::Kind::Whole) return refuse(s.target->span, "a part of a vector of scales");
  out.push_back(Store{*to, v, where, perRow});
}

void Builder::forall(const ast::Forall &s, ast::Span span, Block &out) {
  ForRanks loop{s.variable.name.text, {}, span.begin}; // `from` is a hint on order; the order is free
  loops.emplace_back(loop.variable, &out);
  for (const ast::Stmt &stmt : s.body) statement(stmt, loop.body);
  loops.pop_back();
  if (ok && !awaitsAlone(loop))
    return refuse(span, "a loop over `ranks` with an `await` that is not its only statement and of its own number");
  if (ok) out.push_back(std::move(loop));
}

void Builder::forLoop(const ast::For &s, ast::Span span, Block &out) {
  For loop{s.variable.name.text, index(*s.first), index(*s.last), {}, span.begin};
  if (!ok) return;
  if (loop.first.kind() != Index::Kind::Constant || loop.last.kind() != Index::Kind::Constant)
    return refuse(span, "a `for` whose bounds are not known when the kernel is compiled",
                  "bounds may have numbers and `N`; what depends on `me` or a scalar goes into an `if` within the loop");
  constexpr std::int64_t kMostIterations = 1024; // they are written out when they are checked and compiled
  if (loop.first.value() < -kMostIterations || loop.last.value() > kMostIterations)
    return refuse(span, "a `for` beyond " + std::to_string(kMostIterations));
  const std::size_t before = sure;
  if (loop.first.value() > loop.last.value()) sure = loops.size() + 1; // it is dropped with all that is in it
  loops.emplace_back(loop.variable, &out);
  for (const ast::Stmt &stmt : s.body) statement(stmt, loop.body);
  loops.pop_back();
  sure = before;
  if (ok && loop.first.value() <= loop.last.value()) out.push_back(std::move(loop));
}

void Builder::conditional(const ast::If &s, ast::Span span, Block &out) {
  auto condition = integer(*s.condition, program.ranks);
  if (condition && usesChunk(*condition)) return refuse(s.condition->span, "the number of a chunk in a condition");
  if (!condition) return refuse(s.condition->span, "the condition `" + ast::print(*s.condition) + "`");
  if (const auto always = sameOnAllRanks(*condition)) {
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

std::optional<bool> Builder::sameOnAllRanks(const Index &condition) const {
  std::optional<std::int64_t> outcome;
  for (std::int64_t me = 0; me < program.ranks; ++me) {
    const auto here = condition.evaluate(
        [&](llvm::StringRef name) { return name == "me" ? std::optional(me) : std::nullopt; });
    if (!here || (outcome && *outcome != *here)) return std::nullopt;
    outcome = here;
  }
  return *outcome != 0;
}

void Builder::pipeline(const ast::Pipeline &s, ast::Span span, Block &out) {
  if (program.chunks) return refuse(span, "a second `pipeline`");
  const auto v = slice(*s.vector);
  if (!v) return refuse(s.vector->span, "chunks of `" + ast::print(*s.vector) + "`");
  program.chunks = Chunks{v->length, s.chunkBytes / sizeOf(program.dtype), span.begin};
  program.chunks->of.index = Index();
  chunkVariable = s.variable.name.text;
  for (const ast::Stmt &stmt : s.body) statement(stmt, out);
}

} // namespace coll::ir
