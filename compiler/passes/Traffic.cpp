#include "passes/Traffic.h"

namespace coll::passes {

using namespace ir;

Traffic trafficOf(const Program &program, const Stmt &stmt) {
  Traffic traffic;
  const auto look = [&](const Stmt &s) {
    if (const auto *send = std::get_if<Send>(&s.op()); send && isPlain(program, send->box)) traffic.sent.insert(send->box);
    if (const auto *poll = std::get_if<Poll>(&s.op()); poll && isPlain(program, poll->box)) traffic.polled.insert(poll->box);
    if (const auto *store = std::get_if<Store>(&s.op()); store && flagsOf(program, *store) != kNone)
      traffic.sent.insert(flagsOf(program, *store));
  };
  look(stmt);
  if (const Block *body = bodyOf(stmt)) walk(*body, look);
  return traffic;
}

bool isPlain(const Program &program, MailboxId box) {
  const Sync sync = program.mailboxes[box].sync;
  return sync == Sync::Barrier || sync == Sync::Flag || sync == Sync::Counter;
}

MailboxId flagsOf(const Program &program, const Store &store) {
  return store.to.owner ? program.buffers[store.to.buffer].flags : kNone;
}

} // namespace coll::passes
