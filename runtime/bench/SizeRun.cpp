#include "bench/SizeRun.h"

#include "bench/MemberRival.h"
#include "bench/Race.h"
#include "context/Backend.h"

#include <algorithm>
#include <cstring>

namespace coll::bench {
namespace {

/// Up to this size an operation is short, and many are timed together.
constexpr std::uint64_t kSmall = 4ull << 20;
/// From this size on, fewer replays tell as much.
constexpr std::uint64_t kLarge = 64ull << 20;
constexpr unsigned kFewestOperations = 10, kFewestReplays = 20;
/// The end of a chain is compared so far.
constexpr std::uint64_t kComparedAtEnd = 1ull << 20;
constexpr unsigned kTracedCtas = 256;
/// Nanoseconds within which the CTAs of one launch enter; sizes are traced further apart.
constexpr std::uint64_t kSameLaunch = 20'000;

} // namespace

SizeRun::SizeRun(Stage &stage, std::uint64_t bytes, const Extents &extents)
    : stage(stage), bytes(bytes), extents(extents), sizes(stage.argumentBytes(extents)),
      chain(stage.manifest, sizes, stage.request.inplace), operations(stage.request.operations),
      replays(stage.request.replays) {
  if (bytes > kSmall)
    operations = std::max(std::min(kFewestOperations, operations),
                          unsigned(double(operations) * double(kSmall) / double(bytes)));
  if (bytes > kLarge) replays = std::min(replays, kFewestReplays);
}

std::vector<void *> SizeRun::pointers(const Contest &contest, int rank,
                                      const std::vector<std::uint64_t> &offsets) const {
  std::vector<void *> result;
  for (std::uint64_t offset : offsets)
    result.push_back(static_cast<char *>((*contest.memory)[std::size_t(rank)]) + offset);
  return result;
}

SizeRun::Contest SizeRun::enter(std::size_t number, const Shape &shape) const {
  Rival &rival = *stage.rivals[number];
  Contest contest{&rival, &stage.memory[number], {}, nullptr, shape, {}, {}, {}};
  for (unsigned which : {0u, 1u}) {
    Operation operation{{}, {}, shape};
    for (int rank = 0; rank < stage.manifest.ranks; ++rank)
      operation.pointers.push_back(pointers(contest, rank, chain.offsets(which)));
    for (const std::string &name : stage.manifest.extents) operation.extents.push_back(extents.at(name));
    contest.operations.push_back(std::move(operation));
  }
  Row &row = contest.row;
  row.rival = rival.name(), row.version = rival.version(), row.foreign = rival.foreign();
  row.ctas = shape.ctas, row.threads = shape.threads;
  row.bytes = bytes, row.elements = stage.domainElements(extents);
  row.operations = operations, row.replays = replays;
  row.limit = limitOf(stage.report.floors, stage.manifest.collective, rival.traffic(), stage.manifest.ranks, bytes);
  return contest;
}

/// What the kernels say of it, if they say anything; and an end to what may hang.
Error SizeRun::failed(Contest &contest, const Error &error) {
  const auto known = stage.context->check();
  contest.rival->abort();
  return {error.code, "`" + contest.row.rival + "` at " + std::to_string(bytes) +
                          " bytes: " + (known ? error.text : known.error().text)};
}

Result<void> SizeRun::verify(Contest &contest, const Expected &expected) {
  Context &context = *stage.context;
  for (int rank = 0; rank < stage.manifest.ranks; ++rank)
    if (auto done =
            context.upload(rank, (*contest.memory)[std::size_t(rank)], expected.before(rank).data(), expected.bytes());
        !done)
      return done;
  const auto work = [&]() -> Result<void> {
    for (const PlannedLaunch &planned : expected.operations()) {
      Operation operation{{}, planned.extents, contest.shape};
      for (int rank = 0; rank < stage.manifest.ranks; ++rank)
        operation.pointers.push_back(pointers(contest, rank, planned.offsets[std::size_t(rank)]));
      if (auto done = contest.rival->enqueue(operation); !done) return done;
    }
    return {};
  };
  std::unique_ptr<Graphs> graphs;
  if (stage.request.graph) {
    auto captured = stage.watch->capture(work);
    if (!captured) return captured.error();
    graphs = std::move(*captured);
    contest.row.note = contest.rival->note();
  }
  if (auto done = graphs ? stage.watch->replay(*graphs) : work(); !done) return done;
  if (auto done = stage.watch->wait(); !done) return done;
  for (int rank = 0; rank < stage.manifest.ranks; ++rank) {
    std::vector<std::byte> after(expected.bytes());
    if (auto done = context.download(rank, after.data(), (*contest.memory)[std::size_t(rank)], after.size()); !done)
      return done;
    const auto difference = expected.compare(rank, after, !contest.rival->exact());
    contest.row.wrong += difference.wrong;
    if (contest.row.firstWrong.empty()) contest.row.firstWrong = difference.first;
  }
  contest.row.verified = true;
  return {};
}

Result<void> SizeRun::enqueueChain(const Contest &contest) const {
  for (unsigned i = 0; i < operations; ++i)
    if (auto done = contest.rival->enqueue(contest.operations[i % 2]); !done) return done;
  return {};
}

/// Gives the chain its start values, in stream order.
Result<void> SizeRun::reset(const Contest &contest) const {
  const Gpus &gpus = *stage.gpus;
  for (std::size_t rank = 0; rank < gpus.list.size(); ++rank) {
    Current current(gpus.cuda, gpus.list[rank]);
    const auto to = reinterpret_cast<CUdeviceptr>((*contest.memory)[rank]);
    const auto from = reinterpret_cast<CUdeviceptr>(stage.start[rank]);
    for (const Chain::Start &part : chain.starts())
      if (part.bytes > 0)
        if (auto done = gpus.cuda.check(
                gpus.cuda.cuMemcpyDtoDAsync(to + part.offset, from, part.bytes, stage.watch->stream(int(rank))),
                "cuMemcpyDtoDAsync");
            !done)
          return done;
  }
  return resetCounts(contest);
}

/// Of messages that say how long they are: all the same. Operations do not change them.
Result<void> SizeRun::resetCounts(const Contest &contest) const {
  for (std::size_t i = 0; i < stage.manifest.arguments.size(); ++i) {
    const Manifest::Argument &argument = stage.manifest.arguments[i];
    if (argument.bound.empty()) continue;
    const std::uint64_t most = stage.manifest.elements({"", Direction::In, argument.dtype, argument.bound}, extents);
    const std::vector<std::uint32_t> counts(sizes[i] / sizeof(std::uint32_t),
                                            std::uint32_t(chooseCount(stage.request.counts, most, 0)));
    for (int rank = 0; rank < stage.manifest.ranks; ++rank)
      if (auto done = stage.context->upload(rank, static_cast<char *>((*contest.memory)[std::size_t(rank)]) + chain.offset(i),
                                            counts.data(), sizes[i]);
          !done)
        return done;
  }
  return {};
}

Result<void> SizeRun::timeOnce(Contest &contest, bool counts) {
  auto times =
      stage.watch->time([&] { return reset(contest); },
                        [&] { return contest.graphs ? stage.watch->replay(*contest.graphs) : enqueueChain(contest); },
                        /*gated=*/stage.request.graph);
  if (!times) return times.error();
  if (!counts) return {};
  contest.fastest.push_back(*std::min_element(times->begin(), times->end()) / operations);
  contest.slowest.push_back(*std::max_element(times->begin(), times->end()) / operations);
  return {};
}

/// The end of the chain is right only if every operation that was timed took the whole result of the one before.
Result<void> SizeRun::checkChain(Contest &contest) const {
  const ChainValues values(stage.manifest, operations);
  if (!chain.whole() || stage.manifest.collective != "allreduce" || !values.endKnown()) return {};
  const std::uint64_t size = sizeOf(stage.manifest.dtype);
  std::vector<std::byte> end(std::min(sizes[chain.output()], kComparedAtEnd));
  for (int rank = 0; rank < stage.manifest.ranks; ++rank) {
    const void *from = contest.operations[(operations - 1) % 2].pointers[std::size_t(rank)][chain.output()];
    if (auto done = stage.context->download(rank, end.data(), from, end.size()); !done) return done;
    std::uint64_t wrong = 0;
    for (std::uint64_t at = 0; at + size <= end.size(); at += size) {
      const std::uint64_t should = values.atEnd(at / size);
      wrong += std::memcmp(end.data() + at, &should, size) != 0;
    }
    contest.row.wrong += wrong;
    if (wrong && contest.row.firstWrong.empty())
      contest.row.firstWrong = "rank " + std::to_string(rank) + ", " + std::to_string(wrong) +
                               " elements at the end of the chain that was timed";
  }
  return {};
}

/// One replay of each in turn, so that whatever changes on the machine meanwhile hits all alike.
Result<void> SizeRun::timeAll() {
  const unsigned rounds = stage.request.warmUp + replays;
  for (unsigned round = 0; round < rounds; ++round) {
    stage.progress(std::to_string(bytes) + " bytes: round " + std::to_string(round) + " of " + std::to_string(rounds));
    for (std::size_t i = 0; i < contests.size(); ++i) {
      Contest &contest = contests[(i + round) % contests.size()];
      if (auto done = timeOnce(contest, round >= stage.request.warmUp); !done) return failed(contest, done.error());
      if (round + 1 == rounds)
        if (auto done = checkChain(contest); !done) return failed(contest, done.error());
    }
  }
  return stage.context->check();
}

void SizeRun::finish(Contest &contest) {
  Row &row = contest.row;
  row.time = summarise(contest.fastest);
  row.slowestRank = median(contest.slowest);
  row.believable = row.time.median >= row.limit * kBelievable;
  if (row.time.median > 0)
    row.bus = double(bytes) / row.time.median / 1e3 * busFactor(stage.manifest.collective, stage.manifest.ranks);
  stage.report.rows.push_back(row);
  if (stage.request.onRow) stage.request.onRow(row);
}

/// What results must be; and start values for the chain.
Result<std::unique_ptr<Expected>> SizeRun::begin() {
  stage.progress(std::to_string(bytes) + " bytes: reference");
  auto expected = Expected::create(stage.manifest, stage.sizeRequest(extents), Stage::verifiedOperations(bytes));
  if (!expected) return expected.error();
  stage.report.reference = (*expected)->reference();
  if (auto done = stage.fillStart(operations); !done) return done.error();
  return expected;
}

Result<void> SizeRun::captureChain(Contest &contest) {
  if (!stage.request.graph) return {};
  auto captured = stage.watch->capture([&] { return enqueueChain(contest); });
  if (!captured) return failed(contest, captured.error());
  contest.graphs = std::move(*captured);
  contest.row.gridCtas = contest.graphs->grid.ctas, contest.row.gridThreads = contest.graphs->grid.threads;
  return {};
}

Result<void> SizeRun::measure() {
  auto expected = begin();
  if (!expected) return expected.error();
  for (std::size_t number = 0; number < stage.rivals.size(); ++number) {
    if (!stage.rivals[number]->takes(stage.domainElements(extents))) continue;
    Contest &contest = contests.emplace_back(enter(number, stage.request.shape));
    stage.progress(std::to_string(bytes) + " bytes: verifying " + contest.row.rival);
    if (auto done = contest.rival->prepare(); !done) return failed(contest, done.error());
    if (auto done = verify(contest, **expected); !done) return failed(contest, done.error());
    if (auto done = captureChain(contest); !done) return done;
  }
  if (auto done = timeAll(); !done) return done;
  for (Contest &contest : contests) finish(contest);
  return {};
}

/// A contest for each shape of each rival; the result is whose each is, rivals that do not take the size left out.
Result<std::vector<std::size_t>> SizeRun::enterShapes(const std::vector<TuneSpace> &spaces) {
  std::vector<std::size_t> groups;
  std::size_t group = 0;
  for (std::size_t number = 0; number < stage.rivals.size(); ++number) {
    if (!stage.rivals[number]->takes(stage.domainElements(extents))) continue;
    std::vector<Shape> shapes = {Shape{}};
    if (number < spaces.size())
      shapes = shapesToTry(spaces[number], stage.request.kernels[number].manifest.packets(extents));
    if (auto done = stage.rivals[number]->prepare(); !done) return done.error();
    for (const Shape &shape : shapes) {
      Contest &contest = contests.emplace_back(enter(number, shape));
      stage.progress(std::to_string(bytes) + " bytes: " + contest.row.rival + ", shape " +
                     std::to_string(&shape - shapes.data() + 1) + " of " + std::to_string(shapes.size()));
      if (auto done = captureChain(contest); !done) return done.error();
      if (auto done = timeOnce(contest, /*counts=*/false); !done) return failed(contest, done.error());
      groups.push_back(group);
    }
    ++group;
  }
  return groups;
}

Result<void> SizeRun::tune(const std::vector<TuneSpace> &spaces) {
  auto expected = begin();
  if (!expected) return expected.error();
  auto groups = enterShapes(spaces);
  if (!groups) return groups.error();
  RaceRules rules;
  rules.most = replays;
  std::size_t timings = 0;
  auto results = race(*groups, rules, [&](std::size_t candidate) -> Result<double> {
    stage.progress(std::to_string(bytes) + " bytes: timing " + std::to_string(++timings) + " of at most " +
                   std::to_string(contests.size() * replays));
    Contest &contest = contests[candidate];
    if (auto done = timeOnce(contest, /*counts=*/true); !done) return failed(contest, done.error());
    return contest.fastest.back();
  });
  if (!results) return results.error();
  for (const RaceResult &result : *results) {
    Contest &contest = contests[result.winner];
    // The chain of another shape may lie there now.
    if (auto done = timeOnce(contest, /*counts=*/false); !done) return failed(contest, done.error());
    if (auto done = checkChain(contest); !done) return failed(contest, done.error());
    if (auto done = verify(contest, **expected); !done) return failed(contest, done.error());
    contest.row.replays = unsigned(result.samples.size());
    finish(contest);
  }
  return stage.context->check();
}

Result<void> SizeRun::trace(const std::vector<Collective> &traced) {
  for (const Collective &collective : traced) {
    auto rival = memberRival(collective, *stage.context, *stage.watch, stage.scalars);
    if (!rival->takes(stage.domainElements(extents))) continue;
    stage.progress(std::to_string(bytes) + " bytes: tracing " + rival->name());
    Contest contest = enter(0, stage.request.shape);
    contest.rival = rival.get();
    if (auto done = enqueueChain(contest); !done) return done;
    if (auto done = stage.watch->wait(); !done) return failed(contest, done.error());
    TracedLaunch launch{rival->name(), bytes, {}};
    for (int rank = 0; rank < stage.manifest.ranks; ++rank) {
      auto words = stampsOf(collective, rank, kTracedCtas);
      if (!words) return words.error();
      auto &ctas = launch.stamps.emplace_back();
      // CTAs of the latest launch entered after those of all others ended.
      std::uint64_t latest = 0;
      for (std::size_t at = 0; at + kTraceStamps <= words->size(); at += kTraceStamps)
        latest = std::max(latest, (*words)[at]);
      for (std::size_t at = 0; at + kTraceStamps <= words->size(); at += kTraceStamps)
        if ((*words)[at] + kSameLaunch > latest)
          ctas.emplace_back(words->begin() + std::ptrdiff_t(at), words->begin() + std::ptrdiff_t(at + kTraceStamps));
    }
    stage.report.traced.push_back(std::move(launch));
  }
  return {};
}

} // namespace coll::bench
