// Every stream of launches, however many kinds of them there are: what can be wrong between two launches, whichever come
// between them.
#pragma once

#include "check/Effect.h"
#include "check/Launches.h"

#include <map>
#include <optional>

namespace coll::check {

class Streams {
public:
  /// Of launches none of which is in chunks. By how many copies credits are for that count: ascending, the first 0, none.
  /// Unless `pruned`, also what can only be wrong where something else is, as far as ranks know no less than they do.
  Streams(int ranks, std::vector<int> credits, bool pruned) : ranks(ranks), credits(std::move(credits)), pruned(pruned) {}

  /// The next launch, its effect with each of the credits.
  void add(const std::vector<Effect> &effects);

  using Word = std::vector<int>;
  struct Found {
    std::vector<Word> hazards; ///< launches in a row, of which the last may come before the first is done
    std::vector<Word> weak;    ///< the same, without what plain accesses rest on beyond release and acquire
    bool all = true;           ///< else there are more
  };
  /// With so many copies of each mailbox.
  Found run(const std::vector<int> &copies) const;

  bool byValue = false; ///< an effect is

private:
  using Ranks = Effect::Ranks;
  using ByCredit = std::vector<Ranks>;
  struct Earlier {
    int launch;
    Ranks knows;
  };
  struct Later {
    int launch;
    ByCredit told;
  };
  struct Conflict {
    int clock = 0, box = ir::kNone, less = 0;
    bool isHazard = true;
    std::vector<Earlier> earlier;
    std::vector<Later> later;
  };
  /// By what a rank knew at the begin: who knows it at the end.
  struct Telling {
    int launch;
    std::vector<std::vector<Ranks>> tells; ///< by credits
  };
  /// Who knows of an access when each of the launches between begins, and when the next one does.
  struct State {
    std::vector<Ranks> knows;
    Word word;
  };

  const int ranks;
  const std::vector<int> credits;
  const bool pruned;
  int launches = 0;
  std::map<std::int64_t, Conflict> conflicts;
  std::vector<Telling> tellings[Effect::Clocks];

  void note(std::vector<Earlier> &all, const Earlier &access) const;
  void note(std::vector<Later> &all, Later access) const;
  std::optional<std::vector<State>> follow(int clock, int distance, const Ranks &knows) const;
  State after(const State &state, const Telling &telling) const;
  bool isKnown(const State &state, const Later &access) const;
};

} // namespace coll::check
