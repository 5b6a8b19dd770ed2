// Which accesses of user's memory come after which within one launch, as far as release and acquire order them: through
// barriers and flags. For memory that several ranks touch.
//
// CTA c waits for CTA c of other ranks, and all ranks launch the same grid, so that is what one class of packets knows
// of the same class elsewhere; what happened before the launch, all know together.
#pragma once

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace coll::check {

class Causality {
public:
  /// A moment of one rank's packets of one class.
  struct Moment {
    int rank = 0, packets = 0;
    std::uint32_t count = 0;
  };

  Causality(int ranks, int classes) : ranks(ranks), classes(classes), known(std::size_t(ranks) * classes * ranks) {
    for (int r = 0; r < ranks; ++r)
      for (int p = 0; p < classes; ++p) clock(r, p)[r] = 1;
  }

  Moment now(int rank, int packets) const { return {rank, packets, clock(rank, packets)[rank]}; }

  /// Whether `earlier` comes before whatever this rank's packets of this class do from now on. Within a rank only the
  /// packets of the same class are looked at: by one thread, in the order of the program.
  bool knows(int rank, int packets, const Moment &earlier) const {
    return earlier.rank == rank || (earlier.packets == packets && clock(rank, packets)[earlier.rank] > earlier.count);
  }
  /// Whether packets of some class of this rank's know it of another's: ordered, where all of a rank were one.
  bool knowsRank(int rank, int packets, const Moment &earlier) const {
    return clock(rank, packets)[earlier.rank] > earlier.count;
  }
  /// Whether a rank's packets know that another has begun the launch.
  bool knowsStart(int rank, int packets, int other) const { return clock(rank, packets)[other] > 0; }

  void barrier() {
    for (int p = 0; p < classes; ++p) {
      std::uint32_t *joint = clock(0, p);
      for (int r = 0; r < ranks; ++r) ++clock(r, p)[r];
      for (int r = 1; r < ranks; ++r) raise(joint, clock(r, p));
      for (int r = 1; r < ranks; ++r) raise(clock(r, p), joint);
    }
  }

  /// What a rank's packets of all classes have done, for whoever acquires it.
  using Snapshot = std::vector<std::uint32_t>;
  Snapshot release(int rank) {
    Snapshot all;
    for (int p = 0; p < classes; ++p) {
      ++clock(rank, p)[rank];
      all.insert(all.end(), clock(rank, p), clock(rank, p) + ranks);
    }
    return all;
  }
  void acquire(int rank, const Snapshot &snapshot) {
    for (int p = 0; p < classes; ++p) raise(clock(rank, p), snapshot.data() + std::size_t(p) * ranks);
  }

private:
  const int ranks, classes;
  std::vector<std::uint32_t> known; ///< [rank][class][rank]

  std::uint32_t *clock(int rank, int packets) {
    return known.data() + (std::size_t(rank) * classes + packets) * ranks;
  }
  const std::uint32_t *clock(int rank, int packets) const {
    return known.data() + (std::size_t(rank) * classes + packets) * ranks;
  }
  void raise(std::uint32_t *to, const std::uint32_t *from) const {
    for (int r = 0; r < ranks; ++r)
      if (from[r] > to[r]) to[r] = from[r];
  }
};

} // namespace coll::check
