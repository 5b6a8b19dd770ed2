#include "tool/Adversary.h"

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

/// The kernel's pointers: of a window, those of all ranks.
std::vector<emu::Pointer> kernelArguments(const Manifest &manifest, const std::vector<std::vector<PlacedLaunch>> &placed,
                                          int rank, std::size_t number) {
  std::vector<emu::Pointer> list;
  for (std::size_t i = 0; i < manifest.arguments.size(); ++i)
    for (int hop = 0; hop < (manifest.arguments[i].window ? manifest.ranks : 1); ++hop)
      list.push_back(placed[std::size_t((rank + hop) % manifest.ranks)][number].arguments[i]);
  return list;
}

} // namespace

Result<Adversary> Adversary::create(const Kernel &kernel, const RunRequest &request, const Settings &settings) {
  Adversary adversary(kernel, request, settings, Reference(kernel.manifest));
  if (settings.interpret) {
    const std::string unknown = interpreter::unknown(*kernel.program);
    if (unknown.empty()) return adversary;
    return Error{Error::Code::BadInput, "the interpreter knows nothing of " + unknown + ", which `" + kernel.manifest.member +
                                            "` has"};
  }
  emu::CompileError error;
  adversary.module = emu::KernelModule::compile(kernel.cuda, std::span(&kernel.manifest.entry, 1), error);
  if (!adversary.module)
    return Error{error.noCompiler ? Error::Code::MachineLacks : Error::Code::Failed, error.message};
  return adversary;
}

std::string Adversary::lacking() const {
  if (manifest.unsplitBytes <= 8 || unsigned(settings.atomicity) >= manifest.unsplitBytes) return "";
  return "`" + manifest.member + "` needs aligned stores of " + std::to_string(manifest.unsplitBytes) +
         " bytes to arrive whole, and here they may arrive in parts";
}

/// The most ranks for a run that looks for races: it takes memory by the square of the threads.
static constexpr int kMaxRacing = 16;

emu::Policy Adversary::policyOf(std::uint64_t seed) const {
  emu::Policy policy = seed ? emu::Policy::adversarial(seed, settings.atomicity) : emu::Policy::fair();
  policy.detectRaces = policy.checkThreads = seed == 0;
  policy.residentCtas = settings.residentCtas;
  policy.trace = settings.trace;
  return policy;
}

LaunchShape Adversary::shapeOf(std::uint64_t seed, std::uint64_t number, int rank) const {
  if (settings.unequalGrids) return randomShape(manifest, mix(mix(seed, 4), number * manifest.ranks + rank));
  if (seed == 0) return {manifest.ranks <= 4 ? 2u : 1u, 32};
  return randomShape(manifest, mix(mix(seed, 4), number));
}

Result<Adversary::Outcome> Adversary::run(std::uint64_t seed) const {
  if (seed == 0 && (settings.interpret || manifest.ranks > kMaxRacing)) return Outcome();
  RunRequest ofSeed = request;
  ofSeed.seed = seed;
  ofSeed.elementOffset = mix(seed, 1) % 4 == 0 ? static_cast<unsigned>(mix(seed, 2) % 8) : 0;
  auto layout = RunLayout::create(manifest, ofSeed, ofSeed.maxElements);
  if (!layout) return layout.error();
  const LaunchPlan plan(manifest);
  std::vector<PlannedLaunch> launches;
  for (unsigned number = 0; number < request.launches; ++number) {
    launches.push_back(layout->next(number));
    if (plan.domainElements(launches.back().extents) == 0) launches.pop_back(); // the host launches nothing then
  }

  if (settings.interpret) {
    std::vector<std::vector<std::byte>> memory(manifest.ranks, std::vector<std::byte>(layout->bytes()));
    for (int rank = 0; rank < manifest.ranks; ++rank) layout->fill(launches, rank, memory[rank]);
    const std::string failure = interpreter::run(*program, launches, memory, seed);
    return failure.empty() ? verify(*layout, launches, memory) : Outcome{failure, 0, {}};
  }

  emu::Machine machine(manifest, policyOf(seed));
  // Now and then across the end of the epoch's 32 bits, where clearing the region then is no matter of minutes.
  if (settings.firstEpoch)
    machine.setEpoch(settings.firstEpoch - 1);
  else if (seed && mix(seed, 3) % 8 == 0 && manifest.regionBytes * manifest.ranks <= kSmallRegions)
    machine.setEpoch(plan.lastEpoch() + 1 - request.launches / 2);
  std::vector<std::vector<std::byte>> memory(manifest.ranks, std::vector<std::byte>(layout->bytes()));
  std::vector<std::vector<PlacedLaunch>> placed(manifest.ranks);
  for (int rank = 0; rank < manifest.ranks; ++rank) {
    layout->fill(launches, rank, memory[rank]);
    for (const PlannedLaunch &planned : launches)
      placed[rank].push_back(place(machine, manifest, planned, rank, memory[rank]));
  }
  for (int rank = 0; rank < manifest.ranks; ++rank) {
    for (std::size_t number = 0; number < launches.size(); ++number) {
      const PlannedLaunch &planned = launches[number];
      std::vector<void *> pointers;
      for (const emu::Pointer &pointer : placed[rank][number].arguments)
        pointers.push_back(reinterpret_cast<void *>(pointer.buffer.address + pointer.byteOffset));
      const LaunchShape shape = shapeOf(seed, planned.number, rank);
      std::vector<std::uint64_t> scalars;
      for (const Manifest::Scalar &scalar : manifest.scalars)
        scalars.push_back(scalarBits(planned.sizes.scalars.at(scalar.name), scalar.type));
      const emu::Launch launch{module,
                               manifest.entry,
                               shape.grid,
                               shape.block,
                               kernelArguments(manifest, placed, rank, number),
                               planned.extents,
                               scalars,
                               plan.onePacket(pointers, planned.extents, shape),
                               shape.cluster};
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
  for (int rank = 0; rank < manifest.ranks; ++rank)
    for (const PlacedLaunch &launch : placed[rank])
      for (std::size_t i = 0; i < launch.buffers.size(); ++i)
        machine.read(launch.buffers[i].first,
                     std::span(memory[rank]).subspan(launch.buffers[i].second, launch.sizes[i]));
  Outcome verified = verify(*layout, launches, memory);
  verified.trace = std::move(outcome.trace);
  return verified;
}

Adversary::Outcome Adversary::verify(const RunLayout &layout, std::span<const PlannedLaunch> launches,
                                     std::span<const std::vector<std::byte>> memory) const {
  Outcome outcome;
  std::vector<RankReport> reports(manifest.ranks);
  verifyLaunches(manifest, reference, layout, launches, memory, reports);
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    outcome.checked += reports[rank].checked;
    if (reports[rank].wrong && outcome.failure.empty())
      outcome.failure = "wrong result on rank " + std::to_string(rank) + ": " + reports[rank].firstWrong;
  }
  return outcome;
}
