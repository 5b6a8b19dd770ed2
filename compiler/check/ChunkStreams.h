// Every stream of launches in chunks: as Streams, from chunk to chunk. Which chunks may follow each other within a
// launch is given; a launch may end after each. Where it goes on, ranks never know more than where it ends, unless only
// fences count.
#pragma once

#include "check/ChunkEffect.h"
#include "check/Streams.h"

#include <optional>
#include <vector>

namespace coll::check {

class ChunkStreams {
public:
  /// By how many copies credits are for that count, as in Streams. `goesOn`, by kind of chunk: those that may come right
  /// after it in the same launch.
  ChunkStreams(const Ways &ways, std::vector<int> credits, std::vector<llvm::BitVector> goesOn);

  /// The next kind of chunk, its effect with each of the credits.
  void add(std::vector<ChunkEffect> effects);

  /// With so many copies of each mailbox. A word has ~c for a chunk c that might go on with a launch and begins one.
  /// What is found may yet be right, as effects leave something out; where nothing is found and that is all, nothing is
  /// wrong.
  Streams::Found run(const std::vector<int> &copies) const;

  bool byValue = false; ///< an effect is

private:
  using Knowers = ChunkEffect::Knowers;
  using Known = std::vector<Knowers>; ///< by strand
  using Tells = std::vector<std::vector<Knowers>>;
  using Word = Streams::Word;
  struct Earlier {
    int chunk, strand;
    Knowers knowers;
  };
  struct Later {
    int chunk, strand;
    std::vector<Knowers> told; ///< by credits
  };
  struct Conflict {
    int box = ir::kNone, less = 0;
    bool isHazard = true;
    std::vector<Earlier> earlier;
    std::vector<Later> later;
  };
  struct Telling {
    int chunk;
    std::vector<Tells> tells; ///< by credits
  };
  /// Who knows of an access when each of the chunks after it begins, and at the end of the last.
  struct State {
    std::vector<Known> knows;
    int since; ///< so many chunks before the next one its launch begins; kLong: not after the access, or longer ago
    int last;  ///< chunk
    Word word;
  };
  static constexpr int kLong = 1 << 20;

  const Ways ways;
  const std::vector<int> credits;
  const std::vector<llvm::BitVector> goesOn;
  std::vector<llvm::BitVector> comesAfter; ///< the same, from the later to the earlier
  int chunks = 0;
  std::vector<Conflict> conflicts; ///< by key
  std::vector<Telling> tellings;
  std::vector<Tells> always; ///< by credits: what every chunk tells

  bool isWithin(const Telling &a, const Telling &b) const;
  bool isWithin(const State &a, const State &b) const;
  Conflict &conflict(std::int64_t key);
  void noteTelling(Telling telling);
  Known known(const Earlier &access) const;
  bool isKnownToAll(const Known &known) const;
  void tell(Known &to, const Known &from, const Tells &tells) const;
  Known atEnd(const Known &known) const;
  void strip(Known &known) const;
  std::vector<State> begin(const State &state, int chunk) const;
  State after(State state, const std::vector<Tells> &tells) const;
  std::optional<std::vector<State>> follow(const Earlier &access, int distance, std::size_t &work) const;
  bool isKnown(const State &state, const Later &access) const;
  State alwaysAfter(const Conflict &c, int distance) const;
};

} // namespace coll::check
