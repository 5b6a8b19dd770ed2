// Runs generated kernels without a GPU: N ranks x CTAs x threads as fibers over a weak memory that is adversarial on
// purpose. Every run is a function of its policy, so a failure is replayed by its seed.
//
// Use: compile a KernelModule; make a Machine for its manifest; allocate and fill buffers; queue launches on every
// rank; run once; read the buffers. Launches of one rank follow each other, as on a stream, unless they say otherwise;
// different ranks are as far apart as the schedule likes. Buffers are never reused between launches unless the caller passes them again, so
// with buffers of its own every launch can be verified after the run.
#pragma once

#include "coll/Manifest.h"
#include "emulator/KernelModule.h"

#include <cstddef>
#include <memory>
#include <span>

namespace coll::emu {

/// Who runs next.
enum class Schedule {
  Fair,          ///< in turn until they have to wait; stores take effect at once, loads are fresh: quick, not a test
  Uniform,       ///< any thread, any store
  Priority,      ///< CTAs have random priorities that change now and then (PCT)
  FrozenRank,    ///< one rank hardly ever runs
  StarvedReader, ///< loads of one rank are put off until nothing else can happen
};
std::string_view name(Schedule schedule);

/// The largest part of a store that takes effect at once. `Element` is what PTX promises: the scalars of a vector. 128
/// is for the lines that 8 lanes store or add together (ll128, counter128): half of the seeds deliver them whole, half in ascending order.
enum class Atomicity { Element = 1, Bytes8 = 8, Bytes16 = 16, Bytes128 = 128 };

/// All that a run depends on besides its kernels and buffers. Rates are probabilities.
struct Policy {
  std::uint64_t seed = 1;
  Schedule schedule = Schedule::Fair;
  Atomicity atomicity = Atomicity::Element;
  double commitRate = 0.3; ///< that a pending store takes effect, rather than that a thread runs
  double yieldRate = 0.2;  ///< that another thread goes first, at each access
  double staleRelaxed = 0; ///< that a relaxed or acquiring load returns the previous value where it may
  double staleWeak = 0;    ///< the same for weak loads
  /// Report two accesses to a scratch region that nothing orders, even if this run made them in the right order. For
  /// the fair schedule only. Costs time and memory by the square of the number of threads: for some hundreds.
  bool detectRaces = false;
  /// Report a thread that touches a packet which Manifest::cyclicThreads gives to another, as a Race.
  bool checkThreads = false;
  /// That a dependent launch begins as soon as every CTA of the one before it has let it, rather than when that has ended.
  double early = 0;
  /// Report a thread that touches memory before it has waited for the launch before its own; otherwise it is let.
  bool checkWaits = true;
  bool multicast = true;     ///< the team has multicast: kernels get addresses of all ranks at once
  std::uint64_t stepLimit = 200'000'000; ///< turns of threads and stores taking effect
  /// How many CTAs of a rank have a place at a time, of all its launches; the others when those have ended; 0: all. Real
  /// launches are all resident; a kernel that waits for a CTA that is not yet there has a deadlock here.
  unsigned residentCtas = 0;
  /// How many of the last events, stores taking effect and loads of scratch, to keep in Result::trace.
  unsigned trace = 0;

  /// One quick run in which every access behaves as the program's author imagines.
  static Policy fair();
  /// Schedule and rates drawn from the seed: seed mod 4 picks uniform, priority, frozen rank or starved reader.
  static Policy adversarial(std::uint64_t seed, Atomicity atomicity = Atomicity::Element);
};

/// Memory of one rank, for its kernels' arguments. Reads before the first write give a NaN of every float type.
struct Buffer {
  std::uint64_t address = 0; ///< as kernels see it; the host cannot dereference it
};

/// What a kernel gets for one of the manifest's arguments. In place: the same buffer twice.
struct Pointer {
  Buffer buffer;
  std::uint64_t byteOffset = 0;
};

/// One launch on one rank.
struct Launch {
  std::shared_ptr<const KernelModule> kernel;
  std::string entry;
  unsigned grid = 1;
  unsigned block = 32;
  /// In the manifest's order; of a window one for each rank, by how far it is away, and, where it is multicast, one of all
  /// ranks at once, null without multicast.
  std::vector<Pointer> arguments;
  std::vector<std::uint64_t> extents; ///< in the manifest's order
  std::vector<std::uint64_t> scalars; ///< in the manifest's order, the value at the low end
  bool onePacket = false;             ///< the parameter's last word; as the caller says, right or wrong
  unsigned cluster = 1;               ///< CTAs of a cluster; divides `grid`
  unsigned member = 0;                ///< whose scratch regions it works in, as Machine numbers them
  /// Launches of a rank on one stream follow each other. Nothing orders those on different streams but `after`.
  unsigned stream = 0;
  /// May begin while the one before it on its stream runs (programmatic stream serialization), as Policy::early has it.
  bool dependent = false;
  std::vector<unsigned> after = {}; ///< launches of the rank, from 0 in the order queued, that an event makes it wait for
};

struct Statistics {
  std::uint64_t steps = 0; ///< turns of threads plus stores that took effect; equal for equal runs
  std::uint64_t loads = 0;
  std::uint64_t stores = 0;
  std::uint64_t switches = 0; ///< between threads
  double milliseconds = 0;
};

struct Result {
  enum Status {
    Ok,
    Deadlock,  ///< no thread can run and no store is on its way
    Fault,     ///< an access outside every buffer, misaligned, or around the device headers
    Race,      ///< a peer's argument is touched outside the peer's launch; with Policy::detectRaces also two accesses
               ///< that nothing orders, with checkThreads also a packet that two threads touch
    StepLimit, ///< the policy's limit of steps; a livelock, or a limit too small
    Aborted,   ///< a kernel gave up a wait
  };
  Status status = Ok;
  std::string report; ///< several lines for a person; empty if Ok
  std::string trace;  ///< what happened last, a line each; empty unless asked for
  Statistics statistics;
};
std::string_view name(Result::Status status);

/// Ranks with their scratch regions and buffers. Not shared between threads; any number may exist.
class Machine {
public:
  /// `manifest` gives the number of ranks, the scratch region of a member and the names used in reports.
  Machine(const Manifest &manifest, const Policy &policy);
  ~Machine();
  Machine(const Machine &) = delete;
  Machine &operator=(const Machine &) = delete;

  /// Gives another member, of as many ranks, scratch regions of its own, or lets it share those of member `with`, as
  /// Manifest::Workspace says. Returns its number; the constructor's is 0.
  unsigned add(const Manifest &manifest, std::optional<unsigned> with = {});

  /// Makes the regions of a member look as after launch number `epoch`: the next is epoch + 1. Fresh ones are at 0.
  void setEpoch(std::uint32_t epoch, unsigned member = 0);

  /// A buffer that begins `misalignment` bytes past a multiple of 256. One byte before or past it is a fault. `label`
  /// is how reports call it.
  Buffer allocate(int rank, std::string label, std::uint64_t bytes, unsigned misalignment = 0);
  /// Addresses for `bytes` at these places of all ranks at once, in the order of ranks. Null where the policy has no
  /// multicast, or the places differ in alignment and so cannot be one place.
  Pointer multicast(std::string label, std::span<const Pointer> places, std::uint64_t bytes);
  /// Host access, before or after the run; outside the buffer is a programming error (assert).
  void write(Buffer to, std::span<const std::byte> bytes, std::uint64_t byteOffset = 0);
  void read(Buffer from, std::span<std::byte> bytes, std::uint64_t byteOffset = 0) const;

  /// Appends a launch to a stream of a rank. False, with the reason in `error`, if it does not fit the manifest or
  /// the kernel.
  bool launch(int rank, const Launch &launch, std::string &error);

  /// Runs everything queued, once.
  Result run();

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace coll::emu
