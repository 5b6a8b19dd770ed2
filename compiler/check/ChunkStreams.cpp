#include "check/ChunkStreams.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <set>

namespace coll::check {

namespace {

using Knowers = ChunkEffect::Knowers;

bool isWithin(const Knowers &a, const Knowers &b) { return !a.test(b); }

bool isWithin(const std::vector<Knowers> &a, const std::vector<Knowers> &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Knowers &x, const Knowers &y) { return isWithin(x, y); });
}

template <class T> bool allWithin(const std::vector<T> &a, const std::vector<T> &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const T &x, const T &y) { return isWithin(x, y); });
}

/// Adds what is not above another, and takes out what is above it.
template <class T, class IsWithin> void addLeast(std::vector<T> &all, T one, IsWithin isWithin) {
  if (llvm::any_of(all, [&](const T &other) { return isWithin(other, one); })) return;
  llvm::erase_if(all, [&](const T &other) { return isWithin(one, other); });
  all.push_back(std::move(one));
}

} // namespace

ChunkStreams::ChunkStreams(const Ways &ways, std::vector<int> credits, std::vector<llvm::BitVector> goesOn)
    : ways(ways), credits(std::move(credits)), goesOn(std::move(goesOn)) {
  const unsigned kinds = unsigned(this->goesOn.size());
  comesAfter.assign(kinds, llvm::BitVector(kinds));
  for (unsigned a = 0; a < kinds; ++a)
    for (const unsigned b : this->goesOn[a].set_bits()) comesAfter[b].set(a);
}

ChunkStreams::Conflict &ChunkStreams::conflict(std::int64_t key) {
  if (std::size_t(key) >= conflicts.size()) conflicts.resize(std::size_t(key) + 1);
  return conflicts[std::size_t(key)];
}

// What tells less stands for what tells more only where it may stand in its place within a launch.
void ChunkStreams::add(std::vector<ChunkEffect> effects) {
  const int chunk = chunks++;
  const auto follows = [&](int a, int b) { return !comesAfter[std::size_t(a)].test(comesAfter[std::size_t(b)]); };
  const auto leads = [&](int a, int b) { return !goesOn[std::size_t(a)].test(goesOn[std::size_t(b)]); };
  for (const ChunkEffect::Access &a : effects.front().earlier) {
    Conflict &c = conflict(a.key);
    c.box = a.box, c.less = std::max(c.less, a.less), c.isHazard = a.isHazard;
    addLeast(c.earlier, Earlier{chunk, a.strand, a.knowers}, [&](const Earlier &x, const Earlier &y) {
      return check::isWithin(x.knowers, y.knowers) && leads(y.chunk, x.chunk);
    });
  }
  for (std::size_t i = 0; i < effects.front().later.size(); ++i) {
    Later later{chunk, effects.front().later[i].strand, {}};
    for (const ChunkEffect &e : effects) later.told.push_back(e.later[i].knowers);
    addLeast(conflict(effects.front().later[i].key).later, std::move(later), [&](const Later &x, const Later &y) {
      return check::isWithin(x.told, y.told) && follows(y.chunk, x.chunk);
    });
  }
  byValue |= effects.front().byValue;
  Telling telling{chunk, {}};
  for (ChunkEffect &e : effects) telling.tells.push_back(std::move(e.tells));
  noteTelling(std::move(telling));
}

void ChunkStreams::noteTelling(Telling telling) {
  if (always.empty()) always = telling.tells;
  for (std::size_t i = 0; i < always.size(); ++i)
    for (std::size_t s = 0; s < always[i].size(); ++s)
      for (std::size_t from = 0; from < always[i][s].size(); ++from) always[i][s][from] &= telling.tells[i][s][from];
  addLeast(tellings, std::move(telling), [&](const Telling &a, const Telling &b) { return isWithin(a, b); });
}

bool ChunkStreams::isWithin(const Telling &a, const Telling &b) const {
  const auto x = std::size_t(a.chunk), y = std::size_t(b.chunk);
  if (goesOn[y].test(goesOn[x]) || comesAfter[y].test(comesAfter[x])) return false;
  return std::equal(a.tells.begin(), a.tells.end(), b.tells.begin(), allWithin<std::vector<Knowers>>);
}

bool ChunkStreams::isWithin(const State &a, const State &b) const {
  if (a.since < b.since || goesOn[std::size_t(b.last)].test(goesOn[std::size_t(a.last)])) return false;
  return allWithin(a.knows, b.knows);
}

ChunkStreams::Known ChunkStreams::known(const Earlier &access) const {
  Known all(std::size_t(ways.strands), Knowers(unsigned(ways.perStrand())));
  all[std::size_t(access.strand)] = access.knowers;
  return all;
}

/// Whether it is to every strand, in all ways that an order may need.
bool ChunkStreams::isKnownToAll(const Known &known) const {
  return llvm::all_of(known, [&](const Knowers &strand) {
    for (int r = 0; r < ways.ranks; ++r)
      for (const int way : {Ways::kSeen, ways.caused, ways.passed})
        if (way != ir::kNone && !strand.test(unsigned(ways.at(r, way)))) return false;
    return true;
  });
}

void ChunkStreams::tell(Known &to, const Known &from, const Tells &tells) const {
  for (std::size_t s = 0; s < from.size(); ++s)
    for (const unsigned who : from[s].set_bits()) to[s] |= tells[s][who];
}

/// What is known where a launch ends: all strands of a rank have met, and released what they did. Their fences are at an end.
ChunkStreams::Known ChunkStreams::atEnd(const Known &known) const {
  Known end(known.size(), Knowers(unsigned(ways.perStrand())));
  const auto has = [&](int rank, int way) {
    if (way == ir::kNone) return false;
    return llvm::any_of(known, [&](const Knowers &s) { return s.test(unsigned(ways.at(rank, way))); });
  };
  for (int r = 0; r < ways.ranks; ++r) {
    const bool own = has(r, ways.own) || has(r, ways.ownInBranch);
    const bool fenced = ways.released == ir::kNone && has(r, ways.pending);
    const auto spread = [&](int way, bool knows) {
      if (way == ir::kNone || !knows) return;
      for (Knowers &s : end) {
        s.set(unsigned(ways.at(r, way)));
        if (ways.begun != ir::kNone) s.set(unsigned(ways.at(r, ways.begun + way)));
      }
    };
    spread(Ways::kSeen, has(r, Ways::kSeen));
    spread(ways.caused, own || fenced || has(r, ways.caused));
    spread(ways.passed, own || has(r, ways.passed));
  }
  return end;
}

/// Takes out what the end of a launch may do away with: what the last fence has released, and what the next one would.
void ChunkStreams::strip(Known &known) const {
  for (Knowers &s : known)
    for (int r = 0; r < ways.ranks; ++r) {
      for (const int way : {ways.released, ways.pending}) s.reset(unsigned(ways.at(r, way)));
      if (ways.begun != ir::kNone) s.reset(unsigned(ways.at(r, ways.begun + ways.released)));
    }
}

/// As a chunk begins: within the launch if it may be, and as the first of another if it may not, or if that tells less.
std::vector<ChunkStreams::State> ChunkStreams::begin(const State &state, int chunk) const {
  const bool mayGoOn = goesOn[std::size_t(state.last)].test(unsigned(chunk));
  std::vector<State> all;
  if (mayGoOn) {
    all.push_back(state);
    all.back().since = std::min(state.since + 1, kLong);
    all.back().word.push_back(chunk);
  }
  if (!mayGoOn || ways.released != ir::kNone) {
    all.push_back(state);
    all.back().knows.back() = atEnd(state.knows.back());
    all.back().since = 0;
    all.back().word.push_back(mayGoOn ? ~chunk : chunk);
  }
  for (State &s : all) s.last = chunk;
  return all;
}

// What a credit for so many copies tells, its CTA knew that many chunks less one before, or when the launch began.
ChunkStreams::State ChunkStreams::after(State state, const std::vector<Tells> &tells) const {
  Known knows = state.knows.back();
  tell(knows, state.knows.back(), tells.front());
  for (std::size_t i = 1; i < credits.size(); ++i)
    if (const auto before = std::size_t(std::min(credits[i], state.since + 1)); before <= state.knows.size())
      tell(knows, state.knows[state.knows.size() - before], tells[i]);
  if (credits.size() > 1) state.knows.push_back(std::move(knows));
  else state.knows.back() = std::move(knows);
  return state;
}

/// Who may know of an access after each choice of chunks between that tells the least. Nothing if they are too many.
std::optional<std::vector<ChunkStreams::State>> ChunkStreams::follow(const Earlier &access, int distance,
                                                                     std::size_t &work) const {
  constexpr std::size_t kMost = 4096, kMostWork = 4000000;
  std::vector<State> states{{{known(access)}, kLong, access.chunk, {access.chunk}}};
  for (int i = 1; i < distance; ++i) {
    std::vector<State> next;
    for (const State &s : states)
      for (const Telling &t : tellings)
        for (State &from : begin(s, t.chunk)) {
          State one = after(std::move(from), t.tells);
          work += 1 + next.size();
          if (isKnownToAll(one.knows.back())) continue;
          addLeast(next, std::move(one), [&](const State &a, const State &b) { return isWithin(a, b); });
          if (next.size() > kMost || work > kMostWork) return std::nullopt;
        }
    states = std::move(next);
  }
  return states;
}

/// Whether the later access comes after, where its chunk has begun.
bool ChunkStreams::isKnown(const State &state, const Later &access) const {
  const auto strand = std::size_t(access.strand);
  if (access.told.front().anyCommon(state.knows.back()[strand])) return true;
  for (std::size_t i = 1; i < credits.size(); ++i)
    if (const auto before = std::size_t(std::min(credits[i], state.since + 1)); before <= state.knows.size())
      if (access.told[i].anyCommon(state.knows[state.knows.size() - before][strand])) return true;
  return false;
}

/// What is known of each of the earlier accesses by what every chunk tells, in one launch that goes on and on.
ChunkStreams::State ChunkStreams::alwaysAfter(const Conflict &c, int distance) const {
  Earlier all = c.earlier.front();
  for (const Earlier &e : c.earlier) all.knowers &= e.knowers;
  State state{{known(all)}, kLong, all.chunk, {}};
  for (int i = 1;; ++i) {
    if (ways.released != ir::kNone) strip(state.knows.back());
    if (i == distance) return state;
    state = after(std::move(state), always);
  }
}

// One access without an order is enough, and of a few the shortest message is made.
Streams::Found ChunkStreams::run(const std::vector<int> &copies) const {
  constexpr int kMost = 500;
  Streams::Found found;
  std::set<Word> hazards, weak;
  std::size_t work = 0;
  int many = 0;
  for (const Conflict &c : conflicts) {
    if (c.earlier.empty() || c.later.empty() || many > kMost || (!c.isHazard && !weak.empty())) continue;
    const int distance = c.box == ir::kNone ? 1 : std::max(copies[std::size_t(c.box)] - c.less, 1);
    const State always = alwaysAfter(c, distance);
    std::vector<const Later *> open;
    for (const Later &l : c.later)
      if (!isKnown(always, l)) open.push_back(&l);
    for (const Earlier &e : open.empty() ? std::vector<Earlier>() : c.earlier) {
      const auto states = follow(e, distance, work);
      if (!states) found.all = false;
      for (const State &s : states ? *states : std::vector<State>())
        for (const Later *l : open)
          for (State &last : begin(s, l->chunk)) {
            if (isKnown(last, *l)) continue;
            (c.isHazard ? hazards : weak).insert(std::move(last.word));
            many += c.isHazard;
          }
    }
  }
  found.hazards.assign(hazards.begin(), hazards.end());
  found.weak.assign(weak.begin(), weak.end());
  return found;
}

} // namespace coll::check
