// Arithmetic on data: where its operations go, and how a vector of one row or one number goes with a matrix.
#include "ir/Builder.h"
#include "sema/Walk.h"

#include <cassert>

namespace coll::ir {

int Builder::operand(const ast::Expr &expr) { return value(expr, *block, true); }

int Builder::scaleOf(const ast::Let &quantised, ast::Span) {
  const auto scale = scales.find(&quantised);
  assert((!ok || scale != scales.end()) && "sema knows that it chooses scales, and that it comes before");
  return scale == scales.end() ? 0 : scale->second;
}

int Builder::constant(double value, DType type, ast::Span where) {
  const ValueId v = program.addValue("", {}, type, Spread::Everywhere);
  return block->push_back(Constant{v, value, where.begin}), v;
}

int Builder::index(const ast::Expr &expr, DType type) {
  const ValueId v = program.addValue("", {}, type, Spread::Everywhere);
  return block->push_back(Constant{v, 0, expr.span.begin, index(expr)}), v;
}

int Builder::argument(const std::string &scalar, DType type, ast::Span where) {
  const ValueId v = program.addValue("", {}, type, Spread::Everywhere);
  return block->push_back(Argument{v, scalar, where.begin}), v;
}

int Builder::map(Function function, int a, int b, DType type, ast::Span where) {
  if (!ok) return 0;
  if (b != kNone) align(a, b, where);
  const Value &x = program.values[a], &y = program.values[b == kNone ? a : b];
  const auto follows = [](const Value &o) { return o.spread == Spread::Everywhere || o.everyRow; }; // the other's length
  const Length length = x.spread == Spread::Everywhere || (x.everyRow && !follows(y)) ? y.length : x.length;
  const bool everyRow = follows(x) && follows(y) && (x.everyRow || y.everyRow);
  const Spread spread = std::min(x.spread, y.spread);
  const unsigned group = spread == Spread::Group ? std::max(x.group, y.group) : 0; // scales of unlike groups have unlike extents
  const ValueId v = program.addValue("", length, type, spread);
  program.values[v].group = group, program.values[v].everyRow = everyRow;
  program.values[v].count = commonCount(a, b, where);
  const auto stretches = [&](ValueId o) { return stretchable.count(o) || program.values[o].spread == Spread::Everywhere; };
  if (stretches(a) && (b == kNone || stretches(b)) && program.values[v].spread != Spread::Everywhere) stretchable[v] = {a, b};
  else asItself(a), asItself(b);
  return block->push_back(Map{v, function, a, b, where.begin}), v;
}

int Builder::rowReduce(RowOp op, int value, unsigned group, ast::Span where) {
  if (!ok) return 0;
  const Value &of = program.values[value];
  if (of.spread == Spread::Row || of.spread == Spread::Everywhere) {
    diagnostics.error(DiagnosticKind::WrongArguments, where, "a row function of what is one number for each row already")
        .help("use the number as it is");
    return ok = false, 0;
  }
  if (of.spread != Spread::Element)
    return slip(DiagnosticKind::WrongArguments, where, "a row function of what is one number for each group", "take it of the matrix, as in `rowmax(abs(m))`"), 0;
  asItself(value);
  const ValueId v = program.addValue("", of.length, of.dtype, group ? Spread::Group : Spread::Row);
  program.values[v].group = group, program.values[v].count = program.values[value].count;
  return block->push_back(RowReduce{v, op, value, group, where.begin}), v;
}

DType Builder::typeOf(int value) const { return program.values[value].dtype; }

ValueId Builder::quantise(const ast::Let &let, const ast::Call &call, Block &out) {
  Block *before = std::exchange(block, &out);
  const Arithmetic::Quantised q = arithmetic().quantise(call, let.value->span);
  block = before;
  scales[&let] = q.scale;
  return q.value;
}

ValueId Builder::converted(ValueId v, DType type, ast::Span where, Block &out) {
  if (!ok || program.values[v].dtype == type) return v;
  Block *before = std::exchange(block, &out);
  v = arithmetic().convert(v, type, where);
  block = before;
  return v;
}

void Builder::align(ValueId &a, ValueId &b, ast::Span where) {
  const Value &x = program.values[a], &y = program.values[b];
  if (x.spread == Spread::Everywhere || y.spread == Spread::Everywhere || x.length.sameDomain(y.length)) return;
  if (x.length.isOneElement() || y.length.isOneElement()) return refuseOneNumber(where);
  const bool second = x.length.extents.size() < y.length.extents.size() || (x.length.isColumn() && !y.length.isColumn() && x.length.extents.size() == y.length.extents.size());
  Length to = second ? y.length : x.length;
  if (to.isColumn()) to.extents.back() = (second ? x : y).length.extents.back();
  a = stretched(a, to, where), b = stretched(b, to, where);
}

void Builder::refuseOneNumber(ast::Span where) {
  slip(DiagnosticKind::TypeMismatch, where, "a vector of one element does not stretch over a longer one", "declare what is one number as a scalar: `in alpha: f32`");
}

ValueId Builder::stretched(ValueId v, const Length &to, ast::Span where) {
  const Length length = program.values[v].length;
  if (!ok || program.values[v].spread == Spread::Everywhere || length.sameDomain(to)) return v;
  const bool row = length.extents.size() == 1 && to.extents.size() > 1 && length.extents.back() == to.extents.back();
  const bool column = length.isColumnOf(to);
  if (column && makesNumbers(v, to, where)) return v;
  const Length before = program.values[v].length;
  if (!stretchable.count(v)) v = row || column ? madeAgain(v) : kNone;
  if (v == kNone && column) meets(before, to.extents.back());
  if (v == kNone)
    return slip(DiagnosticKind::Misplaced, where, "this goes with a matrix, and other threads have its elements than have the matrix's rows",
                "take it from an `in` argument, or make it as a matrix"), 0;
  const auto [a, b] = stretchable.at(v);
  stretchable.erase(v);
  Value &value = program.values[v];
  value.length.extents = to.extents;
  if (row) value.length = to, value.length.index = Index(), value.everyRow = true;
  else value.spread = Spread::Row;
  findMaker(v, [&](Stmt &s) {
    auto *load = std::get_if<Load>(&s.op());
    if (load) load->everyRow = row, load->perRow = column;
  });
  for (const ValueId part : {a, b})
    if (part != kNone && stretchable.count(part)) stretched(part, to, where);
  return v;
}

ValueId Builder::madeAgain(ValueId v) {
  std::optional<Stmt> copy;
  findMaker(v, [&](Stmt &s) { copy = s; });
  if (!copy) return kNone;
  std::pair<ValueId, ValueId> of{kNone, kNone};
  if (auto *map = std::get_if<Map>(&copy->op())) {
    for (ValueId *part : {&map->a, &map->b})
      if (*part != kNone && program.values[*part].spread != Spread::Everywhere && !stretchable.count(*part))
        if ((*part = madeAgain(*part)) == kNone) return kNone;
    of = {map->a, map->b};
  }
  const Value value = program.values[v];
  const ValueId fresh = program.addValue(value.name, value.length, value.dtype, value.spread);
  program.values[fresh].count = value.count;
  if (auto *load = std::get_if<Load>(&copy->op()); load && program.buffers[load->from.buffer].direction == Direction::In) load->result = fresh;
  else if (auto *map = std::get_if<Map>(&copy->op())) map->result = fresh;
  else return kNone;
  block->push_back(std::move(*copy));
  stretchable[fresh] = of;
  return fresh;
}

std::vector<Block *> Builder::blocks() {
  std::vector<Block *> all{&program.body};
  const auto add = [&](Block *b) {
    if (!llvm::is_contained(all, b)) all.push_back(b);
  };
  for (const auto &loop : loops) add(loop.second);
  add(block);
  for (std::size_t i = 0; i < all.size(); ++i)
    for (Stmt &s : *all[i])
      if (Block *body = bodyOf(s)) add(body);
  return all;
}

void Builder::findMaker(ValueId v, llvm::function_ref<void(Stmt &)> visit) {
  for (Block *b : blocks())
    for (Stmt &s : *b)
      if (resultOf(s) == v) return visit(s);
}

/// What a mailbox was sent as a column is a number for each row of a matrix, where what is read from it meets one: then it is
/// sent as such.
bool Builder::makesNumbers(ValueId v, const Length &to, ast::Span where) {
  MailboxId number = kNone;
  findMaker(v, [&](Stmt &s) {
    if (const auto *poll = std::get_if<Poll>(&s.op())) number = poll->box;
  });
  if (number == kNone || adds(program.mailboxes[number].sync)) return false;
  std::vector<ValueId> read;
  for (Block *b : blocks())
    for (Stmt &s : *b)
      if (const auto *poll = std::get_if<Poll>(&s.op()); poll && poll->box == number) read.push_back(poll->result);
  for (Block *b : blocks()) // as a column, it is there for rows without elements too
    for (Stmt &s : *b) {
      bool taken = false;
      usesOf(s, [&](ValueId used) { taken |= llvm::is_contained(read, used); });
      if (taken) return false;
    }
  if (!sendAsNumbers(number, to, where)) return false;
  for (const ValueId r : read) program.values[r].spread = Spread::Row, program.values[r].length.extents = to.extents;
  return true;
}

bool Builder::sendAsNumbers(MailboxId number, const Length &to, ast::Span where) {
  const std::vector<Block *> all = blocks();
  for (Block *b : llvm::reverse(all)) // inner ones first: they move when what is around them grows
    for (std::size_t at = b->size(); at-- > 0;) {
      const auto *send = std::get_if<Send>(&(*b)[at].op());
      if (!send || send->box != number) continue;
      Block made;
      Block *before = std::exchange(block, &made);
      const ValueId sent = madeAgain(send->value);
      if (sent != kNone) stretched(sent, to, where);
      block = before;
      if (sent == kNone || !ok) return false;
      std::get<Send>((*b)[at].op()).value = sent;
      b->insert(b->begin() + std::ptrdiff_t(at), std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
    }
  Mailbox &box = program.mailboxes[number];
  box.sync = Sync::LL, box.spread = Spread::Row, box.length.extents = to.extents;
  return true;
}

void Builder::asItself(ValueId v) {
  const auto known = stretchable.find(v);
  if (known == stretchable.end()) return;
  const auto [a, b] = known->second;
  stretchable.erase(known);
  if (a != kNone) asItself(a);
  if (b != kNone) asItself(b);
}

/// `s as T`, which is what a named value is without the cast: it is rounded where it is named.
bool Builder::roundsAName(const ast::Expr &expr) const {
  const auto *cast = std::get_if<ast::Cast>(&expr.node);
  return cast && std::holds_alternative<ast::NameRef>(cast->operand->node) && expr.type.isValue() &&
         sema::instantiate(expr.type.element, program.dtype) == program.dtype;
}

/// Whether what goes there is another type than the program's, so that it is not rounded to that on its way.
bool Builder::isOfOtherType(const ast::Type &type) const {
  return type.isValue() && sema::instantiate(type.element, program.dtype) != program.dtype;
}

void Builder::findComputedWith(const ast::Block &stmts) {
  const auto names = [&](const ast::Expr &expr) {
    sema::forEach(expr, [&](const ast::Expr &part) {
      if (!isArithmetic(part) || roundsAName(part)) return true;
      sema::forEach(part, [&](const ast::Expr &inner) {
        const auto *name = std::get_if<ast::NameRef>(&inner.node);
        if (const auto *let = name ? std::get_if<const ast::Let *>(&name->ref) : nullptr) computedWith.insert(*let);
        return true;
      });
      return false;
    });
  };
  const auto goesTo = [&](const ast::Expr &value, const ast::Type &target) {
    names(value);
    const auto *name = std::get_if<ast::NameRef>(&value.node);
    const auto *let = name ? std::get_if<const ast::Let *>(&name->ref) : nullptr;
    if (let && isOfOtherType(target)) computedWith.insert(*let);
  };
  for (const ast::Stmt &stmt : stmts) {
    if (const auto *s = std::get_if<ast::Let>(&stmt.node)) names(*s->value);
    if (const auto *s = std::get_if<ast::Assign>(&stmt.node)) goesTo(*s->value, s->target->type);
    if (const auto *s = std::get_if<ast::Send>(&stmt.node)) s->mailbox ? goesTo(*s->value, s->mailbox->type) : names(*s->value);
    if (const auto *s = std::get_if<ast::Forall>(&stmt.node)) findComputedWith(s->body);
    if (const auto *s = std::get_if<ast::For>(&stmt.node)) findComputedWith(s->body);
    if (const auto *s = std::get_if<ast::If>(&stmt.node)) findComputedWith(s->then), findComputedWith(s->otherwise);
  }
}

} // namespace coll::ir
