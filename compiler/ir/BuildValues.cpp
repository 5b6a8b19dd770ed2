// The vectors that expressions stand for, the parts of arguments they name, and indices.
#include "ir/BuildContract.h"
#include "ir/BuildCounts.h"
#include "ir/BuildWindow.h"
#include "ir/Builder.h"

namespace coll::ir {
namespace {

bool uses(const Slice &slice, llvm::StringRef variable) {
  return slice.index.uses(variable) || (slice.owner && slice.owner->uses(variable));
}

bool readsOnePlace(const Reduce &reduce) {
  const auto *load = std::get_if<Load>(&reduce.body.front().op());
  return load && load->from.owner->isVariable(reduce.variable) && !load->from.index.uses(reduce.variable);
}

bool contributes(const Stmt &stmt) {
  const auto *load = std::get_if<Load>(&stmt.op());
  return std::holds_alternative<Poll>(stmt.op()) || (load && load->from.owner);
}

bool isAll(const ast::Expr &expr) {
  const auto *name = std::get_if<ast::NameRef>(&expr.node);
  const auto *builtin = name ? std::get_if<ast::Builtin>(&name->ref) : nullptr;
  return builtin && *builtin == ast::Builtin::All;
}

} // namespace

ValueId Builder::value(const ast::Expr &expr, Block &out, bool wide) {
  if (!ok) return 0;
  if (isArithmetic(expr)) {
    Block *before = std::exchange(block, &out);
    const ValueId v = arithmetic().value(expr);
    block = before;
    return v;
  }
  if (auto from = slice(expr)) return load(*from, expr, out, wide);
  if (const auto *name = std::get_if<ast::NameRef>(&expr.node)) {
    if (const auto *let = std::get_if<const ast::Let *>(&name->ref); let && lets.count(*let)) return lets.at(*let);
    if (const auto *box = std::get_if<const ast::Mailbox *>(&name->ref)) return poll(**box, Index(), expr, out);
  }
  if (const auto *at = std::get_if<ast::Index>(&expr.node))
    if (const auto *base = std::get_if<ast::NameRef>(&at->base->node))
      if (const auto *box = std::get_if<const ast::Mailbox *>(&base->ref))
        return poll(**box, index(*at->index), expr, out);
  if (const auto *r = std::get_if<ast::Reduce>(&expr.node)) return reduce(*r, expr, out, wide);
  if (const auto *c = std::get_if<ast::Call>(&expr.node); c && c->function == ast::Function::Apply)
    return combine(*c, expr, out);
  if (const auto *c = prefixIn(expr)) return prefix(*c, expr, out);
  return slipOfPart(expr), 0;
}

ValueId Builder::load(const Slice &from, const ast::Expr &expr, Block &out, bool arithmetic) {
  Block *block = &out;
  // Only what no statement writes, and only out of loops that are sure to run.
  if (program.buffers[from.buffer].direction == Direction::In)
    for (std::size_t depth = loops.size(); depth-- > sure && !uses(from, loops[depth].first);)
      block = loops[depth].second;
  const Buffer &buffer = program.buffers[from.buffer];
  const auto rows = rowsOf(from.length);
  if (arithmetic && buffer.direction == Direction::In)
    for (const Stmt &s : *block)
      if (const auto *same = std::get_if<Load>(&s.op()); same && same->from == from && !same->everyRow && same->perRow == rows.has_value()) return same->result;
  if (rows) {
    const ValueId v = program.addValue(buffer.name, *rows, buffer.dtype, Spread::Row);
    return block->push_back(Load{v, from, expr.span.begin, false, true}), v;
  }
  const ValueId v = program.addValue(buffer.name, from.length, buffer.dtype, Spread::Element);
  const bool row = from.length.kind == Length::Kind::Whole && from.length.extents.size() == 1;
  if (row || (from.length.isColumn() && buffer.direction == Direction::In && !from.owner)) stretchable[v] = {kNone, kNone};
  block->push_back(Load{v, from, expr.span.begin});
  return v;
}

ValueId Builder::combine(const ast::Call &c, const ast::Expr &expr, Block &out) {
  const DType type = sema::instantiate(expr.type.element, program.dtype);
  if (type != program.packetType() || program.mailed) return combineWide(c, expr, type, out);
  Combine op{0, c.builtinOp, 0, 0, expr.span.begin};
  if (std::holds_alternative<const ast::Generic *>(c.op)) op.op = *program.op;
  if (op.op == ReduceOp::Avg) {
    if (ok)
      diagnostics.error(DiagnosticKind::WrongArguments, expr.span, "`avg` of two values: it is over all ranks, in `reduce` alone")
          .help("write `(a + b) * 0.5`, or leave `avg` out of what the algorithm is for: `op in {sum, prod, min, max}`");
    return ok = false, 0;
  }
  // A load goes out before a wait begins.
  const bool loadFirst = slice(*c.args[1]).has_value();
  if (loadFirst) op.b = value(*c.args[1], out);
  op.a = value(*c.args[0], out);
  if (!loadFirst) op.b = value(*c.args[1], out);
  if (!ok) return 0;
  const auto isNumber = [&](ValueId v) { return program.values[v].spread != Spread::Element; };
  if (isNumber(op.a) || isNumber(op.b)) return combineNumbers(op.op, op.a, op.b, type, expr, out);
  if (!program.values[op.a].length.sameDomain(program.values[op.b].length))
    return slipOfLength(expr.span), 0;
  asItself(op.a), asItself(op.b);
  op.result = program.addValue(std::string(keyword(op.op)), program.values[op.a].length);
  program.values[op.result].count = commonCount(op.a, op.b, expr.span);
  out.push_back(op);
  return op.result;
}

ValueId Builder::combineWide(const ast::Call &c, const ast::Expr &expr, DType type, Block &out) {
  const ValueId a = value(*c.args[0], out, true), b = value(*c.args[1], out, true);
  if (!ok) return 0;
  return combineNumbers(std::holds_alternative<const ast::Generic *>(c.op) ? *program.op : c.builtinOp, a, b, type, expr, out);
}

/// By arithmetic, in the type that is computed in.
ValueId Builder::combineNumbers(ReduceOp op, ValueId x, ValueId y, DType type, const ast::Expr &expr, Block &out) {
  const DType in = ast::accumulatorOf(type);
  const ValueId a = converted(x, in, expr.span, out), b = converted(y, in, expr.span, out);
  if (!ok) return 0;
  Block *before = std::exchange(block, &out);
  const ValueId v = arithmetic().convert(arithmetic().combine(op, a, b, expr.span), type, expr.span);
  block = before;
  return v;
}

ValueId Builder::reduce(const ast::Reduce &r, const ast::Expr &expr, Block &out, bool wide) {
  Reduce op{0, ReduceOp::Sum, r.variable.name.text, {}, 0, expr.span.begin};
  const auto &name = std::get<ast::NameRef>(r.op->node);
  if (std::holds_alternative<const ast::Generic *>(name.ref)) op.op = *program.op;
  else op.op = name.op;
  loops.emplace_back(op.variable, &out);
  op.yield = value(*r.body, op.body);
  loops.pop_back();
  if (!ok) return 0;
  if (program.values[op.yield].count)
    return slip(DiagnosticKind::WrongArguments, r.body->span, "messages that say how long they are may differ in length, and a reduction is of vectors of one length",
                "send whole vectors, or take each message by itself"), 0;
  if ((op.body.size() != 1 || !contributes(op.body.front()) || program.values[op.yield].spread != Spread::Element) && !isAll(*r.set)) return reduceInOrder(r, op.op, expr, out, wide);
  if (op.body.size() != 1 || !contributes(op.body.front()))
    return slipOfAll(r), 0;
  const auto *poll = std::get_if<Poll>(&op.body.front().op());
  op.multicast = isAll(*r.set);
  const bool ofOtherType = program.mailed || (ok && typeOf(op.yield) != program.dtype);
  if (!poll && !op.multicast && ofOtherType) return reduceInOrder(r, op.op, expr, out, wide);
  if (op.multicast && !readsOnePlace(op)) return slipOfAll(r), 0;
  // All slots hold the same piece, so that of slot 0 is the result's: see resolvePieces.
  const Length length =
      poll ? received(poll->box, poll->slot.substitute(op.variable, Index())) : program.values[op.yield].length;
  if (length.index.uses(op.variable)) {
    diagnostics.error(DiagnosticKind::WrongResult, expr.span, "each rank contributes another piece, and a reduction is of one piece of all ranks")
        .help("name the same piece of every rank, as in `reduce(op, r in ranks: r.X[me])`");
    ok = false;
    return 0;
  }
  if (poll && length.kind == Length::Kind::Piece) reductions[op.yield] = {op.variable, expr.span};
  const DType type = poll ? program.mailboxes[poll->box].dtype : program.dtype;
  const bool isWide = wide && isFloat(type) && sizeOf(type) < 4 && !op.multicast; // the network rounds
  op.result = program.addValue(program.values[op.yield].name, length, isWide ? DType::F32 : type,
                               Spread::Element);
  const ValueId result = op.result;
  out.push_back(std::move(op));
  return result;
}

void Builder::slipOfAll(const ast::Reduce &r) {
  slip(DiagnosticKind::Misplaced, r.body->span, "a reduction over `all` is of one place of a window on all ranks",
       "write `" + r.variable.name.text + " in ranks`");
}

ValueId Builder::reduceInOrder(const ast::Reduce &r, ReduceOp op, const ast::Expr &expr, Block &out, bool wide) {
  const DType type = sema::instantiate(r.body->type.element, program.dtype), in = ast::accumulatorOf(type);
  const auto part = [&](Block &to) { return converted(value(*r.body, to, true), in, r.body->span, to); };
  firstOf = r.variable.name.text;
  const ValueId first = part(out);
  firstOf.clear();
  if (!ok) return 0;
  const Value from = program.values[first];
  if (from.spread == Spread::Everywhere)
    return slip(DiagnosticKind::WrongArguments, r.body->span, "`reduce` is of vectors, and this is a number that all ranks have alike",
                "leave the `reduce` out, and of a sum multiply by `N`"), 0;
  asItself(first);
  ValueId sum = program.addValue(std::string(keyword(op)), from.length, in, from.spread);
  program.values[sum].variable = true, program.values[sum].group = from.group;
  out.push_back(Assign{sum, first, expr.span.begin});
  For loop{r.variable.name.text, Index::constant(1), Index::constant(program.ranks - 1), {}, expr.span.begin};
  loops.emplace_back(loop.variable, &out);
  const ValueId next = part(loop.body);
  Block *before = std::exchange(block, &loop.body);
  const ValueId both = ok ? arithmetic().combine(op, sum, next, expr.span) : 0;
  block = before;
  loops.pop_back();
  if (!ok) return 0;
  loop.body.push_back(Assign{sum, both, expr.span.begin});
  out.push_back(std::move(loop));
  before = std::exchange(block, &out);
  sum = arithmetic().mean(op, sum, program.ranks, expr.span);
  block = before;
  return wide ? sum : converted(sum, type, expr.span, out);
}

std::optional<Slice> Builder::slice(const ast::Expr &expr) {
  auto part = contractSlice(program, expr, [&](const ast::Expr &e) { return index(e); });
  if (const ast::Expr *owner = ownerOf(expr); part && owner)
    part->owner = isAll(*owner) ? Index::variable(kAll) : index(*owner);
  return part;
}

Index Builder::index(const ast::Expr &expr) {
  auto i = integer(expr, program.ranks);
  if (i && !firstOf.empty()) i = i->substitute(firstOf, Index());
  if (i) return *i;
  slip(DiagnosticKind::Misplaced, expr.span, "the index `" + ast::print(expr) + "` is not known before the launch",
       "it may have numbers, `N`, `me`, arguments that are ranks or whole numbers, and variables of loops");
  return Index();
}

} // namespace coll::ir
