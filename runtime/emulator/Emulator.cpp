// The public face of the emulator.
#include "emulator/Emulator.h"
#include "emulator/Engine.h"

#include "emulator/Region.h"

#include <algorithm>
#include <cassert>

using namespace coll;
using namespace coll::emu;

std::string_view emu::name(Schedule schedule) {
  switch (schedule) {
  case Schedule::Fair: return "fair";
  case Schedule::Uniform: return "uniform";
  case Schedule::Priority: return "priority";
  case Schedule::FrozenRank: return "frozen rank";
  case Schedule::StarvedReader: return "starved reader";
  }
  return "";
}

std::string_view emu::name(Result::Status status) {
  switch (status) {
  case Result::Ok: return "ok";
  case Result::Deadlock: return "deadlock";
  case Result::Fault: return "fault";
  case Result::Race: return "race";
  case Result::StepLimit: return "step limit";
  case Result::Aborted: return "aborted";
  }
  return "";
}

Policy Policy::fair() {
  return {};
}

Policy Policy::adversarial(std::uint64_t seed, Atomicity atomicity) {
  constexpr Schedule schedules[] = {Schedule::Uniform, Schedule::Priority, Schedule::FrozenRank,
                                    Schedule::StarvedReader};
  constexpr double commit[] = {0.9, 0.3, 0.03, 0.003}, yield[] = {1, 0.2, 0.02};
  constexpr double relaxed[] = {0, 0.1, 0.3}, weak[] = {0, 0.2, 0.5}, early[] = {0, 0.5, 1};
  Random random(seed ^ 0x5eed);
  Policy policy;
  policy.seed = seed;
  policy.schedule = schedules[seed % 4];
  policy.atomicity = atomicity;
  policy.commitRate = commit[random.below(4)];
  policy.yieldRate = yield[random.below(3)];
  policy.staleRelaxed = relaxed[random.below(3)];
  policy.staleWeak = weak[random.below(3)];
  policy.early = early[random.below(3)];
  return policy;
}

struct Machine::State {
  Engine engine;
  std::vector<std::uint64_t> regionsOfAll = {}; ///< by member, the address of all ranks at once
  bool ran = false;
};

Machine::Machine(const Manifest &manifest, const Policy &policy) : state(new State{Engine(manifest.ranks, policy)}) {
  add(manifest);
  Engine &engine = state->engine;
  for (int r = 0; r < manifest.ranks; ++r) {
    Rank &rank = engine.ranks[r];
    rank.status = allocate(r, "status", sizeof(Status)).address;
    const Status clear = {};
    engine.memory.write(rank.status, &clear, sizeof clear);
  }
}

unsigned Machine::add(const Manifest &manifest, std::optional<unsigned> with) {
  Engine &engine = state->engine;
  assert(manifest.ranks == int(engine.ranks.size()));
  const Member &member = engine.members.emplace_back(manifest);
  for (int r = 0; r < manifest.ranks; ++r)
    engine.ranks[r].regions.push_back(
        with ? engine.ranks[r].regions[*with] : engine.memory.allocate("region", r, &member, manifest.regionBytes, 0).address);
  std::vector<Pointer> regions;
  for (const Rank &rank : engine.ranks) regions.push_back({{rank.regions.back()}});
  state->regionsOfAll.push_back(
      manifest.multicastsMail ? multicast("region", regions, manifest.regionBytes).buffer.address : 0);
  return unsigned(engine.members.size() - 1);
}

Machine::~Machine() = default;

void Machine::setEpoch(std::uint32_t epoch, unsigned member) {
  const std::vector<std::uint32_t> words(kMaxCtas, epoch);
  const Manifest &manifest = state->engine.members[member].manifest;
  for (const Rank &rank : state->engine.ranks) {
    state->engine.memory.write(rank.regions[member] + region::kEpochs, words.data(), words.size() * 4);
    // Whoever has done so many launches has begun them too.
    if (!manifest.credits) continue;
    const std::vector<std::uint32_t> credits((headerBytes(manifest) - manifest.credits) / 4, epoch);
    state->engine.memory.write(rank.regions[member] + manifest.credits, credits.data(), credits.size() * 4);
  }
}

Buffer Machine::allocate(int rank, std::string label, std::uint64_t bytes, unsigned misalignment) {
  return {state->engine.memory.allocate(std::move(label), rank, nullptr, bytes, misalignment).address};
}

Pointer Machine::multicast(std::string label, std::span<const Pointer> places, std::uint64_t bytes) {
  if (!state->engine.policy.multicast || bytes == 0) return {};
  std::vector<std::uint64_t> parts;
  for (const Pointer &place : places) parts.push_back(place.buffer.address + place.byteOffset);
  for (const std::uint64_t part : parts)
    if (part % 256 != parts.front() % 256) return {};
  return {{state->engine.memory.allocateOfAll(std::move(label) + " of all ranks", std::move(parts), bytes).address}};
}

void Machine::write(Buffer to, std::span<const std::byte> bytes, std::uint64_t byteOffset) {
  state->engine.memory.write(to.address + byteOffset, bytes.data(), bytes.size());
}

void Machine::read(Buffer from, std::span<std::byte> bytes, std::uint64_t byteOffset) const {
  state->engine.memory.read(from.address + byteOffset, bytes.data(), bytes.size());
}

/// Says of the segments that are windows how long their elements are.
static void noteWindows(Memory &memory, const Manifest &manifest, const Launch &launch) {
  std::size_t at = 0;
  for (const Manifest::Argument &argument : manifest.arguments)
    for (unsigned of = 0; of < manifest.pointersOf(argument) && at < launch.arguments.size(); ++of, ++at)
      if (Segment *segment = memory.near(launch.arguments[at].buffer.address); segment && argument.window)
        segment->elementBytes = sizeOf(argument.dtype);
}

bool Machine::launch(int rank, const Launch &launch, std::string &error) {
  Engine &engine = state->engine;
  const KernelModule::Entry *entry = launch.kernel ? launch.kernel->find(launch.entry) : nullptr;
  const auto refuse = [&](std::string why) {
    error = "cannot launch `" + launch.entry + "`: " + why;
    return false;
  };
  if (!entry) return refuse("the module has no such entry point");
  const int ranks = int(engine.ranks.size());
  if (rank < 0 || rank >= ranks) return refuse("there is no rank " + std::to_string(rank));
  if (launch.member >= engine.members.size()) return refuse("there is no member " + std::to_string(launch.member));
  if (launch.grid < 1 || launch.grid > kMaxCtas) return refuse("a grid has 1 to 256 CTAs");
  if (launch.cluster < 1 || launch.grid % launch.cluster != 0) return refuse("a grid is whole clusters");
  if (launch.block < 1 || launch.block > 1024) return refuse("a CTA has 1 to 1024 threads");

  // Team<N> of runtime/device/coll/types.h, then the regions of all at once, pointers, extents, scalars and onePacket, 8 bytes each.
  std::vector<std::uint64_t> parameter;
  for (int hop = 0; hop < ranks; ++hop)
    parameter.push_back(engine.ranks[(rank + hop) % ranks].regions[launch.member]);
  const std::uint64_t noTimeout = UINT64_MAX; // deadlock is detected, so no wait needs a limit
  const Manifest &manifest = engine.members[launch.member].manifest;
  parameter.insert(parameter.end(), {engine.ranks[rank].status, noTimeout, std::uint64_t(rank), manifest.clearBytes()});
  if (manifest.multicastsMail) parameter.push_back(state->regionsOfAll[launch.member]);
  for (const Pointer &p : launch.arguments) parameter.push_back(p.buffer.address + p.byteOffset);
  parameter.insert(parameter.end(), launch.extents.begin(), launch.extents.end());
  parameter.insert(parameter.end(), launch.scalars.begin(), launch.scalars.end());
  parameter.push_back(launch.onePacket);
  if (parameter.size() * 8 != entry->parameterBytes)
    return refuse("it takes " + std::to_string(entry->parameterBytes) + " bytes of parameters, not " +
                  std::to_string(parameter.size() * 8));

  std::vector<QueuedLaunch> &launches = engine.ranks[rank].launches;
  for (const unsigned earlier : launch.after)
    if (earlier >= launches.size()) return refuse("it waits for launch " + std::to_string(earlier) + ", which is not before it");
  noteWindows(engine.memory, manifest, launch);
  std::vector<Segment *> arguments;
  for (const Pointer &p : launch.arguments)
    if (Segment *segment = engine.memory.near(p.buffer.address); segment && segment->rank == rank) {
      ++segment->launches, ++segment->unended;
      arguments.push_back(segment);
    }
  launches.push_back({launch.kernel, launch.entry, entry->call, launch.grid, launch.block, launch.cluster,
                      std::move(parameter), launch.member, launch.stream, launch.dependent, launch.after, std::move(arguments)});
  launches.back().number = int(launches.size()) - 1;
  return true;
}

Result Machine::run() {
  assert(!state->ran && "a machine runs once");
  state->ran = true;
  return state->engine.run();
}
