// The memory of one rank's arguments during one launch, with in-place arguments on top of each other, and who touched
// which part: accesses of different threads of a rank to the same elements have no order within a launch, and those of
// different ranks only that of `Causality`.
#pragma once

#include "check/Causality.h"
#include "check/Expansion.h"
#include "check/Fetches.h"
#include "check/Symbols.h"

namespace coll::check {

class Storage {
public:
  /// `alias` is the pair of Program::aliases that is the same memory, or kNone.
  Storage(const Expansion &expansion, const Sizes &sizes, const Symbols &symbols, int rank, int alias);

  /// Two accesses without order, or a load of what has been overwritten. The earlier one comes first.
  struct Conflict {
    const Step *earlier = nullptr, *later = nullptr;
    int earlierRank = 0, laterRank = 0;
    std::uint64_t begin = 0, end = 0; ///< elements of the buffer of `later`
    bool sameThread = false;          ///< the order is fixed, but it is the wrong one
    bool ordered = false;             ///< the packets of one class are ordered, but the two are not of one class
  };

  /// Who accesses: the packets of a class of a rank.
  struct Accessor {
    const Causality &causality;
    int rank, packets;
    Fetches *fetches = nullptr; ///< where messages may tell of loads
    int map = 0;                ///< of its threads
  };

  /// Elements [begin, end) of the vector that starts at element `base` of the buffer, by the threads that own the
  /// packets of a vector of that base. Empty conflict if all is well.
  /// With `byAll`, by other threads too.
  Conflict load(const Step &step, const Accessor &by, std::uint64_t base, std::uint64_t begin, std::uint64_t end,
                Content &out, bool byAll = false);
  Conflict store(const Step &step, const Accessor &by, std::uint64_t base, std::uint64_t begin, std::uint64_t end,
                 const Content &value);

  /// What elements [begin, end) of a buffer hold, counted from `begin`.
  void peek(ir::BufferId buffer, std::uint64_t begin, std::uint64_t end, Content &out) const;
  /// What stored an element in this launch; null if nothing did.
  const Step *writer(ir::BufferId buffer, std::uint64_t element) const;
  std::uint64_t size(ir::BufferId buffer) const { return places[buffer].size; }

private:
  /// Where a buffer lies: element e of it is element e + offset of an area.
  struct Place {
    int area;
    std::uint64_t offset, size;
  };
  struct Access {
    const Step *step = nullptr;
    std::int64_t base = 0;
    Causality::Moment when = {};
    bool several = false; ///< of loads: it is the last of more than one
  };
  /// Elements of an area with one history. Cells are moved whenever one is cut, so they are plain bytes.
  struct Cell {
    std::uint64_t begin, end;
    Node node;
    std::int64_t shift;
    Access stored;          ///< the last store
    int loaded = ir::kNone; ///< in `loads`: the last load of each rank and base
  };
  struct Load {
    Access access;
    int next; ///< of the same cell
  };

  std::vector<Place> places;
  std::vector<std::vector<Cell>> areas;
  std::vector<Load> loads;

  /// The cells of [begin, end), split so that they end there.
  std::pair<std::size_t, std::size_t> cut(std::vector<Cell> &area, std::uint64_t begin, std::uint64_t end);
  /// Whether the two are of one thread, or of threads with one number on two ranks and in this order.
  static bool inOrder(const Access &earlier, const Access &later, const Accessor &by) {
    return earlier.base == later.base && by.causality.knows(by.rank, by.packets, earlier.when);
  }
  /// Whether a message says that a load has ended, to the thread with the number of the one that made it.
  static bool isFetched(const Access &load, const Access &store, const Accessor &by) {
    return by.fetches && !load.several && load.base == store.base && load.when.packets == by.packets &&
           by.fetches->knows({by.rank, by.map, by.packets}, *store.step, load.when.rank, *load.step);
  }
  void noteLoad(Cell &cell, const Access &access);
  Conflict conflict(const Access &earlier, const Access &later, const Accessor &by, const Cell &cell) const;
};

} // namespace coll::check
