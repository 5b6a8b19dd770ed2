#include "passes/Passes.h"

#include "llvm/ADT/SmallSet.h"

namespace coll::passes {

using namespace ir;

namespace {

using BoxSet = llvm::SmallSet<MailboxId, 4>;

struct Traffic {
  BoxSet sent, polled;
};

Traffic trafficOf(const Program &program, const Stmt &stmt) {
  Traffic traffic;
  auto look = [&](const Stmt &s) {
    if (const auto *send = std::get_if<Send>(&s.op()); send && program.mailboxes[send->box].sync == Sync::Barrier)
      traffic.sent.insert(send->box);
    if (const auto *poll = std::get_if<Poll>(&s.op()); poll && program.mailboxes[poll->box].sync == Sync::Barrier)
      traffic.polled.insert(poll->box);
  };
  look(stmt);
  if (const Block *body = bodyOf(stmt)) walk(*body, look);
  return traffic;
}

void pollsToReads(const Program &program, Stmt &stmt) {
  auto rewrite = [&](Stmt &s) {
    if (auto *poll = std::get_if<Poll>(&s.op()); poll && program.mailboxes[poll->box].sync == Sync::Barrier)
      s = Read{poll->result, poll->box, poll->slot, poll->own, poll->where};
  };
  rewrite(stmt);
  if (Block *body = bodyOf(stmt)) walk(*body, rewrite);
}

SourceOffset firstPoll(const Stmt &stmt, MailboxId box) {
  SourceOffset where = 0;
  auto look = [&](const Stmt &s) {
    if (const auto *poll = std::get_if<Poll>(&s.op()); poll && poll->box == box) where = poll->where;
  };
  look(stmt);
  if (const Block *body = bodyOf(stmt)) walk(*body, look);
  return where;
}

} // namespace

bool expandSyncModes(Program &program, Context &context) {
  Block out;
  BoxSet unannounced; // boxes sent to since the last barrier
  for (Stmt &stmt : program.body) {
    const Traffic traffic = trafficOf(program, stmt);
    if (std::holds_alternative<Barrier>(stmt.op())) unannounced.clear();
    for (MailboxId box : traffic.polled) {
      if (traffic.sent.count(box)) {
        const std::uint32_t where = std::uint32_t(firstPoll(stmt, box));
        context.diagnostics.error(DiagnosticKind::NotLowered, {where, where},
                                  "a `sync barrier` mailbox that one loop both sends to and reads cannot be lowered yet");
        return false;
      }
      if (!unannounced.count(box)) continue;
      out.push_back(Barrier{0, firstPoll(stmt, box)});
      unannounced.clear();
    }
    for (MailboxId box : traffic.sent) unannounced.insert(box);
    pollsToReads(program, stmt);
    out.push_back(std::move(stmt));
  }
  program.body = std::move(out);
  program.barriers = 0;
  for (Stmt &stmt : program.body)
    if (auto *barrier = std::get_if<Barrier>(&stmt.op())) barrier->number = program.barriers++;
  return true;
}

} // namespace coll::passes
