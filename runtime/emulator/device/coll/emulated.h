// The boundary between a kernel compiled for the CPU and the emulator that runs it: plain types and one table of
// functions. Included by both sides, so it includes nothing. The kernel's side is ptx.h beside this file.
#pragma once

namespace coll::emulated {

struct Index {
  unsigned x, y, z;
};

/// Where a thread is: what CUDA calls threadIdx, blockIdx, blockDim and gridDim.
struct Coordinates {
  Index thread, block, blockDim, gridDim;
  unsigned clusterCtas;
};

/// Words of 4 bytes of a CTA's shared memory.
constexpr unsigned kSharedWords = 4384;

/// The most ranks that an address of all of them may stand for.
constexpr unsigned kMostRanks = 72;

/// The strength of an access. Acquire is for loads, Release for stores; both are of system scope.
enum class Order { Weak, Relaxed, Acquire, Release };

/// sum = sum + value, for one element.
using Combine = void (*)(void *sum, const void *value);

/// What the emulator does for the thread that is running. Every function may let other threads run first.
/// Vector accesses are `elements` scalars of `elementBytes` each, at consecutive addresses.
struct Table {
  const Coordinates *(*coordinates)();
  void (*load)(const void *address, void *value, unsigned elementBytes, unsigned elements, Order order);
  void (*store)(void *address, const void *value, unsigned elementBytes, unsigned elements, Order order);
  /// By the 32 threads of a warp together, each with its 16 bytes; each 8 have an aligned line of 128. Relaxed.
  void (*loadLine)(const void *address, void *value);
  void (*storeLine)(void *address, const void *value);
  /// The same that adds each element to what is there, by a function that adds one.
  void (*addLine)(void *address, const void *value, unsigned elementBytes, Combine add);
  bool (*anyOfWarp)(bool said);
  unsigned (*shuffleXor)(unsigned value, unsigned mask);
  unsigned (*loadShared)(unsigned word);
  void (*storeShared)(unsigned ctaOfCluster, unsigned word, unsigned value);
  void (*add4)(void *address, unsigned value, Order order); ///< atomic at the moment it takes effect
  /// The same of each element of a vector, by a function that adds one; relaxed.
  void (*addEach)(void *address, const void *value, unsigned elementBytes, unsigned elements, Combine add);
  /// By an address that stands for one place of every rank: a store that reaches each in its own time, relaxed; a load of
  /// all, each at its own moment, which gives for every element the ranks' values in some order (rank by rank in
  /// `values`), and how many ranks there are.
  void (*storeToAll)(void *address, const void *value, unsigned elementBytes, unsigned elements);
  unsigned (*loadFromAll)(const void *address, void *values, unsigned elementBytes, unsigned elements);
  void (*fence)();
  void (*gridDependencyWait)();
  void (*launchDependents)();
  void (*ctaSync)();
  void (*clusterSync)();
  /// Each CTA's two counters of words that other CTAs of the cluster, or itself, send: as in coll/ptx.h.
  void (*expectShared)(unsigned counter, unsigned words);
  void (*sendShared)(unsigned ctaOfCluster, unsigned word, unsigned value, unsigned counter);
  void (*awaitShared)(unsigned counter, unsigned round);
  void (*spinHint)(const void *address);
  unsigned long long (*nanoseconds)(); ///< a virtual clock that moves with the steps of the run
};

} // namespace coll::emulated
