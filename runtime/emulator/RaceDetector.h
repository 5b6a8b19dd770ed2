// Happens-before on a fair run: reports two accesses to a scratch region or a window that no order forbids to swap, although this
// run did not swap them. One run decides for all schedules as long as waits name one writer and one epoch.
//
// Two strengths of order are kept apart:
//  - dependency: program order, and a store to the relaxed load that has waited for it. Enough for one rank to
//  overwrite
//    what another has read, as a store is not made before the loads that it depends on.
//  - causality: what PTX promises for weak accesses. Needs a release or fence, the acquire or fence that sees it, CTA
//    barriers and the ends of launches.
// Between them lies what one store overwrites that nobody has read, as when a slot was cleared: dependency orders loads
// before stores, but the stores of one thread only through a release, a fence or the end of its launch.
#pragma once

#include "coll/emulated.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace coll::emu {

struct Thread;

class RaceDetector {
public:
  using Clock = std::vector<std::uint32_t>; ///< by thread number

  /// What the threads of a launch know when it begins, or whoever comes after its end.
  struct Moment {
    Clock known, performed;
  };

  /// The location that stands for one element of a window: of neighbours each may be another thread's.
  static std::uint64_t ofElement(std::uint64_t location) { return kOfElement | location * 16; }
  /// Where what a location stands for lies.
  static std::uint64_t placeOf(std::uint64_t location) {
    return location & kOfElement ? (location & ~kOfElement) / 16 : location;
  }

  explicit RaceDetector(std::size_t threadCount);
  Moment beginning() const { return {Clock(threads.size()), Clock(threads.size())}; }
  static void join(Moment &into, const Moment &other);

  // Called as they happen, in the order of the run. `location` is Memory::location of the access; `flag`: of a word that
  // only ever grows, so that overwriting it is no race.
  void launchBegins(const Thread &thread, int launch, const Moment &before);
  void threadEnds(const Thread &thread, Moment &end);
  void load(const Thread &thread, std::uint64_t location, bool flag, emulated::Order order);
  void store(const Thread &thread, std::uint64_t location, bool flag, emulated::Order order);
  /// Of elements, to what is there: in any order with other additions, but after the clear before them and its reads.
  void add(const Thread &thread, std::uint64_t location);
  void fence(const Thread &thread);
  void arrives(const Thread &thread) { settle(thread); } ///< at a CTA barrier
  void ctaBarrier(const std::vector<Thread *> &threads); ///< all have arrived
  /// What is at `location` was late: its load counts for nothing. Who waits for several places looks at all of them
  /// again, and the last look counts.
  void lookedInVain(const Thread &thread, std::uint64_t location);

  /// An event of some thread, and what the second of two racing events does to the first.
  struct Event {
    std::uint32_t thread = 0; ///< number; 0: none
    std::uint32_t launch = 0;
    std::uint32_t clock = 0;
  };
  struct Race {
    enum Kind { OverwritesRead, OverwritesStore, ReadsEarly } kind;
    Event first, second;
    std::uint64_t location;
  };
  /// The first race found.
  const std::optional<Race> &race() const { return found; }

private:
  static constexpr std::uint64_t kOfElement = std::uint64_t(1) << 62;
  struct Load {
    std::uint64_t key;
    bool flag;
    emulated::Order order;
    bool covers(std::uint64_t location) const { return location / (flag ? 4 : 16) * (flag ? 4 : 16) == key; }
  };
  struct PerThread {
    Clock known;    ///< by dependency
    Clock causal;   ///< by causality
    Clock fenced;   ///< `known` at the last fence
    Clock observed; ///< released to this thread through relaxed loads; a fence makes it causal
    Clock performed; ///< whose stores take effect before any later one of this thread
    std::shared_ptr<const Clock> knownCopy, fencedCopy, performedCopy; ///< for the stores until the next change
    std::vector<Load> unsettled; ///< since the last other event; of a place, the last
    std::uint32_t launch = 0;
  };
  /// 16 bytes of a mailbox, an element of a window or a word of the header.
  struct Place {
    Event writer;
    std::shared_ptr<const Clock> known;    ///< the writer's when it stored
    std::shared_ptr<const Clock> released; ///< what an acquire of this store gains
    std::shared_ptr<const Clock> performed; ///< stores that take effect before this one
    std::vector<Event> readers;
    bool added = false; ///< by the writer and others, whose clocks are in those above
    Event base;         ///< then: whoever stored before them
  };

  PerThread &of(const Thread &thread);
  static void join(Clock &into, const Clock &other);
  void settle(const Thread &thread);
  void performAll(const Thread &thread);
  void checkOverwritten(const Place &place, const Event &stored, const Event &writer, std::uint64_t location);
  void report(Race::Kind kind, Event first, Event second, std::uint64_t location);

  std::vector<PerThread> threads;
  std::unordered_map<std::uint64_t, Place> places;
  std::optional<Race> found;
};

} // namespace coll::emu
