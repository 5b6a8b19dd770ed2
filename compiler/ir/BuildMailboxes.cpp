// What goes between ranks: mailboxes, sends to them and reads of them, pushes into windows and waits for those, barriers;
// and what is known of mailboxes only once all sends have been seen.
#include "ir/BuildCounts.h"
#include "ir/Builder.h"

#include <cassert>

namespace coll::ir {
namespace {

Reuse reuseOf(ast::ReuseRule rule) {
  switch (rule) {
  case ast::ReuseRule::DoubleBuffer: return Reuse::DoubleBuffer;
  case ast::ReuseRule::Ack: return Reuse::Ack;
  case ast::ReuseRule::Barrier: return Reuse::Barrier;
  }
  return Reuse::Auto;
}

/// The same for every rank: a loop that the emitter has one instruction for.
void multicast(Stmt stmt, ast::Span span, Block &out) {
  ForRanks all{kAll, {}, span.begin};
  all.body.push_back(std::move(stmt));
  out.push_back(std::move(all));
}

} // namespace

/// Packets are of T where a mailbox is, else of the type of the first.
void Builder::chooseMailedType(const sema::Algorithm &algorithm) {
  for (const ast::Mailbox *box : algorithm.mailboxes) {
    const DType type = sema::instantiate(box->type.element, program.dtype);
    if (type == program.dtype) return program.mailed.reset();
    if (!program.mailed) program.mailed = type;
  }
}

void Builder::mailbox(const ast::Mailbox &decl, SourceOffset where) {
  const ast::SyncMode mode = *member.syncOf(decl);
  Mailbox box;
  box.name = decl.name.text;
  box.where = where;
  if (mode == ast::SyncMode::Ll) box.sync = Sync::LL;
  else if (mode == ast::SyncMode::Ll16) box.sync = Sync::LL16;
  else if (mode == ast::SyncMode::Ll128) box.sync = Sync::LL128;
  else if (mode == ast::SyncMode::Sentinel) box.sync = Sync::Sentinel;
  else if (mode == ast::SyncMode::Flag) box.sync = Sync::Flag;
  else if (mode == ast::SyncMode::Barrier) box.sync = Sync::Barrier;
  else if (mode == ast::SyncMode::Counter) box.sync = Sync::Counter;
  else if (mode == ast::SyncMode::Counter16) box.sync = Sync::Counter16;
  else if (mode == ast::SyncMode::Counter128) box.sync = Sync::Counter128;
  box.dtype = sema::instantiate(decl.type.element, program.dtype);
  box.counted = decl.counted;
  if (decl.reuseRule) box.reuse = reuseOf(*decl.reuseRule);
  box.slots = decl.slots ? index(*decl.slots) : Index::constant(1);
  if (decl.depthCount) box.declaredDepth = true, box.copies = int(*decl.depthCount);
  boxes[&decl] = MailboxId(program.mailboxes.size());
  program.mailboxes.push_back(std::move(box));
  sentTo.resize(program.mailboxes.size()), inRows.resize(program.mailboxes.size()); // the flags of windows are mailboxes too
}

void Builder::send(const ast::Send &s, ast::Span span, Block &out) {
  if (s.window) return push(s, span, out);
  Send op;
  op.box = boxes.at(s.mailbox);
  op.where = span.begin;
  op.multicast = !s.rank;
  op.peer = s.rank ? index(*s.rank) : Index::variable(kAll);
  op.slot = s.indices.empty() ? Index() : index(*s.indices.front());
  op.value = converted(value(*s.value, out, isOfOtherType(s.mailbox->type)), program.mailboxes[op.box].dtype, s.value->span, out);
  if (!ok) return;
  asItself(op.value);
  if (program.values[op.value].spread != Spread::Element && !numbersIn(op, s)) return;
  Mailbox &box = program.mailboxes[op.box];
  if (!box.counted && program.values[op.value].count) {
    diagnostics.error(DiagnosticKind::TypeMismatch, s.value->span, "`" + box.name + "` is not `counted`, so whoever reads it would not know how long this is")
        .note({std::uint32_t(box.where), std::uint32_t(box.where)}, "declared here")
        .help("declare it as `mailbox " + box.name + "[N] of TYPE counted sync MODE`");
    ok = false;
    return;
  }
  if (const std::optional<Count> &count = program.values[op.value].count) {
    if (!inRows[op.box]) inRows[op.box] = count->box == kNone ? count->rows : inRows[count->box];
    countsIn({{}, op.box, {}}, count->box == kNone ? count->rows : inRows[count->box].value_or(*inRows[op.box]), s.value->span);
  }
  const Length &length = program.values[op.value].length;
  const Value &sent = program.values[op.value];
  if (sentTo[op.box] && (!box.length.sameDomain(length) || box.spread != sent.spread || box.group != sent.group)) {
    diagnostics.error(DiagnosticKind::TypeMismatch, span, "`" + box.name + "` is sent vectors of another length elsewhere, and its slots have one")
        .note({std::uint32_t(box.where), std::uint32_t(box.where)}, "declared here")
        .help("declare a mailbox for each length");
    ok = false;
    return;
  }
  if (!sentTo[op.box]) box.length = length;
  sentTo[op.box] = true;
  const bool toAll = op.multicast;
  op.multicast &= !box.counted && box.spread == Spread::Element; // a message is a line and its packets, which no one instruction sends
  if (toAll) return multicast(std::move(op), span, out);
  out.push_back(std::move(op));
}

/// A number of each row, or group of its elements, goes in a line of `ll`, whatever the mode of what lies beside it.
bool Builder::numbersIn(const Send &send, const ast::Send &s) {
  const Value &value = program.values[send.value];
  Mailbox &box = program.mailboxes[send.box];
  if (value.spread == Spread::Everywhere)
    return slip(DiagnosticKind::WrongArguments, s.value->span, "this is one number, which all ranks have alike", "use it where it is needed"), false;
  if (s.add)
    return slip(DiagnosticKind::ModeIllegal, s.value->span, "`+>` adds vectors, and this is a number for each row",
                "send it with `->` to a slot for each source, and reduce where it arrives"), false;
  if (box.counted && !inRows[send.box]) inRows[send.box] = true;
  if (!sentTo[send.box]) box.sync = Sync::LL, box.spread = value.spread, box.group = value.group;
  return true;
}

void Builder::push(const ast::Send &s, ast::Span span, Block &out) {
  auto to = slice(*s.target);
  if (!to) return slipOfPart(*s.target);
  const ValueId v = value(*s.value, out);
  if (!ok) return;
  asItself(v);
  const bool perRow = isPerRow(program.values[v], to->length);
  if (!perRow && !program.values[v].length.sameDomain(to->length)) return slipOfLength(s.value->span);
  Store store{*to, v, span.begin, perRow};
  if (s.rank) return out.push_back(store);
  store.multicast = !perRow && program.buffers[to->buffer].dtype == program.packetType(); // one instruction stores a packet
  multicast(store, span, out);
}

void Builder::await(const ast::Await &s, ast::Span span, Block &out) {
  auto place = slice(*s.place);
  const MailboxId flags = place ? program.buffers[place->buffer].flags : kNone;
  if (!place) return slipOfPart(*s.place);
  assert(flags != kNone && "sema asks for `sync flag`");
  if (ok) out.push_back(Await{flags, place->index, span.begin});
}

void Builder::barrier(ast::Span span, Block &out) {
  out.push_back(Barrier{Index(), span.begin, member.algorithm->hasPipeline && !inChunks}); // its number: numberBarriers
}

ValueId Builder::poll(const ast::Mailbox &decl, Index slot, const ast::Expr &expr, Block &out) {
  const MailboxId box = boxes.at(&decl);
  if (!sentTo[box]) {
    diagnostics
        .error(DiagnosticKind::ReadWithoutArrival, expr.span,
               "`" + decl.name.text + "` is read here before anything is sent to it")
        .help("write the send before the read");
    ok = false;
    return 0;
  }
  const bool once = decl.counted || adds(program.mailboxes[box].sync); // of these, what has been read is looked at again
  if (const ValueId known = once ? polledIn(out, box, slot) : kNone; known != kNone) return known;
  const ValueId v = program.addValue(decl.name.text, received(box, slot), program.mailboxes[box].dtype, program.mailboxes[box].spread);
  program.values[v].group = program.mailboxes[box].group;
  if (decl.counted) program.values[v].count = Count{{}, box, slot};
  out.push_back(Poll{v, box, slot, kNone, expr.span.begin});
  return v;
}

Length Builder::received(MailboxId box, const Index &slot) {
  const Length &length = program.mailboxes[box].length;
  return length.kind == Length::Kind::Piece ? slotPieces.standIn(box, slot) : length;
}

void Builder::resolvePieces() {
  if (auto failure = slotPieces.resolve()) {
    const auto at = std::uint32_t(failure->where);
    return slip(DiagnosticKind::TypeMismatch, {at, at}, failure->what, failure->help);
  }
  for (const auto &[yield, reduction] : reductions)
    if (program.values[yield].length.index.uses(reduction.first)) {
      ok = false;
      diagnostics.error(DiagnosticKind::WrongResult, reduction.second, "each slot holds another piece, and a reduction is of one piece of all ranks")
          .help("send rank `p` its piece, as in `forall p in ranks: X[p] -> p.box[me]`, and not each the same `X[me]`");
      return;
    }
}

void Builder::dropUnused() {
  std::vector<MailboxId> numbers(program.mailboxes.size(), kNone);
  walk(program.body, [&](const Stmt &stmt) {
    if (const auto *send = std::get_if<Send>(&stmt.op())) numbers[send->box] = 0;
    if (const auto *poll = std::get_if<Poll>(&stmt.op())) numbers[poll->box] = 0;
  });
  for (const Buffer &b : program.buffers)
    if (b.flags != kNone) numbers[b.flags] = 0;
  std::vector<Mailbox> used;
  for (std::size_t box = 0; box < numbers.size(); ++box)
    if (numbers[box] != kNone) numbers[box] = MailboxId(used.size()), used.push_back(program.mailboxes[box]);
  walk(program.body, [&](Stmt &stmt) {
    if (auto *send = std::get_if<Send>(&stmt.op())) send->box = numbers[send->box];
    if (auto *poll = std::get_if<Poll>(&stmt.op())) poll->box = numbers[poll->box];
    if (auto *await = std::get_if<Await>(&stmt.op())) await->box = numbers[await->box];
  });
  for (Value &value : program.values)
    if (value.count && value.count->box != kNone) value.count->box = numbers[value.count->box];
  for (Buffer &b : program.buffers)
    if (b.flags != kNone) b.flags = numbers[b.flags];
  program.mailboxes = std::move(used);
}

} // namespace coll::ir
