#include "check/Schedule.h"

#include "llvm/ADT/Hashing.h"

#include <algorithm>
#include <set>

namespace coll::check {

int Schedule::groupOf(int packets) const {
  const auto it = std::upper_bound(upTo.begin(), upTo.end(), packets);
  return it == upTo.end() ? ir::kNone : int(it - upTo.begin());
}

std::size_t Schedule::size() const {
  std::size_t all = 0;
  for (const ScheduledEvent &e : events)
    all += e.packets == ir::kNone ? 1 : std::size_t(upTo[std::size_t(e.packets)] - (e.packets ? upTo[std::size_t(e.packets) - 1] : 0));
  return all;
}

void Schedule::appendTo(std::vector<ScheduledEvent> &out, const ScheduledEvent &event) const {
  if (event.packets == ir::kNone) return out.push_back(event);
  const int group = event.packets;
  for (int c = group ? upTo[std::size_t(group) - 1] : 0; c < upTo[std::size_t(group)]; ++c) {
    out.push_back(event);
    out.back().packets = std::int16_t(c);
  }
}

Schedule Schedule::apart() const {
  Schedule all;
  all.events.reserve(size());
  for (const ScheduledEvent &e : events) appendTo(all.events, e);
  for (int c = 0; c < upTo.back(); ++c) all.upTo.push_back(c + 1);
  return all;
}

/// The same, of one group of each.
static bool sameGroups(const Schedule &x, int a, const Schedule &y, int b) {
  std::size_t i = 0, j = 0;
  for (;; ++i, ++j) {
    while (i < x.events.size() && !x.events[i].isOf(a)) ++i;
    while (j < y.events.size() && !y.events[j].isOf(b)) ++j;
    if (i == x.events.size() || j == y.events.size()) return i == x.events.size() && j == y.events.size();
    if (!x.events[i].sameAs(y.events[j])) return false;
  }
}

// Of each class what its packets do, up to the last that does more than what all do.
std::uint64_t Schedule::hash() const {
  std::vector<llvm::hash_code> of(upTo.size() + 1, llvm::hash_code(0)); // by group; last, of what all do
  for (const ScheduledEvent &e : events) {
    const bool all = e.packets == ir::kNone;
    const llvm::hash_code does = llvm::hash_combine(int(e.kind), e.rank, all, e.slot, e.map, e.step->mark);
    const std::size_t begin = all ? 0 : std::size_t(e.packets), end = all ? of.size() : begin + 1;
    for (std::size_t g = begin; g < end; ++g) of[g] = llvm::hash_combine(of[g], does);
  }
  llvm::hash_code whole = of.back();
  int last = upTo.empty() ? 0 : upTo.back();
  while (last > 0 && of[std::size_t(groupOf(last - 1))] == of.back()) --last;
  for (int c = 0; c < last; ++c) whole = llvm::hash_combine(whole, of[std::size_t(groupOf(c))]);
  return whole;
}

bool Schedule::sameAs(const Schedule &o) const {
  if (upTo == o.upTo)
    return std::equal(events.begin(), events.end(), o.events.begin(), o.events.end(), [](const auto &a, const auto &b) {
      return a.packets == b.packets && a.sameAs(b);
    });
  std::set<std::pair<int, int>> pairs;
  for (int c = 0; c <= std::max(upTo.back(), o.upTo.back()); ++c) pairs.emplace(groupOf(c), o.groupOf(c));
  return std::all_of(pairs.begin(), pairs.end(), [&](const auto &p) { return sameGroups(*this, p.first, o, p.second); });
}

} // namespace coll::check
