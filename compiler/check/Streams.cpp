#include "check/Streams.h"

#include "llvm/ADT/STLExtras.h"

#include <set>
#include <tuple>

namespace coll::check {

namespace {

using Ranks = Effect::Ranks;

bool isWithin(const Ranks &a, const Ranks &b) { return (a & ~b).none(); }

bool isWithin(const std::vector<Ranks> &a, const std::vector<Ranks> &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Ranks &x, const Ranks &y) { return isWithin(x, y); });
}

/// Adds what is not above another, and takes out what is above it.
template <class T, class IsWithin> void addLeast(std::vector<T> &all, T one, IsWithin isWithin) {
  if (llvm::any_of(all, [&](const T &other) { return isWithin(other, one); })) return;
  llvm::erase_if(all, [&](const T &other) { return isWithin(one, other); });
  all.push_back(std::move(one));
}

} // namespace

void Streams::note(std::vector<Earlier> &all, const Earlier &access) const {
  if (!pruned) return all.push_back(access);
  addLeast(all, access, [](const Earlier &a, const Earlier &b) { return isWithin(a.knows, b.knows); });
}

void Streams::note(std::vector<Later> &all, Later access) const {
  if (!pruned) return all.push_back(std::move(access));
  addLeast(all, std::move(access), [](const Later &a, const Later &b) { return isWithin(a.told, b.told); });
}

void Streams::add(const std::vector<Effect> &effects) {
  const int launch = launches++;
  const Effect &first = effects.front();
  for (const Effect::Access &a : first.earlier) {
    Conflict &c = conflicts[a.key];
    c.clock = a.clock, c.box = a.box, c.less = std::max(c.less, a.less), c.isHazard = a.isHazard;
    if (int(a.ranks.count()) < ranks) note(c.earlier, {launch, a.ranks});
  }
  for (std::size_t i = 0; i < first.later.size(); ++i) {
    ByCredit told;
    for (const Effect &e : effects) told.push_back(e.later[i].ranks);
    note(conflicts[first.later[i].key].later, {launch, std::move(told)});
  }
  for (int clock = 0; clock < Effect::Clocks; ++clock) {
    Telling one{launch, {}};
    for (const Effect &e : effects) one.tells.push_back(e.tells[std::size_t(clock)]);
    std::vector<Telling> &all = tellings[clock];
    if (!pruned) all.push_back(std::move(one));
    else addLeast(all, std::move(one), [](const Telling &a, const Telling &b) {
      return std::equal(a.tells.begin(), a.tells.end(), b.tells.begin(), [](const auto &x, const auto &y) { return isWithin(x, y); });
    });
  }
  byValue |= first.byValue;
}

static void tell(Ranks &to, const Ranks &from, const std::vector<Ranks> &tells) {
  for (std::size_t r = 0; r < tells.size(); ++r)
    if (from[r]) to |= tells[r];
}

// What a credit for so many copies tells, its rank knew that many launches less one before.
Streams::State Streams::after(const State &state, const Telling &telling) const {
  State next = state;
  next.word.push_back(telling.launch);
  Ranks knows = state.knows.back();
  tell(knows, state.knows.back(), telling.tells.front());
  for (std::size_t i = 1; i < credits.size(); ++i)
    if (const auto before = std::size_t(credits[i]); before <= state.knows.size())
      tell(knows, state.knows[state.knows.size() - before], telling.tells[i]);
  if (credits.size() > 1) next.knows.push_back(knows);
  else next.knows.back() = knows; // what was before does not matter
  return next;
}

/// Who may know of an access after each choice of launches between that tells the least. Nothing if they are too many.
std::optional<std::vector<Streams::State>> Streams::follow(int clock, int distance, const Ranks &knows) const {
  constexpr std::size_t kMost = 4096;
  std::vector<State> states{{{knows}, {}}};
  for (int i = 1; i < distance; ++i) {
    std::vector<State> next;
    for (const State &s : states)
      for (const Telling &t : tellings[clock]) {
        State one = after(s, t);
        if (int(one.knows.back().count()) == ranks) continue;
        if (pruned) addLeast(next, std::move(one), [](const State &a, const State &b) { return isWithin(a.knows, b.knows); });
        else next.push_back(std::move(one));
        if (next.size() > kMost) return std::nullopt;
      }
    states = std::move(next);
  }
  return states;
}

bool Streams::isKnown(const State &state, const Later &access) const {
  if ((access.told.front() & state.knows.back()).any()) return true;
  for (std::size_t i = 1; i < credits.size(); ++i)
    if (const auto before = std::size_t(credits[i]); before <= state.knows.size())
      if ((access.told[i] & state.knows[state.knows.size() - before]).any()) return true;
  return false;
}

Streams::Found Streams::run(const std::vector<int> &copies) const {
  constexpr std::size_t kMostLaunches = 20000;
  Found found;
  std::set<Word> hazards, weak;
  std::size_t many = 0;
  std::map<std::tuple<int, int, std::string>, std::optional<std::vector<State>>> followed;
  for (const auto &[key, c] : conflicts) {
    if (c.later.empty()) continue;
    const int distance = c.box == ir::kNone ? 1 : std::max(copies[std::size_t(c.box)] - c.less, 1);
    for (const Earlier &e : c.earlier) {
      const auto [at, isNew] = followed.try_emplace({c.clock, distance, e.knows.to_string()});
      if (isNew) at->second = follow(c.clock, distance, e.knows);
      if (!at->second) found.all = false;
      for (const State &s : at->second ? *at->second : std::vector<State>())
        for (const Later &l : c.later) {
          if (isKnown(s, l)) continue;
          Word word{e.launch};
          word.insert(word.end(), s.word.begin(), s.word.end());
          word.push_back(l.launch);
          many += word.size();
          if (many > kMostLaunches) found.all = false;
          else (c.isHazard ? hazards : weak).insert(std::move(word));
        }
    }
  }
  found.hazards.assign(hazards.begin(), hazards.end());
  found.weak.assign(weak.begin(), weak.end());
  return found;
}

} // namespace coll::check
