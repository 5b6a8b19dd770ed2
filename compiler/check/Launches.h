// The launches that a proof has to follow after each other: those that do different things to mailboxes.
#pragma once

#include "check/Counts.h"
#include "check/Schedule.h"

namespace coll::check {

struct Launches {
  int classes = 1;                     ///< of packets
  std::vector<Schedule> schedules;
  std::vector<LaunchKind> kinds;       ///< of the schedules
  std::vector<std::vector<LaunchKind>> alike; ///< by schedule: all that have it, of which its kind is the first

  /// False if it is another one, and with it there would be more than so many events: then it is left out.
  bool note(Schedule schedule, const std::vector<LaunchKind> &alike, std::size_t mostEvents = ~std::size_t(0));

  /// The same with each class of packets apart from the others.
  Launches apart() const;

  /// What the packets of the first class and of class `c` do. In a launch with any packets the first class has some.
  Launches seenFrom(int c) const;

  /// Of the classes but the first, one of those each that look alike beside it: rank by rank they do the same in the same
  /// order, in all launches that differ. Which rank goes first where nothing orders them does not matter.
  std::vector<int> classesThatDiffer(int ranks) const;

private:
  std::vector<std::uint64_t> hashes; ///< of the schedules
  std::size_t events = 0;            ///< the same
};

} // namespace coll::check
