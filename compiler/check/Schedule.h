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

  bool isOf(int group) const { return packets == ir::kNone || packets == group; }
  /// Does the same to mailboxes, whichever packets do it.
  bool sameAs(const ScheduledEvent &o) const {
    return kind == o.kind && rank == o.rank && (packets == ir::kNone) == (o.packets == ir::kNone) && slot == o.slot &&
           map == o.map && step->mark == o.step->mark;
  }
};

/// Classes of packets that have one fate in this launch are one group, and its events stand for those of each.
struct Schedule {
  std::vector<ScheduledEvent> events; ///< `packets` is a group
  std::vector<int> upTo;              ///< by group: the first class that is behind it

  int groups() const { return int(upTo.size()); }
  /// kNone if no packets of the class take part.
  int groupOf(int packets) const;
  /// How many events there are of all classes.
  std::size_t size() const;
  /// Appends an event for each of the classes that it stands for.
  void appendTo(std::vector<ScheduledEvent> &out, const ScheduledEvent &event) const;
  /// With groups of one class each.
  Schedule apart() const;
  /// Whether packets of every class, and what all do together, do the same in the same order.
  bool sameAs(const Schedule &o) const;
  /// The same number for schedules that are the same, and hardly ever for others.
  std::uint64_t hash() const;
};

} // namespace coll::check
