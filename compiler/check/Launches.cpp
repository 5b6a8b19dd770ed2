#include "check/Launches.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <set>

namespace coll::check {

void Launches::note(Schedule schedule, LaunchKind kind, const std::vector<int> &counts) {
  std::size_t i = schedules.size();
  while (i > 0 && !schedules[i - 1].sameAs(schedule)) --i;
  if (i == 0) {
    schedules.push_back(std::move(schedule)), kinds.push_back(kind), alike.emplace_back();
    i = schedules.size();
  }
  alike[i - 1].insert(alike[i - 1].end(), counts.begin(), counts.end());
}

Launches Launches::seenFrom(int c) const {
  Launches part;
  part.classes = 2;
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    Schedule schedule;
    for (ScheduledEvent e : schedules[i].events) {
      if (e.packets == c) e.packets = 1;
      else if (e.packets > 0) continue;
      schedule.events.push_back(e);
    }
    part.note(std::move(schedule), kinds[i], alike[i]);
  }
  return part;
}

namespace {

/// What one rank does with packets of one class, or of the first and of all: by rank, one after the other.
struct Deed {
  Step::Kind kind;
  bool all;    ///< classes
  int slot, map, mark;
  int before;  ///< how many deeds of the first class and of all come before it
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

/// By class what its packets do in a launch; of the first, with what all do.
std::vector<Deeds> deedsOf(const Schedule &schedule, int classes, int ranks) {
  std::vector<Deeds> of(static_cast<std::size_t>(classes), Deeds(static_cast<std::size_t>(ranks)));
  for (const ScheduledEvent &e : schedule.events) {
    const bool all = e.packets == ir::kNone;
    const auto note = [&](std::size_t rank) {
      const int before = int(of[0][rank].size());
      of[all ? 0 : std::size_t(e.packets)][rank].push_back({e.kind, all, e.slot, e.map, e.step->mark, before});
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
    std::vector<Deeds> deeds = deedsOf(schedule, classes, ranks);
    const int first = numbers.of(std::move(deeds[0]));
    for (int c = 1; c < classes; ++c) {
      const std::pair<int, int> launch{first, numbers.of(std::move(deeds[std::size_t(c)]))};
      if (!llvm::is_contained(looks[std::size_t(c)], launch)) looks[std::size_t(c)].push_back(launch);
    }
  }
  std::vector<int> some;
  std::set<Looks> seen;
  for (int c = 1; c < classes; ++c)
    if (seen.insert(looks[std::size_t(c)]).second) some.push_back(c);
  return some;
}

namespace {

/// By rank, of which ranks it knows at the end of a launch that they have begun it. Each class of packets learns by its
/// own messages.
using Knowledge = std::vector<llvm::BitVector>;

Knowledge knowledgeAfter(const Schedule &schedule, const Expansion &expansion, int classes) {
  const std::size_t ranks = std::size_t(expansion.program->ranks), strands = std::size_t(classes * expansion.maps);
  const llvm::BitVector nobody(unsigned(ranks), false);
  Knowledge known(ranks * strands, nobody), words(expansion.slots.size() * strands, nobody);
  for (std::size_t i = 0; i < known.size(); ++i) known[i].set(unsigned(i / strands));
  for (const ScheduledEvent &e : schedule.events) {
    const bool all = e.packets == ir::kNone;
    const std::size_t begin = all ? 0 : std::size_t(e.map * classes + e.packets), end = all ? strands : begin + 1;
    for (std::size_t s = begin; s < end; ++s) {
      auto of = [&](std::size_t rank) -> llvm::BitVector & { return known[rank * strands + s]; };
      if (e.kind == Step::Kind::Send || e.kind == Step::Kind::Signal)
        words[std::size_t(e.slot) * strands + s] |= of(std::size_t(e.rank));
      else if (e.kind == Step::Kind::Poll || e.kind == Step::Kind::Await)
        of(std::size_t(e.rank)) |= words[std::size_t(e.slot) * strands + s];
      else if (e.kind == Step::Kind::Barrier) {
        llvm::BitVector sum = nobody;
        for (std::size_t r = 0; r < ranks; ++r) sum |= of(r);
        for (std::size_t r = 0; r < ranks; ++r) of(r) = sum;
      }
    }
  }
  Knowledge after(ranks, nobody);
  for (std::size_t i = 0; i < known.size(); ++i) after[i / strands] |= known[i];
  return after;
}

/// Whether nobody knows more of anybody with `a` than with `b`.
bool isWithin(const Knowledge &a, const Knowledge &b) {
  for (std::size_t r = 0; r < a.size(); ++r)
    if (llvm::BitVector(a[r]).test(b[r])) return false;
  return true;
}

} // namespace

std::vector<int> Launches::quietest(const Expansion &expansion) const {
  struct Launch {
    int number;
    unsigned told = 0;
    Knowledge after;
  };
  std::vector<Launch> all;
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    all.push_back({int(i), 0, knowledgeAfter(schedules[i], expansion, classes)});
    for (const llvm::BitVector &of : all.back().after) all.back().told += of.count();
  }
  std::stable_sort(all.begin(), all.end(), [&](const Launch &a, const Launch &b) {
    const auto length = [&](const Launch &l) { return schedules[std::size_t(l.number)].events.size(); };
    return a.told != b.told ? a.told < b.told : length(a) < length(b);
  });
  std::vector<const Launch *> quiet;
  for (const Launch &l : all)
    if (llvm::none_of(quiet, [&](const Launch *q) { return isWithin(q->after, l.after); })) quiet.push_back(&l);
  std::vector<int> numbers;
  for (const Launch *l : quiet) numbers.push_back(l->number);
  return numbers;
}

} // namespace coll::check
