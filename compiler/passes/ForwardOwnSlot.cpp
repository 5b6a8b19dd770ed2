#include "passes/Passes.h"

#include "passes/Uses.h"

namespace coll::passes {

using namespace ir;

namespace {

/// How a mailbox is used, as far as forwarding is concerned.
struct Use {
  Send *send = nullptr; ///< the only one
  Block *sendBlock = nullptr;
  PacketLoop *sendLoop = nullptr;
  std::string peerVariable; ///< of the ForRanks around it
  int sends = 0;
  bool readByRank = true; ///< every read names its slot by the variable of the loop over ranks around it
  PacketLoop *readLoop = nullptr;
  bool readInOneLoop = true;
};

class Forwarder {
public:
  explicit Forwarder(Program &p) : program(p), uses(p.mailboxes.size()) {}

  void run() {
    for (Stmt &stmt : program.body) {
      if (auto *loop = std::get_if<PacketLoop>(&stmt.op())) collect(loop->body, *loop, "");
      else if (const Block *body = bodyOf(stmt)) exclude(*body);
    }
    for (std::size_t box = 0; box < uses.size(); ++box) forward(MailboxId(box), uses[box]);
  }

private:
  Program &program;
  std::vector<Use> uses;

  void collect(Block &block, PacketLoop &loop, const std::string &variable) {
    for (Stmt &stmt : block) {
      if (auto *send = std::get_if<Send>(&stmt.op())) {
        Use &use = uses[send->box];
        use.send = send, use.sendBlock = &block, use.sendLoop = &loop, use.peerVariable = variable;
        ++use.sends;
      }
      if (auto *poll = std::get_if<Poll>(&stmt.op())) read(uses[poll->box], poll->slot, loop, variable);
      if (auto *r = std::get_if<Read>(&stmt.op())) read(uses[r->box], r->slot, loop, variable);
      if (auto *r = std::get_if<Reduce>(&stmt.op())) collect(r->body, loop, r->variable);
      if (auto *f = std::get_if<ForRanks>(&stmt.op())) collect(f->body, loop, f->variable);
      if (std::holds_alternative<For>(stmt.op()) || std::holds_alternative<If>(stmt.op())) exclude(*bodyOf(stmt));
    }
  }

  /// What is sent or read only on some ranks, or again and again, has no one value to keep.
  void exclude(const Block &body) {
    walk(body, [&](const Stmt &s) {
      if (const auto *send = std::get_if<Send>(&s.op())) uses[send->box].sends += 2;
      if (const auto *poll = std::get_if<Poll>(&s.op())) uses[poll->box].readByRank = false;
      if (const auto *r = std::get_if<Read>(&s.op())) uses[r->box].readByRank = false;
    });
  }

  void read(Use &use, const Index &slot, PacketLoop &loop, const std::string &variable) {
    if (variable.empty() || !slot.isVariable(variable)) use.readByRank = false;
    if (use.readLoop && use.readLoop != &loop) use.readInOneLoop = false;
    use.readLoop = &loop;
  }

  void forward(MailboxId box, Use &use) {
    if (use.sends != 1 || use.peerVariable.empty() || !use.readByRank || !use.readLoop || !use.readInOneLoop) return;
    if (!use.send->peer.isVariable(use.peerVariable) || !use.send->slot.isVariable("me")) return;
    if (program.values[use.send->value].variable) return; // it may hold something else by the time it is read
    if (program.mailboxes[box].countsRows || program.mailboxes[box].spread != Spread::Element) return;
    if (program.mailboxes[box].counted && (use.sendBlock->size() != 2 || !program.values[use.send->value].count)) return; // its length would have to be kept too
    Length length = program.values[use.send->value].length;
    length.index = length.index.substitute(use.peerVariable, Index::variable("me"));
    if (use.readLoop == use.sendLoop) {
      use.send->own = addOwn("own", length, use);
      setOwn(use.readLoop->body, box, use.send->own);
      return;
    }
    // Behind a barrier: only what can be loaded again, and has not been overwritten since.
    const Load *load = loadOf(use.sendLoop->body, use.send->value);
    if (!load || writesBefore(use.readLoop, load->from.buffer)) return;
    Load again = *load;
    again.from.index = again.from.index.substitute(use.peerVariable, Index::variable("me"));
    again.from.length.index = again.from.length.index.substitute(use.peerVariable, Index::variable("me"));
    again.result = addOwn(program.values[load->result].name, length, use);
    use.send->own = addOwn("own", length, use); // not used: it only stops the send to this rank itself
    again.where = match(use.readLoop->body.front(), [](const auto &s) -> SourceOffset { return s.where; });
    setOwn(use.readLoop->body, box, again.result);
    use.readLoop->body.insert(use.readLoop->body.begin(), again);
  }

  /// What this rank sends to itself, which may be as long as a count says.
  ValueId addOwn(const std::string &name, const Length &length, const Use &use) {
    const ValueId own = program.addValue(name, length, program.values[use.send->value].dtype, Spread::Element);
    program.values[own].count = program.values[use.send->value].count;
    if (auto &count = program.values[own].count)
      count->element.index = count->element.index.substitute(use.peerVariable, Index::variable("me"));
    return own;
  }

  void setOwn(Block &body, MailboxId box, ValueId own) {
    walk(body, [&](Stmt &s) {
      if (auto *poll = std::get_if<Poll>(&s.op()); poll && poll->box == box) poll->own = own;
      if (auto *r = std::get_if<Read>(&s.op()); r && r->box == box) r->own = own;
    });
  }

  static const Load *loadOf(const Block &body, ValueId v) {
    const Load *found = nullptr;
    walk(body, [&](const Stmt &s) {
      if (const auto *load = std::get_if<Load>(&s.op()); load && load->result == v) found = load;
    });
    return found;
  }

  /// Whether any statement before the loop may write an argument.
  bool writesBefore(const PacketLoop *loop, BufferId buffer) const {
    for (const Stmt &stmt : program.body) {
      if (std::get_if<PacketLoop>(&stmt.op()) == loop) return false;
      if (mayWrite(program, stmt, buffer)) return true;
    }
    return false;
  }
};

} // namespace

namespace {

/// `if C { x -> all.box[me] } else … box[…] …`: whoever sends to all does not read, so it need not send to itself.
class OwnOfMulticasts {
public:
  explicit OwnOfMulticasts(Program &p) : program(p), uses(p.mailboxes.size()) {}

  void run() {
    look(program.body);
    for (const Use &use : uses)
      if (use.sends.size() == 1 && !use.condition.empty())
        if (llvm::all_of(use.readers, [&](const Conditions &where) { return excludes(use.condition, where); }))
          use.sends.front()->own = ownOf(use.sends.front()->value);
  }

private:
  using Conditions = std::vector<Index>; ///< of the `if`s around a statement
  struct Use {
    std::vector<Send *> sends;
    Conditions condition;
    std::vector<Conditions> readers;
  };
  Program &program;
  std::vector<Use> uses;
  Conditions around;

  ValueId ownOf(ValueId sent) {
    const Value value = program.values[sent];
    return program.addValue("own", value.length, value.dtype, value.spread);
  }

  void look(Block &block) {
    for (Stmt &stmt : block) {
      const auto *branch = std::get_if<If>(&stmt.op());
      if (branch) around.push_back(branch->condition);
      if (auto *send = std::get_if<Send>(&stmt.op())) sent(*send);
      if (const auto *poll = std::get_if<Poll>(&stmt.op())) uses[poll->box].readers.push_back(around);
      if (const auto *read = std::get_if<Read>(&stmt.op())) uses[read->box].readers.push_back(around);
      if (Block *body = bodyOf(stmt)) look(*body);
      if (branch) around.pop_back();
    }
  }

  void sent(Send &send) {
    Use &use = uses[send.box];
    use.sends.push_back(&send);
    if (send.multicast && send.own == kNone) use.condition = around;
  }

  static bool excludes(const Conditions &one, const Conditions &other) {
    return llvm::any_of(one, [&](const Index &c) { return llvm::is_contained(other, Index::negate(c)); });
  }
};

} // namespace

bool forwardOwnSlot(Program &program, Context &) {
  Forwarder(program).run();
  OwnOfMulticasts(program).run();
  forwardAtRoot(program);
  return true;
}

} // namespace coll::passes
