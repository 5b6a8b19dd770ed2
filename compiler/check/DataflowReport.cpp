// Why a launch does not end, and what nobody reads.
#include "check/Dataflow.h"

namespace coll::check {

using Kind = Step::Kind;

std::string slotText(const Expansion &expansion, int slot) {
  const SlotName &s = expansion.slots[slot];
  return "`" + expansion.program->mailboxes[s.box].name + "[" + std::to_string(s.index) + "]` of rank " +
         std::to_string(s.owner);
}

/// The position of the step that will fill a slot, and its rank; kNone if none is left that does.
int Dataflow::senderOf(int slot, int packets, int &rank) const {
  for (rank = 0; rank < program.ranks; ++rank) {
    const std::vector<Step> &steps = variant.steps[rank];
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Step &s = steps[i];
      const bool kept = s.value != ir::kNone && s.peer == rank;
      if (s.kind == Kind::Send && s.slot == slot && !kept && sizes.elements(s.length, s.piece) > classes.begin(packets))
        return int(i);
    }
  }
  return ir::kNone;
}

/// The same of what will announce a slot.
int Dataflow::announcerOf(int slot, int &rank) const {
  for (rank = 0; rank < program.ranks; ++rank) {
    const std::vector<Step> &steps = variant.steps[rank];
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (steps[i].kind == Kind::Signal && steps[i].slot == slot) return int(i);
  }
  return ir::kNone;
}

/// Rank `r` waits at a barrier to which rank `other` does not come.
void Dataflow::reportAlone(int r, int other, std::string text) {
  const std::size_t at = ranks[other].at;
  const bool ended = at == variant.steps[other].size();
  text += ended ? ", which has ended" : ", which waits at another";
  refute(Refutation::Kind::Deadlock, event(r, variant.steps[r][ranks[r].at], 0),
         ended ? Event() : event(other, variant.steps[other][at], 0), std::move(text),
         "put the `barrier` where every rank comes to it: before the `if`, or behind it");
}

void Dataflow::reportStuck() {
  auto waiting = [&](int r) -> const Step * {
    return ranks[r].at < variant.steps[r].size() ? &variant.steps[r][ranks[r].at] : nullptr;
  };
  // A read does not wait. That it had to here means that its data may not be there.
  for (int r = 0; r < program.ranks; ++r) {
    const Step *step = waiting(r);
    if (!step || step->kind != Kind::Read) continue;
    int from;
    const int sender = senderOf(step->slot, ranks[r].packets, from);
    const bool sends = sender != ir::kNone;
    return refute(Refutation::Kind::ReadWithoutArrival, event(r, *step, ranks[r].packets),
                  sends ? event(from, variant.steps[from][sender], ranks[r].packets) : Event(),
                  slotText(expansion, step->slot) + " is read before " +
                      (sends ? "rank " + std::to_string(from) + " sends to it" : "anything is sent to it"),
                  !sends ? "send to every slot that is read"
                  : program.mailboxes[step->box].sync == ir::Sync::Flag
                      ? "announce the slot after the send, and wait for that before the read"
                      : "put a `barrier` between the send and the read");
  }
  // Follow who waits for whom from the first rank that waits, until one comes up again.
  std::vector<int> seen;
  std::string text;
  int r = 0;
  while (!waiting(r)) ++r;
  const int start = r;
  while (std::find(seen.begin(), seen.end(), r) == seen.end()) {
    seen.push_back(r);
    const Step *step = waiting(r);
    const int packets = ranks[r].packets;
    const std::string who = (text.empty() ? "" : ", ") + ("rank " + std::to_string(r));
    if (step->kind == Kind::Barrier) {
      const auto comes = [&](int rank) {
        const Step *at = waiting(rank);
        return at && at->kind == Kind::Barrier && at->index == step->index;
      };
      int other = 0;
      while (comes(other)) ++other;
      text += who + " waits at a barrier for rank " + std::to_string(other);
      if (!waiting(other) || waiting(other)->kind == Kind::Barrier) return reportAlone(r, other, std::move(text));
      r = other;
      continue;
    }
    if (step->kind == Kind::AwaitCredit) {
      text += who + " waits for a credit of rank " + std::to_string(step->peer);
      if (!waiting(step->peer)) {
        text += ", which gives none";
        break;
      }
      r = step->peer;
      continue;
    }
    int from;
    const bool awaits = step->kind == Kind::Await;
    if (awaits && expansion.adds(step->slot) && !mail.announcements[step->slot].counted.empty())
      return refute(Refutation::Kind::Deadlock, event(r, *step, packets), {},
                    "rank " + std::to_string(r) + " waits until all ranks have added to " +
                        slotText(expansion, step->slot) + ", and only " +
                        std::to_string(mail.announcements[step->slot].counted.size()) + " of " +
                        std::to_string(program.ranks) + " do",
                    "let every rank add, and before it waits itself");
    text += who + " waits for " + slotText(expansion, step->slot);
    if (awaits && announcerOf(step->slot, from) == ir::kNone) {
      const int sender = senderOf(step->slot, 0, from);
      const bool sends = sender != ir::kNone;
      text += sends ? ", to which rank " + std::to_string(from) + " sends, but without announcing it"
                    : ", which nobody announces in this launch";
      return refute(Refutation::Kind::Deadlock, event(r, *step, packets),
                    sends ? event(from, variant.steps[from][sender], packets) : Event(), std::move(text),
                    sends ? "announce the slot after the last send to it"
                          : "announce every slot that is awaited, or await only those that are announced");
    }
    if (!awaits && senderOf(step->slot, packets, from) == ir::kNone) {
      text += ", to which nothing is sent in this launch";
      return refute(Refutation::Kind::Deadlock, event(r, *step, packets), {}, std::move(text),
                    "send to every slot that is read, or read only those that are sent to");
    }
    text += " from rank " + std::to_string(from);
    r = from;
  }
  text += ": a circle in which everyone waits and nobody sends";
  if (ranks[start].branches) text += ", if the iterations of the `forall` run in an order that puts these waits first";
  const int next = seen.size() > 1 ? seen[1] : start;
  refute(Refutation::Kind::Deadlock, event(start, *waiting(start), ranks[start].packets),
         event(next, *waiting(next), ranks[next].packets), std::move(text),
         ranks[start].branches ? "use two `forall`, one that sends and one that receives"
         : waiting(start)->kind == Kind::Await ? "write the sends before the waits for them"
                                               : "send before waiting");
}

/// Whether what was sent to a slot, by its position in Mail::slots, has not been read, or not been cleared where it must be.
bool Dataflow::isLeft(int position) const {
  const Slot &s = mail.slots[position];
  if (!s.sender) return false;
  if (!s.reader) return true;
  const int number = int(std::size_t(position) % mail.count);
  const bool empties = expansion.adds(number) || program.mailboxes[expansion.boxOf(number)].sync == ir::Sync::Sentinel;
  return empties && !s.cleared && !expansion.deferred;
}

void Dataflow::reportLeftovers() {
  const auto count = int(mail.count);
  const auto place = [&](int i) { return std::pair(i % count, i / count); };
  int first = ir::kNone;
  for (int i : mail.used)
    if (isLeft(i) && (first == ir::kNone || place(i) < place(first))) first = i;
  if (first == ir::kNone) return;
  const Slot &s = mail.slots[first];
  const auto [number, packets] = place(first);
  if (s.reader)
    return refute(Refutation::Kind::StaleSentinel, event(s.from, *s.sender, packets),
                  event(expansion.slots[number].owner, *s.reader, packets),
                  "what rank " + std::to_string(s.from) + " sends to " + slotText(expansion, number) +
                      " is not cleared after it has been read, so a later launch " +
                      (expansion.adds(number) ? "adds to it" : "takes it for its own data"),
                  "clear the slot after its last read, as far as it was sent to");
  refute(Refutation::Kind::OrphanSend, event(s.from, *s.sender, packets), {},
         "what rank " + std::to_string(s.from) + " sends to " + slotText(expansion, number) +
             " is not read in its launch, so it may land on the data of a later one",
         "read every slot that is sent to, or do not send");
}

} // namespace coll::check
