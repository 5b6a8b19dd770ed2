// Back-to-back launches on ranks that may be any number of launches apart: vector clocks over a sequence of schedules
// decide whether whoever fills a slot again comes after the last read of what it held, and whether reads that do not
// wait come after their send.
#pragma once

#include "check/ChunkEffect.h"
#include "check/Effect.h"
#include "check/Schedule.h"

#include "llvm/ADT/ArrayRef.h"

#include <memory>

namespace coll::check {

class Order {
public:
  /// If `exact`, the end of a launch tells all packets of a rank what any of them knows of launches that have not ended
  /// elsewhere. Else they are thought not to know it, which takes a fraction of the time.
  /// If `strict`, only what PTX promises orders anything: a word that is waited for does if a fence of its sender comes
  /// before and a fence of the thread that waited after it, and a launch leaves no fence behind.
  /// If `byValue`, what a message is computed from comes before it: see Dependence.
  Order(const Expansion &expansion, int classes, bool exact, bool strict, bool byValue)
      : expansion(expansion), classes(classes), strands(classes * expansion.maps), exact(exact), strict(strict),
        byValue(byValue) {}

  /// The first two events without the order they need. `first` is in launch `firstLaunch` of the sequence.
  struct Hazard {
    Refutation::Kind kind;
    ScheduledEvent first, second;
    int firstLaunch, secondLaunch;
  };

  /// One epoch: a launch, or a chunk of one. What ends a launch orders its accesses before those of the next.
  struct Epoch {
    const Schedule *schedule;
    bool endsLaunch = true;
  };

  /// Runs the epochs in turn, with so many copies of each mailbox.
  std::optional<Hazard> run(llvm::ArrayRef<Epoch> epochs, const std::vector<int> &copies);
  /// So many at once: ticks are compared as signed numbers.
  static constexpr std::size_t kMostEpochs = 32000;

  /// What one launch does to what ranks know. Of credits, those count alone that are for at most so many copies, as if they
  /// told what their rank knew when this very launch began. Not of chunks.
  Effect effect(const Schedule &schedule, const std::vector<int> &copies, int ofCredits);

  /// The same of a chunk, in the ways that `ways` numbers. `plainBefore`, by rank and strand: chunks before it in its launch
  /// may have left plain accesses that are not released.
  ChunkEffect chunkEffect(const Schedule &schedule, const std::vector<int> &copies, int ofCredits,
                          const std::vector<bool> &plainBefore);
  Ways ways() const;

  /// Of the last run: in every launch, every rank waited for every other.
  bool fullDependence() const { return full; }

  /// Of the last run: some plain access is ordered only if no store is performed before the wait that precedes it.
  bool reliesOnWaits() const { return relied; }
  /// The same if no store is performed before the loads that its value is computed from.
  bool reliesOnValues() const { return reliedOnValues; }

private:
  using Tick = std::uint32_t;
  /// Ticks of launch e of a rank start at (e + 1) << kShift, which stands for all that it did before.
  static constexpr int kShift = 16;
  static Tick startOf(int epoch) { return Tick(epoch + 1) << kShift; }
  /// The start of the launch that an epoch belongs to.
  Tick launchOf(Tick t) const { return startOf(launchBegin[(t >> kShift) - 1]); }

  /// The epoch of a rank's own tick.
  static int epochOf(Tick t) { return int(t >> kShift) - 1; }

  struct Reading {
    const ScheduledEvent *event;
    Tick tick;
    unsigned component : 31;
    unsigned causal : 1; ///< only release and acquire order it before another access
  };
  /// Few, in the slot itself: most of the time of a long run is to get slots from memory.
  class Readings {
  public:
    void push_back(const Reading &r) {
      if (count < kHere) here[count] = r;
      else if (!more) more = std::make_unique<std::vector<Reading>>(1, r);
      else more->push_back(r);
      ++count;
    }
    void clear() {
      count = 0;
      if (more) more->clear();
    }
    unsigned size() const { return count; }
    const Reading &operator[](unsigned i) const { return i < kHere ? here[i] : (*more)[i - kHere]; }

  private:
    static constexpr unsigned kHere = 2;
    Reading here[kHere];
    std::unique_ptr<std::vector<Reading>> more;
    unsigned count = 0;
  };
  /// What was last sent to a slot, and who has read it.
  struct Slot {
    Readings readings;
    bool cleared = true; ///< since it was sent, if its mailbox has to be
    const ScheduledEvent *event = nullptr;
    Tick tick = 0;
    int component = 0;
    int snapshot = 0;
  };
  struct Addition {
    const ScheduledEvent *event;
    int component;
    Tick tick;
    int launch;
    int snapshot; ///< where the line itself shows it
  };
  using Additions = llvm::SmallVector<Addition, 0>;
  struct Raising {
    const ScheduledEvent *event;
    int component;
    Tick tick;
    bool adds; ///< to the slot, in that launch
  };
  /// The word that announces a slot to the CTAs of one class. It only grows, and has no copies.
  struct Flag {
    const ScheduledEvent *event = nullptr; ///< the last that raised it
    int component = 0;
    Tick tick = 0;
    int launch = -1;
    int snapshot = 0;    ///< of the first of its launch
    bool joined = false; ///< of several, where they count
    std::vector<Raising> raised, before; ///< there, by all of the last launch that did, and of the one before that
  };
  /// A plain read or a clear.
  struct Plain {
    const Step *step;
    int component;
    Tick tick;
    int launch;
  };
  /// What one strand of one rank knows to have happened. `seen` by any chain of events, `caused` by release
  /// and acquire alone, `pending` is what the next fence adds to it; if strict, `released` is what a message carries of
  /// it, as of the last fence. `passed` is what was released before it came here
  /// by any chain: stores that are performed, if waiting for a word orders what is stored after it.
  struct Chain {
    Tick *seen, *caused, *passed, *released, *pending;
    int own;           ///< component that its own events count in
    int snapshot = -1; ///< that equals all but `pending`
    int announced = -1; ///< the one of its last signal
    int begun = -1;     ///< the one when its launch began
    std::vector<Plain> plain = {};         ///< what it has not released yet, where `passed` is kept
    int computed = -1, computedFrom = -1;  ///< the snapshot of a value that needs these reads, until `snapshot` changes
  };

  const Expansion &expansion;
  const int classes;
  const int strands; ///< of a rank: classes of packets, for each thread map again, as another thread has them then
  const bool exact, strict, byValue;
  int ranks = 0, width = 0, branchWidth = 0;
  int launch = 0;               ///< the epoch
  std::vector<int> launchBegin; ///< by epoch: the first of its launch
  bool full = true, relied = false, reliedOnValues = false;
  std::vector<Tick> begun; ///< the snapshots of when the launch began
  std::vector<Tick> clocks, snapshots, branchStart, branchEnd;
  std::vector<Chain> chains;
  std::vector<Slot> slots;
  std::vector<Additions> additions; ///< by slot, of one launch, where sends add
  std::vector<Flag> flags;
  std::vector<Tick> credits; ///< clocks that ranks, of chunks their CTAs, gave in the last epochs, `creditLaunches` of them
  int creditLaunches = 0;
  std::vector<int> credited; ///< by rank: the epoch of its last credit
  std::vector<int> copies;
  std::vector<std::size_t> slotBase;
  std::optional<Hazard> hazard;
  Effect *measured = nullptr; ///< while it is asked for
  ChunkEffect *measuredChunk = nullptr; ///< the same
  std::optional<Ways> marks;  ///< while it is, clocks have a bit for each of Ways::at, from `countedWidth` on
  int creditsUpTo = 0;        ///< copies, of the credits that count there

  Chain &chain(int rank, int strand) { return chains[std::size_t(rank) * strands + strand]; }
  Slot &slot(const ScheduledEvent &e, int behind = 0);
  Additions &additionsOf(const Slot &s) { return additions[std::size_t(&s - slots.data())]; }
  void forgetEarlier(Readings &readings) const;
  /// Components of a clock: what strands have done, those of one thread map together unless `exact`; then what
  /// iterations of their branches have.
  int each() const { return exact ? strands : expansion.maps; }
  int component(int rank, int strand) const { return rank * each() + (exact ? strand : strand / classes); }
  int components() const { return ranks * each(); }
  int branchComponent(int rank, int strand, int i) const {
    return components() + component(rank, strand) * branchWidth + i;
  }

  void reset();
  /// Notes what all know as a launch begins, and keeps it from chunk to chunk.
  void noteBegin(bool ofLaunch);
  void perform(const ScheduledEvent &e);
  void send(const ScheduledEvent &e, Chain &c);
  void receive(const ScheduledEvent &e, Chain &c);
  void clear(const ScheduledEvent &e, Chain &c);
  void notePlain(const ScheduledEvent &e, Chain &c, bool plain);
  void noteAddition(const ScheduledEvent &e, Chain &c, Slot &s);
  bool knowsAdditions(const ScheduledEvent &e, Chain &c, Slot &s);
  const Tick *clockOf(const Chain &c, int clock) const;
  std::int64_t keyOf(int slot, int strand, int space) const;
  Effect::Ranks toldTo(const Chain &c, int clock) const;
  void noteLater(const ScheduledEvent &e, const Chain &c, int strand);
  void noteEarlier();
  void noteTold();
  /// What ranks know of a component at the end of a chunk, and who knows of a tick in some range.
  struct Last {
    std::vector<Tick> ticks; ///< by rank and clock, once they are asked for
    Tick from = 0, upTo = 0;
    ChunkEffect::Knowers knowers;
  };
  std::vector<Last> lasts; ///< by strand and component
  int countedWidth() const { return (components() * (1 + branchWidth) + 7) / 8 * 8; }
  void setMark(Tick *clock, int rank, int way) const {
    clock[countedWidth() + marks->at(rank, way) / 32] |= Tick(1) << marks->at(rank, way) % 32;
  }
  bool hasMark(const Tick *clock, int rank, int way) const {
    return clock[countedWidth() + marks->at(rank, way) / 32] >> marks->at(rank, way) % 32 & 1;
  }
  void beginMarks(const std::vector<bool> &plainBefore);
  ChunkEffect::Knowers markedIn(const Tick *clock) const;
  ChunkEffect::Knowers knowersOf(int rank, int strand, int component, Tick tick);
  void noteChunkTold();
  void join(Flag &f, int snapshot);
  bool hasAdditions(int slot, int strand) const;
  bool mayCount(const Flag &f, const ScheduledEvent &e, const Chain &c);
  void signal(const ScheduledEvent &e, Chain &c, int strand);
  void await(const ScheduledEvent &e, Chain &c, int strand);
  void credit(const ScheduledEvent &e);
  void awaitCredit(const ScheduledEvent &e, Chain &c, int strand);
  const Tick *ownOf(std::vector<Tick> &own, const Tick *given, int rank) const;
  Tick *creditOf(int launch, int rank, int strand);
  /// Who gives a credit on a rank: any thread for all of a launch, of a chunk each CTA for itself.
  int givers() const { return expansion.program->chunks ? strands : 1; }
  void release(Chain &c);
  void fence(Chain &c);
  void barrier();
  void branch(const ScheduledEvent &e, Chain &c, std::size_t number);
  void boundary();
  void chunkBoundary();
  void noteDependence();
  void raise(Tick *to, const Tick *from) const;
  /// Clocks of a chain: `seen`, then those of the others that the program needs, `pending` last. Without `pending` they
  /// are what a snapshot holds.
  bool weak() const { return expansion.weak || strict; }
  bool relies() const { return expansion.relies() && !strict; }
  int parts() const { return 1 + 2 * weak() + relies() + strict; }
  int sent() const { return parts() - weak(); }
  int passedPart() const { return 1 + weak(); }
  int releasedPart() const { return strict ? 2 : 1; }
  const Tick *sentClock(int snapshot, int part) const { return snapshots.data() + snapshot + part * width; }
  int snapshot(Chain &c);
  int snapshotOf(const ScheduledEvent &send, Chain &c);
  Tick readFor(const ScheduledEvent &send, const Chain &c) const;
  void report(Refutation::Kind kind, const ScheduledEvent &first, int firstLaunch, const ScheduledEvent &second);
};

} // namespace coll::check
