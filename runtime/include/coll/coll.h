// Coll's C++ interface: contexts, buffers and collectives. Programs come from coll/Compiler.h.
//
//   coll::Diagnostics diagnostics;
//   auto program = coll::Program::parse(text, "mine.coll", diagnostics);
//   auto context = coll::Context::create({.ranks = 2});
//   auto allreduce = context->load(*program, {"allreduce.oneshot.ll", context->ranks(), coll::DType::F32});
//   for (int rank = 0; rank < context->ranks(); ++rank) allreduce->launch(rank, {x[rank], y[rank]}, {count});
//   auto done = context->synchronize();
//
// Everything that can fail returns a Result: test it before use. No function throws but what takes an untested Result.
//
// Life. Create a context, load what it is to launch, launch as often as wanted, also into graphs; then destroy the
// context. All loading comes before launches are in flight. Graphs that have captured launches, streams that were passed
// to launches, and buffers are the caller's: none may be replayed, or be used by a launch in flight, once the context is
// gone. A stream that was passed exists until its rank has launched on another one, to the next synchronize(), or to the
// context's end, whichever comes first. A Program may go once load() has returned; what collective() made refers to its
// program, which must outlive it.
//
// Streams. A rank's launches share scratch memory and a reckoned place on the GPU, so they run one after the other, in the
// order of the calls, of whichever collective they are. Where one is on another stream than the one before, the new stream
// waits for the old one: nothing to be done by the caller, who loses the early start of that launch and may not hope for
// an overlap. Collectives that are to overlap are in contexts of their own (ContextOptions::contextsPerGpu).
// Launches that are captured are ordered like that within their graph. When it runs is the caller's to order: replays of
// graphs that hold launches of a rank, and the rank's other launches, one after the other, on one stream or with events
// between; two at a time would be as wrong as two launches. Error::BadInput for a launch that would have to wait for a
// stream that has begun a capture since.
// CU_STREAM_LEGACY and CU_STREAM_PER_THREAD are streams like others; the latter costs an event for each launch, as another
// thread cannot name it. Emulated ranks have no streams: what is passed is not looked at.
//
// Own NCCL beside it. Context::collective chooses between members and NCCL by itself. Who has a communicator of his own
// asks a Selector, `selector.shouldUse(bytes, dtype, ranks)`, and calls NCCL where that says no: the answer needs no GPU
// and is the same on all ranks.
//
// Processes. The ranks of a context are all in this process, or each is in one of its own: ContextOptions::communicator.
#pragma once

#include "coll/Compiler.h"
#include "coll/Result.h"
#include "coll/Selection.h"

#include <array>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>

namespace coll {

/// What the ranks of a context are.
enum class FabricKind {
  Auto,     ///< COLL_FABRIC, else Nccl where each rank can have a GPU of its own, else Local, else Emulated
  Nccl,     ///< a GPU each, on NCCL's symmetric memory
  Local,    ///< any number of ranks over the GPUs present, which must reach each other's memory
  Emulated, ///< on the CPU, without a GPU; needs a C++ compiler
};

/// How the processes of a context find each other: made by one of them and carried to the others by the caller's own
/// means, such as MPI_Bcast. The bytes of an ncclUniqueId.
struct UniqueId {
  std::array<char, 128> bytes;
  /// Error::MachineLacks without NCCL.
  static Result<UniqueId> make();
};

struct ContextOptions {
  int ranks = 0; ///< 0: one for each GPU, or 2 where there is none
  FabricKind fabric = FabricKind::Auto;
  std::vector<int> gpus = {}; ///< CUDA's numbers of the GPUs to use; empty: all
  double timeoutSeconds = 0;  ///< how long a kernel waits for a peer; 0: COLL_TIMEOUT, else 600
  int contextsPerGpu = 1;     ///< how many contexts may have launches in flight on a GPU at a time
  bool multicast = true;      ///< kernels that can use multicast do where the team has it; else their loop form

  // A process for each rank, on a GPU of its own, as MPI programs and inference engines have it: either of the two.
  // Context::create, load, collective and allocateSymmetric are then collective over the processes, which must call them
  // alike and in the same order; all else is about the own rank. Every process should see all GPUs (CUDA_VISIBLE_DEVICES),
  // or what is not known of a link is not relied upon.
  void *communicator = nullptr; ///< the caller's ncclComm_t, of this process's NCCL; has ranks, rank and GPU. Must outlive
                                ///< the context; Context::create is not to run beside other calls on it
  std::optional<UniqueId> id = {}; ///< or this, with `ranks`, `rank`, and at most one GPU in `gpus`; none: GPU `rank`
  int rank = -1;

  /// Gets a line for the user when something takes unusually long. Empty: stderr.
  std::function<void(const std::string &)> warn = {};
};

/// The value of a scalar argument; converted to the type that the contract declares.
struct Scalar {
  Scalar(int value) : integer(value), real(value) {}
  Scalar(std::int64_t value) : integer(value), real(double(value)) {}
  Scalar(std::uint64_t value) : integer(std::int64_t(value)), real(double(value)) {}
  Scalar(double value) : integer(std::int64_t(value)), real(value) {}
  std::int64_t integer;
  double real;
};

/// How many CTAs and threads a launch has, where that is not left to the rule of sizes. Equal on all ranks.
struct Shape {
  unsigned ctas = 0, threads = 0; ///< 0: by the rule. Bounded by what fits on the GPU
  unsigned maxCtas = 0;           ///< 0: no bound of the caller's
};

class Context;

/// Memory of the same size on every rank that all of them reach: arguments that an algorithm opens as a `window` lie in
/// it, at the same offset on all ranks. A handle: copies mean the same. Freed by Context::release or with the context.
class SymmetricBuffer {
public:
  /// The rank's part, aligned to 256 bytes, as the rank's own kernels and copies know it; null for a rank of another
  /// process.
  void *address(int rank) const;
  std::uint64_t bytes() const;

private:
  friend class Context;
  explicit SymmetricBuffer(void *part) : part(part) {}
  void *part;
};

/// One instance (member, ranks, type, operator) loaded into a context. A handle: copies mean the same. Must not be used
/// after its context is gone.
class Collective {
public:
  const Manifest &manifest() const;

  /// Launches on one rank. Every rank must be launched with the same extents and scalars, in the same order among the
  /// context's launches; from one thread, go rank by rank for each launch. See Streams above for launches on several.
  ///
  /// `buffers`: device addresses (of Context::allocate, cudaMalloc or anything the rank's GPU reaches) in the order of
  /// the contract's arguments, each aligned to its element type. In place is the same address for both sides of an
  /// `inplace` of the contract (Manifest::inplace); other overlaps are refused. What the
  /// contract says is `replicated` holds the same bits on all ranks when the kernel starts, or results are wrong. An argument that is a window (Manifest::Argument) must
  /// lie in a SymmetricBuffer, at the same offset on all ranks. `extents`: the free extents in the contract's order,
  /// in elements. `scalars`: in the contract's order. A rank is one of the team's; a whole number that conditions and
  /// places depend on is a number of its type, of `i64` and `u64` up to 2^48 (Manifest::Scalar::least, greatest); one that is data is
  /// anything. `stream`: a CUstream or cudaStream_t of the rank's GPU; null: the context's own.
  ///
  /// Asynchronous, in stream order, without allocation or host synchronisation: may be captured into a CUDA graph, which
  /// then is replayed on all ranks alike and counts as one of the context's launches for each that it holds. What is
  /// captured is addresses, extents and scalars; the number of a launch is in device memory.
  /// An argument of counts (Manifest::Argument::bound), such as `n` of alltoallv, is device memory like the others: the
  /// kernel reads it, so it may be filled by the kernel before in the stream, and may differ from replay to replay of a
  /// graph. A count above its bound, the extent of what it counts, ends the launch: the next synchronize() or check() has
  /// an error that names it.
  /// Zero elements are no launch, unless there are counts. Error::BadInput for arguments that the contract or the capacity
  /// does not allow; Error::Failed after an abort. A rank that is refused leaves those that were launched to wait for it,
  /// for as long as the context's timeout: abort() ends that sooner.
  ///
  /// On sm_90 and newer the kernel lets the next one of the stream start early if that was launched with programmatic
  /// stream serialisation. Kernels that ask for it and then do not wait must not follow: NCCL's symmetric kernels
  /// before 2.30.7 are of that kind. Put an event or an ordinary kernel between.
  Result<void> launch(int rank, std::span<void *const> buffers, std::span<const std::uint64_t> extents,
                      std::span<const Scalar> scalars = {}, void *stream = nullptr, const Shape &shape = {}) const;
  Result<void> launch(int rank, std::initializer_list<void *> buffers, std::initializer_list<std::uint64_t> extents,
                      std::initializer_list<Scalar> scalars = {}, void *stream = nullptr) const {
    return launch(rank, std::span(buffers.begin(), buffers.size()), std::span(extents.begin(), extents.size()),
                  std::span(scalars.begin(), scalars.size()), stream);
  }

private:
  friend class Context;
  friend Result<std::vector<std::uint64_t>> stampsOf(const Collective &collective, int rank, unsigned ctas);
  friend Result<void> setEpochOf(const Collective &collective, std::uint32_t epoch);
  struct State;
  explicit Collective(State *state) : state(state) {}
  State *state;
};

/// A collective whose member is chosen at each launch, by size. A handle, as Collective is.
class SelectedCollective {
public:
  const Selector &selector() const;
  /// The contract's arguments and extents, as its members have them.
  const Manifest &contract() const;
  /// What a launch of these extents would use.
  const Choice &choose(std::span<const std::uint64_t> extents) const;

  /// Launches on all ranks that this process has. `buffers`: of each of them, ascending, as for Collective::launch like
  /// the rest; `streams` likewise, the context's own where there are none.
  Result<void> launch(std::span<const std::vector<void *>> buffers, std::span<const std::uint64_t> extents,
                      std::span<const Scalar> scalars = {}, std::span<void *const> streams = {}) const;

private:
  friend class Context;
  struct State;
  explicit SelectedCollective(std::shared_ptr<const State> state) : state(std::move(state)) {}
  std::shared_ptr<const State> state;
};

/// What Context::collective is to make.
struct CollectiveRequest {
  std::string collective; ///< `allreduce`
  DType dtype = DType::F32;
  ReduceOp op = ReduceOp::Sum; ///< ignored where the collective has none
  bool inplace = false;        ///< whether calls may be in place: a member that is `outofplace` is then no choice
  SelectionOptions selection = {};
};

/// Ranks, all of them in this process or one, and what is loaded for them. Moves, does not copy.
///
/// Threads: functions of a context and of what it has loaded are to be called by one thread at a time, those of different
/// ranks too; abort() by any. Threads that launch a rank each take turns, or each have a context of its own as processes do.
/// CUDA: uses the primary context of each GPU. None need be current, and what is current on entry is so on return.
class Context {
public:
  /// Error::MachineLacks names the library, GPU or link that is missing. Destroy contexts before the process takes down
  /// CUDA: a context is no good global variable.
  static Result<Context> create(const ContextOptions &options = {});
  /// Safe with launches in flight: what does not end by itself within seconds is aborted.
  ~Context();
  Context(Context &&) noexcept;
  Context &operator=(Context &&) noexcept;

  int ranks() const;
  /// Whether a rank is one of this process. Functions that take a rank take no other.
  bool owns(int rank) const;
  FabricKind fabric() const;
  /// For a person: "2 ranks on 2 x NVIDIA H200 (nccl 2.28.9)".
  std::string describe() const;

  /// Checks, compiles and loads one instance and gives it its scratch memory, zeroed on all ranks: its own, or that of the
  /// members with which it is in a `workspace` of its program, as far as they are loaded. Waits for the GPUs.
  /// Not to be called while launches are in flight. `instance.ranks` must be ranks().
  Result<Collective> load(const Program &program, const Instance &instance, const CompileOptions &options = {});
  /// Several, in the order of `instances`, compiled on all cores at a time; or the error of the first that has one.
  Result<std::vector<Collective>> load(const Program &program, std::span<const Instance> instances,
                                       const CompileOptions &options = {});
  /// The same from kernels that the caller has compiled.
  Result<Collective> load(const Kernel &kernel);
  Result<std::vector<Collective>> load(std::span<const Kernel> kernels);

  /// A collective of `program`, chosen at each launch among its members and NCCL. Loads every member that can ever be
  /// chosen; otherwise as load. NCCL is a choice where the ranks are on its fabric, by its ordinary kernels. Members with
  /// windows are where `request.selection.symmetric` promises that the buffers of every call come from
  /// allocateSymmetric(): all-reduces beyond some megabytes are quickest so.
  Result<SelectedCollective> collective(const Program &program, const CollectiveRequest &request);

  /// Memory of one rank, aligned to 256 bytes, owned by the context, uninitialised. For an emulated rank it is memory
  /// of the host.
  Result<void *> allocate(int rank, std::uint64_t bytes);
  void release(int rank, void *memory);
  /// The same on all ranks at once, zeroed, for arguments that are windows. Not while launches are in flight.
  Result<SymmetricBuffer> allocateSymmetric(std::uint64_t bytes);
  void release(const SymmetricBuffer &buffer);
  /// Host to rank and back. Block; synchronise first if launches that touch the memory are in flight.
  Result<void> upload(int rank, void *to, const void *from, std::uint64_t bytes);
  Result<void> download(int rank, void *to, const void *from, std::uint64_t bytes);

  /// The context's own stream of a rank, a CUstream; null for emulated ranks.
  void *stream(int rank) const;

  /// Waits for all ranks' launches, and for all else on the context's streams and on the stream last passed to each rank.
  /// Replays of graphs elsewhere are the caller's to wait for. Warns after 30 s. Emulated ranks run here. Ends with check().
  Result<void> synchronize();

  /// Error::Failed that names rank, mailbox, slot and epoch if a wait ran out of time; also after abort(). Then the
  /// results of all launches since are void, and the context must be made anew.
  Result<void> check();

  /// Ends all waits of all launches in flight. The context refuses launches afterwards.
  void abort();

private:
  struct State;
  explicit Context(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
  friend class Collective;
  friend class Backend &backendOf(Context &context);
};

/// The text of a file; Error::BadInput if it cannot be read. For Program::parse.
Result<std::string> readSource(const std::string &path);

} // namespace coll
