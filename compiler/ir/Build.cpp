#include "ir/Build.h"

#include "ir/BuildContract.h"
#include "ir/SlotPieces.h"

#include <utility>

namespace coll::ir {
namespace {

using llvm::StringRef;

class Builder {
public:
  Builder(const sema::Member &m, Program &p, DiagnosticEngine &d) : member(m), program(p), diagnostics(d), slotPieces(p) {}

  bool run() {
    const sema::Algorithm &algorithm = *member.algorithm;
    refuseWholeAlgorithm(algorithm);
    if (!ok) return false;
    program.body.push_back(KernelBoundary{KernelBoundary::Side::Entry, algorithm.decl->span.begin});
    for (const ast::Stmt &stmt : algorithm.decl->body) statement(stmt, program.body);
    program.body.push_back(KernelBoundary{KernelBoundary::Side::Exit, algorithm.decl->span.begin});
    if (ok) resolvePieces();
    if (ok) dropUnused();
    return ok;
  }

private:
  const sema::Member &member;
  Program &program;
  DiagnosticEngine &diagnostics;
  std::map<const ast::Mailbox *, MailboxId> boxes;
  std::map<const ast::Let *, ValueId> lets;
  SlotPieces slotPieces;
  std::vector<bool> sentTo; ///< by mailbox: whether a send has been seen, and so what kind of vector a slot holds
  std::map<ValueId, std::pair<std::string, ast::Span>> reductions; ///< of pieces: the variable
  std::vector<std::pair<std::string, Block *>> loops; ///< bound variable, and the block the loop stands in
  std::size_t sure = 0; ///< the loops from this one on are sure to run where the statement does
  bool ok = true;

  // ---- Refusals ----

  void refuse(ast::Span where, const std::string &construct) {
    if (ok) diagnostics.error(DiagnosticKind::NotLowered, where, construct + " cannot be lowered yet");
    ok = false;
  }

  void refuseWholeAlgorithm(const sema::Algorithm &a) {
    if (!a.windows.empty()) refuse(a.windows.front()->param.span, "a `window`");
    if (a.hasPipeline) refuse(a.decl->span, "`pipeline`");
    if (a.order == sema::Order::Any) refuse(a.decl->order->span, "`order any`");
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
            [&](const ast::For &s) { forLoop(s, stmt.span, out); },
            [&](const ast::Pipeline &) { refuse(stmt.span, "`pipeline`"); },
            [&](const ast::If &s) { conditional(s, stmt.span, out); },
        },
        stmt.node);
  }

  void mailbox(const ast::Mailbox &decl, SourceOffset where) {
    const ast::SyncMode mode = *member.syncOf(decl);
    Mailbox box;
    box.name = decl.name.text;
    box.where = where;
    if (mode == ast::SyncMode::Ll) box.sync = Sync::LL;
    else if (mode == ast::SyncMode::Ll128) box.sync = Sync::LL128;
    else if (mode == ast::SyncMode::Sentinel) box.sync = Sync::Sentinel;
    else if (mode == ast::SyncMode::Flag) box.sync = Sync::Flag;
    else if (mode == ast::SyncMode::Barrier) box.sync = Sync::Barrier;
    else refuse(decl.sync.span, "sync mode `" + std::string(ast::keyword(mode)) + "`");
    if (decl.counted) refuse(decl.name.span, "a `counted` mailbox");
    if (decl.reuseRule) box.reuse = reuseOf(*decl.reuseRule);
    box.slots = decl.slots ? index(*decl.slots) : Index::constant(1);
    if (decl.depthCount) box.declaredDepth = true, box.copies = int(*decl.depthCount);
    boxes[&decl] = MailboxId(program.mailboxes.size());
    sentTo.push_back(false);
    program.mailboxes.push_back(std::move(box));
  }

  static Reuse reuseOf(ast::ReuseRule rule) {
    switch (rule) {
    case ast::ReuseRule::DoubleBuffer: return Reuse::DoubleBuffer;
    case ast::ReuseRule::Ack: return Reuse::Ack;
    case ast::ReuseRule::Barrier: return Reuse::Barrier;
    }
    return Reuse::Auto;
  }

  void let(const ast::Let &s, ast::Span span, Block &out) {
    const ValueId v = value(*s.value, out);
    if (!ok) return;
    if (!s.mutableVar && !program.values[v].variable) { // what a variable holds now must be kept
      program.values[v].name = s.name.text;
      lets[&s] = v;
      return;
    }
    const ValueId variable = program.addValue(s.name.text, program.values[v].length);
    program.values[variable].variable = true;
    lets[&s] = variable;
    out.push_back(Assign{variable, v, span.begin});
  }

  void assign(const ast::Assign &s, SourceOffset where, Block &out) {
    if (const auto *name = std::get_if<ast::NameRef>(&s.target->node))
      if (const auto *let = std::get_if<const ast::Let *>(&name->ref); let && lets.count(*let)) {
        const ValueId v = value(*s.value, out);
        if (ok) out.push_back(Assign{lets.at(*let), v, where});
        return;
      }
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
    if (&out != &program.body) return refuse(span, "a `barrier` inside a loop or an `if`");
    out.push_back(Barrier{program.barriers++, span.begin});
  }

  void forall(const ast::Forall &s, ast::Span span, Block &out) {
    ForRanks loop{s.variable.name.text, {}, span.begin}; // `from` is a hint on order; the order is free
    loops.emplace_back(loop.variable, &out);
    for (const ast::Stmt &stmt : s.body) statement(stmt, loop.body);
    loops.pop_back();
    if (ok) out.push_back(std::move(loop));
  }

  void forLoop(const ast::For &s, ast::Span span, Block &out) {
    For loop{s.variable.name.text, index(*s.first), index(*s.last), {}, span.begin};
    if (!ok) return;
    if (loop.first.kind() != Index::Kind::Constant || loop.last.kind() != Index::Kind::Constant)
      return refuse(span, "a `for` whose bounds are not known when the kernel is compiled");
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

  void conditional(const ast::If &s, ast::Span span, Block &out) {
    auto condition = integer(*s.condition, program.ranks);
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

  /// The outcome of a condition that N alone decides, such as whether N is a power of two.
  std::optional<bool> sameOnAllRanks(const Index &condition) const {
    std::optional<std::int64_t> outcome;
    for (std::int64_t me = 0; me < program.ranks; ++me) {
      const auto here = condition.evaluate(
          [&](llvm::StringRef name) { return name == "me" ? std::optional(me) : std::nullopt; });
      if (!here || (outcome && *outcome != *here)) return std::nullopt;
      outcome = here;
    }
    return *outcome != 0;
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
    Mailbox &box = program.mailboxes[op.box];
    const Length &length = program.values[op.value].length;
    if (sentTo[op.box] && !box.length.sameDomain(length))
      return refuse(span, "a mailbox that sends of different length fill");
    if (!sentTo[op.box]) box.length = length;
    sentTo[op.box] = true;
    out.push_back(std::move(op));
  }

  /// Once all sends are known: which piece each slot holds, so that all of a reduction can be seen to be one piece.
  void resolvePieces() {
    if (auto failure = slotPieces.resolve()) {
      const auto at = std::uint32_t(failure->where);
      return refuse({at, at}, failure->construct);
    }
    for (const auto &[yield, reduction] : reductions)
      if (program.values[yield].length.index.uses(reduction.first))
        return refuse(reduction.second, "a reduction over slots of different length");
  }

  /// Mailboxes that nothing is sent to for this N take no memory.
  void dropUnused() {
    std::vector<MailboxId> numbers(program.mailboxes.size(), kNone);
    walk(program.body, [&](const Stmt &stmt) {
      if (const auto *send = std::get_if<Send>(&stmt.op())) numbers[send->box] = 0;
      if (const auto *poll = std::get_if<Poll>(&stmt.op())) numbers[poll->box] = 0;
    });
    std::vector<Mailbox> used;
    for (std::size_t box = 0; box < numbers.size(); ++box)
      if (numbers[box] != kNone) numbers[box] = MailboxId(used.size()), used.push_back(program.mailboxes[box]);
    walk(program.body, [&](Stmt &stmt) {
      if (auto *send = std::get_if<Send>(&stmt.op())) send->box = numbers[send->box];
      if (auto *poll = std::get_if<Poll>(&stmt.op())) poll->box = numbers[poll->box];
    });
    program.mailboxes = std::move(used);
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
    if (const auto *c = std::get_if<ast::Call>(&expr.node); c && c->function == ast::Function::Apply)
      return combine(*c, expr, out);
    refuse(expr.span, "the expression `" + ast::print(expr) + "`");
    return 0;
  }

  ValueId load(const Slice &from, const ast::Expr &expr, Block &out) {
    Block *block = &out;
    // Only what no statement writes, and only out of loops that are sure to run.
    if (program.buffers[from.buffer].direction == Direction::In)
      for (std::size_t depth = loops.size(); depth-- > sure && !from.index.uses(loops[depth].first);)
        block = loops[depth].second;
    const ValueId v = program.addValue(program.buffers[from.buffer].name, from.length);
    block->push_back(Load{v, from, expr.span.begin});
    return v;
  }

  ValueId poll(const ast::Mailbox &decl, Index slot, const ast::Expr &expr, Block &out) {
    const MailboxId box = boxes.at(&decl);
    if (!sentTo[box]) {
      diagnostics
          .error(DiagnosticKind::ReadWithoutArrival, expr.span,
                 "`" + decl.name.text + "` is read here before anything is sent to it")
          .help("write the send before the read");
      ok = false;
      return 0;
    }
    const ValueId v = program.addValue(decl.name.text, received(box, slot));
    out.push_back(Poll{v, box, slot, kNone, expr.span.begin});
    return v;
  }

  Length received(MailboxId box, const Index &slot) {
    const Length &length = program.mailboxes[box].length;
    return length.kind == Length::Kind::Piece ? slotPieces.standIn(box, slot) : length;
  }

  ValueId combine(const ast::Call &c, const ast::Expr &expr, Block &out) {
    if (c.args.size() != 2) return refuse(expr.span, "an operator applied to more than two values"), 0;
    Combine op{0, c.builtinOp, 0, 0, expr.span.begin};
    if (std::holds_alternative<const ast::Generic *>(c.op)) op.op = *program.op;
    if (op.op == ReduceOp::Avg) return refuse(expr.span, "operator `avg` of two values"), 0;
    if (program.order == "ascending" && isFloat(program.dtype) && sizeOf(program.dtype) < 4)
      return refuse(expr.span, "an operator that rounds, in `order ascending`"), 0;
    // A load goes out before a wait begins.
    const bool loadFirst = slice(*c.args[1]).has_value();
    if (loadFirst) op.b = value(*c.args[1], out);
    op.a = value(*c.args[0], out);
    if (!loadFirst) op.b = value(*c.args[1], out);
    if (!ok) return 0;
    if (!program.values[op.a].length.sameDomain(program.values[op.b].length))
      return refuse(expr.span, "an operator applied to vectors of different shape"), 0;
    op.result = program.addValue(std::string(keyword(op.op)), program.values[op.a].length);
    out.push_back(op);
    return op.result;
  }

  ValueId reduce(const ast::Reduce &r, const ast::Expr &expr, Block &out) {
    Reduce op{0, ReduceOp::Sum, r.variable.name.text, {}, 0, expr.span.begin};
    const auto &name = std::get<ast::NameRef>(r.op->node);
    if (std::holds_alternative<const ast::Generic *>(name.ref)) op.op = *program.op;
    else op.op = name.op;
    loops.emplace_back(op.variable, &out);
    op.yield = value(*r.body, op.body);
    loops.pop_back();
    if (!ok) return 0;
    if (op.body.size() != 1 || !std::holds_alternative<Poll>(op.body.front().op())) {
      refuse(r.body->span, "a reduction over anything but the slots of a mailbox");
      return 0;
    }
    const Poll &poll = std::get<Poll>(op.body.front().op());
    // All slots hold the same piece, so that of slot 0 is the result's: see resolvePieces.
    const Length length = received(poll.box, poll.slot.substitute(op.variable, Index()));
    if (length.kind == Length::Kind::Piece) reductions[op.yield] = {op.variable, expr.span};
    op.result = program.addValue(program.mailboxes[poll.box].name, length);
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
  program.order = member.algorithm->order == sema::Order::Fixed ? "fixed" : "ascending";
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
