#include "ir/Build.h"

#include "ir/BuildContract.h"

#include <utility>

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
  std::map<const ast::Let *, ValueId> lets;
  struct KnownLength {
    Index slot;
    bool oneSlot;
  };
  std::map<const ast::Mailbox *, KnownLength> boxLengths;
  std::vector<std::pair<std::string, Block *>> loops; ///< bound variable, and the block the loop stands in
  bool unconditional = true; ///< not inside `for` or `if`
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
    else if (mode == ast::SyncMode::Sentinel) box.sync = Sync::Sentinel;
    else if (mode == ast::SyncMode::Flag) box.sync = Sync::Flag;
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
    const bool before = std::exchange(unconditional, false);
    loops.emplace_back(loop.variable, &out);
    for (const ast::Stmt &stmt : s.body) statement(stmt, loop.body);
    loops.pop_back();
    unconditional = before;
    if (ok && loop.first.value() <= loop.last.value()) out.push_back(std::move(loop));
  }

  void conditional(const ast::If &s, ast::Span span, Block &out) {
    auto condition = integer(*s.condition, program.ranks);
    if (!condition) return refuse(s.condition->span, "the condition `" + ast::print(*s.condition) + "`");
    If branch{*condition, {}, span.begin}, other{Index::negate(*condition), {}, span.begin};
    const bool before = std::exchange(unconditional, false);
    for (const ast::Stmt &stmt : s.then) statement(stmt, branch.body);
    for (const ast::Stmt &stmt : s.otherwise) statement(stmt, other.body);
    unconditional = before;
    if (!ok) return;
    if (!branch.body.empty()) out.push_back(std::move(branch));
    if (!other.body.empty()) out.push_back(std::move(other));
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
    if (auto length = receivedLength(op)) slotLength(*s.mailbox, op.box, op, *length, span);
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
      if (s.slot.kind() == Index::Kind::Variable) length.index = length.index.substitute(s.slot.name(), slot);
      if (!loopVariableIn(length.index)) return length;
    }
    return std::nullopt;
  }

  bool loopVariableIn(const Index &i) const {
    return llvm::any_of(loops, [&](const auto &loop) { return i.uses(loop.first); });
  }

  /// Several sends may fill a mailbox; for the slots that each fills, what they say of the length must be the same. The
  /// one whose slot is a variable says it for all.
  void slotLength(const ast::Mailbox &decl, MailboxId box, const Send &send, const Length &length, ast::Span where) {
    Mailbox &m = program.mailboxes[box];
    const bool one = send.slot.kind() == Index::Kind::Constant;
    auto known = boxLengths.find(&decl);
    if (known == boxLengths.end()) {
      boxLengths.emplace(&decl, KnownLength{send.slot, one});
      m.length = length;
      return;
    }
    const Index &only = one ? send.slot : known->second.slot;
    if (!sameLength(m.length, length, one || known->second.oneSlot ? std::optional(only.value()) : std::nullopt))
      return refuse(where, "a mailbox that sends of different length fill");
    if (!one) m.length = length, known->second = {send.slot, false};
  }

  /// Whether two lengths are the same on every receiver, for every slot or for one.
  bool sameLength(const Length &a, const Length &b, std::optional<std::int64_t> slot) const {
    if (!a.sameDomain(b)) return false;
    if (a.kind != Length::Kind::Piece) return true;
    for (std::int64_t me = 0; me < program.ranks; ++me)
      for (std::int64_t s = slot.value_or(0); s <= slot.value_or(program.ranks - 1); ++s) {
        const auto lookup = [&](llvm::StringRef name) -> std::optional<std::int64_t> { return name == "me" ? me : s; };
        if (a.index.evaluate(lookup) != b.index.evaluate(lookup)) return false;
      }
    return true;
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
    if (program.buffers[from.buffer].direction == Direction::In && unconditional)
      for (std::size_t depth = loops.size(); depth-- > 0 && !from.index.uses(loops[depth].first);)
        block = loops[depth].second;
    const ValueId v = program.addValue(program.buffers[from.buffer].name, from.length);
    block->push_back(Load{v, from, expr.span.begin});
    return v;
  }

  ValueId poll(const ast::Mailbox &decl, Index slot, const ast::Expr &expr, Block &out) {
    const MailboxId box = boxes.at(&decl);
    if (!boxLengths.count(&decl)) {
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

  ValueId combine(const ast::Call &c, const ast::Expr &expr, Block &out) {
    if (c.args.size() != 2) return refuse(expr.span, "an operator applied to more than two values"), 0;
    Combine op{0, c.builtinOp, 0, 0, expr.span.begin};
    if (std::holds_alternative<const ast::Generic *>(c.op)) op.op = *program.op;
    if (op.op == ReduceOp::Avg) return refuse(expr.span, "operator `avg`"), 0;
    if (program.order == "ascending" && isFloat(program.dtype) && sizeOf(program.dtype) < 4)
      return refuse(expr.span, "an operator that rounds, in `order ascending`"), 0;
    op.a = value(*c.args[0], out);
    op.b = value(*c.args[1], out);
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
