#include "ir/BuildCounts.h"

namespace coll::ir {

ValueId polledIn(const Block &block, MailboxId box, const Index &slot) {
  for (const Stmt &s : block)
    if (const auto *poll = std::get_if<Poll>(&s.op()); poll && poll->box == box && poll->slot == slot) return poll->result;
  return kNone;
}

bool isCountOf(const Program &program, const Block &block, const Slice &element, ValueId value) {
  const std::optional<Count> &count = program.values[value].count;
  if (!count) return false;
  if (count->box == kNone && count->element == element) return true;
  return llvm::any_of(block, [&](const Stmt &s) {
    const auto *store = std::get_if<StoreCount>(&s.op());
    return store && store->value == value && store->to == element;
  });
}

std::optional<BesideCounts> besideCounts(const Program &program) {
  if (!program.hasCounts()) return std::nullopt;
  for (const Mailbox &box : program.mailboxes)
    if (!box.counted) return BesideCounts{box.where, "a mailbox that is not `counted` beside one that is"};
  if (program.chunks) return BesideCounts{program.chunks->where, "a `pipeline` with a `counted` mailbox"};
  std::optional<BesideCounts> found;
  bool read = false;
  walk(program.body, [&](const Stmt &s) {
    read |= std::holds_alternative<Poll>(s.op());
    const auto *send = std::get_if<Send>(&s.op());
    if (send && read && !found) found = {send->where, "a send behind a read of a `counted` mailbox"};
    if ((std::holds_alternative<For>(s.op()) || std::holds_alternative<If>(s.op())) && !found)
      found = {match(s, [](const auto &op) -> SourceOffset { return op.where; }),
               "a `for` or `if` beside a `counted` mailbox"};
  });
  return found;
}

} // namespace coll::ir
