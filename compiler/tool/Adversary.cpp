#include "tool/Adversary.h"

#include "check/Report.h"
#include "context/Parameters.h"
#include "context/Values.h"
#include "context/Verify.h"
#include "interpreter/Interpreter.h"

#include <algorithm>
#include <bit>
#include <numeric>

using namespace coll;
using namespace coll::tool;

namespace {

constexpr std::uint64_t kSmallRegions = 1 << 19;

/// Shapes that threads of a GPU would hardly need and interleavings do: a few CTAs, a few warps.
LaunchShape randomShape(const Manifest &manifest, std::uint64_t random) {
  const unsigned ctas = 1 + random % 3, warps = 1 + random / 4 % 2;
  // Whoever has one packet of a chunk goes on to the next without waiting for the others of this one: it is now and then
  // that threads have but one.
  constexpr unsigned kMostThreads = 512;
  if (manifest.chunkPackets && manifest.chunkPackets <= kMostThreads && random / 16 % 4 == 0)
    return {std::min<unsigned>(unsigned((manifest.chunkPackets + 63) / 64), manifest.maxCtas), 64, 1};
  // Where CTAs may share a row, sometimes all of them do.
  const bool share = manifest.domain.rows && random / 8 % 2;
  return {std::min(ctas, manifest.maxCtas), std::min(warps * 32, manifest.maxThreads), share ? std::min(ctas, manifest.maxCtas) : 1};
}

/// One rank's part of one launch on a machine: its buffers, guarded on both sides, and the launch itself.
struct PlacedLaunch {
  std::vector<emu::Pointer> arguments;
  std::vector<std::pair<emu::Buffer, std::uint64_t>> buffers; ///< and where each lies in the rank's memory
  std::vector<std::uint64_t> sizes;                           ///< of each buffer
};

/// Arguments that share memory share a buffer; all others have their own.
PlacedLaunch place(emu::Machine &machine, const Manifest &manifest, const PlannedLaunch &planned, int rank,
                   std::span<const std::byte> memory) {
  PlacedLaunch placed;
  placed.arguments.resize(planned.bytes.size());
  std::vector<std::size_t> order(planned.bytes.size());
  std::iota(order.begin(), order.end(), 0);
  const std::vector<std::uint64_t> &offsets = planned.offsets[rank];
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return offsets[a] < offsets[b]; });
  for (std::size_t i = 0; i < order.size();) {
    const std::uint64_t begin = offsets[order[i]];
    std::uint64_t end = begin;
    std::size_t last = i;
    for (; last < order.size() && (last == i || offsets[order[last]] < end); ++last)
      end = std::max(end, offsets[order[last]] + planned.bytes[order[last]]);
    const std::string label = "`" + manifest.arguments[order[i]].name + "` of launch " +
                              std::to_string(planned.number) + " on rank " + std::to_string(rank);
    const emu::Buffer buffer = machine.allocate(rank, label, end - begin, static_cast<unsigned>(begin % 256));
    machine.write(buffer, memory.subspan(begin, end - begin));
    placed.buffers.emplace_back(buffer, begin);
    placed.sizes.push_back(end - begin);
    for (; i < last; ++i) placed.arguments[order[i]] = {buffer, offsets[order[i]] - begin};
  }
  return placed;
}

/// The kernel's pointers: of a window, those of all ranks, and one of all at once where it is multicast.
std::vector<emu::Pointer> kernelArguments(emu::Machine &machine, const Manifest &manifest, const PlannedLaunch &planned,
                                          const std::vector<std::vector<PlacedLaunch>> &placed, int rank,
                                          std::size_t number) {
  std::vector<emu::Pointer> list;
  for (std::size_t i = 0; i < manifest.arguments.size(); ++i) {
    const Manifest::Argument &argument = manifest.arguments[i];
    for (int hop = 0; hop < (argument.window ? manifest.ranks : 1); ++hop)
      list.push_back(placed[std::size_t((rank + hop) % manifest.ranks)][number].arguments[i]);
    if (!argument.multicast) continue;
    std::vector<emu::Pointer> places;
    for (int r = 0; r < manifest.ranks; ++r) places.push_back(placed[std::size_t(r)][number].arguments[i]);
    list.push_back(machine.multicast("`" + argument.name + "` of launch " + std::to_string(planned.number), places,
                                     planned.bytes[i]));
  }
  return list;
}

} // namespace

struct Adversary::Share {
  const Part &part;
  RunRequest request;
  std::optional<RunLayout> layout;
  std::vector<PlannedLaunch> launches;
  std::vector<std::vector<std::byte>> memory; ///< [rank]

  Share(const Part &part, RunRequest request) : part(part), request(std::move(request)) {}
  void fill() {
    memory.assign(part.manifest.ranks, std::vector<std::byte>(layout->bytes()));
    for (int rank = 0; rank < part.manifest.ranks; ++rank) layout->fill(launches, rank, memory[rank]);
  }
};

Result<Adversary> Adversary::create(std::span<const Kernel> kernels, const RunRequest &request,
                                    const Settings &settings) {
  Adversary adversary(request, settings);
  for (const Kernel &kernel : kernels) {
    const Manifest &manifest = kernel.manifest;
    std::shared_ptr<const emu::KernelModule> module;
    if (settings.interpret) {
      const std::string unknown = interpreter::unknown(*kernel.program);
      if (!unknown.empty())
        return Error{Error::Code::BadInput,
                     "the interpreter knows nothing of " + unknown + ", which `" + manifest.member + "` has"};
    } else {
      emu::CompileError error;
      const auto use = settings.fewRuns ? emu::KernelModule::For::FewRuns : emu::KernelModule::For::ManyRuns;
      module = emu::KernelModule::compile(kernel.cuda, std::span(&manifest.entry, 1), error, use);
      if (!module) return Error{error.noCompiler ? Error::Code::MachineLacks : Error::Code::Internal, error.message};
    }
    auto draw = std::make_shared<const ScalarDraw>(manifest, kernel.program.get());
    adversary.parts.push_back(std::make_unique<const Part>(Part{manifest, Reference(manifest), draw, kernel.program, module}));
  }
  return adversary;
}

std::string Adversary::lacking() const {
  for (const auto &part : parts) {
    const Manifest &manifest = part->manifest;
    if (manifest.unsplitBytes <= 8 || unsigned(settings.atomicity) >= manifest.unsplitBytes) continue;
    return "`" + manifest.member + "` needs aligned stores of " + std::to_string(manifest.unsplitBytes) +
           " bytes to arrive whole, and here they may arrive in parts";
  }
  for (const auto &part : parts)
    if (settings.unequalGrids && check::refuteOtherGrids(*part->program))
      return "`" + part->manifest.member + "` needs the same grid on all ranks, and here they differ";
  if (settings.stream && !settings.events)
    return "launches on different streams are in no order here; contexts let each wait for the one before it";
  return "";
}

/// The most ranks for a run that looks for races, which takes memory by the square of the threads. With more, seed 0 looks
/// at results alone.
static constexpr int kMaxRacing = 16;

emu::Policy Adversary::policyOf(std::uint64_t seed) const {
  emu::Policy policy = seed ? emu::Policy::adversarial(seed, settings.atomicity) : emu::Policy::fair();
  policy.detectRaces = policy.checkThreads = seed == 0 && parts.front()->manifest.ranks <= kMaxRacing;
  policy.residentCtas = settings.residentCtas;
  // Every other seed goes the way of a team without.
  policy.multicast = settings.multicast && (seed == 0 || mix(seed, 6) % 2 == 0);
  policy.trace = settings.trace;
  return policy;
}

LaunchShape Adversary::shapeOf(const Manifest &manifest, std::uint64_t seed, std::uint64_t number, int rank) const {
  if (settings.shape) return *settings.shape;
  if (settings.unequalGrids) return randomShape(manifest, mix(mix(seed, 4), number * manifest.ranks + rank));
  if (seed == 0) return {manifest.ranks <= 4 ? 2u : 1u, 32};
  return randomShape(manifest, mix(mix(seed, 4), number));
}

/// Threads enough to hold a row in their registers.
static LaunchShape withRoomForRows(const Manifest &manifest, std::span<const std::uint64_t> extents, LaunchShape shape) {
  if (!manifest.domain.rows) return shape;
  const std::uint64_t ofThread = std::uint64_t(shape.cluster) * manifest.rowPackets;
  const std::uint64_t threads = (LaunchPlan(manifest).packetsOfRow(extents) + ofThread - 1) / ofThread;
  shape.block = std::max(shape.block, unsigned((threads + 31) / 32 * 32));
  return shape;
}

/// Decides which part each launch is of, in `order`, and everything about the launches.
Result<std::vector<std::unique_ptr<Adversary::Share>>> Adversary::plan(std::uint64_t seed,
                                                                       std::vector<std::size_t> &order) const {
  RunRequest ofSeed = request;
  ofSeed.seed = seed;
  ofSeed.elementOffset = mix(seed, 1) % 4 == 0 ? static_cast<unsigned>(mix(seed, 2) % 8) : 0;
  std::vector<std::unique_ptr<Share>> shares;
  for (const auto &part : parts) {
    Share &share = *shares.emplace_back(std::make_unique<Share>(*part, ofSeed));
    auto layout = RunLayout::create(part->manifest, share.request, share.request.maxElements, part->draw);
    if (!layout) return layout.error();
    share.layout.emplace(std::move(*layout));
  }
  for (unsigned number = 0; number < request.launches; ++number) {
    const std::size_t picked = shares.size() == 1 ? 0 : mix(mix(seed, 5), number) % shares.size();
    Share &share = *shares[picked];
    PlannedLaunch planned = share.layout->next(number);
    // The host launches nothing where there is nothing to do.
    if (!LaunchPlan(share.part.manifest).launches(planned.extents)) continue;
    share.launches.push_back(std::move(planned));
    order.push_back(picked);
  }
  for (auto &share : shares) share->fill();
  return shares;
}

Result<Adversary::Outcome> Adversary::run(std::uint64_t seed) const {
  if (seed == 0 && settings.interpret) return Outcome();
  std::vector<std::size_t> order;
  auto shares = plan(seed, order);
  if (!shares) return shares.error();
  if (!settings.interpret) return emulate(seed, *shares, order);
  Share &share = *shares->front();
  const std::string failure = interpreter::run(*share.part.program, share.launches, share.memory, seed);
  return failure.empty() ? verify(*shares) : Outcome{failure, 0, {}};
}

Result<Adversary::Outcome> Adversary::emulate(std::uint64_t seed, std::vector<std::unique_ptr<Share>> &shares,
                                              const std::vector<std::size_t> &order) const {
  const int ranks = parts.front()->manifest.ranks;
  emu::Machine machine(parts.front()->manifest, policyOf(seed));
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto &workspace = parts[i]->manifest.workspace;
    std::optional<unsigned> with;
    for (std::size_t other = 0; other < i && workspace && !with; ++other)
      if (const auto &its = parts[other]->manifest.workspace; its && its->key == workspace->key) with = unsigned(other);
    machine.add(parts[i]->manifest, with);
  }
  for (std::size_t i = 0; i < (settings.oneRegion ? 1 : parts.size()); ++i) {
    const Manifest &manifest = parts[i]->manifest;
    if (settings.firstEpoch)
      machine.setEpoch(settings.firstEpoch - 1, unsigned(i));
    // Now and then across the end of the epoch's 32 bits, where clearing the region then is no matter of minutes.
    else if (seed && mix(seed, 3) % 8 == 0 && manifest.regionBytes * ranks <= kSmallRegions)
      machine.setEpoch(LaunchPlan(manifest).lastEpoch() + 1 - std::max(1u, unsigned(request.launches / 2)), unsigned(i));
  }

  std::vector<std::vector<std::vector<PlacedLaunch>>> placed(parts.size()); // [part][rank][launch]
  for (std::size_t i = 0; i < parts.size(); ++i) {
    placed[i].resize(ranks);
    for (int rank = 0; rank < ranks; ++rank)
      for (const PlannedLaunch &planned : shares[i]->launches)
        placed[i][rank].push_back(place(machine, parts[i]->manifest, planned, rank, shares[i]->memory[rank]));
  }
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<std::size_t> next(parts.size()); // launch of each part
    unsigned launched = 0;
    for (const std::size_t i : order) {
      const Manifest &manifest = parts[i]->manifest;
      const std::size_t number = next[i]++;
      const PlannedLaunch &planned = shares[i]->launches[number];
      std::vector<void *> pointers;
      for (const emu::Pointer &pointer : placed[i][rank][number].arguments)
        pointers.push_back(reinterpret_cast<void *>(pointer.buffer.address + pointer.byteOffset));
      const LaunchShape shape = withRoomForRows(manifest, planned.extents, shapeOf(manifest, seed, planned.number, rank));
      std::vector<std::uint64_t> scalars;
      for (const Manifest::Scalar &scalar : manifest.scalars)
        scalars.push_back(scalarBits(planned.sizes.scalars.at(scalar.name), scalar.type));
      const emu::Launch launch{parts[i]->module,
                               manifest.entry,
                               shape.grid,
                               shape.block,
                               kernelArguments(machine, manifest, planned, placed[i], rank, number),
                               planned.extents,
                               scalars,
                               LaunchPlan(manifest).onePacket(pointers, planned.extents, shape),
                               shape.cluster,
                               settings.oneRegion ? 0 : unsigned(i),
                               settings.stream ? settings.stream(i, launched) : 0,
                               /*dependent=*/true,
                               settings.events && launched ? std::vector{launched - 1} : std::vector<unsigned>()};
      ++launched;
      std::string error;
      if (!machine.launch(rank, launch, error)) return Error{Error::Code::Failed, error};
    }
  }

  const emu::Result result = machine.run();
  Outcome outcome;
  outcome.trace = result.trace;
  if (result.status != emu::Result::Ok) {
    outcome.failure = std::string(emu::name(result.status)) + "\n" + result.report;
    return outcome;
  }
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (int rank = 0; rank < ranks; ++rank)
      for (const PlacedLaunch &launch : placed[i][rank])
        for (std::size_t b = 0; b < launch.buffers.size(); ++b)
          machine.read(launch.buffers[b].first,
                       std::span(shares[i]->memory[rank]).subspan(launch.buffers[b].second, launch.sizes[b]));
  Outcome verified = verify(shares);
  verified.trace = std::move(outcome.trace);
  return verified;
}

Adversary::Outcome Adversary::verify(const std::vector<std::unique_ptr<Share>> &shares) const {
  Outcome outcome;
  for (const auto &share : shares) {
    const Manifest &manifest = share->part.manifest;
    std::vector<RankReport> reports(manifest.ranks);
    verifyLaunches(manifest, share->part.reference, *share->layout, share->launches, share->memory, reports);
    for (std::size_t rank = 0; rank < reports.size(); ++rank) {
      outcome.checked += reports[rank].checked;
      if (reports[rank].wrong && outcome.failure.empty())
        outcome.failure = (shares.size() > 1 ? "`" + manifest.member + "`: " : "") + "wrong result on rank " +
                          std::to_string(rank) + ": " + reports[rank].firstWrong;
    }
  }
  return outcome;
}
