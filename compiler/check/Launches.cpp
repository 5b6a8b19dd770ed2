#include "check/Launches.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

namespace coll::check {

bool Launches::note(Schedule schedule, const std::vector<LaunchKind> &with, std::size_t mostEvents) {
  const std::uint64_t hash = schedule.hash();
  std::size_t i = schedules.size();
  while (i > 0 && !(hashes[i - 1] == hash && schedules[i - 1].sameAs(schedule))) --i;
  if (i == 0) {
    if (events + schedule.events.size() > mostEvents) return false;
    events += schedule.events.size();
    hashes.push_back(hash), schedules.push_back(std::move(schedule)), kinds.push_back(with.front()), alike.emplace_back();
    i = schedules.size();
  }
  alike[i - 1].insert(alike[i - 1].end(), with.begin(), with.end());
  return true;
}

Launches Launches::apart() const {
  Launches all = *this;
  for (Schedule &schedule : all.schedules) schedule = schedule.apart();
  return all;
}

Launches Launches::seenFrom(int c) const {
  Launches part;
  part.classes = 2;
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    Schedule schedule;
    schedule.upTo = {1, 2};
    const int group = schedules[i].groupOf(c);
    const auto add = [&](ScheduledEvent e, int packets) {
      e.packets = std::int16_t(packets);
      schedule.events.push_back(e);
    };
    for (const ScheduledEvent &e : schedules[i].events) {
      if (e.packets <= 0) add(e, e.packets);
      if (e.packets >= 0 && e.packets == group) add(e, 1);
    }
    part.note(std::move(schedule), alike[i]);
  }
  return part;
}

namespace {

/// What one rank does with packets of one class, or of the first and of all: by rank, one after the other.
struct Deed {
  Step::Kind kind;
  bool all;    ///< classes
  int slot, map, mark;
  int before;  ///< how many deeds of all come before it
  auto operator<=>(const Deed &) const = default;
};
using Deeds = std::vector<std::vector<Deed>>;

/// A number for each that differs.
class Numbers {
public:
  int of(Deeds deeds) { return numbers.emplace(std::move(deeds), int(numbers.size())).first->second; }

private:
  std::map<Deeds, int> numbers;
};

/// By group of classes what packets of one do in a launch, with what all do for the first class; last, what those of the
/// other classes of its group do.
std::vector<Deeds> deedsOf(const Schedule &schedule, int ranks) {
  const auto groups = std::size_t(schedule.groups());
  std::vector<Deeds> of(groups + 1, Deeds(static_cast<std::size_t>(ranks)));
  std::vector<int> before(static_cast<std::size_t>(ranks), 0);
  for (const ScheduledEvent &e : schedule.events) {
    const bool all = e.packets == ir::kNone;
    const auto note = [&](std::size_t rank) {
      const Deed deed{e.kind, all, e.slot, e.map, e.step->mark, before[rank]};
      of[all ? 0 : std::size_t(e.packets)][rank].push_back(deed);
      if (e.packets == 0) of[groups][rank].push_back(deed);
      before[rank] += all;
    };
    if (e.kind != Step::Kind::Barrier) note(std::size_t(e.rank));
    else
      for (int rank = 0; rank < ranks; ++rank) note(std::size_t(rank));
  }
  return of;
}

} // namespace

std::vector<int> Launches::classesThatDiffer(int ranks) const {
  Numbers numbers;
  using Looks = std::vector<std::pair<int, int>>; // of the launches that differ: the first class and what all do, the class
  std::vector<Looks> looks(static_cast<std::size_t>(classes));
  for (const Schedule &schedule : schedules) {
    std::vector<int> does;
    for (Deeds &deeds : deedsOf(schedule, ranks)) does.push_back(numbers.of(std::move(deeds)));
    const int nothing = numbers.of(Deeds(static_cast<std::size_t>(ranks)));
    for (int c = 1; c < classes; ++c) {
      const int group = schedule.groupOf(c);
      const std::pair launch{does[0], group < 0 ? nothing : does[std::size_t(group ? group : schedule.groups())]};
      if (!llvm::is_contained(looks[std::size_t(c)], launch)) looks[std::size_t(c)].push_back(launch);
    }
  }
  std::vector<int> some;
  std::set<Looks> seen;
  for (int c = 1; c < classes; ++c)
    if (seen.insert(looks[std::size_t(c)]).second) some.push_back(c);
  return some;
}

} // namespace coll::check
