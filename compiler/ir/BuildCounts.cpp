#include "ir/BuildCounts.h"

#include "ir/BuildContract.h"
#include "ir/BuildWindow.h"
#include "ir/Builder.h"

namespace coll::ir {

bool isCount(const ast::Member &member) {
  const auto *builtin = std::get_if<ast::Builtin>(&member.ref);
  return builtin && *builtin == ast::Builtin::Count;
}

const ast::Call *prefixIn(const ast::Expr &expr) {
  const auto *call = std::get_if<ast::Call>(&expr.node);
  return call && (call->function == ast::Function::Prefix || isOfRows(*call)) ? call : nullptr;
}

ValueId polledIn(const Block &block, MailboxId box, const Index &slot) {
  for (const Stmt &s : block)
    if (const auto *poll = std::get_if<Poll>(&s.op()); poll && poll->box == box && poll->slot == slot) return poll->result;
  return kNone;
}

bool isCountOf(const Program &program, const Block &block, const Slice &element, ValueId value) {
  const std::optional<Count> &count = program.values[value].count;
  if (!count) return false;
  if (count->box == kNone && count->element == element) return true;
  return llvm::any_of(block, [&](const Stmt &s) {
    const auto *store = std::get_if<StoreCount>(&s.op());
    return store && program.values[store->value].count == count && store->to == element;
  });
}

/// What says how long a value is, as the author writes it.
static std::string lengthOf(const Program &program, const Count &count) {
  if (count.box == kNone) return "the number that it is cut to, `" + program.buffers[count.element.buffer].name + "[" + count.element.index.str() + "]`";
  const Mailbox &box = program.mailboxes[count.box];
  const bool one = box.slots.kind() == Index::Kind::Constant && box.slots.value() == 1;
  return "the count of its message, `" + box.name + (one ? "" : "[" + count.slot.str() + "]") + ".count`, or the element that it has been stored in";
}

std::optional<Slice> Builder::element(const ast::Expr &expr) {
  if (ownerOf(expr)) return std::nullopt;
  return contractElement(program, expr, [&](const ast::Expr &e) { return index(e); });
}

void Builder::storeCount(const ast::Expr &target, const ast::Member &count, SourceOffset where, Block &out) {
  const auto to = element(target);
  if (ok && (!to || program.buffers[to->buffer].dtype != DType::U32)) {
    diagnostics.error(DiagnosticKind::TypeMismatch, target.span, "a count is a `u32`, and goes to one element of a result with one extent").help("declare the result as `out got: u32[N]`, and write `got[r]`");
    ok = false;
  }
  if (!ok) return;
  const ValueId v = value(*count.base, out);
  if (ok) out.push_back(StoreCount{*to, v, where});
}

void Builder::assignPrefix(const ast::Call &target, const ast::Assign &s, SourceOffset where, Block &out) {
  const auto to = slice(*target.args[0]);
  if (!to) return slipOfPart(*target.args[0]);
  const ValueId v = converted(value(*s.value, out, isOfOtherType(target.args[0]->type)), program.buffers[to->buffer].dtype, s.value->span, out);
  if (!ok) return;
  if (!program.values[v].count) return slipOfLength(s.value->span);
  countsIn(*program.values[v].count, isOfRows(target), target.callee.span);
  const auto *member = std::get_if<ast::Member>(&target.args[1]->node);
  const auto length = member ? std::nullopt : element(*target.args[1]);
  const bool same = member ? isCount(*member) && program.values[value(*member->base, out)].count == program.values[v].count
                           : length && isCountOf(program, out, *length, v);
  if (!same) {
    diagnostics.error(DiagnosticKind::TypeMismatch, target.args[1]->span, "this is not known to be how long the value is")
        .help("write " + lengthOf(program, *program.values[v].count));
    ok = false;
    return;
  }
  storeTo(*to, v, s.value->span, where, out);
}

/// A prefix is of elements, or of rows; what is read from a mailbox is of what was sent there.
void Builder::countsIn(const Count &count, bool rows, ast::Span where) {
  std::optional<bool> unit = count.rows;
  if (count.box != kNone && !inRows[count.box]) inRows[count.box] = rows;
  if (count.box != kNone) unit = inRows[count.box];
  if (!ok || unit == rows) return;
  const std::string is = *unit ? "rows" : "elements";
  slip(DiagnosticKind::TypeMismatch, where, "this message is so many " + is + " long", *unit ? "write `prefix_rows(m, n)`" : "write `prefix(v, n)`");
}

/// Of two values that go element by element: as long as the one of them says that says so. That messages of two mailboxes are of
/// one length is the checker's to say.
std::optional<Count> Builder::commonCount(ValueId a, ValueId b, ast::Span where) {
  const std::optional<Count> &x = program.values[a].count, &y = program.values[b == kNone ? a : b].count;
  if (x && y && x->box == kNone && y->box == kNone && !(x == y))
    slip(DiagnosticKind::TypeMismatch, where, "these are cut to two numbers, and may differ in length", "cut both to the same one");
  return x ? x : y;
}

/// Once all of the text has been seen: what lengths of messages count.
void Builder::resolveCounts() {
  for (std::size_t box = 0; box < inRows.size(); ++box) program.mailboxes[box].countsRows = inRows[box].value_or(false);
  for (Value &value : program.values)
    if (value.count && value.count->box != kNone) value.count->rows = program.mailboxes[value.count->box].countsRows;
}

ValueId Builder::prefix(const ast::Call &call, const ast::Expr &expr, Block &out) {
  const auto from = slice(*call.args[0]);
  const auto length = element(*call.args[1]);
  const auto ofInput = [&] {
    slip(DiagnosticKind::Misplaced, call.args[0]->span, "what is sent as a prefix is the begin of an `in` argument of this rank, or of a row of one",
         "as in `prefix(x, n[me])`, `prefix(t[p], n[p])` or `prefix_rows(m, n[me])`");
  };
  if (!from) return slipOfPart(*call.args[0]), 0;
  if (from->owner) return ofInput(), 0;
  if (!length || program.buffers[length->buffer].direction != Direction::In ||
      program.buffers[length->buffer].dtype != DType::U32)
    return slip(DiagnosticKind::Misplaced, call.args[1]->span, "the length of a prefix is an element of a `u32` input",
                "as in `prefix(x, n[me])` for `in n: u32[N]`"), 0;
  if (program.buffers[from->buffer].direction != Direction::In || from->length.kind == Length::Kind::Piece)
    return ofInput(), 0;
  if (llvm::any_of(program.aliases, [&](const auto &pair) { return pair.first.buffer == length->buffer || pair.second.buffer == length->buffer; }))
    return slip(DiagnosticKind::InplaceHazard, call.args[1]->span, "`" + program.buffers[length->buffer].name + "` may lie where a result does, which is written while it says how long messages are",
                "take it out of the contract's `inplace`, or declare the algorithm `outofplace`"), 0;
  std::vector<std::string> &bound = program.buffers[length->buffer].bound, most = from->length.extents;
  if (isOfRows(call)) most.pop_back();
  if (!bound.empty() && bound != most)
    return slip(DiagnosticKind::TypeMismatch, call.args[1]->span, "`" + program.buffers[length->buffer].name + "` counts elements of vectors of two lengths, and each number has one bound",
                "declare an argument with the counts of each: `in n: u32[N], in k: u32[N]`"), 0;
  bound = std::move(most);
  const Buffer &buffer = program.buffers[from->buffer];
  const auto rows = rowsOf(from->length);
  const ValueId v = program.addValue(buffer.name, rows.value_or(from->length), buffer.dtype, rows ? Spread::Row : Spread::Element);
  program.values[v].count = Count{*length, kNone, {}, isOfRows(call)};
  return out.push_back(Load{v, *from, expr.span.begin, false, rows.has_value()}), v;
}

} // namespace coll::ir
