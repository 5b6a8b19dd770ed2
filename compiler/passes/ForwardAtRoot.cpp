#include "passes/Passes.h"

namespace coll::passes {

using namespace ir;

namespace {

/// `x -> root.box[me]`, and `if me == root` a loop over all slots: how a mailbox is used, as far as this matters.
struct Use {
  Send *send = nullptr;
  const PacketLoop *loop = nullptr; ///< of the send
  int sends = 0;
  bool good = true;
  std::vector<Stmt *> reads;
};

class Rooted {
public:
  explicit Rooted(Program &p) : program(p), uses(p.mailboxes.size()) {}

  void run() {
    for (Stmt &stmt : program.body) {
      if (auto *loop = std::get_if<PacketLoop>(&stmt.op())) {
        for (Stmt &inner : loop->body) collectSend(inner, *loop);
        for (Stmt &inner : loop->body) collectReads(inner, *loop);
      } else if (Block *body = bodyOf(stmt)) {
        exclude(*body);
      }
    }
    for (Use &use : uses)
      if (use.sends == 1 && use.send && use.good && !use.reads.empty()) keep(use);
  }

private:
  Program &program;
  std::vector<Use> uses;

  void collectSend(Stmt &stmt, const PacketLoop &loop) {
    if (auto *send = std::get_if<Send>(&stmt.op())) {
      Use &use = uses[send->box];
      ++use.sends;
      use.good &= !program.mailboxes[send->box].counted && program.mailboxes[send->box].spread == Spread::Element && send->own == kNone && send->slot.isVariable("me") && !send->peer.uses("me") &&
                  !program.values[send->value].variable;
      use.send = send, use.loop = &loop;
    } else if (Block *body = bodyOf(stmt)) {
      walk(*body, [&](Stmt &s) {
        if (const auto *inner = std::get_if<Send>(&s.op())) uses[inner->box].good = false;
      });
    }
  }

  /// Slots are read by the variable of a loop over ranks, on the rank alone that everything goes to.
  void collectReads(Stmt &stmt, const PacketLoop &loop) {
    auto *branch = std::get_if<If>(&stmt.op());
    if (!branch) return exclude(stmt);
    for (Stmt &inner : branch->body) {
      const auto *ranks = std::get_if<ForRanks>(&inner.op());
      const auto *reduce = std::get_if<Reduce>(&inner.op());
      if (!ranks && !reduce) {
        exclude(inner);
        continue;
      }
      const std::string &variable = ranks ? ranks->variable : reduce->variable;
      walk(*bodyOf(inner), [&](Stmt &s) {
        const MailboxId box = boxOf(s);
        if (box == kNone) return;
        Use &use = uses[box];
        use.good &= use.send && use.loop == &loop && slotOf(s).isVariable(variable) &&
                    sameRank(branch->condition, use.send->peer);
        use.reads.push_back(&s);
      });
    }
  }

  void exclude(Stmt &stmt) {
    if (const MailboxId box = boxOf(stmt); box != kNone) uses[box].good = false;
    if (Block *body = bodyOf(stmt)) exclude(*body);
  }
  void exclude(Block &block) {
    walk(block, [&](Stmt &s) {
      if (const MailboxId box = boxOf(s); box != kNone) uses[box].good = false;
      if (const auto *send = std::get_if<Send>(&s.op())) uses[send->box].good = false;
    });
  }

  static MailboxId boxOf(const Stmt &stmt) {
    if (const auto *poll = std::get_if<Poll>(&stmt.op())) return poll->box;
    if (const auto *read = std::get_if<Read>(&stmt.op())) return read->box;
    return kNone;
  }
  static const Index &slotOf(const Stmt &stmt) {
    const auto *poll = std::get_if<Poll>(&stmt.op());
    return poll ? poll->slot : std::get<Read>(stmt.op()).slot;
  }

  static bool sameRank(const Index &condition, const Index &peer) {
    if (condition.kind() != Index::Kind::Eq) return false;
    const Index left = condition.left(), right = condition.right();
    return (left.isVariable("me") && right == peer) || (right.isVariable("me") && left == peer);
  }

  void keep(Use &use) {
    const Value sent = program.values[use.send->value];
    const ValueId own = program.addValue("own", sent.length, sent.dtype, sent.spread);
    use.send->own = own;
    for (Stmt *stmt : use.reads) {
      if (auto *poll = std::get_if<Poll>(&stmt->op())) poll->own = own;
      if (auto *read = std::get_if<Read>(&stmt->op())) read->own = own;
    }
  }
};

} // namespace

void forwardAtRoot(Program &program) { Rooted(program).run(); }

} // namespace coll::passes
