// Slots that several ranks add to, and whose owner counts them.
#include "check/Dataflow.h"

#include <algorithm>

namespace coll::check {

/// One more contribution to a slot that has some.
void Dataflow::add(int rank, const Step &step, Slot &s) {
  Rank &r = ranks[rank];
  if (s.reader || s.cleared) {
    const Step &early = s.reader ? *s.reader : *s.cleared;
    return refute(Refutation::Kind::ReadWithoutArrival, event(expansion.slots[step.slot].owner, early, r.packets),
                  event(rank, step, r.packets),
                  slotText(expansion, step.slot) + " is read before rank " + std::to_string(rank) + " has added to it",
                  "announce every addition, and wait for that before the read");
  }
  s.parts.emplace_back(rank, value(r, step.a));
  s.added.push_back(rank);
  s.place = std::max(s.place, r.place);
  record(step.kind, rank, r.packets, step.slot, step);
}

/// What all have added, as one sum for all packets: in which order they came is not known of any.
void Dataflow::sumUp(Slot &s, int number) {
  std::sort(s.parts.begin(), s.parts.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  s.content = s.parts.front().second;
  for (std::size_t i = 1; i < s.parts.size(); ++i) {
    symbols.combine(ReduceOp::Sum, s.content, s.parts[i].second, scratch);
    std::swap(s.content, scratch);
  }
  symbols.anyOrder(s.content, ReduceOp::Sum, number);
  s.parts.clear();
}

/// A rank counts once, and the owner knows what all of them did that have.
void Dataflow::count(int rank, const Step &step) {
  Announcement &a = mail.announcements[step.slot];
  if (llvm::is_contained(a.counted, rank))
    return refute(Refutation::Kind::WrongResult, event(a.from, *a.signal, 0), event(rank, step, 0),
                  slotText(expansion, step.slot) + " is announced twice by rank " + std::to_string(rank) +
                      " in one launch, and its owner counts one for each rank",
                  "announce a slot once, after all that is added to it");
  const Causality::Snapshot released = expansion.reaches ? causality.release(rank) : Causality::Snapshot();
  if (!a.signal) a.signal = &step, a.from = rank, a.released = released, mail.announced.push_back(step.slot);
  for (std::size_t i = 0; i < released.size(); ++i) a.released[i] = std::max(a.released[i], released[i]);
  a.counted.push_back(rank);
  a.visible = true;
  a.place = std::max(a.place, ranks[rank].place);
  record(step.kind, rank, ir::kNone, step.slot, step);
}

} // namespace coll::check
