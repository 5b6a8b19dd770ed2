// What one chunk of a launch does to what ranks know, whatever they knew before it. Nothing joins the threads of a rank
// between two chunks and nothing is released there, so it is followed by strand, and by the way in which a strand knows.
#pragma once

#include "ir/Program.h"

#include "llvm/ADT/BitVector.h"

#include <cstdint>
#include <vector>

namespace coll::check {

/// The ways in which a strand knows of an access: Order's clocks, each a number from 0 up, then what no clock shows.
struct Ways {
  int strands = 1, ranks = 0;
  static constexpr int kSeen = 0;
  int clocks = 1; ///< the last of them is `pending`, if there is one
  int caused = ir::kNone, passed = ir::kNone, released = ir::kNone, pending = ir::kNone;
  /// Of its own accesses, of all of which the next release tells: those outside of branches, of which one within tells as
  /// well, and the others; the same if there are no branches.
  int own = ir::kNone, ownInBranch = ir::kNone;
  int begun = ir::kNone; ///< first of those in which it knew when its launch began, as far as a message may say no more
  int sent = 1;          ///< so many of them, each of the clock with its number
  int count = 1;

  int at(int rank, int way) const { return rank * count + way; }
  int perStrand() const { return ranks * count; }
};

struct ChunkEffect {
  /// Of one strand: by Ways::at.
  using Knowers = llvm::BitVector;

  /// By strand, and by who knew of something at the begin: who knows of it at the end.
  std::vector<std::vector<Knowers>> tells;

  /// As Effect::Access.
  struct Access {
    std::int64_t key;
    int strand, box, less;
    Knowers knowers; ///< of an earlier access: who knows of it at the end of the chunk; of a later one: all whose
                     ///< knowledge at the begin has come to it
    bool isHazard;
  };
  std::vector<Access> earlier, later;
  bool byValue = false;            ///< as in Effect
  std::vector<bool> leavesPlain;   ///< by rank and strand: it has made plain accesses and not released them
};

} // namespace coll::check
