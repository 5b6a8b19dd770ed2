// The life of launches: when they begin, which CTAs have places, what ends them and who may begin then.
#include "emulator/Engine.h"

#include <algorithm>
#include <map>

using namespace coll::emu;

/// So many launches of a stream may be in flight where dependent ones begin early. Kernels that let others begin only when
/// they have waited themselves make it two.
static constexpr std::size_t kMostInFlight = 4;

std::size_t Engine::prepareGrids() {
  std::size_t most = 0, threadCount = 0;
  for (Rank &rank : ranks) {
    std::map<unsigned, Stream> streams;
    for (QueuedLaunch &launch : rank.launches) {
      std::vector<QueuedLaunch *> &before = streams[launch.stream].launches;
      if (!before.empty()) before.back()->next = &launch;
      before.push_back(&launch);
    }
    for (auto &[number, stream] : streams) {
      const auto mayOverlap = [&](const QueuedLaunch *launch) { return launch->dependent && policy.early > 0; };
      const bool one = std::none_of(stream.launches.begin(), stream.launches.end(), mayOverlap);
      stream.grids.resize(one ? 1 : std::min(kMostInFlight, stream.launches.size()));
      most = std::max(most, stream.grids.size());
      rank.streams.push_back(std::move(stream));
    }
  }
  // First all that a run without early launches has, so that its threads' stacks lie together.
  for (std::size_t i = 0; i < most; ++i)
    for (std::size_t r = 0; r < ranks.size(); ++r)
      for (Stream &stream : ranks[r].streams) {
        if (i >= stream.grids.size()) continue;
        Grid &grid = *(stream.grids[i] = &grids.emplace_back());
        grid.rank = int(r), grid.stream = &stream;
        grid.firstThread = threadCount;
        std::size_t ctas = 0, live = 0;
        for (const QueuedLaunch *launch : stream.launches) {
          ctas = std::max<std::size_t>(ctas, launch->grid);
          live = std::max<std::size_t>(live, std::size_t(launch->grid) * launch->block);
        }
        threadCount += live;
        grid.ctas.resize(ctas);
        for (std::size_t c = 0; c < ctas; ++c) {
          Cta &cta = grid.ctas[c];
          cta.grid = &grid, cta.rank = int(r), cta.index = int(c);
          cta.priority = int(random.below(1'000'000));
          all.push_back(&cta);
          cta.number = unsigned(all.size());
        }
      }
  return threadCount;
}

/// Any of them; on a fair run the first.
template <class T>
T *Engine::oneOf(std::vector<T> &choices) {
  return &choices[fair() || choices.size() == 1 ? 0 : random.below(std::uint32_t(choices.size()))];
}

void Engine::beginLaunches(Rank &rank) {
  for (;;) {
    std::vector<Stream *> next;
    for (Stream &stream : rank.streams)
      if (mayBegin(rank, stream)) next.push_back(&stream);
    if (next.empty()) return;
    beginNext(rank, **oneOf(next));
  }
}

bool Engine::mayBegin(const Rank &rank, const Stream &stream) const {
  if (stream.next == stream.launches.size() || stream.inFlight == stream.grids.size()) return false;
  const QueuedLaunch &launch = *stream.launches[stream.next];
  for (const unsigned earlier : launch.after)
    if (rank.launches[earlier].state != QueuedLaunch::Ended) return false;
  if (stream.inFlight == 0) return true;
  if (!launch.dependent) return false;
  const QueuedLaunch &previous = *stream.launches[stream.next - 1];
  return previous.state == QueuedLaunch::Ended || (launch.early && previous.runsIn->untriggered == 0);
}

void Engine::beginNext(Rank &rank, Stream &stream) {
  QueuedLaunch *previous = stream.next ? stream.launches[stream.next - 1] : nullptr;
  QueuedLaunch &launch = *stream.launches[stream.next++];
  Grid &grid = **std::find_if(stream.grids.begin(), stream.grids.end(), [](const Grid *g) { return !g->launch; });
  ++stream.inFlight;
  rank.inFlight.push_back(&grid);
  launch.state = !previous || previous->state == QueuedLaunch::Ended ? QueuedLaunch::Open : QueuedLaunch::Begun;
  launch.runsIn = &grid;
  grid.launch = &launch;
  grid.live = launch.grid * launch.block;
  grid.untriggered = launch.grid;
  if (launch.state == QueuedLaunch::Open || !policy.checkWaits) giveArguments(launch);
  if (races) knowBefore(launch, previous);

  const unsigned clusters = launch.grid / launch.cluster;
  if (!policy.residentCtas || rank.resident + launch.grid <= policy.residentCtas) {
    rank.resident += launch.grid;
    for (unsigned c = 0; c < clusters; ++c) startCluster(grid, c);
    return;
  }
  // Which cluster gets a place first is promised nowhere.
  for (unsigned c = 0; c < clusters; ++c) grid.absent.push_back(c);
  if (!fair())
    for (unsigned left = clusters; left > 1; --left) std::swap(grid.absent[left - 1], grid.absent[random.below(left)]);
  else std::reverse(grid.absent.begin(), grid.absent.end());
  for (unsigned c = 0; c < launch.grid; ++c) grid.ctas[c].begin(0);
  givePlaces(rank);
}

/// From now on the arguments are the launch's.
void Engine::giveArguments(QueuedLaunch &launch) {
  for (Segment *segment : launch.arguments) ++segment->opened;
}

/// What the threads of a launch know of when they begin.
void Engine::knowBefore(QueuedLaunch &launch, QueuedLaunch *previous) {
  launch.before = !previous                             ? races->beginning()
                  : launch.state == QueuedLaunch::Begun ? previous->before
                                                        : previous->end;
  for (const unsigned earlier : launch.after)
    RaceDetector::join(launch.before, ranks[launch.runsIn->rank].launches[earlier].end);
  launch.end = launch.before;
  if (previous && launch.state == QueuedLaunch::Open && !previous->awaited) previous->before = previous->end = {};
}

/// The launch before has ended: whoever has waited for that goes on, and knows what it has done.
void Engine::openLaunch(Grid &grid, QueuedLaunch &previous) {
  QueuedLaunch &launch = *grid.launch;
  launch.state = QueuedLaunch::Open;
  launch.openedAt = now;
  if (policy.checkWaits) giveArguments(launch);
  if (races) {
    RaceDetector::join(launch.before, previous.end);
    RaceDetector::join(launch.end, launch.before);
  }
  for (Thread *thread : grid.waiting) {
    if (races) races->launchBegins(*thread, launch.number, launch.before);
    wake(*thread);
  }
  grid.waiting.clear();
}

void Engine::gridDependencyWait() {
  Thread &thread = *running;
  Grid &grid = *thread.cta->grid;
  if (grid.launch->state == QueuedLaunch::Begun) {
    thread.state = Thread::AtDependency;
    grid.waiting.push_back(&thread);
    leave();
  }
  thread.raiseFloor(grid.launch->openedAt);
  thread.newestRead = std::max(thread.newestRead, grid.launch->openedAt);
  thread.afterOthers = true;
}

void Engine::launchDependents() {
  trigger(*running->cta);
}

/// One thread of a CTA speaks for all.
void Engine::trigger(Cta &cta) {
  if (cta.triggered) return;
  cta.triggered = true;
  if (--cta.grid->untriggered == 0) beginLaunches(ranks[cta.rank]);
}

/// All of a launch is over: its threads have ended and its stores have taken effect.
void Engine::endLaunch(Grid &grid) {
  Rank &rank = ranks[grid.rank];
  QueuedLaunch &launch = *grid.launch;
  for (Segment *segment : launch.arguments) --segment->unended;
  if (launch.state == QueuedLaunch::Begun && policy.checkWaits) giveArguments(launch);
  launch.state = QueuedLaunch::Ended;
  launch.runsIn = nullptr;
  grid.launch = nullptr;
  std::erase(rank.inFlight, &grid);
  --grid.stream->inFlight;
  if (++rank.ended == rank.launches.size()) ++finishedRanks;

  if (launch.next && launch.next->state == QueuedLaunch::Begun) openLaunch(*launch.next->runsIn, launch);
  beginLaunches(rank);
}

// ---- Places ----

/// A cluster that is larger than all the places comes alone.
bool Engine::fits(const Rank &rank, unsigned ctas) const {
  return !policy.residentCtas || rank.resident == 0 || rank.resident + ctas <= policy.residentCtas;
}

/// Which launch's clusters come first is promised nowhere; on a fair run they come in the order of the launches.
void Engine::givePlaces(Rank &rank) {
  for (;;) {
    std::vector<Grid *> next;
    for (Grid *grid : rank.inFlight)
      if (!grid->absent.empty() && fits(rank, grid->launch->cluster)) next.push_back(grid);
    if (next.empty()) return;
    Grid &grid = **oneOf(next);
    const unsigned cluster = grid.absent.back();
    grid.absent.pop_back();
    rank.resident += grid.launch->cluster;
    startCluster(grid, cluster);
  }
}

void Engine::startCluster(Grid &grid, unsigned index) {
  const unsigned size = grid.launch->cluster;
  for (unsigned c = 0; c < size; ++c) startCta(grid, index * size + c);
}

void Engine::startCta(Grid &grid, unsigned index) {
  const QueuedLaunch &launch = *grid.launch;
  Cta &cta = grid.ctas[index];
  cta.begin(launch.block);
  for (unsigned t = 0; t < launch.block; ++t) {
    Thread &thread = cta.threads[t];
    thread = Thread();
    thread.cta = &cta;
    thread.at = {{t, 0, 0}, {index, 0, 0}, {launch.block, 1, 1}, {launch.grid, 1, 1}, launch.cluster};
    thread.floor = thread.newestRead = now;
    thread.lookedAt = UINT32_MAX;
    const std::size_t place = grid.firstThread + std::size_t(index) * launch.block + t;
    thread.number = std::uint32_t(place + 1);
    threads[thread.number] = &thread;
    char *stack = (*stacks)[place];
    Stacks::canary(stack) = Stacks::kCanary;
    thread.fiber.prepare<threadBody>(stack, Stacks::kBytes);
    cta.ready.push_back(&thread);
    if (races) races->launchBegins(thread, launch.number, launch.before);
  }
  ready.insert(&cta);
}

/// A cluster's places are free when all its CTAs have ended.
void Engine::ctaEnded(Cta &cta) {
  trigger(cta);
  Grid &grid = *cta.grid;
  const unsigned size = grid.launch->cluster;
  const Cta *cluster = clusterOf(cta);
  for (unsigned c = 0; c < size; ++c)
    if (cluster[c].done < cluster[c].threads.size()) return;
  Rank &rank = ranks[cta.rank];
  rank.resident -= size;
  if (policy.residentCtas) givePlaces(rank);
}
