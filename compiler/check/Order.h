// Back-to-back launches on ranks that may be any number of launches apart: vector clocks over a sequence of schedules
// decide whether whoever fills a slot again comes after the last read of what it held, and whether reads that do not
// wait come after their send.
#pragma once

#include "check/Schedule.h"

namespace coll::check {

class Order {
public:
  /// If `exact`, the end of a launch tells all packets of a rank what any of them knows of launches that have not ended
  /// elsewhere. Else they are thought not to know it, which takes a fraction of the time.
  Order(const Expansion &expansion, int classes, bool exact) : expansion(expansion), classes(classes), exact(exact) {}

  /// The first two events without the order they need. `first` is in launch `firstLaunch` of the sequence.
  struct Hazard {
    Refutation::Kind kind;
    ScheduledEvent first, second;
    int firstLaunch, secondLaunch;
  };

  /// Runs one launch of each schedule in turn, with so many copies of each mailbox.
  std::optional<Hazard> run(const std::vector<const Schedule *> &launches, const std::vector<int> &copies);

  /// Of the last run: in every launch, every rank waited for every other.
  bool fullDependence() const { return full; }

  /// Of the last run: some plain access is ordered only if no store is performed before the wait that precedes it.
  bool reliesOnWaits() const { return relied; }

private:
  using Tick = std::uint32_t;
  /// Ticks of launch e of a rank start at (e + 1) << kShift, which stands for all that it did before.
  static constexpr int kShift = 16;
  static Tick launchOf(Tick t) { return t >> kShift << kShift; }

  struct Reading {
    const ScheduledEvent *event;
    int component;
    Tick tick;
    int launch;
    bool causal; ///< only release and acquire order it before another access
  };
  /// What was last sent to a slot, and who has read it.
  struct Slot {
    const ScheduledEvent *event = nullptr;
    int component = 0;
    Tick tick = 0;
    int snapshot = 0;
    llvm::SmallVector<Reading, 1> readings;
  };
  /// The word that announces a slot to the CTAs of one class. It only grows, and has no copies.
  struct Flag {
    const ScheduledEvent *event = nullptr; ///< the last that raised it
    int component = 0;
    Tick tick = 0;
    int launch = -1;
    int snapshot = 0; ///< of the first of its launch
  };
  /// What one class of packets of one rank knows to have happened. `seen` by any chain of events, `caused` by release
  /// and acquire alone, `pending` is what the next fence adds to it. `passed` is what was released before it came here
  /// by any chain: stores that are performed, if waiting for a word orders what is stored after it.
  struct Chain {
    Tick *seen, *caused, *passed, *pending;
    int own;           ///< component that its own events count in
    int snapshot = -1; ///< that equals `seen`, `caused` and `passed`
  };

  const Expansion &expansion;
  const int classes;
  const bool exact;
  int ranks = 0, width = 0, branchWidth = 0, launch = 0;
  bool full = true, relied = false;
  std::vector<Tick> clocks, snapshots, branchStart, branchEnd;
  std::vector<Chain> chains;
  std::vector<Slot> slots;
  std::vector<Flag> flags;
  std::vector<Tick> credits; ///< clocks that ranks gave in the last launches, `creditLaunches` of them
  int creditLaunches = 0;
  std::vector<int> copies;
  std::vector<std::size_t> slotBase;
  std::optional<Hazard> hazard;

  Chain &chain(int rank, int packets) { return chains[std::size_t(rank) * classes + packets]; }
  Slot &slot(const ScheduledEvent &e);
  /// Components of a clock: what classes of packets have done, then what iterations of their branches have.
  int component(int rank, int packets) const { return exact ? rank * classes + packets : rank; }
  int components() const { return exact ? ranks * classes : ranks; }
  int branchComponent(int rank, int packets, int i) const {
    return components() + component(rank, packets) * branchWidth + i;
  }
  bool isOf(int component, int rank) const {
    if (component >= components()) component = (component - components()) / branchWidth;
    return (exact ? component / classes : component) == rank;
  }

  void reset();
  void perform(const ScheduledEvent &e);
  void send(const ScheduledEvent &e, Chain &c);
  void receive(const ScheduledEvent &e, Chain &c);
  void clear(const ScheduledEvent &e, Chain &c);
  void signal(const ScheduledEvent &e, Chain &c, int packets);
  void await(const ScheduledEvent &e, Chain &c, int packets);
  void credit(const ScheduledEvent &e);
  void awaitCredit(const ScheduledEvent &e, Chain &c);
  Tick *creditOf(int launch, int rank);
  void release(Chain &c);
  void fence(Chain &c);
  void barrier();
  void branch(const ScheduledEvent &e, Chain &c, std::size_t number);
  void boundary();
  void noteDependence();
  void raise(Tick *to, const Tick *from) const;
  /// Clocks of a chain: `seen`, then those of the others that the program needs, `pending` last. Without `pending` they
  /// are what a snapshot holds.
  int parts() const { return 1 + 2 * expansion.weak + expansion.relies(); }
  int sent() const { return parts() - expansion.weak; }
  int passedPart() const { return 1 + expansion.weak; }
  const Tick *sentClock(int snapshot, int part) const { return snapshots.data() + snapshot + part * width; }
  int snapshot(Chain &c);
  void report(Refutation::Kind kind, const ScheduledEvent &first, int firstLaunch, const ScheduledEvent &second);
};

} // namespace coll::check
