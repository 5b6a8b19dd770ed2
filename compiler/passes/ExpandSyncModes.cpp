#include "passes/Passes.h"

#include "llvm/ADT/SmallSet.h"

namespace coll::passes {

using namespace ir;

namespace {

using BoxSet = llvm::SmallSet<MailboxId, 4>;

class Expander {
public:
  Expander(Program &p, Context &c) : program(p), context(c) {}

  bool run() {
    for (Stmt &stmt : program.body) {
      const Traffic traffic = trafficOf(stmt);
      if (std::holds_alternative<Barrier>(stmt.op())) unannounced.clear();
      for (MailboxId box : traffic.polled)
        if (!arrive(stmt, box, traffic)) return false;
      pollsToReads(stmt);
      out.push_back(std::move(stmt));
      for (MailboxId box : traffic.sent)
        if (!announce(box)) return false;
    }
    program.body = std::move(out);
    program.barriers = 0;
    for (Stmt &stmt : program.body)
      if (auto *barrier = std::get_if<Barrier>(&stmt.op())) barrier->number = program.barriers++;
    return clearSentinels();
  }

private:
  Program &program;
  Context &context;
  Block out;
  BoxSet unannounced; ///< `barrier` boxes sent to since the last barrier

  /// The mailboxes of the modes whose data does not say itself that it is there.
  struct Traffic {
    BoxSet sent, polled;
  };

  bool plain(MailboxId box) const {
    const Sync sync = program.mailboxes[box].sync;
    return sync == Sync::Barrier || sync == Sync::Flag;
  }

  template <class Visit>
  static void each(Stmt &stmt, Visit visit) {
    visit(stmt);
    if (Block *body = bodyOf(stmt)) walk(*body, visit);
  }

  Traffic trafficOf(Stmt &stmt) const {
    Traffic traffic;
    each(stmt, [&](Stmt &s) {
      if (const auto *send = std::get_if<Send>(&s.op()); send && plain(send->box)) traffic.sent.insert(send->box);
      if (const auto *poll = std::get_if<Poll>(&s.op()); poll && plain(poll->box)) traffic.polled.insert(poll->box);
    });
    return traffic;
  }

  bool refuse(SourceOffset where, const std::string &what) {
    const auto at = std::uint32_t(where);
    context.diagnostics.error(DiagnosticKind::NotLowered, {at, at}, what + " cannot be lowered yet");
    return false;
  }

  /// What stands before a statement that reads a box: a team barrier, or waits for the flags of the slots it reads.
  bool arrive(Stmt &stmt, MailboxId box, const Traffic &traffic) {
    SourceOffset where = 0;
    Index slot;
    each(stmt, [&](Stmt &s) {
      if (const auto *poll = std::get_if<Poll>(&s.op()); poll && poll->box == box) where = poll->where, slot = poll->slot;
    });
    const std::string mode = keyword(program.mailboxes[box].sync).str();
    if (traffic.sent.count(box))
      return refuse(where, "a `sync " + mode + "` mailbox that one loop both sends to and reads");
    if (program.mailboxes[box].sync == Sync::Barrier) {
      if (!unannounced.count(box)) return true;
      out.push_back(Barrier{0, where});
      unannounced.clear();
      return true;
    }
    const std::string variable = rankVariable(stmt);
    if (variable.empty() || !slot.isVariable(variable))
      return refuse(where, "a `sync flag` mailbox that is not read slot by slot over all ranks");
    ForRanks all{variable, {}, where};
    all.body.push_back(Await{box, slot, where});
    out.push_back(std::move(all));
    return true;
  }

  /// The loop variable over all ranks that a statement consists of.
  static std::string rankVariable(const Stmt &stmt) {
    if (const auto *loop = std::get_if<ForRanks>(&stmt.op())) return loop->variable;
    if (const auto *loop = std::get_if<Reduce>(&stmt.op())) return loop->variable;
    return {};
  }

  /// What stands behind the statement just put out, which sends to a box.
  bool announce(MailboxId box) {
    if (program.mailboxes[box].sync == Sync::Barrier) return unannounced.insert(box), true;
    Stmt &stmt = out.back();
    std::optional<Signal> signal;
    bool several = false;
    each(stmt, [&](Stmt &s) {
      const auto *send = std::get_if<Send>(&s.op());
      if (!send || send->box != box) return;
      several |= signal.has_value();
      signal = Signal{box, send->peer, send->slot, send->where};
    });
    // Then a rank's own slot is its own doing, and its flag need not be raised.
    const std::string variable = rankVariable(stmt);
    if (several || variable.empty() || !signal->peer.isVariable(variable) || !signal->slot.isVariable("me"))
      return refuse(signal->where, "a `sync flag` mailbox that is filled otherwise than by one send to slot `me` of every rank");
    ForRanks all{variable, {}, signal->where};
    all.body.push_back(*signal);
    out.push_back(std::move(all));
    return true;
  }

  void pollsToReads(Stmt &stmt) {
    each(stmt, [&](Stmt &s) {
      if (auto *poll = std::get_if<Poll>(&s.op()); poll && plain(poll->box))
        s = Read{poll->result, poll->box, poll->slot, poll->own, poll->where};
    });
  }

  /// A slot of a `sentinel` mailbox is emptied right after its only read.
  bool clearSentinels() {
    std::vector<int> polls(program.mailboxes.size());
    walk(program.body, [&](Stmt &s) {
      if (const auto *poll = std::get_if<Poll>(&s.op())) ++polls[poll->box];
    });
    for (std::size_t box = 0; box < polls.size(); ++box)
      if (program.mailboxes[box].sync == Sync::Sentinel && polls[box] > 1)
        return refuse(program.mailboxes[box].where, "a `sync sentinel` mailbox that is read in several places");
    clearIn(program.body);
    return true;
  }

  void clearIn(Block &block) {
    Block cleared;
    for (Stmt &stmt : block) {
      if (Block *body = bodyOf(stmt)) clearIn(*body);
      const auto *poll = std::get_if<Poll>(&stmt.op());
      const bool sentinel = poll && program.mailboxes[poll->box].sync == Sync::Sentinel;
      const Clear clear = sentinel ? Clear{poll->box, poll->slot, poll->where} : Clear{};
      cleared.push_back(std::move(stmt));
      if (sentinel) cleared.push_back(clear);
    }
    block = std::move(cleared);
  }
};

} // namespace

bool expandSyncModes(Program &program, Context &context) { return Expander(program, context).run(); }

} // namespace coll::passes
