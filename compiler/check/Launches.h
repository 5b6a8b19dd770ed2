// The launches that a proof has to follow after each other: those that do different things to mailboxes.
#pragma once

#include "check/Counts.h"
#include "check/Schedule.h"

#include <optional>

namespace coll::check {

struct Launches {
  int classes = 1;                     ///< of packets
  std::vector<Schedule> schedules;
  std::vector<LaunchKind> kinds;       ///< of the schedules
  std::vector<std::vector<int>> alike; ///< by schedule: all counts that have it

  void note(Schedule schedule, LaunchKind kind, const std::vector<int> &counts);

  /// The same with each class of packets apart from the others.
  Launches apart(const Expansion &expansion) const;

  /// What the packets of the first class and of class `c` do. In a launch with any packets the first class has some.
  Launches seenFrom(int c) const;

  /// Of the classes but the first, one of those each that look alike beside it: rank by rank they do the same in the same
  /// order, in all launches that differ. Which rank goes first where nothing orders them does not matter.
  std::vector<int> classesThatDiffer(int ranks) const;

  /// The launches that tell ranks the least of each other, as nothing does where none of them sends: those which tell
  /// nobody more than some other does are left out, and of those that tell the same all but the shortest. They come in
  /// the order of how much they tell.
  const std::vector<int> &quietest(const Expansion &expansion) const;

private:
  mutable std::optional<std::vector<int>> quiet; ///< once they have been asked for; until then nothing more is noted
};

} // namespace coll::check
