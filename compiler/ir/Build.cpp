#include "ir/Build.h"

#include "ir/Arithmetic.h"
#include "ir/BuildContract.h"
#include "ir/BuildCounts.h"
#include "ir/BuildWindow.h"
#include "ir/SlotPieces.h"
#include "sema/Walk.h"

#include <set>
#include <utility>

namespace coll::ir {
namespace {

using llvm::StringRef;

class Builder final : public ArithmeticSink {
public:
  Builder(const sema::Member &m, Program &p, DiagnosticEngine &d) : member(m), program(p), diagnostics(d), slotPieces(p) {}

  bool run() {
    const sema::Algorithm &algorithm = *member.algorithm;
    refuseWholeAlgorithm(algorithm);
    if (!ok) return false;
    program.body.push_back(KernelBoundary{KernelBoundary::Side::Entry, algorithm.decl->span.begin});
    findComputedWith(algorithm.decl->body);
    for (const ast::Stmt &stmt : algorithm.decl->body) {
      if (algorithm.hasPipeline && !standsBesidePipeline(stmt)) refuse(stmt.span, "a statement beside a `pipeline`");
      statement(stmt, program.body);
    }
    program.body.push_back(KernelBoundary{KernelBoundary::Side::Exit, algorithm.decl->span.begin});
    if (ok && program.chunks) checkChunks();
    if (ok) resolvePieces();
    if (ok) dropUnused();
    if (ok) checkCounts();
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
  std::string chunkVariable; ///< of the pipeline, empty outside
  std::size_t sure = 0; ///< the loops from this one on are sure to run where the statement does
  bool ok = true;
  std::map<const ast::Let *, ValueId> scales; ///< of what `quant` made
  std::set<const ast::Let *> computedWith;    ///< named in arithmetic somewhere
  std::set<ValueId> rows; ///< loads of one row, and what is computed of such alone, until it is known what they are rows of
  Block *block = nullptr; ///< where arithmetic goes

  // ---- Refusals ----

  void refuse(ast::Span where, const std::string &construct) override {
    if (ok) diagnostics.error(DiagnosticKind::NotLowered, where, construct + " cannot be lowered yet");
    ok = false;
  }

  void refuseWholeAlgorithm(const sema::Algorithm &a) {
    if (!a.hasPipeline) return;
    if (!a.windows.empty()) refuse(a.windows.front()->param.span, "a `window` beside a `pipeline`");
    if (a.order == sema::Order::Any) refuse(a.decl->order->span, "`order any` with a `pipeline`");
  }

  // ---- Statements ----

  void statement(const ast::Stmt &stmt, Block &out) {
    if (!ok) return;
    const SourceOffset where = stmt.span.begin;
    Block *before = std::exchange(block, &out);
    std::visit(
        Overloaded{
            [&](const ast::Mailbox &s) { mailbox(s, where); },
            [&](const ast::Window &s) { ok = ok && openWindow(s, member, program, diagnostics); },
            [&](const ast::ViewStmt &) {}, // resolved where it is used
            [&](const ast::Tune &) {},     // a space for the tuner, nothing the kernel does
            [&](const ast::Let &s) { let(s, stmt.span, out); },
            [&](const ast::Assign &s) { assign(s, where, out); },
            [&](const ast::Send &s) { send(s, stmt.span, out); },
            [&](const ast::Await &s) { await(s, stmt.span, out); },
            [&](const ast::Barrier &) { barrier(stmt.span, out); },
            [&](const ast::Forall &s) { forall(s, stmt.span, out); },
            [&](const ast::For &s) { forLoop(s, stmt.span, out); },
            [&](const ast::Pipeline &s) { pipeline(s, stmt.span, out); },
            [&](const ast::If &s) { conditional(s, stmt.span, out); },
        },
        stmt.node);
    block = before;
  }

  void mailbox(const ast::Mailbox &decl, SourceOffset where) {
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
    else refuse(decl.sync.span, "sync mode `" + std::string(ast::keyword(mode)) + "`");
    if (sema::instantiate(decl.type.element, program.dtype) != program.dtype)
      refuse(decl.name.span, "a mailbox of another element type");
    box.counted = decl.counted;
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
    if (from.spread != Spread::Element) return refuse(span, "a variable that is not a vector");
    const ValueId variable = program.addValue(s.name.text, from.length, from.dtype, from.spread);
    program.values[variable].variable = true;
    lets[&s] = variable;
    out.push_back(Assign{variable, v, span.begin});
  }

  void assign(const ast::Assign &s, SourceOffset where, Block &out) {
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

  // ---- Counts ----

  static bool isCount(const ast::Member &member) {
    const auto *builtin = std::get_if<ast::Builtin>(&member.ref);
    return builtin && *builtin == ast::Builtin::Count;
  }
  static const ast::Call *prefixIn(const ast::Expr &expr) {
    const auto *call = std::get_if<ast::Call>(&expr.node);
    return call && call->function == ast::Function::Prefix ? call : nullptr;
  }
  std::optional<Slice> element(const ast::Expr &expr) {
    if (ownerOf(expr)) return std::nullopt;
    return contractElement(program, expr, [&](const ast::Expr &e) { return index(e); });
  }

  /// `got[r] = box[r].count`
  void storeCount(const ast::Expr &target, const ast::Member &count, SourceOffset where, Block &out) {
    const auto to = element(target);
    if (!to || program.buffers[to->buffer].dtype != DType::U32) return refuse(target.span, "this place for a count");
    const ValueId v = value(*count.base, out);
    if (ok) out.push_back(StoreCount{*to, v, where});
  }

  /// `prefix(y[r], got[r]) = e`: as many elements as e has.
  void assignPrefix(const ast::Call &target, const ast::Assign &s, SourceOffset where, Block &out) {
    const auto to = slice(*target.args[0]);
    if (!to) return refuse(target.args[0]->span, "this target of an assignment");
    const ValueId v = value(*s.value, out);
    if (!ok) return;
    if (!program.values[v].count || !program.values[v].length.sameDomain(to->length))
      return refuse(s.value->span, "a change of shape");
    const auto *member = std::get_if<ast::Member>(&target.args[1]->node);
    const auto length = member ? std::nullopt : element(*target.args[1]);
    const bool same = member ? isCount(*member) && value(*member->base, out) == v
                             : length && isCountOf(program, out, *length, v);
    if (!same) return refuse(target.args[1]->span, "a prefix of another length than the value's");
    out.push_back(Store{*to, v, where});
  }

  /// `prefix(x[p], n[p])`: the begin of a part of an input, as long as a number of an input says.
  ValueId prefix(const ast::Call &call, const ast::Expr &expr, Block &out) {
    const auto from = slice(*call.args[0]);
    const auto length = element(*call.args[1]);
    if (!from || from->owner) return refuse(call.args[0]->span, "a prefix of this"), 0;
    if (!length || program.buffers[length->buffer].direction != Direction::In ||
        program.buffers[length->buffer].dtype != DType::U32)
      return refuse(call.args[1]->span, "a prefix of a length that is not an element of a `u32` input"), 0;
    if (program.buffers[from->buffer].direction != Direction::In || from->length.kind == Length::Kind::Piece)
      return refuse(call.args[0]->span, "a prefix of this"), 0;
    if (llvm::any_of(program.aliases, [&](const auto &pair) { return pair.first.buffer == length->buffer || pair.second.buffer == length->buffer; }))
      return refuse(call.args[1]->span, "counts that may lie where a result does"), 0;
    std::vector<std::string> &bound = program.buffers[length->buffer].bound;
    if (!bound.empty() && bound != from->length.extents) return refuse(expr.span, "counts of vectors of unlike length"), 0;
    bound = from->length.extents;
    const Buffer &buffer = program.buffers[from->buffer];
    const ValueId v = program.addValue(buffer.name, from->length, buffer.dtype, Spread::Element);
    program.values[v].count = Count{*length};
    return out.push_back(Load{v, *from, expr.span.begin}), v;
  }

  void checkCounts() {
    if (const auto found = besideCounts(program))
      refuse({std::uint32_t(found->where), std::uint32_t(found->where)}, found->construct);
  }

  /// Whether a target has one element for each row or group of a value that is constant there.
  static bool isPerRow(const Value &value, const Length &to) {
    if (value.spread != Spread::Row && value.spread != Spread::Group) return false;
    std::vector<std::string> extents = value.length.extents;
    extents.back() = value.spread == Spread::Row ? "1" : extents.back() + "/128";
    return to.extents == extents;
  }

  void barrier(ast::Span span, Block &out) {
    if (&out != &program.body) return refuse(span, "a `barrier` inside a loop or an `if`");
    out.push_back(Barrier{program.barriers++, span.begin});
  }

  void forall(const ast::Forall &s, ast::Span span, Block &out) {
    ForRanks loop{s.variable.name.text, {}, span.begin}; // `from` is a hint on order; the order is free
    loops.emplace_back(loop.variable, &out);
    for (const ast::Stmt &stmt : s.body) statement(stmt, loop.body);
    loops.pop_back();
    if (ok && !awaitsAlone(loop))
      return refuse(span, "a loop over `ranks` with an `await` that is not its only statement and of its own number");
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

  static bool standsBesidePipeline(const ast::Stmt &stmt) {
    return std::holds_alternative<ast::Mailbox>(stmt.node) || std::holds_alternative<ast::ViewStmt>(stmt.node) ||
           std::holds_alternative<ast::Tune>(stmt.node) || std::holds_alternative<ast::Pipeline>(stmt.node);
  }

  void pipeline(const ast::Pipeline &s, ast::Span span, Block &out) {
    if (program.chunks) return refuse(span, "a second `pipeline`");
    const auto v = slice(*s.vector);
    if (!v) return refuse(s.vector->span, "chunks of `" + ast::print(*s.vector) + "`");
    program.chunks = Chunks{v->length, s.chunkBytes / sizeOf(program.dtype), span.begin};
    program.chunks->of.index = Index();
    chunkVariable = s.variable.name.text;
    for (const ast::Stmt &stmt : s.body) statement(stmt, out);
  }

  /// All vectors are as long as the one that the chunks are of, so that they have the same chunks.
  void checkChunks() {
    walk(program.body, [&](const Stmt &stmt) {
      const auto *store = std::get_if<Store>(&stmt.op());
      const ValueId v = resultOf(stmt);
      const Length *length = store ? &store->to.length : v != kNone ? &program.values[v].length : nullptr;
      if (!length || length->sameDomain(program.chunks->of)) return;
      const auto at = std::uint32_t(match(stmt, [](const auto &s) -> SourceOffset { return s.where; }));
      refuse({at, at}, "a vector of another length than those that a `pipeline` goes over");
    });
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

  static constexpr const char *kAll = "all"; ///< the variable of a multicast's loop: no name of the author's

  void send(const ast::Send &s, ast::Span span, Block &out) {
    if (s.window) return push(s, span, out);
    Send op;
    op.box = boxes.at(s.mailbox);
    op.where = span.begin;
    op.multicast = !s.rank;
    op.peer = s.rank ? index(*s.rank) : Index::variable(kAll);
    op.slot = s.indices.empty() ? Index() : index(*s.indices.front());
    op.value = converted(value(*s.value, out), program.dtype, s.value->span, out);
    if (!ok) return;
    if (program.values[op.value].spread != Spread::Element) return refuse(s.value->span, "a send of what is constant along a row");
    Mailbox &box = program.mailboxes[op.box];
    if (box.counted && !program.values[op.value].count) return refuse(s.value->span, "a whole vector for a `counted` mailbox");
    if (!box.counted && program.values[op.value].count) return refuse(s.value->span, "a prefix for a mailbox that is not `counted`");
    const Length &length = program.values[op.value].length;
    if (sentTo[op.box] && !box.length.sameDomain(length))
      return refuse(span, "a mailbox that sends of different length fill");
    if (!sentTo[op.box]) box.length = length;
    sentTo[op.box] = true;
    if (op.multicast && program.mailboxes[op.box].counted) return refuse(span, "a multicast of as many elements as a number says");
    if (op.multicast) return multicast(std::move(op), span, out);
    out.push_back(std::move(op));
  }

  /// The same for every rank: a loop that the emitter has one instruction for.
  static void multicast(Stmt stmt, ast::Span span, Block &out) {
    ForRanks all{kAll, {}, span.begin};
    all.body.push_back(std::move(stmt));
    out.push_back(std::move(all));
  }

  /// A send into a window is a store in the peer's memory.
  void push(const ast::Send &s, ast::Span span, Block &out) {
    auto to = slice(*s.target);
    if (!to) return refuse(s.target->span, "this target of a send");
    const ValueId v = value(*s.value, out);
    if (!ok) return;
    if (!program.values[v].length.sameDomain(to->length)) return refuse(s.value->span, "a change of shape");
    Store store{*to, v, span.begin};
    if (s.rank) return out.push_back(store);
    store.multicast = true;
    multicast(store, span, out);
  }

  void await(const ast::Await &s, ast::Span span, Block &out) {
    auto place = slice(*s.place);
    const MailboxId flags = place ? program.buffers[place->buffer].flags : kNone;
    if (flags == kNone) return refuse(span, "this `await`");
    if (ok) out.push_back(Await{flags, place->index, span.begin});
  }

  static bool awaitsAlone(const ForRanks &loop) {
    bool awaits = false;
    walk(loop.body, [&](const Stmt &s) { awaits |= std::holds_alternative<Await>(s.op()); });
    const auto *only = loop.body.size() == 1 ? std::get_if<Await>(&loop.body.front().op()) : nullptr;
    return !awaits || (only && only->slot.isVariable(loop.variable));
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
    for (Buffer &b : program.buffers)
      if (b.flags != kNone) b.flags = numbers[b.flags];
    program.mailboxes = std::move(used);
  }

  // ---- Values ----

  /// The vector an expression stands for. Loads that no loop variable enters are made outside the loops. A reduction is
  /// rounded to the element type, unless it is `wide`.
  ValueId value(const ast::Expr &expr, Block &out, bool wide = false) {
    if (!ok) return 0;
    if (isArithmetic(expr)) {
      Block *before = std::exchange(block, &out);
      const ValueId v = Arithmetic(*this, program.dtype).value(expr);
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
    refuse(expr.span, "the expression `" + ast::print(expr) + "`");
    return 0;
  }

  static bool uses(const Slice &slice, llvm::StringRef variable) {
    return slice.index.uses(variable) || (slice.owner && slice.owner->uses(variable));
  }

  /// What arithmetic has loaded before it need not load again.
  ValueId load(const Slice &from, const ast::Expr &expr, Block &out, bool arithmetic) {
    Block *block = &out;
    // Only what no statement writes, and only out of loops that are sure to run.
    if (program.buffers[from.buffer].direction == Direction::In)
      for (std::size_t depth = loops.size(); depth-- > sure && !uses(from, loops[depth].first);)
        block = loops[depth].second;
    const Buffer &buffer = program.buffers[from.buffer];
    if (arithmetic && buffer.direction == Direction::In)
      for (const Stmt &s : *block)
        if (const auto *same = std::get_if<Load>(&s.op()); same && same->from == from && !same->everyRow) return same->result;
    const ValueId v = program.addValue(buffer.name, from.length, buffer.dtype, Spread::Element);
    if (from.length.kind == Length::Kind::Whole && from.length.extents.size() == 1) rows.insert(v);
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
    if (const ValueId known = decl.counted ? polledIn(out, box, slot) : kNone; known != kNone) return known;
    const ValueId v = program.addValue(decl.name.text, received(box, slot));
    if (decl.counted) program.values[v].count = Count{{}, box, slot};
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
    if (typeOf(op.a) != program.dtype || typeOf(op.b) != program.dtype)
      return refuse(expr.span, "an operator of the vector's type on what arithmetic computes"), 0;
    if (!program.values[op.a].length.sameDomain(program.values[op.b].length))
      return refuse(expr.span, "an operator applied to vectors of different shape"), 0;
    op.result = program.addValue(std::string(keyword(op.op)), program.values[op.a].length);
    out.push_back(op);
    return op.result;
  }

  ValueId reduce(const ast::Reduce &r, const ast::Expr &expr, Block &out, bool wide) {
    Reduce op{0, ReduceOp::Sum, r.variable.name.text, {}, 0, expr.span.begin};
    const auto &name = std::get<ast::NameRef>(r.op->node);
    if (std::holds_alternative<const ast::Generic *>(name.ref)) op.op = *program.op;
    else op.op = name.op;
    loops.emplace_back(op.variable, &out);
    op.yield = value(*r.body, op.body);
    loops.pop_back();
    if (!ok) return 0;
    if (op.body.size() != 1 || !contributes(op.body.front())) {
      refuse(r.body->span, "a reduction over anything but the slots of a mailbox and what peers have in a window");
      return 0;
    }
    const auto *poll = std::get_if<Poll>(&op.body.front().op());
    op.multicast = isAll(*r.set);
    if (op.multicast && !readsOnePlace(op)) {
      refuse(r.body->span, "a reduction over `all` of anything but one place of a window");
      return 0;
    }
    // All slots hold the same piece, so that of slot 0 is the result's: see resolvePieces.
    const Length length =
        poll ? received(poll->box, poll->slot.substitute(op.variable, Index())) : program.values[op.yield].length;
    if (length.index.uses(op.variable)) return refuse(expr.span, "a reduction over pieces of different number"), 0;
    if (poll && length.kind == Length::Kind::Piece) reductions[op.yield] = {op.variable, expr.span};
    const bool narrow = isFloat(program.dtype) && sizeOf(program.dtype) < 4;
    if (wide && narrow && !poll) return refuse(expr.span, "arithmetic on a reduction of a window"), 0;
    op.result = program.addValue(program.values[op.yield].name, length, wide && narrow ? DType::F32 : program.dtype,
                                 Spread::Element);
    const ValueId result = op.result;
    out.push_back(std::move(op));
    return result;
  }

  static bool readsOnePlace(const Reduce &reduce) {
    const auto *load = std::get_if<Load>(&reduce.body.front().op());
    return load && load->from.owner->isVariable(reduce.variable) && !load->from.index.uses(reduce.variable);
  }

  // ---- Arithmetic ----

  int operand(const ast::Expr &expr) override { return value(expr, *block, true); }

  int scaleOf(const ast::Let &quantised, ast::Span where) override {
    auto scale = scales.find(&quantised);
    if (scale == scales.end()) return refuse(where, "this `.scale`"), 0;
    return scale->second;
  }

  int constant(double value, ast::Span where) override {
    const ValueId v = program.addValue("", {}, DType::F32, Spread::Everywhere);
    return block->push_back(Constant{v, value, where.begin}), v;
  }

  int argument(const std::string &scalar, ast::Span where) override {
    const ValueId v = program.addValue("", {}, DType::F32, Spread::Everywhere);
    return block->push_back(Argument{v, scalar, where.begin}), v;
  }

  int map(Function function, int a, int b, DType type, ast::Span where) override {
    if (!ok) return 0;
    if (b != kNone) align(a, b, where);
    const Value &x = program.values[a], &y = program.values[b == kNone ? a : b];
    const Length length = x.spread == Spread::Everywhere ? y.length : x.length;
    const ValueId v = program.addValue("", length, type, std::min(x.spread, y.spread));
    const auto isRow = [&](ValueId o) { return rows.count(o) || program.values[o].spread == Spread::Everywhere; };
    if (isRow(a) && (b == kNone || isRow(b)) && program.values[v].spread != Spread::Everywhere) rows.insert(v);
    return block->push_back(Map{v, function, a, b, where.begin}), v;
  }

  int rowReduce(RowOp op, int value, unsigned group, ast::Span where) override {
    if (!ok) return 0;
    const Value &of = program.values[value];
    if (of.spread != Spread::Element) return refuse(where, "a reduction of what is constant along a row"), 0;
    if (of.length.kind == Length::Kind::Piece) return refuse(where, "a row reduction of a piece"), 0;
    rows.clear(); // a vector that is reduced is no row of another
    const ValueId v = program.addValue("", of.length, DType::F32, group ? Spread::Group : Spread::Row);
    return block->push_back(RowReduce{v, op, value, group, where.begin}), v;
  }

  DType typeOf(int value) const override { return program.values[value].dtype; }

  ValueId quantise(const ast::Let &let, const ast::Call &call, Block &out) {
    Block *before = std::exchange(block, &out);
    const Arithmetic::Quantised q = Arithmetic(*this, program.dtype).quantise(call, let.value->span);
    block = before;
    scales[&let] = q.scale;
    return q.value;
  }

  /// A value as a place takes it: what was accumulated in f32 rounds when it is stored.
  ValueId converted(ValueId v, DType type, ast::Span where, Block &out) {
    if (!ok || program.values[v].dtype == type) return v;
    Block *before = std::exchange(block, &out);
    v = map(Function::Convert, v, kNone, type, where);
    block = before;
    return v;
  }

  /// Two operands go element by element: a row beside a matrix stands for all its rows.
  void align(ValueId a, ValueId b, ast::Span where) {
    const Value &x = program.values[a], &y = program.values[b];
    if (x.spread == Spread::Everywhere || y.spread == Spread::Everywhere || x.length.sameDomain(y.length)) return;
    const bool firstIsRow = rows.count(a);
    if (!firstIsRow && !rows.count(b)) return refuse(where, "vectors of different shape");
    const Length length = firstIsRow ? y.length : x.length;
    stretchRows(length, where);
  }

  void stretchRows(const Length &length, ast::Span where) {
    if (length.extents.size() < 2) return rows.clear();
    std::vector<Block *> blocks{&program.body, block};
    for (const auto &loop : loops) blocks.push_back(loop.second);
    for (ValueId v : rows) {
      if (program.values[v].length.extents.front() != length.extents.back())
        return refuse(where, "vectors of different shape");
      if (length.kind == Length::Kind::Piece) return refuse(where, "a row beside a piece of a matrix");
      program.values[v].length = length;
      for (Block *b : blocks)
        for (Stmt &s : *b)
          if (auto *load = std::get_if<Load>(&s.op()); load && load->result == v) load->everyRow = true;
    }
    rows.clear();
  }

  /// The names that arithmetic computes with: what they stand for is not rounded before.
  void findComputedWith(const ast::Block &stmts) {
    const auto names = [&](const ast::Expr &expr) {
      sema::forEach(expr, [&](const ast::Expr &part) {
        if (!isArithmetic(part)) return true;
        sema::forEach(part, [&](const ast::Expr &inner) {
          const auto *name = std::get_if<ast::NameRef>(&inner.node);
          if (const auto *let = name ? std::get_if<const ast::Let *>(&name->ref) : nullptr) computedWith.insert(*let);
          return true;
        });
        return false;
      });
    };
    for (const ast::Stmt &stmt : stmts) {
      if (const auto *s = std::get_if<ast::Let>(&stmt.node)) names(*s->value);
      if (const auto *s = std::get_if<ast::Assign>(&stmt.node)) names(*s->value);
      if (const auto *s = std::get_if<ast::Send>(&stmt.node)) names(*s->value);
      if (const auto *s = std::get_if<ast::Forall>(&stmt.node)) findComputedWith(s->body);
      if (const auto *s = std::get_if<ast::For>(&stmt.node)) findComputedWith(s->body);
      if (const auto *s = std::get_if<ast::If>(&stmt.node)) findComputedWith(s->then), findComputedWith(s->otherwise);
    }
  }

  static bool contributes(const Stmt &stmt) {
    const auto *load = std::get_if<Load>(&stmt.op());
    return std::holds_alternative<Poll>(stmt.op()) || (load && load->from.owner);
  }

  // ---- Places and indices ----

  static bool isAll(const ast::Expr &expr) {
    const auto *name = std::get_if<ast::NameRef>(&expr.node);
    const auto *builtin = name ? std::get_if<ast::Builtin>(&name->ref) : nullptr;
    return builtin && *builtin == ast::Builtin::All;
  }

  bool usesChunk(const Index &i) const { return !chunkVariable.empty() && i.uses(chunkVariable); }

  /// The part of an argument that an expression names; empty if it names none.
  std::optional<Slice> slice(const ast::Expr &expr) {
    auto part = contractSlice(program, expr, [&](const ast::Expr &e) { return index(e); });
    if (const ast::Expr *owner = ownerOf(expr); part && owner)
      part->owner = isAll(*owner) ? Index::variable(kAll) : index(*owner);
    return part;
  }

  Index index(const ast::Expr &expr) {
    auto i = integer(expr, program.ranks);
    if (i && usesChunk(*i)) refuse(expr.span, "the number of a chunk in an index");
    if (i) return *i;
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
  static constexpr const char *orders[] = {"ascending", "fixed", "any"};
  program.order = orders[int(member.algorithm->order)];
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
