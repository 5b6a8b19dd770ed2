// What runs: threads in CTAs in grids, the launches of a rank and their streams, and the sets from which the schedule
// picks.
#pragma once

#include "coll/emulated.h"
#include "emulator/Emulator.h"
#include "emulator/Fiber.h"
#include "emulator/Memory.h"
#include "emulator/RaceDetector.h"
#include "emulator/Random.h"

#include <array>

namespace coll::emu {

/// The versions that a thread has read last, so that it never sees a location go back in time. What is pushed out
/// raises the thread's floor instead, which only makes its later loads fresher. Locations are byte offsets in the
/// emulated memory, not addresses, which differ from run to run.
class RecentReads {
public:
  std::uint32_t newest(std::uint64_t location) const {
    const auto &e = entries[slot(location)];
    return e.location == std::uint32_t(location / 4) ? e.time : 0;
  }
  /// Returns what the floor must be at least from now on.
  std::uint32_t note(std::uint64_t location, std::uint32_t time) {
    auto &e = entries[slot(location)];
    const bool same = e.location == std::uint32_t(location / 4);
    const std::uint32_t pushedOut = same ? 0 : e.time;
    e = {std::uint32_t(location / 4), same && e.time > time ? e.time : time};
    return pushedOut;
  }

private:
  /// Two locations that agree in the bits kept count as one, which again only makes loads fresher.
  struct Entry {
    std::uint32_t location = 0, time = 0;
  };
  static unsigned slot(std::uint64_t location) { return (location / 16 ^ location / 4096) % 16; }
  std::array<Entry, 16> entries;
};

/// What a thread wants of its warp, or of the lines of 128 bytes that its lanes access together. On the thread's stack
/// until all have come.
struct WarpCall {
  enum Kind { Load, Store, Vote, Shuffle } kind;
  std::uint64_t address; ///< of the thread's own 16 bytes; of a Shuffle, its mask
  void *value;
  bool said;             ///< in, and what any said out
  std::uint32_t shuffled; ///< what the lane brought to a Shuffle; what it gets goes to `value`
  emulated::Combine add = nullptr; ///< of a Store: how to add an element instead of replacing it
  unsigned each = 0;               ///< bytes of such an element
};

struct alignas(64) Thread {
  enum State : std::uint8_t { Ready, Starved, Polling, AtBarrier, AtCluster, AtCounter, AtWarp, AtDependency, Draining, Done };
  static constexpr unsigned kWarp = 32, kLine = 8; ///< lanes of a warp and of a line of 128 bytes

  // What every access touches comes first, in one cache line of the host.
  Fiber fiber;
  Cta *cta = nullptr;
  State state = Ready;
  bool wraps = false;           ///< has come to the wrap of the epoch, where threads share out the whole region
  bool afterOthers = false;     ///< earlier kernels of the stream are known to be over
  bool sawMate = false;         ///< has read a store of a CTA mate that was yet to take effect
  std::uint32_t floor = 0;      ///< stores that took effect up to here are visible to every load
  std::uint32_t newestRead = 0; ///< the latest version read so far; a fence makes it the floor
  std::uint32_t released = 0;   ///< all own stores up to here have taken effect, and who meets this thread behind its fence sees them
  std::uint32_t lookedAt = 0;   ///< the oldest state of memory seen by a load since the last spinHint
  std::uint32_t pending = 0;    ///< own stores yet to take effect
  std::uint32_t phase = 0;      ///< CTA barriers passed
  std::uint32_t number = 0;     ///< its own; from 1
  std::uint32_t nextWaiter = 0; ///< on the same line; 0: none
  std::uint64_t polled = 0;     ///< the address waited for while Polling
  WarpCall *call = nullptr;    ///< while AtWarp
  emulated::Coordinates at;
  RecentReads recent;

  /// Everything that took effect up to `time` is visible to the thread from now on.
  void raiseFloor(std::uint32_t time) { floor = floor > time ? floor : time; }
};

struct Grid;

struct Cta {
  Grid *grid = nullptr;
  int rank = 0;
  int index = 0;       ///< in its grid
  unsigned number = 0; ///< among all of the machine; from 1
  int priority = 0;
  unsigned done = 0;
  bool triggered = false; ///< has let dependent launches begin, or has ended
  std::vector<Thread> threads;
  std::vector<Thread *> ready, atBarrier, atCluster, atCounter, draining;
  std::vector<std::uint32_t> shared; ///< poison at the launch's begin
  struct Counter {
    std::uint32_t got = 0, expected = 0; ///< words of the round; `expected` where it `expects`
    std::uint32_t rounds = 0;            ///< that are over
    bool expects = false;
  };
  std::array<Counter, 2> counters; ///< of words that arrive in shared memory
  std::uint32_t pending = 0; ///< stores yet to take effect
  /// Their numbers, in no order; the lines keep the order of issue. Also those that have taken effect before they were
  /// picked, which go when they are.
  std::vector<std::uint32_t> queue;
  std::vector<std::uint32_t> pendingByPhase;
  std::uint32_t oldestPhase = 0; ///< no store of an earlier phase is pending

  void begin(unsigned threadCount);
  void enqueued(std::uint32_t phase);
  void tookEffect(std::uint32_t phase);
};

/// CTAs by number: O(1) insertion, removal and choice.
class CtaSet {
public:
  void resize(std::size_t count) { position.assign(count, -1); }
  bool empty() const { return items.empty(); }
  std::size_t size() const { return items.size(); }
  Cta *operator[](std::size_t i) const { return items[i]; }
  void insert(Cta *cta);
  void erase(Cta *cta);

private:
  std::vector<Cta *> items;
  std::vector<int> position;
};

/// A launch as queued, everything resolved, and how far it has come.
struct QueuedLaunch {
  enum State : std::uint8_t {
    Queued,
    Begun, ///< its CTAs get places, as far as there are any, though the launch before has not ended
    Open,  ///< the launch before has ended
    Ended, ///< and all its stores have taken effect
  };

  std::shared_ptr<const KernelModule> kernel;
  std::string entry;
  void (*call)(const void *parameter);
  unsigned grid, block, cluster;
  std::vector<std::uint64_t> parameter;
  unsigned member;
  unsigned stream;
  bool dependent;
  std::vector<unsigned> after;       ///< launches of the rank that an event makes it wait for
  std::vector<Segment *> arguments;  ///< of its own rank
  int number = 0;                    ///< among those of the rank
  QueuedLaunch *next = nullptr;      ///< on its stream
  bool early = false;                ///< begins as soon as it may
  bool awaited = false;              ///< by an event
  State state = Queued;
  std::uint32_t openedAt = 0;        ///< stores that had taken effect when it was opened, if it had begun before
  Grid *runsIn = nullptr;           ///< where, while it is in flight
  RaceDetector::Moment before = {}, end = {}; ///< what it comes after, and what comes after it
};

/// The place of a launch that runs. CTAs and threads keep their numbers from launch to launch.
struct Grid {
  int rank = 0;
  struct Stream *stream = nullptr;
  QueuedLaunch *launch = nullptr; ///< null: free
  unsigned live = 0;              ///< threads that have not ended
  unsigned untriggered = 0;       ///< CTAs that have yet to let dependent launches begin
  std::uint64_t pending = 0;      ///< stores that have yet to take effect
  std::vector<unsigned> absent;   ///< clusters that have yet to be given a place
  std::vector<Thread *> waiting;  ///< for the launch before to end
  std::vector<Cta> ctas;          ///< as many as the largest launch has
  std::size_t firstThread = 0;    ///< number of its thread 0 among all of the machine, less 1
};

/// Launches that begin in the order of their numbers.
struct Stream {
  std::vector<QueuedLaunch *> launches;
  std::size_t next = 0;      ///< the first that has not begun
  unsigned inFlight = 0;     ///< that have begun and not ended
  std::vector<Grid *> grids; ///< as many launches may be in flight
};

/// A rank and its streams.
struct Rank {
  std::vector<QueuedLaunch> launches;
  std::vector<Stream> streams;
  std::size_t ended = 0;              ///< launches
  unsigned resident = 0;              ///< places that are taken
  std::vector<Grid *> inFlight;       ///< in the order in which they began
  std::vector<std::uint64_t> regions; ///< addresses, by member
  std::uint64_t status = 0;           ///< an address

  bool finished() const { return ended == launches.size(); }
};

} // namespace coll::emu
