// Launches of several members in one context, in random order, one by one and from graphs of several.
#include "context/Backend.h"
#include "context/RunContext.h"
#include "context/Values.h"
#include "context/Verify.h"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace coll {
namespace {

/// How many launches a graph has.
constexpr unsigned kGraphSizes[] = {1, 2, 3, 5};
/// Enough for CTAs and packets of all sorts; what more would show, runs of one member do.
constexpr std::uint64_t kMixedElements = 1 << 15;

/// A member that takes part.
struct Part {
  Part(const Kernel &kernel, const Collective &collective) : manifest(kernel.manifest), collective(collective), reference(manifest) {}
  const Manifest manifest;
  Collective collective;
  Reference reference;
  std::optional<RunLayout> layout;
};

/// A launch of one of them, its memory `base` bytes from where that of its step begins.
struct Operation {
  Part *part;
  PlannedLaunch planned;
  std::uint64_t base, bytes;
};

/// What is given to a rank's stream at once: one launch, or a replayed graph of some.
struct Step {
  const std::vector<std::unique_ptr<Graph>> *graph = nullptr; ///< [rank]; null: launched
  std::vector<Operation> operations;
  std::uint64_t bytes = 0;
  std::uint64_t work = 0;  ///< of a graph: where in the memory that it was captured with its buffers lie
  std::uint64_t store = 0; ///< where its inputs wait, and outputs are left
};

class MixedRunner {
public:
  MixedRunner(const RunRequest &request, Context &context) : request(request), context(context), backend(backendOf(context)) {
    report.ranks.resize(std::size_t(context.ranks()));
    report.batches = 0;
  }

  Result<void> load(const Kernel &kernel);
  Result<RunReport> run();

private:
  Step next(unsigned operations);
  Result<void> capture();
  Step nextStep();
  Result<void> runBatch(std::vector<Step> &steps, std::uint64_t bytes);
  Result<void> upload(const Step &step, const RunMemory &store);
  Result<void> issue(const Step &step, const RunMemory &store);
  Result<void> launch(const Step &step, int rank, char *memory);
  Result<void> verify(const Step &step, const RunMemory &store);

  const RunRequest &request;
  Context &context;
  Backend &backend;
  std::vector<std::unique_ptr<Part>> parts;
  std::vector<Step> captured;
  std::vector<std::vector<std::unique_ptr<Graph>>> graphs; ///< [captured][rank]
  std::optional<RunMemory> work;                           ///< of the graphs
  std::uint64_t number = 0, turn = 0; ///< operations and steps so far
  bool symmetric = false;
  RunReport report;
};

Result<void> MixedRunner::load(const Kernel &kernel) {
  auto collective = context.load(kernel);
  if (!collective) return collective.error();
  Part &part = *parts.emplace_back(std::make_unique<Part>(kernel, *collective));
  std::uint64_t most = request.maxElements ? request.maxElements
                       : context.fabric() == FabricKind::Emulated ? kEmulatedElements
                                                                  : kMixedElements;
  auto layout = RunLayout::create(part.manifest, request, most,
                                  std::make_shared<const ScalarDraw>(part.manifest, kernel.program.get()));
  if (!layout) return layout.error();
  part.layout.emplace(std::move(*layout));
  symmetric |= part.manifest.hasWindows();
  return {};
}

/// So many random launches, and where their buffers lie in the memory of a step.
Step MixedRunner::next(unsigned operations) {
  Step step;
  for (unsigned i = 0; i < operations; ++i) {
    Part &part = *parts[mix(mix(request.seed, 11), number) % parts.size()];
    part.layout->reset();
    Operation operation{&part, part.layout->next(number++), step.bytes, 0};
    operation.bytes = (part.layout->bytes() + 255) / 256 * 256;
    step.bytes += operation.bytes;
    step.operations.push_back(std::move(operation));
  }
  return step;
}

Result<void> MixedRunner::capture() {
  std::uint64_t bytes = 0;
  for (const unsigned operations : kGraphSizes) {
    Step &step = captured.emplace_back(next(operations));
    step.work = bytes;
    bytes += step.bytes;
  }
  auto memory = RunMemory::allocate(context, bytes, symmetric);
  if (!memory) return memory.error();
  work.emplace(std::move(*memory));
  for (const Step &step : captured) {
    auto &ofRanks = graphs.emplace_back();
    for (int rank = 0; rank < context.ranks(); ++rank) {
      if (auto done = backend.beginCapture(rank); !done) return done;
      auto launched = launch(step, rank, (*work)[rank] + step.work);
      auto ended = backend.endCapture(rank);
      if (!launched) return launched;
      if (!ended) return ended.error();
      ofRanks.push_back(std::move(*ended));
    }
  }
  return {};
}

/// A launch as often as each of the graphs, whose sizes stay and whose inputs are new.
Step MixedRunner::nextStep() {
  const std::uint64_t picked = captured.empty() ? 0 : mix(mix(request.seed, 12), turn++) % (captured.size() + 1);
  if (picked == 0) return next(1);
  Step step = captured[picked - 1];
  step.graph = &graphs[picked - 1];
  for (Operation &operation : step.operations) operation.planned.number = number++;
  return step;
}

Result<void> MixedRunner::launch(const Step &step, int rank, char *memory) {
  for (const Operation &operation : step.operations) {
    std::vector<void *> pointers;
    for (const std::uint64_t offset : operation.planned.offsets[rank]) pointers.push_back(memory + operation.base + offset);
    const PlannedLaunch &planned = operation.planned;
    if (auto done = operation.part->collective.launch(rank, pointers, planned.extents, planned.scalars); !done) return done;
  }
  return {};
}

Result<void> MixedRunner::upload(const Step &step, const RunMemory &store) {
  for (const Operation &operation : step.operations)
    for (int rank = 0; rank < context.ranks(); ++rank) {
      std::vector<std::byte> contents(operation.bytes);
      operation.part->layout->fill(std::span(&operation.planned, 1), rank, contents);
      if (auto done = context.upload(rank, store[rank] + step.store + operation.base, contents.data(), contents.size()); !done)
        return done;
    }
  return {};
}

/// Each part of a step for all ranks before the next part: ranks that share a GPU share its copy engine, where a copy
/// that waits for its rank's graph must not stand before one that another rank's graph waits for.
Result<void> MixedRunner::issue(const Step &step, const RunMemory &store) {
  const int ranks = context.ranks();
  if (!step.graph) {
    for (int rank = 0; rank < ranks; ++rank)
      if (auto done = launch(step, rank, store[rank] + step.store); !done) return done;
    return {};
  }
  for (int rank = 0; rank < ranks; ++rank)
    if (auto done = backend.copy(rank, (*work)[rank] + step.work, store[rank] + step.store, step.bytes); !done) return done;
  for (int rank = 0; rank < ranks; ++rank)
    if (auto done = backend.replay(rank, *(*step.graph)[std::size_t(rank)]); !done) return done;
  for (int rank = 0; rank < ranks; ++rank)
    if (auto done = backend.copy(rank, store[rank] + step.store, (*work)[rank] + step.work, step.bytes); !done) return done;
  return {};
}

Result<void> MixedRunner::verify(const Step &step, const RunMemory &store) {
  for (const Operation &operation : step.operations) {
    std::vector<std::vector<std::byte>> after(std::size_t(context.ranks()), std::vector<std::byte>(operation.bytes));
    for (int rank = 0; rank < context.ranks(); ++rank)
      if (auto done = context.download(rank, after[std::size_t(rank)].data(), store[rank] + step.store + operation.base,
                                       operation.bytes);
          !done)
        return done;
    const Part &part = *operation.part;
    std::vector<RankReport> reports(report.ranks.size());
    verifyLaunches(part.manifest, part.reference, *part.layout, std::span(&operation.planned, 1), after, reports);
    for (std::size_t rank = 0; rank < reports.size(); ++rank) {
      RankReport &all = report.ranks[rank];
      if (all.wrong == 0 && reports[rank].wrong)
        all.firstWrong = "`" + part.manifest.member + "`" + (step.graph ? " in a graph of " + std::to_string(step.operations.size()) : "") +
                         ": " + reports[rank].firstWrong;
      all.checked += reports[rank].checked;
      all.wrong += reports[rank].wrong;
    }
  }
  return {};
}

Result<void> MixedRunner::runBatch(std::vector<Step> &steps, std::uint64_t bytes) {
  auto store = RunMemory::allocate(context, bytes, symmetric);
  if (!store) return store.error();
  for (const Step &step : steps)
    if (auto done = upload(step, *store); !done) return done;
  const auto start = std::chrono::steady_clock::now();
  for (const Step &step : steps)
    if (auto done = issue(step, *store); !done) return done;
  if (auto done = context.synchronize(); !done) return done;
  report.milliseconds += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  for (const Step &step : steps)
    if (auto done = verify(step, *store); !done) return done;
  store->release(context);
  ++report.batches;
  return {};
}

Result<RunReport> MixedRunner::run() {
  if (request.graph)
    if (auto done = capture(); !done) return done.error();
  const std::uint64_t limit = kBatchBytes / std::uint64_t(context.ranks());
  while (report.launches < request.launches) {
    std::vector<Step> steps;
    std::uint64_t bytes = 0;
    while (report.launches < request.launches && (steps.empty() || bytes < limit)) {
      Step &step = steps.emplace_back(nextStep());
      step.store = bytes;
      bytes += step.bytes;
      report.launches += unsigned(step.operations.size());
    }
    if (auto done = runBatch(steps, bytes); !done) return done.error();
  }
  report.passed =
      std::all_of(report.ranks.begin(), report.ranks.end(), [](const RankReport &rank) { return rank.wrong == 0; });
  report.place = context.describe();
  report.reference = "the contract of each";
  return report;
}

} // namespace

Result<RunReport> runMixed(std::span<const Kernel> kernels, const RunRequest &request) {
  auto context = contextFor(request, kernels.front().manifest.ranks);
  if (!context) return context.error();
  RunRequest random = request;
  random.randomCounts = true;
  random.extents.clear();
  MixedRunner runner(random, *context);
  for (const Kernel &kernel : kernels)
    if (auto done = runner.load(kernel); !done) return done.error();
  return runner.run();
}

} // namespace coll
