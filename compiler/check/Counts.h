// Which counts stand for all, and which sequences of launches for every stream of them.
#pragma once

#include "check/Schedule.h"

namespace coll::check {

/// The classes {1, N-1, N, large, large with short and empty trailing pieces}, as far as `when bytes <= …` lets them.
std::vector<Extents> countClasses(const ir::Program &program);

/// How many pieces of what is split are not empty, in the launches that are tried.
struct PiecesTried {
  std::vector<int> numbers; ///< none if nothing is split
  bool all = true;          ///< every number there is
};
/// Every number, of few ranks. Of many the ends, the middle, and those at which a piece that the program names begins or
/// ends what is not empty.
PiecesTried piecesTried(const ir::Program &program);

/// What a kind of launch is: which entry of the counts, and which of the scalars.
struct LaunchKind {
  int counts, scalars;
};

/// A sequence of launches, each a number below `kinds`, that shows every hazard which a stream of launches of these
/// kinds can show: one between launches up to `window` - 1 apart.
std::vector<int> launchSequence(int kinds, int window);

/// The same where scalars change too. There are too many kinds for all their words, so it holds those of all counts
/// with the first scalars, those of as many scalars as possible with the largest counts, each kind alone, all scalars
/// in turns with every stride, and changes from each kind to each other.
std::vector<int> launchSequence(const std::vector<LaunchKind> &kinds, int window);

/// Whether that sequence has all words of the kinds that the window holds.
bool isEveryWord(const std::vector<LaunchKind> &kinds, int window);

} // namespace coll::check
