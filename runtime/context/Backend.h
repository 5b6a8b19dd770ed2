// What runs the ranks of a context: GPUs, or the emulator. Only Context.cpp and Runner.cpp call it.
#pragma once

#include "coll/coll.h"
#include "context/LaunchPlan.h"
#include "context/NcclCall.h"
#include "fabric/SymmetricRegion.h"

namespace coll {

/// How a wait that was given up ended, as the kernels wrote it: the host's copy of coll::Status in
/// runtime/device/coll/types.h, which a test compares. Host memory that all GPUs of the context see.
struct alignas(16) LaunchStatus {
  std::uint32_t abort = 0; ///< 0: nothing; 1: the host asked; 2: a wait ran out of time
  std::uint32_t unused[3] = {};
  std::uint64_t where = 0;  ///< rank, mailbox, slot, CTA; 16 bits each, from the low end
  std::uint64_t epochs = 0; ///< wanted, found; 32 bits each, from the low end
};

/// A kernel on every rank of a context, with its scratch memory.
class LoadedKernel {
public:
  virtual ~LoadedKernel() = default;
  virtual const ShapeLimits &limits() const = 0;
  /// Null for what has none.
  virtual LaunchStatus *status() { return nullptr; }
};

/// Stamps of one CTA: as many as runtime/device/coll/trace.h has words for it. Nanoseconds.
constexpr unsigned kTraceStamps = 8;

/// One launch on one rank, everything decided.
struct ResolvedLaunch {
  LaunchShape shape;
  bool onePacket = false; ///< LaunchPlan::onePacket
  /// Of an argument that is a window, one for each rank, by how far it is away, and one of all where it is multicast.
  std::span<void *const> pointers;
  std::span<const std::uint64_t> extents;
  std::span<const std::uint64_t> scalars; ///< bits at the low end
};

/// A captured sequence of launches of one rank. Destroyed with this object, not while it runs.
class Graph {
public:
  virtual ~Graph() = default;
};

class Backend {
public:
  virtual ~Backend() = default;

  virtual FabricKind kind() const = 0;
  virtual int ranks() const = 0;
  /// The ranks that this process has, ascending: all, but where each has a process. Functions that take a rank take one of
  /// them.
  virtual std::span<const int> ownRanks() const;
  /// One rank or all: they follow each other.
  bool owns(int rank) const { return rank >= ownRanks().front() && rank <= ownRanks().back(); }
  virtual std::string describe() const = 0;
  /// The name of the GPUs, as CUDA has it; empty where there are none. Kernels that differ by it are refused by load().
  virtual std::string gpuName() const { return {}; }

  virtual Result<void *> allocate(int rank, std::uint64_t bytes) = 0;
  virtual void release(int rank, void *memory) = 0;
  virtual Result<std::unique_ptr<SymmetricRegion>> allocateSymmetric(std::uint64_t bytes) = 0;
  virtual Result<void> upload(int rank, void *to, const void *from, std::uint64_t bytes) = 0;
  virtual Result<void> download(int rank, void *to, const void *from, std::uint64_t bytes) = 0;
  virtual void *stream(int rank) const = 0;

  /// Compiles kernels on all cores for the calls of load() that follow, which say what of them does not compile. Keeps them
  /// until the next call; `{}` forgets them.
  virtual void prepare(std::span<const Kernel> kernels) = 0;
  virtual Result<std::unique_ptr<LoadedKernel>> load(const Kernel &kernel) = 0;
  /// In stream order, `stream` null being the rank's own, and after the launches of the rank before on other streams.
  virtual Result<void> launch(LoadedKernel &kernel, int rank, void *stream, const ResolvedLaunch &launch) = 0;

  /// What a kernel that was compiled to be traced wrote down in its latest launch on a rank: kTraceStamps words a CTA.
  virtual Result<std::vector<std::uint64_t>> stamps(LoadedKernel &, int rank, unsigned ctas);

  /// Makes the scratch of a kernel, with no launch in flight, look as after launch number `epoch`.
  virtual Result<void> setEpoch(LoadedKernel &kernel, std::uint32_t epoch) = 0;

  /// For tests: whether a rank's launches on several streams run one after the other, as they do from the beginning.
  virtual void orderStreams(bool) {}

  /// NCCL's communicator of the first rank of this process; null where there is none. For tests.
  virtual void *communicator() const { return nullptr; }
  /// Aligned stores of so many bytes arrive whole between all ranks.
  virtual unsigned unsplitBytes() const { return 128; }
  /// Whether launchNccl works here.
  virtual bool hasNccl() const { return false; }
  /// A collective of NCCL's on every rank. `buffers[rank]`; `streams[rank]`, the ranks' own where there are none.
  virtual Result<void> launchNccl(const NcclCall &, std::span<const std::vector<void *>> buffers,
                                  std::span<const std::uint64_t> extents, int root, std::span<void *const> streams);

  /// Whether everything that was launched has ended. Does the work itself where nothing else does.
  virtual Result<bool> finished() = 0;
  /// Waits for everything, however long it takes.
  virtual void drain() = 0;

  // For the runner, on the ranks' own streams. Refused by the emulator, but for copy.
  virtual Result<void> copy(int rank, void *to, const void *from, std::uint64_t bytes) = 0; ///< in stream order
  virtual Result<void> beginCapture(int rank) = 0;
  virtual Result<std::unique_ptr<Graph>> endCapture(int rank) = 0;
  virtual Result<void> replay(int rank, Graph &graph) = 0;
};

Result<std::unique_ptr<Backend>> createGpuBackend(const ContextOptions &options);
Result<std::unique_ptr<Backend>> createEmulatedBackend(const ContextOptions &options);

/// Text and manifest of an instance, or why there is none, as Context::load has it.
Result<Kernel> compiled(const Program &program, const Instance &instance, const CompileOptions &options = {});

/// The backend of a context, for the runner.
Backend &backendOf(Context &context);

/// Backend::stamps of a collective of a context.
Result<std::vector<std::uint64_t>> stampsOf(const Collective &collective, int rank, unsigned ctas);

/// Backend::setEpoch of a collective of a context.
Result<void> setEpochOf(const Collective &collective, std::uint32_t epoch);

/// The time limit of a wait that the options or COLL_TIMEOUT ask for.
double timeoutSeconds(const ContextOptions &options);

} // namespace coll
