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
    return kind == o.kind && rank == o.rank && packets == o.packets && slot == o.slot && map == o.map &&
           step->mark == o.step->mark;
  }
};

struct Schedule {
  std::vector<ScheduledEvent> events;

  bool sameAs(const Schedule &o) const {
    return std::equal(events.begin(), events.end(), o.events.begin(), o.events.end(),
                      [](const ScheduledEvent &a, const ScheduledEvent &b) { return a.sameAs(b); });
  }
};

} // namespace coll::check
