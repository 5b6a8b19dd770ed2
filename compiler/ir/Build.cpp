#include "ir/Build.h"

#include "ir/BuildContract.h"

#include <bit>

namespace coll::ir {
namespace {

using llvm::StringRef;

class Builder {
public:
  Builder(const sema::Member &m, Program &p, DiagnosticEngine &d) : member(m), program(p), diagnostics(d) {}

  bool run() {
    const sema::Algorithm &algorithm = *member.algorithm;
    refuseWholeAlgorithm(algorithm);
    if (!ok) return false;
    program.body.push_back(KernelBoundary{KernelBoundary::Side::Entry, algorithm.decl->span.begin});
    for (const ast::Stmt &stmt : algorithm.decl->body) statement(stmt, program.body);
    program.body.push_back(KernelBoundary{KernelBoundary::Side::Exit, algorithm.decl->span.begin});
    return ok;
  }

private:
  const sema::Member &member;
  Program &program;
  DiagnosticEngine &diagnostics;
  std::map<const ast::Mailbox *, MailboxId> boxes;
  std::map<const ast::Mailbox *, bool> hasLength;
  std::map<const ast::Let *, ValueId> lets;
  std::vector<std::pair<std::string, Block *>> loops; ///< bound variable, and the block the loop stands in
  bool ok = true;

  // ---- Refusals ----

  void refuse(ast::Span where, const std::string &construct) {
    if (ok) diagnostics.error(DiagnosticKind::NotLowered, where, construct + " cannot be lowered yet");
    ok = false;
  }

  void refuseWholeAlgorithm(const sema::Algorithm &a) {
    if (!a.windows.empty()) refuse(a.windows.front()->param.span, "a `window`");
    if (a.hasPipeline) refuse(a.decl->span, "`pipeline`");
    if (a.order != sema::Order::Ascending) refuse(a.decl->order->span, "`order " + a.decl->order->text + "`");
  }

  // ---- Statements ----

  void statement(const ast::Stmt &stmt, Block &out) {
    if (!ok) return;
    const SourceOffset where = stmt.span.begin;
    std::visit(
        Overloaded{
            [&](const ast::Mailbox &s) { mailbox(s, where); },
            [&](const ast::Window &) { refuse(stmt.span, "a `window`"); },
            [&](const ast::ViewStmt &) {}, // resolved where it is used
            [&](const ast::Tune &) {},     // a space for the tuner, nothing the kernel does
            [&](const ast::Let &s) { let(s, stmt.span, out); },
            [&](const ast::Assign &s) { assign(s, where, out); },
            [&](const ast::Send &s) { send(s, stmt.span, out); },
            [&](const ast::Await &) { refuse(stmt.span, "`await`"); },
            [&](const ast::Barrier &s) { barrier(s, stmt.span, out); },
            [&](const ast::Forall &s) { forall(s, stmt.span, out); },
            [&](const ast::For &) { refuse(stmt.span, "`for`"); },
            [&](const ast::Pipeline &) { refuse(stmt.span, "`pipeline`"); },
            [&](const ast::If &) { refuse(stmt.span, "`if`"); },
        },
        stmt.node);
  }

  void mailbox(const ast::Mailbox &decl, SourceOffset where) {
    const ast::SyncMode mode = *member.syncOf(decl);
    Mailbox box;
    box.name = decl.name.text;
    box.where = where;
    if (mode == ast::SyncMode::Ll) box.sync = Sync::LL;
    else if (mode == ast::SyncMode::Barrier) box.sync = Sync::Barrier;
    else refuse(decl.sync.span, "sync mode `" + std::string(ast::keyword(mode)) + "`");
    if (decl.counted) refuse(decl.name.span, "a `counted` mailbox");
    if (decl.reuseRule && *decl.reuseRule != ast::ReuseRule::DoubleBuffer)
      refuse(decl.reuse->span, "`reuse " + decl.reuse->text + "`");
    box.slots = decl.slots ? index(*decl.slots) : Index::constant(1);
    if (decl.depthCount) box.declaredDepth = true, box.copies = int(*decl.depthCount);
    boxes[&decl] = MailboxId(program.mailboxes.size());
    program.mailboxes.push_back(std::move(box));
  }

  void let(const ast::Let &s, ast::Span span, Block &out) {
    if (s.mutableVar) return refuse(span, "`var`");
    const ValueId v = value(*s.value, out);
    if (!ok) return;
    program.values[v].name = s.name.text;
    lets[&s] = v;
  }

  void assign(const ast::Assign &s, SourceOffset where, Block &out) {
    auto to = slice(*s.target);
    if (!to) return refuse(s.target->span, "this target of an assignment");
    const ValueId v = value(*s.value, out);
    if (!ok) return;
    if (!program.values[v].length.sameDomain(to->length)) return refuse(s.value->span, "a change of shape");
    out.push_back(Store{*to, v, where});
  }

  void barrier(const ast::Barrier &s, ast::Span span, Block &out) {
    if (s.kind != ast::BarrierKind::Plain)
      return refuse(span, s.kind == ast::BarrierKind::Entry ? "`entry barrier`" : "`exit barrier`");
    if (!loops.empty()) return refuse(span, "a `barrier` inside a loop");
    out.push_back(Barrier{program.barriers++, span.begin});
  }

  void forall(const ast::Forall &s, ast::Span span, Block &out) {
    ForRanks loop{s.variable.name.text, {}, span.begin}; // `from` is a hint on order; the order is free
    loops.emplace_back(loop.variable, &out);
    for (const ast::Stmt &stmt : s.body) statement(stmt, loop.body);
    loops.pop_back();
    if (ok) out.push_back(std::move(loop));
  }

  void send(const ast::Send &s, ast::Span span, Block &out) {
    if (s.add) return refuse(span, "`+>`");
    if (!s.rank) return refuse(span, "a multicast (`all.`)");
    if (!s.mailbox) return refuse(span, "a push into a window");
    Send op;
    op.box = boxes.at(s.mailbox);
    op.where = span.begin;
    op.peer = index(*s.rank);
    op.slot = s.indices.empty() ? Index() : index(*s.indices.front());
    op.value = value(*s.value, out);
    if (!ok) return;
    if (auto length = receivedLength(op)) slotLength(*s.mailbox, op.box, *length, span);
    else refuse(span, "a send whose length depends on both ends in this way");
    out.push_back(std::move(op));
  }

  /// The length of what a send puts into a slot, as its receiver sees it: over `me` (the receiver) and `slot`.
  std::optional<Length> receivedLength(const Send &s) {
    Length length = program.values[s.value].length;
    if (length.kind != Length::Kind::Piece || !(length.index.uses("me") || loopVariableIn(length.index))) return length;
    const Index me = Index::variable("me"), slot = Index::variable("slot");
    if (s.peer.kind() == Index::Kind::Variable && s.peer.name() != "me" && s.slot.isVariable("me")) {
      length.index = length.index.substitute("me", Index::variable("sender")).substitute(s.peer.name(), me);
      length.index = length.index.substitute("sender", slot);
      return length;
    }
    if (s.peer.kind() == Index::Kind::Mod && s.peer.left().kind() == Index::Kind::Add &&
        s.peer.left().left().isVariable("me") && s.peer.left().right().kind() == Index::Kind::Constant) {
      const Index sender = Index::mod(Index::sub(me, s.peer.left().right()), Index::constant(program.ranks));
      length.index = length.index.substitute("me", sender);
      return length;
    }
    return std::nullopt;
  }

  bool loopVariableIn(const Index &i) const {
    return llvm::any_of(loops, [&](const auto &loop) { return i.uses(loop.first); });
  }

  void slotLength(const ast::Mailbox &decl, MailboxId box, const Length &length, ast::Span where) {
    Mailbox &m = program.mailboxes[box];
    if (hasLength[&decl] && !(m.length == length)) return refuse(where, "a mailbox that sends of different length fill");
    m.length = length;
    hasLength[&decl] = true;
  }

  // ---- Values ----

  /// The vector an expression stands for. Loads that no loop variable enters are made outside the loops.
  ValueId value(const ast::Expr &expr, Block &out) {
    if (!ok) return 0;
    if (auto from = slice(expr)) return load(*from, expr, out);
    if (const auto *name = std::get_if<ast::NameRef>(&expr.node)) {
      if (const auto *let = std::get_if<const ast::Let *>(&name->ref); let && lets.count(*let)) return lets.at(*let);
      if (const auto *box = std::get_if<const ast::Mailbox *>(&name->ref)) return poll(**box, Index(), expr, out);
    }
    if (const auto *at = std::get_if<ast::Index>(&expr.node))
      if (const auto *base = std::get_if<ast::NameRef>(&at->base->node))
        if (const auto *box = std::get_if<const ast::Mailbox *>(&base->ref))
          return poll(**box, index(*at->index), expr, out);
    if (const auto *r = std::get_if<ast::Reduce>(&expr.node)) return reduce(*r, expr, out);
    refuse(expr.span, "the expression `" + ast::print(expr) + "`");
    return 0;
  }

  ValueId load(const Slice &from, const ast::Expr &expr, Block &out) {
    Block *block = &out;
    for (std::size_t depth = loops.size(); depth-- > 0 && !from.index.uses(loops[depth].first);)
      block = loops[depth].second;
    const ValueId v = program.addValue(program.buffers[from.buffer].name, from.length);
    block->push_back(Load{v, from, expr.span.begin});
    return v;
  }

  ValueId poll(const ast::Mailbox &decl, Index slot, const ast::Expr &expr, Block &out) {
    const MailboxId box = boxes.at(&decl);
    if (!hasLength[&decl]) {
      diagnostics
          .error(DiagnosticKind::ReadWithoutArrival, expr.span,
                 "`" + decl.name.text + "` is read here before anything is sent to it")
          .help("write the send before the read");
      ok = false;
      return 0;
    }
    Length length = program.mailboxes[box].length;
    length.index = length.index.substitute("slot", slot);
    const ValueId v = program.addValue(decl.name.text, length);
    out.push_back(Poll{v, box, slot, kNone, expr.span.begin});
    return v;
  }

  ValueId reduce(const ast::Reduce &r, const ast::Expr &expr, Block &out) {
    Reduce op{0, ReduceOp::Sum, r.variable.name.text, {}, 0, expr.span.begin};
    const auto &name = std::get<ast::NameRef>(r.op->node);
    if (std::holds_alternative<const ast::Generic *>(name.ref)) op.op = *program.op;
    else op.op = name.op;
    if (op.op == ReduceOp::Avg) refuse(r.op->span, "operator `avg`");
    loops.emplace_back(op.variable, &out);
    op.yield = value(*r.body, op.body);
    loops.pop_back();
    if (!ok) return 0;
    if (op.body.size() != 1 || !std::holds_alternative<Poll>(op.body.front().op())) {
      refuse(r.body->span, "a reduction over anything but the slots of a mailbox");
      return 0;
    }
    Length length = program.values[op.yield].length;
    if (length.index.uses(op.variable)) {
      refuse(expr.span, "a reduction over slots of different length");
      return 0;
    }
    op.result = program.addValue(program.mailboxes[std::get<Poll>(op.body.front().op()).box].name, length);
    const ValueId result = op.result;
    out.push_back(std::move(op));
    return result;
  }

  // ---- Places and indices ----

  /// The part of an argument that an expression names; empty if it names none.
  std::optional<Slice> slice(const ast::Expr &expr) {
    return contractSlice(program, expr, [&](const ast::Expr &e) { return index(e); });
  }

  Index index(const ast::Expr &expr) {
    if (auto i = integer(expr, program.ranks)) return *i;
    refuse(expr.span, "the index `" + ast::print(expr) + "`");
    return Index();
  }
};

} // namespace

std::optional<Program> build(const sema::Member &member, int ranks, DType dtype, std::optional<ReduceOp> op,
                             const Sources &sources, DiagnosticEngine &diagnostics) {
  Program program;
  program.member = member.name;
  program.collective = member.algorithm->collective->name;
  program.algorithm = member.algorithm->decl->name.text;
  program.mode = member.mode;
  program.ranks = ranks;
  program.dtype = dtype;
  program.op = op;
  program.maxBytes = member.algorithm->maxBytes;
  program.sources = &sources;
  const Sources::File &file = *sources.position(0).file;
  program.sourceFile = file.name;
  program.source = &file.text;
  if (!buildContract(*member.algorithm, program, diagnostics)) return std::nullopt;
  if (!Builder(member, program, diagnostics).run()) return std::nullopt;
  return program;
}

} // namespace coll::ir
