// What proofs that rest on the PTX memory model alone need: fences where otherwise hardware is trusted, and loops for
// multicasts.
#include "passes/Passes.h"

namespace coll::passes {

using namespace ir;

namespace {

/// Fences behind waits and before the sends that follow them.
class FencePlacer {
public:
  explicit FencePlacer(Program &p) : program(p) {}

  void run() {
    if (!has<Send>(program.body)) return;
    // The threads of a launch come after all of the launch before, and know it; the fence makes them pass it on.
    const SourceOffset first = whereOf(program.body[1]), last = whereOf(program.body.back());
    bool waited = false;
    outer(program.body, waited);
    // A chunk's credit speaks for the threads that its CTA has met, whose own fences do not reach it.
    walk(program.body, [&](Stmt &s) {
      if (auto *credit = std::get_if<Credit>(&s.op())) credit->releases |= program.chunks.has_value();
    });
    program.body.insert(program.body.begin() + 1, Fence{first});
    if (waited) program.body.insert(program.body.end() - 1, Fence{last});
  }

private:
  Program &program;

  template <class Op>
  static bool has(const Block &block) {
    bool found = false;
    walk(block, [&](const Stmt &s) { found |= std::holds_alternative<Op>(s.op()); });
    return found;
  }

  template <class Op>
  static bool has(const Stmt &stmt) {
    const Block *body = bodyOf(stmt);
    return std::holds_alternative<Op>(stmt.op()) || (body && has<Op>(*body));
  }

  static bool waits(const Block &block) { return has<Poll>(block) || has<AwaitCredit>(block); }

  static SourceOffset whereOf(const Stmt &stmt) {
    return match(stmt, [](const auto &s) -> SourceOffset { return s.where; });
  }

  /// Statements outside packet loops.
  void outer(Block &stmts, bool &waited) {
    Block out;
    for (Stmt &stmt : stmts) {
      if (auto *loop = std::get_if<PacketLoop>(&stmt.op())) {
        // Packets stand for themselves: what a thread's last packet waited for is no concern of its next.
        if (waited && has<Send>(loop->body)) out.push_back(Fence{loop->where}), waited = false;
        block(loop->body, waited);
      } else if (Block *body = bodyOf(stmt)) {
        waited |= waits(*body); // in the iteration before
        outer(*body, waited);
      } else if (const auto *await = std::get_if<Await>(&stmt.op())) {
        // What others then know of the count, they know by what is sent from here.
        waited |= adds(program.mailboxes[await->box].sync);
      }
      out.push_back(std::move(stmt));
    }
    stmts = std::move(out);
  }

  /// `waited`: whether some wait since the last fence may precede the block. Says so afterwards of what follows it.
  void block(Block &stmts, bool &waited) {
    Block out;
    for (Stmt &stmt : stmts) {
      Block *body = bodyOf(stmt);
      const bool sends = has<Send>(stmt), awaits = has<Poll>(stmt) || has<AwaitCredit>(stmt);
      if (body && sends && awaits && !std::holds_alternative<Reduce>(stmt.op())) {
        waited |= !std::holds_alternative<If>(stmt.op()); // in the iteration before
        block(*body, waited);
        waited = true;
      } else {
        if (sends && waited) out.push_back(Fence{whereOf(stmt)}), waited = false;
        waited |= awaits;
      }
      out.push_back(std::move(stmt));
    }
    stmts = std::move(out);
  }
};

} // namespace

void addStrictFences(Program &program) { FencePlacer(program).run(); }

void removeMulticasts(Program &program) {
  walk(program.body, [](Stmt &s) {
    if (auto *send = std::get_if<Send>(&s.op())) send->multicast = false;
    if (auto *store = std::get_if<Store>(&s.op())) store->multicast = false;
    if (auto *reduce = std::get_if<Reduce>(&s.op())) reduce->multicast = false;
  });
}

} // namespace coll::passes
