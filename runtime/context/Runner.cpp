#include "context/Runner.h"

#include "context/Backend.h"
#include "context/RunContext.h"
#include "context/Verify.h"
#include "platform/Parallel.h"

#include <algorithm>
#include <chrono>

namespace coll {
namespace {

using Clock = std::chrono::steady_clock;

double millisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

class Runner {
public:
  Runner(const Kernel &kernel, const RunRequest &request, Context &context, Collective collective, Reference reference,
         RunLayout layout)
      : manifest(kernel.manifest), request(request), context(context), backend(backendOf(context)),
        collective(collective), reference(std::move(reference)), layout(std::move(layout)) {
    report.ranks.resize(manifest.ranks);
    report.batches = 0;
  }

  Result<RunReport> eager();
  Result<RunReport> graph();

private:
  Result<RunMemory> allocate(std::uint64_t bytes) {
    return RunMemory::allocate(context, bytes, manifest.hasWindows());
  }
  Result<void> upload(std::span<const PlannedLaunch> launches, const RunMemory &memory, std::uint64_t at);
  Result<void> launch(const PlannedLaunch &launch, int rank, const RunMemory &memory);
  Result<void> verify(std::span<const PlannedLaunch> launches, const RunMemory &memory, std::uint64_t at,
                      std::uint64_t bytes);
  Result<void> replayBatch(std::span<const PlannedLaunch> captured, std::vector<std::unique_ptr<Graph>> &graphs,
                           const RunMemory &work, std::uint64_t first, std::uint64_t count, std::uint64_t bytes);
  RunReport finish();

  const Manifest &manifest;
  const RunRequest &request;
  Context &context;
  Backend &backend;
  Collective collective;
  Reference reference;
  RunLayout layout;
  RunReport report;
};

Result<void> Runner::upload(std::span<const PlannedLaunch> launches, const RunMemory &memory, std::uint64_t at) {
  std::vector<std::vector<std::byte>> contents(manifest.ranks, std::vector<std::byte>(layout.bytes()));
  onAllCores(std::size_t(manifest.ranks), [&](std::size_t rank) { layout.fill(launches, int(rank), contents[rank]); });
  for (int rank = 0; rank < manifest.ranks; ++rank)
    if (auto done =
            context.upload(rank, memory[rank] + at, contents[rank].data(), contents[rank].size());
        !done)
      return done;
  return {};
}

Result<void> Runner::launch(const PlannedLaunch &launch, int rank, const RunMemory &memory) {
  std::vector<void *> pointers;
  for (std::uint64_t offset : launch.offsets[rank]) pointers.push_back(memory[rank] + offset);
  const auto &shapes = request.shapes;
  return collective.launch(rank, pointers, launch.extents, launch.scalars, nullptr,
                           shapes.empty() ? Shape() : shapes[launch.number % shapes.size()]);
}

Result<void> Runner::verify(std::span<const PlannedLaunch> launches, const RunMemory &memory, std::uint64_t at,
                            std::uint64_t bytes) {
  std::vector<std::vector<std::byte>> after(manifest.ranks, std::vector<std::byte>(bytes));
  for (int rank = 0; rank < manifest.ranks; ++rank)
    if (auto done = context.download(rank, after[rank].data(), memory[rank] + at, bytes); !done)
      return done;
  verifyLaunches(manifest, reference, layout, launches, after, report.ranks);
  return {};
}

RunReport Runner::finish() {
  report.passed =
      std::all_of(report.ranks.begin(), report.ranks.end(), [](const RankReport &r) { return r.wrong == 0; });
  report.place = context.describe();
  report.reference = reference.describe();
  return report;
}

/// All launches of a batch have memory of their own, so each can be verified after the last.
Result<RunReport> Runner::eager() {
  const std::uint64_t limit = kBatchBytes / manifest.ranks;
  for (std::uint64_t number = 0; number < request.launches;) {
    layout.reset();
    std::vector<PlannedLaunch> launches;
    while (number < request.launches && (launches.empty() || layout.bytes() < limit))
      launches.push_back(layout.next(number++));
    auto memory = allocate(layout.bytes());
    if (!memory) return memory.error();
    if (auto done = upload(launches, *memory, 0); !done) return done.error();

    const auto start = Clock::now();
    // Rank by rank for each launch: no rank gets further ahead of the others than one launch, so none fills its queue
    // with launches that wait for one the host has yet to make.
    for (const PlannedLaunch &planned : launches)
      for (int rank = 0; rank < manifest.ranks; ++rank)
        if (auto done = launch(planned, rank, *memory); !done) return done.error();
    if (auto done = context.synchronize(); !done) return done.error();
    report.milliseconds += millisecondsSince(start);

    if (auto done = verify(launches, *memory, 0, layout.bytes()); !done) return done.error();
    memory->release(context);
    report.launches += unsigned(launches.size());
    ++report.batches;
  }
  return finish();
}

/// One graph of some launches for each rank, replayed. Before each replay the stream copies fresh inputs to where the
/// graph wants them, and after it the outputs to where they wait to be verified.
Result<RunReport> Runner::graph() {
  std::vector<PlannedLaunch> captured;
  const unsigned each = std::max(1u, std::min(request.graphLaunches, request.launches));
  for (unsigned i = 0; i < each; ++i) captured.push_back(layout.next(i));
  const std::uint64_t bytes = layout.bytes();
  auto work = allocate(bytes);
  if (!work) return work.error();

  std::vector<std::unique_ptr<Graph>> graphs;
  for (int rank = 0; rank < manifest.ranks; ++rank) {
    if (auto done = backend.beginCapture(rank); !done) return done.error();
    Result<void> launched;
    for (const PlannedLaunch &planned : captured)
      if (launched) launched = launch(planned, rank, *work);
    auto ended = backend.endCapture(rank);
    if (!launched) return launched.error();
    if (!ended) return ended.error();
    graphs.push_back(std::move(*ended));
  }

  const std::uint64_t replays = (request.launches + each - 1) / each;
  const std::uint64_t most = std::max<std::uint64_t>(1, kBatchBytes / manifest.ranks / std::max<std::uint64_t>(1, bytes));
  for (std::uint64_t first = 0; first < replays; first += most)
    if (auto done = replayBatch(captured, graphs, *work, first, std::min(most, replays - first), bytes); !done)
      return done.error();
  report.launches = unsigned(replays * each);
  graphs.clear(); // before the memory that they know
  work->release(context);
  return finish();
}

Result<void> Runner::replayBatch(std::span<const PlannedLaunch> captured, std::vector<std::unique_ptr<Graph>> &graphs,
                                 const RunMemory &work, std::uint64_t first, std::uint64_t count, std::uint64_t bytes) {
  const auto renumbered = [&](std::uint64_t replay) {
    std::vector<PlannedLaunch> launches(captured.begin(), captured.end());
    for (PlannedLaunch &launch : launches) launch.number += (first + replay) * captured.size();
    return launches;
  };
  auto store = allocate(count * bytes);
  if (!store) return store.error();
  for (std::uint64_t replay = 0; replay < count; ++replay)
    if (auto done = upload(renumbered(replay), *store, replay * bytes); !done) return done;

  const auto start = Clock::now();
  // Each step for all ranks before the next: ranks that share a GPU share its copy engine, where a copy that waits for
  // its rank's graph must not stand before one that another rank's graph waits for.
  const auto kept = [&](int rank, std::uint64_t replay) {
    return (*store)[rank] + replay * bytes;
  };
  for (std::uint64_t replay = 0; replay < count; ++replay) {
    for (int rank = 0; rank < manifest.ranks; ++rank)
      if (auto done = backend.copy(rank, work[rank], kept(rank, replay), bytes); !done) return done;
    for (int rank = 0; rank < manifest.ranks; ++rank)
      if (auto done = backend.replay(rank, *graphs[rank]); !done) return done;
    for (int rank = 0; rank < manifest.ranks; ++rank)
      if (auto done = backend.copy(rank, kept(rank, replay), work[rank], bytes); !done) return done;
  }
  if (auto done = context.synchronize(); !done) return done;
  report.milliseconds += millisecondsSince(start);

  for (std::uint64_t replay = 0; replay < count; ++replay)
    if (auto done = verify(renumbered(replay), *store, replay * bytes, bytes); !done) return done;
  store->release(context);
  ++report.batches;
  return {};
}

} // namespace

static Result<RunReport> runIn(Context &context, const Kernel &kernel, const RunRequest &request) {
  std::uint64_t maxElements = kernel.manifest.capacity ? kernel.manifest.capacity : 1u << 20;
  if (request.maxElements)
    maxElements = std::min(maxElements, request.maxElements);
  else if (context.fabric() == FabricKind::Emulated)
    maxElements = std::min(maxElements, kEmulatedElements);
  auto layout = RunLayout::create(kernel.manifest, request, maxElements,
                                  std::make_shared<const ScalarDraw>(kernel.manifest, kernel.program.get()));
  if (!layout) return layout.error();

  const auto start = Clock::now();
  auto collective = context.load(kernel);
  if (!collective) return collective.error();
  const double loadMilliseconds = millisecondsSince(start);
  if (request.firstEpoch != 1)
    if (auto done = setEpochOf(*collective, request.firstEpoch - 1); !done) return done.error();

  Runner runner(kernel, request, context, *collective, Reference(kernel.manifest), std::move(*layout));
  auto report = request.graph ? runner.graph() : runner.eager();
  if (report) report->kernelCompileMilliseconds = loadMilliseconds;
  return report;
}

Result<RunReport> run(const Kernel &kernel, const RunRequest &request) {
  return RunSeries().run(kernel, request);
}

RunSeries::RunSeries() = default;
RunSeries::~RunSeries() = default;

Result<RunReport> RunSeries::run(const Kernel &kernel, const RunRequest &request) {
  if (context && (context->fabric() == FabricKind::Emulated || context->ranks() != kernel.manifest.ranks)) context.reset();
  if (!context) {
    auto made = contextFor(request, kernel.manifest.ranks);
    if (!made) return made.error();
    context = std::make_unique<Context>(std::move(*made));
  }
  auto report = runIn(*context, kernel, request);
  if (!report) context.reset();
  return report;
}

Result<RunReport> run(const Program &program, const RunRequest &request) {
  Diagnostics diagnostics;
  const auto kernel = program.compile(request.instance, request.compile, diagnostics);
  if (!kernel) return Error{Error::Code::Refuted, diagnostics.render()};
  return run(*kernel, request);
}

} // namespace coll
