#include "coll/coll.h"

#include "context/Backend.h"
#include "context/Parameters.h"
#include "context/Region.h"
#include "context/SymmetricMemory.h"
#include "platform/Env.h"
#include "platform/Machine.h"
#include "platform/Nccl.h"
#include "platform/Parallel.h"
#include "platform/ReadFile.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <future>
#include <thread>

namespace coll {

using Clock = std::chrono::steady_clock;

struct Collective::State {
  State(const Kernel &kernel, Context::State &context) : context(context), manifest(kernel.manifest), plan(manifest) {}
  Context::State &context;
  const Manifest manifest;
  const LaunchPlan plan;
  std::unique_ptr<LoadedKernel> loaded;

  /// Where the windows of recent launches lie, to see that all ranks pass the same place.
  struct Place {
    std::uint64_t launch = 0, key = 0; ///< counted from 1
    int rank = 0;
  };
  std::array<Place, 16> places;
  std::vector<std::uint64_t> launches = std::vector<std::uint64_t>(std::size_t(manifest.ranks)); ///< [rank]

  Result<std::size_t> resolve(int rank, std::span<void *const> buffers, std::span<const std::uint64_t> extents,
                              std::span<void *> pointers);
  Result<void> samePlace(int rank, std::uint64_t key);
};

struct Context::State {
  ContextOptions options;
  std::unique_ptr<Backend> backend;
  std::vector<std::unique_ptr<Collective::State>> collectives;
  std::vector<std::pair<int, void *>> memory; ///< (rank, address) of what is allocated
  std::optional<SymmetricMemory> symmetric;
  std::atomic<bool> aborted{false};

  ~State();
  void setAbortWords();
  void warn(const std::string &text) const {
    if (options.warn)
      options.warn(text);
    else
      std::fprintf(stderr, "coll: warning: %s\n", text.c_str());
  }
};

namespace {

const Error kAborted{Error::Code::Failed, "the context was aborted; make a new one"};

/// What the kernels wrote when they gave up, for a person.
std::string describe(const LaunchStatus &status, const Manifest &manifest, double timeout) {
  const unsigned rank = status.where & 0xffff, box = status.where >> 16 & 0xffff, slot = status.where >> 32 & 0xffff;
  std::string what = "mailbox " + std::to_string(box) + ", slot " + std::to_string(slot);
  if (box == region::kBarrier)
    what = "rank " + std::to_string(slot) + " at a barrier";
  else if (box == region::kWrap)
    what = "all ranks, to start its epochs anew";
  else if (box == region::kCredit)
    what = "rank " + std::to_string(slot) + " to begin a launch";
  else if (box < manifest.mailboxes.size())
    what = "mailbox `" + manifest.mailboxes[box].name + "`, slot " + std::to_string(slot);
  if (box == region::kCount)
    return "`" + manifest.member + "`: on rank " + std::to_string(rank) + " count " + std::to_string(slot) + " is " +
           std::to_string(status.epochs >> 32) + ", more than the " + std::to_string(std::uint32_t(status.epochs)) +
           " that a message can have";
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", timeout);
  return "`" + manifest.member + "`: rank " + std::to_string(rank) + " waited " + seconds + " s for " + what +
         ": epoch " + std::to_string(std::uint32_t(status.epochs)) + " wanted, " + std::to_string(status.epochs >> 32) +
         " found; a peer is dead, or did not make the same launches";
}

/// The kernel of a member that gave up a wait; null if none did.
template <class Collectives>
auto *whoGaveUp(Collectives &collectives, std::uint32_t reason) {
  using State = std::remove_reference_t<decltype(*collectives.front())>;
  State *found = nullptr;
  for (auto &collective : collectives)
    if (LaunchStatus *status = collective->loaded->status(); status && !found)
      if (std::atomic_ref(status->abort).load(std::memory_order_acquire) == reason) found = collective.get();
  return found;
}

constexpr std::size_t kMaxScalars = 16;

Result<FabricKind> kindFrom(const ContextOptions &options) {
  if (options.communicator || options.id) return FabricKind::Nccl;
  if (options.fabric != FabricKind::Auto) return options.fabric;
  const auto name = env::get(env::Variable::Fabric);
  if (!name) return FabricKind::Auto;
  if (*name == "nccl") return FabricKind::Nccl;
  if (*name == "local") return FabricKind::Local;
  if (*name == "emulated") return FabricKind::Emulated;
  return Error{Error::Code::BadInput, "COLL_FABRIC is `" + *name + "`; known are nccl, local, emulated"};
}

Result<std::unique_ptr<Backend>> createBackend(const ContextOptions &options) {
  if (options.fabric == FabricKind::Emulated) return createEmulatedBackend(options);
  if (options.fabric == FabricKind::Auto) {
    const auto machine = machineGpus();
    const bool none = !machine || machine->gpus.empty();
    const bool namesGpus = !options.gpus.empty() || options.communicator || options.id; // and hears that there is none
    if (none && !namesGpus) return createEmulatedBackend(options);
  }
  return createGpuBackend(options);
}

} // namespace

double timeoutSeconds(const ContextOptions &options) {
  if (options.timeoutSeconds > 0) return options.timeoutSeconds;
  double seconds = 0;
  if (const auto text = env::get(env::Variable::Timeout))
    std::from_chars(text->data(), text->data() + text->size(), seconds);
  return seconds > 0 ? seconds : 600;
}

// ---- Context ----

Result<Context> Context::create(const ContextOptions &options) {
  if (options.ranks < 0 || options.ranks > 72)
    return Error{Error::Code::BadInput, std::to_string(options.ranks) + " ranks; a context has 1 to 72"};
  if (options.id && (options.communicator || options.rank < 0 || options.rank >= options.ranks))
    return Error{Error::Code::BadInput, "a context of a UniqueId needs `ranks`, and as `rank` one of them; and no communicator"};
  auto state = std::make_unique<State>();
  state->options = options;
  auto kind = kindFrom(options);
  if (!kind) return kind.error();
  state->options.fabric = *kind;
  auto backend = createBackend(state->options);
  if (!backend) return backend.error();
  state->backend = std::move(*backend);
  state->symmetric.emplace(state->backend->ranks());
  return Context(std::move(state));
}

Result<UniqueId> UniqueId::make() {
  auto nccl = Nccl::get();
  if (!nccl) return nccl.error();
  NcclUniqueId raw = {};
  if (auto done = (*nccl)->check((*nccl)->getUniqueId(&raw), "ncclGetUniqueId"); !done) return done.error();
  UniqueId id;
  std::copy(std::begin(raw.bytes), std::end(raw.bytes), id.bytes.begin());
  return id;
}

Context::Context(std::unique_ptr<State> state) : state(std::move(state)) {}
Context::Context(Context &&) noexcept = default;
Context &Context::operator=(Context &&) noexcept = default;
Context::~Context() = default;

Context::State::~State() {
  if (!backend) return;
  // Launches on streams of the caller's count, too, so it is the GPUs that are waited for, on another thread because
  // that wait has no limit of its own.
  constexpr auto kGrace = std::chrono::seconds(2);
  auto drained = std::async(std::launch::async, [this] { backend->drain(); });
  if (drained.wait_for(kGrace) != std::future_status::ready) setAbortWords();
  drained.wait();
  collectives.clear();
  if (symmetric) symmetric->clear();
  for (const auto &[rank, address] : memory) backend->release(rank, address);
}

void Context::State::setAbortWords() {
  aborted = true;
  for (auto &collective : collectives)
    if (LaunchStatus *status = collective->loaded->status()) {
      // A kernel's own reason, if it has one, stays.
      std::uint32_t none = 0;
      std::atomic_ref(status->abort).compare_exchange_strong(none, 1);
    }
}

int Context::ranks() const {
  return state->backend->ranks();
}
bool Context::owns(int rank) const {
  return state->backend->owns(rank);
}
FabricKind Context::fabric() const {
  return state->backend->kind();
}
std::string Context::describe() const {
  return state->backend->describe();
}
void *Context::stream(int rank) const {
  return owns(rank) ? state->backend->stream(rank) : nullptr;
}
void Context::abort() {
  state->setAbortWords();
}
Backend &backendOf(Context &context) {
  return *context.state->backend;
}

Result<Kernel> compiled(const Program &program, const Instance &instance, const CompileOptions &options) {
  const Member *member = program.find(instance.member);
  if (!member) return Error{Error::Code::BadInput, "the program has no single `" + instance.member + "`"};
  if (instance.ranks < member->minRanks || instance.ranks > member->maxRanks)
    return Error{Error::Code::BadInput, "`" + member->name + "` is for " + std::to_string(member->minRanks) + " to " +
                                            std::to_string(member->maxRanks) + " ranks; asked for are " +
                                            std::to_string(instance.ranks)};
  Diagnostics diagnostics;
  auto kernel = program.compile(instance, options, diagnostics);
  if (kernel) return std::move(*kernel);
  Diagnostics repeated;
  const auto verdict = program.check(instance, repeated, {options.strict, false});
  return Error{verdict && !verdict->proved ? Error::Code::Refuted : Error::Code::BadInput, diagnostics.render()};
}

Result<Collective> Context::load(const Program &program, const Instance &instance, const CompileOptions &options) {
  auto collectives = load(program, std::span(&instance, 1), options);
  if (!collectives) return collectives.error();
  return collectives->front();
}

Result<std::vector<Collective>> Context::load(const Program &program, std::span<const Instance> instances,
                                              const CompileOptions &options) {
  std::vector<Result<Kernel>> made(instances.size(), Error{});
  for (const Instance &instance : instances)
    if (instance.ranks != ranks())
      return Error{Error::Code::BadInput, "`" + instance.member + "` is asked for with " + std::to_string(instance.ranks) +
                                              " ranks; the context has " + std::to_string(ranks())};
  onAllCores(instances.size(), [&](std::size_t i) { made[i] = compiled(program, instances[i], options); });
  std::vector<Kernel> kernels;
  for (Result<Kernel> &kernel : made) {
    if (!kernel) return kernel.error();
    kernels.push_back(std::move(*kernel));
  }
  return load(kernels);
}

Result<std::vector<Collective>> Context::load(std::span<const Kernel> kernels) {
  if (kernels.size() > 1 && !state->aborted) state->backend->prepare(kernels);
  std::vector<Collective> collectives;
  Result<void> done;
  for (std::size_t i = 0; i < kernels.size() && done; ++i) {
    auto collective = load(kernels[i]);
    if (collective)
      collectives.push_back(*collective);
    else
      done = collective.error();
  }
  state->backend->prepare({});
  if (!done) return done.error();
  return collectives;
}

Result<Collective> Context::load(const Kernel &kernel) {
  if (state->aborted) return kAborted;
  if (kernel.manifest.ranks != ranks())
    return Error{Error::Code::BadInput, "`" + kernel.manifest.member + "` was compiled for " +
                                            std::to_string(kernel.manifest.ranks) + " ranks; the context has " +
                                            std::to_string(ranks())};
  if (kernel.manifest.scalars.size() > kMaxScalars)
    return Error{Error::Code::Failed, "`" + kernel.manifest.member + "` has too many scalars"};
  auto collective = std::make_unique<Collective::State>(kernel, *state);
  auto loaded = state->backend->load(kernel);
  if (!loaded) return loaded.error();
  collective->loaded = std::move(*loaded);
  state->collectives.push_back(std::move(collective));
  return Collective(state->collectives.back().get());
}

/// What is said where a rank is none, or another process's.
static Error notOwn(int rank, const Context &context) {
  return {Error::Code::BadInput, "rank " + std::to_string(rank) + " is not of this process: " + context.describe()};
}

static Result<void> checkAddresses(const void *to, const void *from, std::uint64_t bytes) {
  if (bytes == 0 || (to && from)) return {};
  return Error{Error::Code::BadInput, std::string("a copy ") + (to ? "from" : "to") + " a null address"};
}

Result<void *> Context::allocate(int rank, std::uint64_t bytes) {
  if (!owns(rank)) return notOwn(rank, *this);
  auto memory = state->backend->allocate(rank, bytes);
  if (memory) state->memory.emplace_back(rank, *memory);
  return memory;
}

void Context::release(int rank, void *memory) {
  if (std::erase(state->memory, std::pair(rank, memory))) state->backend->release(rank, memory);
}

Result<SymmetricBuffer> Context::allocateSymmetric(std::uint64_t bytes) {
  auto region = state->backend->allocateSymmetric(bytes);
  if (!region) return region.error();
  return SymmetricBuffer(state->symmetric->add(std::move(*region), bytes));
}

void Context::release(const SymmetricBuffer &buffer) {
  state->symmetric->remove(static_cast<SymmetricMemory::Part *>(buffer.part));
}

void *SymmetricBuffer::address(int rank) const {
  return static_cast<const SymmetricMemory::Part *>(part)->peers[rank].front();
}
std::uint64_t SymmetricBuffer::bytes() const {
  return static_cast<const SymmetricMemory::Part *>(part)->bytes;
}

Result<void> Context::upload(int rank, void *to, const void *from, std::uint64_t bytes) {
  if (!owns(rank)) return notOwn(rank, *this);
  if (auto good = checkAddresses(to, from, bytes); !good || bytes == 0) return good;
  return state->backend->upload(rank, to, from, bytes);
}

Result<void> Context::download(int rank, void *to, const void *from, std::uint64_t bytes) {
  if (!owns(rank)) return notOwn(rank, *this);
  if (auto good = checkAddresses(to, from, bytes); !good || bytes == 0) return good;
  return state->backend->download(rank, to, from, bytes);
}

Result<void> Context::synchronize() {
  const auto start = Clock::now();
  bool warned = false, gaveUp = false;
  for (;;) {
    auto finished = state->backend->finished();
    if (!finished) {
      if (fabric() == FabricKind::Emulated) state->setAbortWords(); // a GPU's error stays with CUDA
      return finished.error();
    }
    if (*finished) return check();
    // One member's kernels do not see another's status: what ends one must end all.
    if (!gaveUp && whoGaveUp(state->collectives, 2)) gaveUp = true, state->setAbortWords();
    const auto waited = Clock::now() - start;
    if (!warned && waited > std::chrono::seconds(30)) {
      warned = true;
      state->warn("launches on " + describe() + " have not ended for 30 s; they are given up after " +
                  std::to_string(int(timeoutSeconds(state->options))) + " s");
    }
    // The first millisecond without sleeping: most waits are that short.
    if (waited > std::chrono::milliseconds(1)) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

Result<void> Context::check() {
  if (const auto *collective = whoGaveUp(state->collectives, 2)) {
    state->setAbortWords();
    return Error{Error::Code::Failed,
                 coll::describe(*collective->loaded->status(), collective->manifest, timeoutSeconds(state->options))};
  }
  if (state->aborted) return kAborted;
  return {};
}

// ---- Collective ----

const Manifest &Collective::manifest() const {
  return state->manifest;
}

/// Writes the kernel's pointers, those of peers where an argument is a window, and returns how many they are.
Result<std::size_t> Collective::State::resolve(int rank, std::span<void *const> buffers,
                                               std::span<const std::uint64_t> extents, std::span<void *> pointers) {
  std::size_t count = 0;
  std::uint64_t key = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Manifest::Argument &argument = manifest.arguments[i];
    if (!argument.window) {
      pointers[count++] = buffers[i];
      continue;
    }
    const std::uint64_t bytes = plan.argumentElements(i, extents) * sizeOf(argument.dtype);
    const SymmetricMemory::Part *part = bytes ? context.symmetric->find(rank, buffers[i], bytes) : nullptr;
    if (bytes && !part)
      return Error{Error::Code::BadInput, "`" + manifest.member + "`: `" + argument.name +
                                              "` is a window, which peers touch, and does not lie in symmetric memory; "
                                              "take it from Context::allocateSymmetric"};
    const std::uint64_t offset = part ? std::uint64_t(static_cast<char *>(buffers[i]) - part->peers[rank].front()) : 0;
    key = (key ^ reinterpret_cast<std::uintptr_t>(part) ^ offset) * 0x9E3779B97F4A7C15ull;
    for (int hop = 0; hop < manifest.ranks; ++hop)
      pointers[count++] = part ? part->peers[rank][std::size_t(hop)] + offset : nullptr;
    if (argument.multicast) {
      char *ofAll = part ? part->ofAll[std::size_t(rank)] : nullptr;
      pointers[count++] = ofAll ? ofAll + offset : nullptr;
    }
  }
  if (auto same = samePlace(rank, key); !same) return same.error();
  return count;
}

/// The n-th launch of each rank is one operation. Ranks far apart are not compared.
Result<void> Collective::State::samePlace(int rank, std::uint64_t key) {
  const std::uint64_t launch = launches[rank] + 1;
  Place &place = places[launch % places.size()];
  if (place.launch == launch && place.key != key)
    return Error{Error::Code::BadInput, "`" + manifest.member + "`: rank " + std::to_string(rank) +
                                            " passes its windows at another place of the symmetric memory than rank " +
                                            std::to_string(place.rank)};
  if (place.launch < launch) place = {launch, key, rank};
  launches[rank] = launch;
  return {};
}

Result<void> Collective::launch(int rank, std::span<void *const> buffers, std::span<const std::uint64_t> extents,
                                std::span<const Scalar> scalars, void *stream, const Shape &shape) const {
  const Manifest &manifest = state->manifest;
  if (state->context.aborted.load(std::memory_order_relaxed)) return kAborted;
  if (rank < 0 || rank >= manifest.ranks || buffers.size() != manifest.arguments.size() ||
      extents.size() != manifest.extents.size() || scalars.size() != manifest.scalars.size())
    return Error{Error::Code::BadInput, "`" + manifest.member + "` takes a rank below " +
                                            std::to_string(manifest.ranks) + ", " +
                                            std::to_string(manifest.arguments.size()) + " buffers, " +
                                            std::to_string(manifest.extents.size()) + " extents and " +
                                            std::to_string(manifest.scalars.size()) + " scalars"};
  if (!state->context.backend->owns(rank))
    return Error{Error::Code::BadInput, "`" + manifest.member + "`: rank " + std::to_string(rank) + " is another process's"};
  const LaunchPlan &plan = state->plan;
  if (!plan.launches(extents)) return {};
  if (auto good = plan.check(rank, buffers, extents); !good) return good;

  std::array<std::uint64_t, kMaxScalars> words;
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    const Manifest::Scalar &declared = manifest.scalars[i];
    if (!isAllowed(declared, scalars[i]))
      return Error{Error::Code::BadInput, "`" + manifest.member + "`: " + scalarBeyond(manifest, declared, scalars[i])};
    words[i] = scalarBits(scalars[i], declared.type);
  }
  ResolvedLaunch launch;
  launch.shape = plan.shape(extents, state->loaded->limits(), shape);
  launch.onePacket = plan.onePacket(buffers, extents, launch.shape);
  std::array<void *, ParameterBlock::kMaxWords> pointers;
  launch.pointers = buffers;
  if (manifest.hasWindows()) {
    auto count = state->resolve(rank, buffers, extents, pointers);
    if (!count) return count.error();
    launch.pointers = std::span(pointers.data(), *count);
  }
  launch.extents = extents;
  launch.scalars = std::span(words.data(), scalars.size());
  return state->context.backend->launch(*state->loaded, rank, stream, launch);
}

Result<std::vector<std::uint64_t>> stampsOf(const Collective &collective, int rank, unsigned ctas) {
  return collective.state->context.backend->stamps(*collective.state->loaded, rank, ctas);
}

Result<void> setEpochOf(const Collective &collective, std::uint32_t epoch) {
  return collective.state->context.backend->setEpoch(*collective.state->loaded, epoch);
}

/// The compiler takes no longer text.
static constexpr std::size_t kLongestSource = 1 << 20;

Result<std::string> readSource(const std::string &path) {
  auto text = readFile(path, kLongestSource + 1); // no more: a device or a pipe may never end
  if (!text) return Error{Error::Code::BadInput, "`" + path + "` cannot be read"};
  if (text->size() > kLongestSource) return Error{Error::Code::BadInput, "`" + path + "` has more than 1 MiB"};
  return std::move(*text);
}

} // namespace coll
