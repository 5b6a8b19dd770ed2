#include "passes/Passes.h"

#include "passes/SplitRankLoops.h"
#include "passes/Traffic.h"

#include <utility>

namespace coll::passes {

using namespace ir;

namespace {

class Expander {
public:
  Expander(Program &p, Context &c) : program(p), context(c) {}

  bool run() {
    if (!expand(program.body)) return false;
    numberBarriers(program);
    clearSlots();
    return true;
  }

private:
  Program &program;
  Context &context;
  Block out;          ///< the block that is being rewritten, as far as it has been
  Block signals;      ///< what is to be announced before the next wait
  BoxSet unannounced; ///< `barrier` boxes sent to since the last barrier
  const If *divides = nullptr; ///< the innermost `if` around that some ranks may not enter

  /// Rewrites a block. Sends of `flag` are announced together, before whatever waits next or the kernel ends: what follows a
  /// send and does not wait can then share its packet loop.
  bool expand(Block &block) {
    const Block before = std::exchange(out, {});
    splitRankLoops(program, block);
    for (Stmt &stmt : block) {
      const Traffic traffic = trafficOf(program, stmt);
      if (std::holds_alternative<Barrier>(stmt.op())) unannounced.clear();
      if (waits(stmt) || std::holds_alternative<KernelBoundary>(stmt.op())) announceAll();
      if (isContainer(stmt) && waits(stmt)) {
        if (!expandContainer(stmt, traffic)) return false;
        out.push_back(std::move(stmt));
        continue;
      }
      for (MailboxId box : traffic.polled)
        if (!arrive(stmt, box)) return false;
      pollsToReads(stmt);
      out.push_back(std::move(stmt));
      for (MailboxId box : traffic.sent) announce(box);
    }
    announceAll();
    block = std::exchange(out, before);
    return true;
  }

  /// A loop or a condition, with what its own sends leave unannounced behind it.
  bool expandContainer(Stmt &stmt, const Traffic &traffic) {
    auto *branch = std::get_if<If>(&stmt.op());
    // What it reads and was sent before arrives before it, for then all ranks are there.
    if (branch && !divides)
      for (MailboxId box : traffic.polled)
        if (unannounced.count(box)) meet(branch->where);
    const BoxSet before = unannounced;
    if (!branch) unannounced = afterIterations(*bodyOf(stmt), before);
    const If *around = divides;
    if (branch && branch->condition.uses("me")) divides = branch;
    if (!expand(*bodyOf(stmt))) return false;
    divides = around;
    if (branch) unannounced.insert(before.begin(), before.end());
    return true;
  }

  /// What may be unannounced when an iteration of a loop begins.
  BoxSet afterIterations(Block &body, BoxSet before) const {
    BoxSet after = before;
    follow(body, after);
    after.insert(before.begin(), before.end());
    BoxSet again = after;
    follow(body, again);
    after.insert(again.begin(), again.end());
    return after;
  }

  /// Of a block that is not expanded yet: what it leaves unannounced.
  void follow(Block &block, BoxSet &boxes) const {
    for (Stmt &stmt : block) {
      if (std::holds_alternative<Barrier>(stmt.op())) boxes.clear();
      const Traffic traffic = trafficOf(program, stmt);
      if (isContainer(stmt)) {
        BoxSet inside = boxes;
        follow(*bodyOf(stmt), inside);
        boxes.insert(inside.begin(), inside.end());
        continue;
      }
      for (MailboxId box : traffic.polled)
        if (boxes.count(box)) boxes.clear();
      for (MailboxId box : traffic.sent)
        if (program.mailboxes[box].sync == Sync::Barrier) boxes.insert(box);
    }
  }

  void meet(SourceOffset where) {
    out.push_back(Barrier{Index(), where});
    unannounced.clear();
  }

  void announceAll() {
    for (Stmt &signal : signals) out.push_back(std::move(signal));
    signals.clear();
  }

  static bool isContainer(const Stmt &stmt) {
    return std::holds_alternative<For>(stmt.op()) || std::holds_alternative<If>(stmt.op());
  }

  static bool waits(Stmt &stmt) {
    bool found = false;
    each(stmt, [&](Stmt &s) {
      found |= std::holds_alternative<Poll>(s.op()) || std::holds_alternative<Await>(s.op()) ||
               std::holds_alternative<Barrier>(s.op());
    });
    return found;
  }

  template <class Visit>
  static void each(Stmt &stmt, Visit visit) {
    visit(stmt);
    if (Block *body = bodyOf(stmt)) walk(*body, visit);
  }

  bool refuseDivided(SourceOffset where, MailboxId box) {
    const auto at = std::uint32_t(where), condition = std::uint32_t(divides->where);
    context.diagnostics
        .error(DiagnosticKind::MissingBarrier, {at, at},
               "`" + program.mailboxes[box].name + "` is sent to and read under one `if`, and the barrier between the two is "
               "for all ranks")
        .note({condition, condition}, "not all ranks enter this `if`")
        .help("write two `if`, one that sends and one that reads");
    return false;
  }

  /// What stands before a statement that reads a box: a team barrier, or waits for the flags of the slots it reads.
  bool arrive(Stmt &stmt, MailboxId box) {
    SourceOffset where = 0;
    Index slot;
    each(stmt, [&](Stmt &s) {
      if (const auto *poll = std::get_if<Poll>(&s.op()); poll && poll->box == box) where = poll->where, slot = poll->slot;
    });
    if (program.mailboxes[box].sync == Sync::Barrier) {
      if (!unannounced.count(box)) return true;
      if (divides) return refuseDivided(where, box);
      return meet(where), true;
    }
    if (std::holds_alternative<Poll>(stmt.op())) return await(Await{box, slot, where}), true;
    Block waits;
    awaits(stmt, box, waits);
    for (Stmt &wait : waits) out.push_back(std::move(wait));
    return true;
  }

  /// The waits for all that a statement reads of a box, under the same loops and conditions.
  static void awaits(const Stmt &stmt, MailboxId box, Block &to) {
    if (const auto *poll = std::get_if<Poll>(&stmt.op()); poll && poll->box == box) to.push_back(Await{box, poll->slot, poll->where});
    const Block *body = bodyOf(stmt);
    if (!body) return;
    Block inner;
    for (const Stmt &s : *body) awaits(s, box, inner);
    if (inner.empty()) return;
    if (const std::string variable = rankVariable(stmt); !variable.empty()) {
      const SourceOffset where = match(inner.front(), [](const auto &s) -> SourceOffset { return s.where; });
      to.push_back(ForRanks{variable, std::move(inner), where});
    }
    if (const auto *loop = std::get_if<For>(&stmt.op()))
      to.push_back(For{loop->variable, loop->first, loop->last, std::move(inner), loop->where});
    if (const auto *branch = std::get_if<If>(&stmt.op())) to.push_back(If{branch->condition, std::move(inner), branch->where});
  }

  /// Waits ahead of the loads just before, which then share the packet loop of what is waited for.
  void await(const Await &await) {
    auto at = out.end();
    while (at != out.begin() && std::holds_alternative<Load>(std::prev(at)->op())) --at;
    out.insert(at, await);
  }

  /// The loop variable over all ranks that a statement consists of.
  static std::string rankVariable(const Stmt &stmt) {
    if (const auto *loop = std::get_if<ForRanks>(&stmt.op())) return loop->variable;
    if (const auto *loop = std::get_if<Reduce>(&stmt.op())) return loop->variable;
    return {};
  }

  /// Notes what the statement just put out, which sends to a box, leaves to be announced.
  void announce(MailboxId box) {
    if (program.mailboxes[box].sync == Sync::Barrier) unannounced.insert(box);
    else announce(out.back(), box, signals);
  }

  /// The signals of a statement's sends to a box, under the same loops and conditions.
  void announce(const Stmt &stmt, MailboxId box, Block &to) {
    if (const auto *send = std::get_if<Send>(&stmt.op()); send && send->box == box)
      to.push_back(Signal{box, send->peer, send->slot, send->where});
    if (const auto *store = std::get_if<Store>(&stmt.op()); store && flagsOf(program, *store) == box)
      to.push_back(Signal{box, *store->to.owner, store->to.index, store->where});
    const Block *body = bodyOf(stmt);
    if (!body) return;
    Block inner;
    for (const Stmt &s : *body) announce(s, box, inner);
    if (inner.empty()) return;
    if (const auto *loop = std::get_if<ForRanks>(&stmt.op())) announceToRanks(*loop, std::move(inner), to);
    if (const auto *loop = std::get_if<For>(&stmt.op()))
      to.push_back(For{loop->variable, loop->first, loop->last, std::move(inner), loop->where});
    if (const auto *branch = std::get_if<If>(&stmt.op()))
      to.push_back(If{branch->condition, std::move(inner), branch->where});
  }

  /// The device headers raise one word of every rank at a time.
  static void announceToRanks(const ForRanks &loop, Block signals, Block &to) {
    const auto isSignal = [](const Stmt &s) { return std::holds_alternative<Signal>(s.op()); };
    if (!llvm::all_of(signals, isSignal)) return to.push_back(ForRanks{loop.variable, std::move(signals), loop.where});
    for (Stmt &signal : signals) {
      const SourceOffset where = std::get<Signal>(signal.op()).where;
      to.push_back(ForRanks{loop.variable, {std::move(signal)}, where});
    }
  }

  void pollsToReads(Stmt &stmt) {
    each(stmt, [&](Stmt &s) {
      if (auto *poll = std::get_if<Poll>(&s.op()); poll && isPlain(program, poll->box))
        s = Read{poll->result, poll->box, poll->slot, poll->own, poll->where};
    });
  }

  /// The mailbox whose slot is empty before it is sent to, if a statement reads one.
  MailboxId emptied(const Stmt &stmt) const {
    MailboxId box = kNone;
    if (const auto *poll = std::get_if<Poll>(&stmt.op())) box = poll->box;
    if (const auto *read = std::get_if<Read>(&stmt.op())) box = read->box;
    if (box == kNone) return kNone;
    const Sync sync = program.mailboxes[box].sync;
    return sync == Sync::Sentinel || adds(sync) ? box : kNone;
  }

  /// A slot of a `sentinel` or `counter` mailbox is emptied right after its only read; that a rank reads no slot twice, the
  /// checker sees.
  void clearSlots() {
    for (Mailbox &box : program.mailboxes) box.canonical = box.sync == Sync::Sentinel;
    clearIn(program.body);
  }

  void clearIn(Block &block) {
    Block cleared;
    for (Stmt &stmt : block) {
      if (Block *body = bodyOf(stmt)) clearIn(*body);
      const MailboxId box = emptied(stmt);
      Clear clear{box, Index(), 0};
      if (const auto *poll = std::get_if<Poll>(&stmt.op())) clear.slot = poll->slot, clear.where = poll->where;
      if (const auto *read = std::get_if<Read>(&stmt.op())) clear.slot = read->slot, clear.where = read->where;
      cleared.push_back(std::move(stmt));
      if (box != kNone) cleared.push_back(clear);
    }
    block = std::move(cleared);
  }
};

} // namespace

bool expandSyncModes(Program &program, Context &context) { return Expander(program, context).run(); }

} // namespace coll::passes
