#include "check/Order.h"

#include <algorithm>

namespace coll::check {

using Kind = Step::Kind;
using Ranks = Effect::Ranks;

namespace {

/// What has to come after what: a send after reads that wait, after plain ones of other ranks or of its own, and after
/// plain ones by release and acquire alone; who raises a word after whoever raised it before, and where it counts, after all.
enum Space { Waited, OfOthers, OfOwn, Acquired, Raised, Counted, CountAcquired, Spaces };

} // namespace

// A launch with nothing in it comes first: then all that a rank did before the launch that is looked at has one tick.
Effect Order::effect(const Schedule &schedule, const std::vector<int> &mailboxCopies, int ofCredits) {
  copies = mailboxCopies;
  reset();
  Effect effect;
  measured = &effect, creditsUpTo = ofCredits;
  launchBegin = {0, 1, 2};
  launch = 0;
  boundary();
  launch = 1;
  for (const ScheduledEvent &e : schedule.events) perform(e);
  for (Chain &c : chains) strict ? release(c) : fence(c);
  noteEarlier();
  noteTold();
  effect.byValue = reliedOnValues;
  measured = nullptr;
  return effect;
}

const Order::Tick *Order::clockOf(const Chain &c, int clock) const {
  return clock == Effect::Seen ? c.seen : clock == Effect::Firm && c.passed ? c.passed : c.caused;
}

std::int64_t Order::keyOf(int slot, int strand, int space) const {
  return (std::int64_t(slot) * strands + strand) * Spaces + space;
}

/// By whom what it knew at the begin of the launch has come here.
Ranks Order::toldTo(const Chain &c, int clock) const {
  const Tick *known = clockOf(c, clock);
  Ranks told;
  for (int i = 0; known && i < components(); ++i)
    if (known[i] >= startOf(launch)) told.set(std::size_t(i / each()));
  return told;
}

void Order::noteLater(const ScheduledEvent &e, const Chain &c, int strand) {
  if (!measured && !measuredChunk) return;
  const auto note = [&](Space space, int clock, bool isHazard = true) {
    const std::int64_t key = keyOf(e.slot, strand, space);
    if (measuredChunk) {
      ChunkEffect::Knowers told = markedIn(clockOf(c, clock));
      for (const int way : {marks->own, marks->ownInBranch}) // it may raise again what it has raised itself
        if (space == Raised) told.set(unsigned(marks->at(e.rank, way)));
      measuredChunk->later.push_back({key, strand, ir::kNone, 0, std::move(told), isHazard});
      return;
    }
    measured->later.push_back({key, clock, ir::kNone, 0, toldTo(c, clock), isHazard});
  };
  if (e.kind == Kind::Signal) {
    if (!expansion.adds(e.slot)) return note(Raised, Effect::Caused);
    note(Counted, Effect::Firm);
    return c.passed ? note(CountAcquired, Effect::Caused, false) : void();
  }
  note(Waited, Effect::Seen);
  if (expansion.slots[std::size_t(e.slot)].owner == e.rank) return note(OfOwn, Effect::Seen);
  if (!c.caused) return;
  note(OfOthers, Effect::Firm);
  if (c.passed) note(Acquired, Effect::Caused, false);
}

/// Who knows of the last accesses to each slot and word at the end of the launch.
void Order::noteEarlier() {
  const auto note = [&](int slot, int strand, Space space, int clock, int box, int less, int rank, int component, Tick tick) {
    const bool isHazard = space != Acquired && space != CountAcquired;
    if (measuredChunk) {
      measuredChunk->earlier.push_back({keyOf(slot, strand, space), strand, box, less,
                                        knowersOf(rank, strand, component, tick), isHazard});
      return;
    }
    Ranks knows;
    for (int r = 0; r < ranks; ++r) {
      const Tick *known = clockOf(chain(r, strand), clock);
      if (r == rank || (known && known[component] > tick)) knows.set(std::size_t(r));
    }
    measured->earlier.push_back({keyOf(slot, strand, space), clock, box, less, knows, isHazard});
  };
  for (std::size_t i = 0; i < expansion.slots.size(); ++i) {
    const int slot = int(i), box = expansion.boxOf(slot), all = copies[std::size_t(box)];
    for (std::size_t at = slotBase[i]; at < slotBase[i] + std::size_t(all) * std::size_t(classes); ++at) {
      const Readings &readings = slots[at].readings;
      for (unsigned n = 0; n < readings.size(); ++n) {
        const Reading &r = readings[n];
        if (epochOf(r.tick) != launch) continue;
        const int strand = r.event->map * classes + r.event->packets, rank = r.event->rank;
        const bool clears = r.event->kind == Kind::Clear;
        const int less = clears ? r.event->step->number : 0;
        const auto of = [&](Space space, int clock) { note(slot, strand, space, clock, box, less, rank, int(r.component), r.tick); };
        if (!r.causal && !strict) {
          of(Waited, Effect::Seen);
          continue;
        }
        of(OfOthers, Effect::Firm), of(OfOwn, Effect::Seen);
        if (!clears && relies()) of(Acquired, Effect::Caused);
      }
    }
    for (int strand = 0; strand < strands; ++strand) {
      const Flag &f = flags[i * std::size_t(strands) + std::size_t(strand)];
      const auto of = [&](Space space, int clock, const ScheduledEvent *event, int component, Tick tick) {
        note(slot, strand, space, clock, ir::kNone, 0, event->rank, component, tick);
      };
      if (f.event && !expansion.adds(slot)) of(Raised, Effect::Caused, f.event, f.component, f.tick);
      for (const Raising &r : f.raised) {
        if (!r.adds) continue;
        of(Counted, Effect::Firm, r.event, r.component, r.tick);
        if (relies()) of(CountAcquired, Effect::Caused, r.event, r.component, r.tick);
      }
    }
  }
}

void Order::noteTold() {
  for (int clock = 0; clock < Effect::Clocks; ++clock) {
    std::vector<Ranks> &tells = measured->tells[std::size_t(clock)];
    tells.assign(std::size_t(ranks), {});
    for (int r = 0; r < ranks; ++r) {
      Ranks told;
      for (int s = 0; s < strands; ++s) told |= toldTo(chain(r, s), clock);
      told.set(std::size_t(r));
      for (int of = 0; of < ranks; ++of)
        if (told[std::size_t(of)]) tells[std::size_t(of)].set(std::size_t(r));
    }
  }
}

} // namespace coll::check
