// One run: the memory model, the schedule and what ends it. Private to the emulator.
//
// The model is multi-copy atomic and weaker than sequential consistency (reference: the README of this folder):
//  - A store waits in the queue of its CTA, cut into atomic units; units take effect one at a time, in any order that
//    keeps those of one CTA to one location. The threads of a CTA see its waiting stores.
//  - A fence or release waits for the thread's own units and for those that its CTA mates issued before the last CTA
//    barrier they share.
//  - A load may return the previous version of a location, unless that is older than the thread's floor, than what it
//    has read there before, or its own CTA's. Acquire, fence, CTA barrier and the start of a launch raise the floor.
//  - The end of a launch waits for all its units.
//  - A store to all ranks is one to each, in queues as any; but ordinary accesses of its CTA neither see it before it takes
//    effect nor have an order with it.
//  - A line of 128 bytes that 8 lanes store or add together takes effect at once or from its low end up, as the
//    seed has it, where the atomicity is 128, and else in any order; who load one together see a moment of it.
#pragma once

#include "emulator/Grid.h"

#include <deque>

namespace coll::emu {

class Engine {
public:
  Engine(int ranks, const Policy &policy);

  std::deque<Member> members; ///< by number
  Policy policy;
  Memory memory;
  std::vector<Rank> ranks;

  Result run();

  // What the running thread asks for, through the table.
  const emulated::Coordinates *coordinates() const { return &running->at; }
  void load(std::uint64_t address, void *value, unsigned elementBytes, unsigned elements, emulated::Order order);
  void store(std::uint64_t address, const void *value, unsigned elementBytes, unsigned elements, emulated::Order order);
  void meetWarp(WarpCall &call);
  void add4(std::uint64_t address, std::uint32_t value, emulated::Order order);
  void addEach(std::uint64_t address, const void *value, unsigned elementBytes, unsigned elements,
               emulated::Combine add);
  void storeToAll(std::uint64_t address, const void *value, unsigned elementBytes, unsigned elements);
  unsigned loadFromAll(std::uint64_t address, void *values, unsigned elementBytes, unsigned elements);
  void fence();
  void gridDependencyWait();
  void launchDependents();
  void ctaSync();
  std::uint32_t loadShared(unsigned word);
  void storeShared(unsigned ctaOfCluster, unsigned word, std::uint32_t value);
  void clusterSync();
  void expectShared(unsigned counter, unsigned words);
  void sendShared(unsigned ctaOfCluster, unsigned word, std::uint32_t value, unsigned counter);
  void awaitShared(unsigned counter, unsigned round);
  void spinHint(std::uint64_t address);
  std::uint64_t nanoseconds() const { return statistics.steps; }
  /// A signal came while a thread was running: ends the run. Does not return.
  void rawAccess(std::uint64_t address);

  /// The engine whose `run` is on this thread's stack.
  static thread_local Engine *active;
  bool insideKernel() const { return running != nullptr; }

private:
  bool fair() const { return policy.schedule == Schedule::Fair; }

  // EngineMemory.cpp
  Line &locate(std::uint64_t address, unsigned bytes, const char *verb);
  [[noreturn]] void refuse(const Segment *segment, std::uint64_t address, unsigned bytes, const char *verb);
  void watchRace(const Thread &thread, std::uint64_t address, unsigned bytes, bool isLoad, emulated::Order order);
  void watchThread(Thread &thread, std::uint64_t address);
  bool isOwners(const Segment &segment) const;
  void noteUntimely(const Segment &segment, const Thread &thread, std::uint64_t address, const char *verb);
  unsigned unitBytes(unsigned elementBytes, unsigned bytes) const;
  void loadUnit(Thread &thread, Line &line, std::uint64_t address, unsigned bytes, void *value, emulated::Order order,
                bool mayBeStale = true);
  void forward(Thread &thread, const Line &line, unsigned offset, unsigned bytes, std::uint8_t *value);
  void callWarp(Thread *lanes);
  std::uint32_t issue(Thread &thread, Line &line, std::uint64_t address, unsigned bytes, unsigned unit, const void *value,
                      emulated::Combine add, unsigned each = 0, bool multicast = false);
  std::uint32_t enqueue(Thread &thread, Line &line);
  void issueAll(std::uint64_t address, const void *value, unsigned elementBytes, unsigned elements, emulated::Order order,
                bool multicast);
  const Segment &locateOfAll(std::uint64_t address, unsigned bytes, const char *verb);
  std::vector<unsigned> shuffledRanks();
  void apply(Line &line, unsigned writer, unsigned offset, unsigned bytes, const std::uint8_t *value,
             emulated::Combine add, unsigned each);
  /// Part of a pending store that takes effect at once.
  struct Unit {
    std::uint32_t store;
    unsigned at;
    bool operator==(const Unit &) const = default;
  };
  void commit(Unit unit);
  void hasTakenEffect(std::uint32_t store);
  Unit firstOf(Unit unit) const;
  void commitInOrder(Unit unit);
  void drain();
  bool drained(const Thread &thread) const;
  void releaseBarrier(Cta &cta);
  void passBarrier(const std::vector<Thread *> &threads);

  // Clusters.cpp
  void releaseCluster(Cta &cta);
  Cta *clusterOf(Cta &cta);
  void endRound(Cta &cta, Cta::Counter &counter);

  // Engine.cpp
  void prepare();
  // Launches.cpp
  std::size_t prepareGrids(); ///< how many threads there may be at a time
  template <class T>
  T *oneOf(std::vector<T> &choices);
  void beginLaunches(Rank &rank);
  bool mayBegin(const Rank &rank, const Stream &stream) const;
  void beginNext(Rank &rank, Stream &stream);
  void knowBefore(QueuedLaunch &launch, QueuedLaunch *previous);
  void giveArguments(QueuedLaunch &launch);
  void openLaunch(Grid &grid, QueuedLaunch &previous);
  void afterProgress(Grid &grid) {
    if (grid.live == 0 && grid.pending == 0) endLaunch(grid);
  }
  void endLaunch(Grid &grid);
  bool fits(const Rank &rank, unsigned ctas) const;
  void givePlaces(Rank &rank);
  void startCluster(Grid &grid, unsigned index);
  void startCta(Grid &grid, unsigned index);
  void ctaEnded(Cta &cta);
  void trigger(Cta &cta);
  bool step();
  Cta *pickCta();
  bool commitOne(bool force);
  void commitOneOf(Cta &cta);
  unsigned anyBit(unsigned bits);
  void resume(Thread &thread);
  void threadEnded(Thread &thread);
  void leave() { Fiber::leave(); }
  void wake(Thread &thread);
  void yieldNow();
  void mayYield() {
    if (yieldOdds && random.next() < yieldOdds) yieldNow();
  }
  void beforeLoad() {
    if (policy.schedule == Schedule::StarvedReader) return mayStarve();
    mayYield();
  }
  void mayStarve();
  [[noreturn]] void fail(std::string report);
  static void threadBody(void *argument);

  // Report.cpp
  std::string describe(std::uint64_t address) const;
  std::string describeInRegion(const Manifest &manifest, std::uint64_t offset) const;
  std::string describeThread(const Thread &thread) const;
  std::string describeWaits();
  std::string describeOfAll(std::uint64_t address, const char *verb) const;
  std::string describeFault(std::uint64_t address, unsigned bytes, const char *verb) const;
  std::string describeAbort();
  std::string describeRace(const RaceDetector::Race &race) const;
  static const Manifest::Mailbox *mailboxAt(const Manifest &manifest, std::uint64_t inRegion, std::uint64_t &line);
  std::string describeEvent(const RaceDetector::Event &event) const;
  void trace(const Thread &thread, const char *verb, std::uint64_t address, unsigned bytes, const void *value);

  Random random;
  Thread *running = nullptr;
  std::uint32_t now = 1; ///< counts stores taking effect
  std::uint64_t pendingTotal = 0;
  int victim = 0;
  bool frozenStores = false; ///< the frozen rank's stores are held back as well
  unsigned burst = 1;        ///< stores that take effect in a row, at most, when no thread can run
  unsigned finishedRanks = 0;
  std::size_t turn = 0; ///< of the fair schedule
  std::uint64_t yieldOdds = 0; ///< the policy's rate as Random draws; 0 if fair
  CtaSet ready, queued;
  std::deque<Grid> grids; ///< in the order of their threads' numbers
  std::vector<Cta *> all;
  std::vector<Thread *> threads; ///< by number; [0] is null
  std::vector<Thread *> starved;
  PendingPool *pending = nullptr;
  Stacks *stacks = nullptr;
  std::unique_ptr<RaceDetector> races; ///< null if not asked for
  Statistics statistics;
  std::deque<std::string> events; ///< the last Policy::trace
  Result::Status status = Result::Ok;
  std::string report;
};

/// The table that loaded kernels are bound to: forwards to Engine::active.
extern const emulated::Table table;

/// While one lives, a signal from a raw access in a kernel ends the run instead of the process.
class SignalGuard {
public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard &) = delete;
  SignalGuard &operator=(const SignalGuard &) = delete;

private:
  std::vector<std::byte> stack;
  struct Saved;
  std::unique_ptr<Saved> saved;
};

/// Bytes of a region before its mailboxes.
std::uint64_t headerBytes(const Manifest &manifest);

/// What fresh mailboxes hold: what the manifest says, and poison where no kernel may look before it was written, so
/// that a read too early shows.
std::vector<FillRange> fillsOf(const Manifest &manifest);

/// Where the words lie that only ever grow: the header, and the flags behind a mailbox of sync `flag`.
std::vector<std::pair<std::uint64_t, std::uint64_t>> flagRanges(const Manifest &manifest);

} // namespace coll::emu
