// The memory of one rank's arguments during one launch, with in-place arguments on top of each other, and who touched
// which part: accesses of different threads to the same elements have no order within a launch.
#pragma once

#include "check/Expansion.h"
#include "check/Symbols.h"

namespace coll::check {

class Storage {
public:
  /// `alias` is the pair of Program::aliases that is the same memory, or kNone.
  Storage(const Expansion &expansion, const Sizes &sizes, const Symbols &symbols, int rank, int alias);

  /// Two accesses without order, or a load of what has been overwritten. The earlier one comes first.
  struct Conflict {
    const Step *earlier = nullptr, *later = nullptr;
    std::uint64_t begin = 0, end = 0; ///< elements of the buffer of `later`
    bool sameThread = false;          ///< the order is fixed, but it is the wrong one
  };

  /// Elements [begin, end) of the vector that starts at element `base` of the buffer, by the threads that own the
  /// packets of a vector of that base. Empty conflict if all is well.
  Conflict load(const Step &step, std::uint64_t base, std::uint64_t begin, std::uint64_t end, Content &out);
  Conflict store(const Step &step, std::uint64_t base, std::uint64_t begin, std::uint64_t end, const Content &value);

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
  };
  /// Elements of an area with one history.
  struct Cell {
    std::uint64_t begin, end;
    Node node;
    std::int64_t shift;
    Access stored, loaded, loadedElsewhere; ///< the last store; loads of two different bases
  };

  std::vector<Place> places;
  std::vector<std::vector<Cell>> areas;

  /// The cells of [begin, end), split so that they end there.
  std::pair<std::size_t, std::size_t> cut(std::vector<Cell> &area, std::uint64_t begin, std::uint64_t end);
  Conflict conflict(const Access &earlier, const Step &later, const Cell &cell, bool sameThread) const;
};

} // namespace coll::check
