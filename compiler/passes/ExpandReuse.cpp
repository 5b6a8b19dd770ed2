#include "passes/Passes.h"

namespace coll::passes {

using namespace ir;

namespace {

/// Makes the credits of one mailbox explicit.
class Creditor {
public:
  Creditor(Program &p, MailboxId b) : program(p), box(b) {
    const Sync sync = program.mailboxes[box].sync;
    plain = sync == Sync::Flag || sync == Sync::Barrier;
  }

  void run() {
    give();
    outside(program.body);
  }

private:
  Program &program;
  const MailboxId box;
  bool plain;

  /// Every rank tells every other first of all that it has begun.
  void give() {
    bool known = false;
    walk(program.body, [&](Stmt &s) {
      if (auto *credit = std::get_if<Credit>(&s.op())) known = true, credit->releases |= plain;
    });
    if (known) return;
    std::string variable = "peer";
    while (llvm::any_of(program.scalars, [&](const Scalar &s) { return s.name == variable; })) variable += "_";
    const SourceOffset where = program.mailboxes[box].where;
    ForRanks all{variable, {}, where};
    all.body.push_back(Credit{Index::variable(variable), plain, where});
    program.body.insert(program.body.begin() + 1, std::move(all));
  }

  void outside(Block &block) {
    Block out;
    for (Stmt &stmt : block) {
      if (auto *loop = std::get_if<PacketLoop>(&stmt.op())) {
        // Plain data is stored by threads that rely on their CTA to have waited.
        if (plain) appendWaits(loop->body, out);
        else waitIn(loop->body);
      } else if (Block *body = bodyOf(stmt)) {
        outside(*body);
      }
      out.push_back(std::move(stmt));
    }
    block = std::move(out);
  }

  /// Before each statement of a packet loop that sends to the box, or within it where it is a condition.
  void waitIn(Block &block) {
    Block out;
    for (Stmt &stmt : block) {
      if (auto *branch = std::get_if<If>(&stmt.op())) waitIn(branch->body);
      else appendWaits(stmt, out);
      out.push_back(std::move(stmt));
    }
    block = std::move(out);
  }

  void appendWaits(const Block &block, Block &out) {
    for (const Stmt &stmt : block) appendWaits(stmt, out);
  }

  /// The statement with nothing but a wait in the place of each send.
  void appendWaits(const Stmt &stmt, Block &out) {
    if (const auto *send = std::get_if<Send>(&stmt.op())) {
      const auto same = [&](const Stmt &s) {
        const auto *wait = std::get_if<AwaitCredit>(&s.op());
        return wait && wait->box == box && wait->peer == send->peer;
      };
      if (send->box == box && llvm::none_of(out, same)) out.push_back(AwaitCredit{box, send->peer, send->where});
      return;
    }
    const Block *body = bodyOf(stmt);
    if (!body) return;
    Block waits;
    appendWaits(*body, waits);
    if (waits.empty()) return;
    if (const auto *loop = std::get_if<ForRanks>(&stmt.op())) out.push_back(ForRanks{loop->variable, waits, loop->where});
    if (const auto *loop = std::get_if<For>(&stmt.op()))
      out.push_back(For{loop->variable, loop->first, loop->last, waits, loop->where});
    if (const auto *branch = std::get_if<If>(&stmt.op())) out.push_back(If{branch->condition, waits, branch->where});
  }
};

} // namespace

void addCredits(Program &program, MailboxId box) {
  program.mailboxes[box].reuse = Reuse::Ack;
  Creditor(program, box).run();
}

bool expandReuse(Program &program, Context &) {
  bool barrier = false;
  for (std::size_t box = 0; box < program.mailboxes.size(); ++box) {
    barrier |= program.mailboxes[box].reuse == Reuse::Barrier;
    if (program.mailboxes[box].reuse == Reuse::Ack) addCredits(program, MailboxId(box));
  }
  const auto *last = program.body.size() < 3 ? nullptr : std::get_if<Barrier>(&program.body.end()[-2].op());
  barrier &= !last || last->ofLaunch;
  if (barrier) {
    const SourceOffset where = std::get<KernelBoundary>(program.body.back().op()).where;
    program.body.insert(program.body.end() - 1, Barrier{Index(), where});
    numberBarriers(program);
  }
  return true;
}

} // namespace coll::passes
