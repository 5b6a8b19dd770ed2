// What one launch does to mailboxes, in an order in which it can happen. The dataflow run finds it; the order run
// replays it launch after launch.
#pragma once

#include "check/Expansion.h"

namespace coll::check {

struct ScheduledEvent {
  Step::Kind kind;      ///< Send, Poll, Read, Clear, Signal, Await, Credit, AwaitCredit, Branch and its begin and end,
                        ///< Barrier, Fence
  std::int16_t rank;    ///< of a Barrier: unused, all ranks take part
  std::int16_t packets; ///< class of packets, kNone: all
  std::int32_t slot;    ///< of the first six; of a credit, its peer; of a Branch, which
  const Step *step;
  std::int16_t map = 0; ///< thread map of the loop it is in

  /// Does the same to mailboxes.
  bool sameAs(const ScheduledEvent &o) const {
    return kind == o.kind && rank == o.rank && packets == o.packets && slot == o.slot && map == o.map;
  }
};

struct Schedule {
  std::vector<ScheduledEvent> events;

  bool sameAs(const Schedule &o) const {
    return std::equal(events.begin(), events.end(), o.events.begin(), o.events.end(),
                      [](const ScheduledEvent &a, const ScheduledEvent &b) { return a.sameAs(b); });
  }

  /// Each rank does the same in the same order, whichever rank goes first where nothing orders them: what waits for what
  /// is the same then.
  bool sameByRank(const Schedule &o, int ranks) const {
    if (events.size() != o.events.size()) return false;
    return sameAs(o) || byRank(ranks).sameAs(o.byRank(ranks));
  }

private:
  /// Rank after rank; what all take part in, with each.
  Schedule byRank(int ranks) const {
    std::vector<std::vector<ScheduledEvent>> of(static_cast<std::size_t>(ranks));
    for (const ScheduledEvent &e : events)
      if (e.kind != Step::Kind::Barrier) of[std::size_t(e.rank)].push_back(e);
      else
        for (auto &list : of) list.push_back(e);
    Schedule all;
    for (const auto &list : of) all.events.insert(all.events.end(), list.begin(), list.end());
    return all;
  }
};

} // namespace coll::check
