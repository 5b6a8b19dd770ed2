// Which loads of arguments have ended, as far as messages tell. No store holds a value before the loads that it is computed
// from (Dependence), so whoever has waited for a message knows of those that its value needs, and so does whom he sends
// to afterwards. That no store is performed before the wait that precedes it in its thread is what hardware does, and not PTX.
#pragma once

#include "check/Expansion.h"

#include "llvm/ADT/BitVector.h"

namespace coll::check {

class Fetches {
public:
  using Set = llvm::BitVector; ///< of loads, of all ranks

  /// Of one launch. Unless it `follows`, nothing is known.
  Fetches(const Expansion &expansion, const Variant &variant, int classes, bool follows);

  /// The packets of a class of a rank, of the threads that a map gives them to.
  struct Thread {
    int rank, map, packets;
  };

  /// What a message tells.
  Set toldBy(const Thread &by, const Step &send);
  void learn(const Thread &by, const Step &poll, const Set &told);

  /// Whether a load of `loader` has ended before a store.
  bool knows(const Thread &by, const Step &store, int loader, const Step &load);

  bool used() const { return isUsed; } ///< something rests on it

private:
  /// Iterations of a loop over ranks have no order: what one learns, it knows itself, and all know after the loop.
  struct Known {
    Set before, others, own;
    int loop = 0, iteration = 0;
  };

  const Expansion &expansion;
  const bool follows;
  bool isUsed = false;
  std::vector<int> first;   ///< by rank, the number of its first load
  std::vector<Known> known; ///< [rank][map][class]
  const int classes;

  int numberOf(int rank, const Step &load) const { return first[std::size_t(rank)] + load.mark; }
  Known &at(const Thread &thread) { return known[std::size_t((thread.rank * expansion.maps + thread.map) * classes + thread.packets)]; }
  Known &comeTo(const Thread &thread, const Step &step);
};

} // namespace coll::check
