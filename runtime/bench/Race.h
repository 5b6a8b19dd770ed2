// Timing many candidates without timing all of them to the end: who cannot win any more drops out.
#pragma once

#include "bench/Statistics.h"
#include "coll/Result.h"

#include <functional>

namespace coll::bench {

struct RaceRules {
  unsigned first = 3;   ///< timings of each in the first round, then twice as many a round
  unsigned most = 40;   ///< timings of each group's winner
  double margin = 0.25; ///< slower than the group's best by this share drops out; halved each round
  double least = 0.01;  ///< the smallest margin: what differs less does not matter
  double hopeless = 2;  ///< a group whose best is so many times slower than the best of all is not refined further
};

/// What came of one group.
struct RaceResult {
  std::size_t winner = 0;        ///< a candidate's number
  std::vector<double> samples;   ///< the winner's
};

/// One timing of a candidate, in any unit.
using TimeOne = std::function<Result<double>(std::size_t candidate)>;

/// `groups[c]` is the group of candidate c, from 0 up; every group has one. Candidates are timed in turn, the order
/// rotating, so that what changes on the machine hits all alike. Returns the best of each group, by its median.
Result<std::vector<RaceResult>> race(const std::vector<std::size_t> &groups, const RaceRules &rules,
                                     const TimeOne &time);

} // namespace coll::bench
