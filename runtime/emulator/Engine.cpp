// The schedule: who runs next, and what ends the run.
#include "emulator/Engine.h"

#include <algorithm>
#include <bit>
#include <chrono>

using namespace coll::emu;

thread_local Engine *Engine::active = nullptr;

void Cta::begin(unsigned threadCount) {
  done = 0, triggered = false;
  threads.resize(threadCount);
  ready.clear(), atBarrier.clear(), atCluster.clear(), atCounter.clear(), draining.clear();
  shared.clear();
  counters = {};
  pendingByPhase.clear();
  oldestPhase = UINT32_MAX;
}

void Cta::enqueued(std::uint32_t phase) {
  if (pendingByPhase.size() <= phase) pendingByPhase.resize(phase + 1);
  ++pendingByPhase[phase];
  oldestPhase = std::min(oldestPhase, phase);
}

void Cta::tookEffect(std::uint32_t phase) {
  --pendingByPhase[phase];
  while (oldestPhase < pendingByPhase.size() && pendingByPhase[oldestPhase] == 0) ++oldestPhase;
  if (oldestPhase >= pendingByPhase.size()) oldestPhase = UINT32_MAX;
}

void CtaSet::insert(Cta *cta) {
  position[cta->number] = int(items.size());
  items.push_back(cta);
}

void CtaSet::erase(Cta *cta) {
  const int at = position[cta->number];
  items[at] = items.back();
  position[items[at]->number] = at;
  items.pop_back();
  position[cta->number] = -1;
}

Engine::Engine(int rankCount, const Policy &p) : policy(p), ranks(rankCount), random(p.seed) {}

Result Engine::run() {
  const auto begin = std::chrono::steady_clock::now();
  prepare();
  active = this;
  {
    SignalGuard guard;
    for (auto &rank : ranks) {
      if (rank.finished()) ++finishedRanks;
      beginLaunches(rank);
    }
    while (status == Result::Ok && finishedRanks < ranks.size()) {
      if (++statistics.steps > policy.stepLimit) {
        status = Result::StepLimit;
        report = "not finished after " + std::to_string(policy.stepLimit) + " steps\n" + describeWaits();
      } else if (!step()) {
        status = Result::Deadlock;
        report = "deadlock: no thread can run and no store is on its way\n" + describeWaits();
      }
    }
  }
  active = nullptr;
  if (races && races->race() && status != Result::Fault && status != Result::Race) {
    status = Result::Race;
    report = describeRace(*races->race()) + report;
  }
  if (status == Result::Ok) {
    report = describeAbort();
    if (!report.empty()) status = Result::Aborted;
  }
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
  statistics.milliseconds = spent.count();
  std::string happened;
  for (const std::string &event : events) happened += event + "\n";
  return {status, report, happened, statistics};
}

void Engine::prepare() {
  const std::size_t threadCount = prepareGrids();
  ready.resize(all.size() + 1);
  queued.resize(all.size() + 1);
  stacks = &Stacks::ofThisThread(threadCount);
  pending = &PendingPool::ofThisThread();
  threads.assign(threadCount + 1, nullptr);
  if (policy.detectRaces && fair()) races = std::make_unique<RaceDetector>(threadCount);
  victim = int(random.below(std::uint32_t(ranks.size())));
  frozenStores = random.below(2) == 0;
  burst = 1u << random.below(3) * 3;
  if (!fair()) yieldOdds = Random::odds(policy.yieldRate);
  for (Rank &rank : ranks)
    for (QueuedLaunch &launch : rank.launches) {
      launch.early = launch.dependent && policy.early > 0 && random.chance(policy.early);
      for (const unsigned earlier : launch.after) rank.launches[earlier].awaited = true;
    }
}

void Engine::threadBody(void *argument) {
  auto &thread = *static_cast<Thread *>(argument);
  const QueuedLaunch &launch = *thread.cta->grid->launch;
  launch.call(launch.parameter.data());
  thread.state = Thread::Done;
}

bool Engine::step() {
  if (pendingTotal && random.chance(policy.commitRate) && commitOne(false)) return true;
  if (Cta *cta = pickCta()) {
    Thread *thread = cta->ready.front();
    if (fair()) {
      cta->ready.erase(cta->ready.begin()); // who has waited longest, so that what it waits for has come meanwhile
    } else {
      const std::size_t i = random.below(std::uint32_t(cta->ready.size()));
      thread = cta->ready[i];
      cta->ready[i] = cta->ready.back();
      cta->ready.pop_back();
    }
    if (cta->ready.empty()) ready.erase(cta);
    resume(*thread);
    return true;
  }
  if (pendingTotal) {
    for (unsigned left = 1 + random.below(burst); left > 0 && pendingTotal; --left) commitOne(true);
    return true;
  }
  if (starved.empty()) return false;
  const std::size_t i = random.below(std::uint32_t(starved.size()));
  Thread *thread = starved[i];
  starved[i] = starved.back();
  starved.pop_back();
  resume(*thread);
  return true;
}

Cta *Engine::pickCta() {
  if (ready.empty()) return nullptr;
  const auto count = std::uint32_t(ready.size());
  if (policy.schedule == Schedule::Fair) return ready[turn++ % count];
  if (policy.schedule == Schedule::Priority) {
    if (random.below(3000) == 0) all[random.below(std::uint32_t(all.size()))]->priority = int(random.below(1'000'000));
    Cta *best = ready[0];
    for (std::uint32_t i = 1; i < count; ++i)
      if (ready[i]->priority > best->priority) best = ready[i];
    return best;
  }
  const std::uint32_t first = random.below(count);
  if (policy.schedule == Schedule::FrozenRank && random.below(500) != 0)
    for (std::uint32_t i = 0; i < count; ++i)
      if (Cta *cta = ready[(first + i) % count]; cta->rank != victim) return cta;
  return ready[first];
}

/// Lets a waiting store take effect. False only if `force` is not set and the schedule holds all of them back.
bool Engine::commitOne(bool force) {
  const auto count = std::uint32_t(queued.size());
  const std::uint32_t first = random.below(count);
  Cta *cta = queued[first];
  if (policy.schedule == Schedule::FrozenRank && frozenStores && !force && random.below(2000) != 0) {
    for (std::uint32_t i = 1; i < count && cta->rank == victim; ++i) cta = queued[(first + i) % count];
    if (cta->rank == victim) return false;
  }
  commitOneOf(*cta);
  return true;
}

/// Any of the bits that are set.
unsigned Engine::anyBit(unsigned bits) {
  if ((bits & (bits - 1)) == 0) return unsigned(std::countr_zero(bits));
  unsigned set[Pending::kUnits], count = 0;
  for (unsigned bit = 0; bits >> bit; ++bit)
    if (bits >> bit & 1) set[count++] = bit;
  return set[random.below(count)];
}

void Engine::commitOneOf(Cta &cta) {
  std::vector<std::uint32_t> &queue = cta.queue;
  for (bool done = false; !done;) {
    std::uint32_t &place = queue[random.below(std::uint32_t(queue.size()))];
    const std::uint32_t number = place;
    if (const unsigned left = (*pending)[number].left) commitInOrder({number, anyBit(left)}), done = true;
    if ((*pending)[number].left) return;
    pending->release(number);
    place = queue.back();
    queue.pop_back();
  }
  if (cta.pending) return;
  for (const std::uint32_t number : queue) pending->release(number);
  queue.clear();
  queued.erase(&cta);
}

void Engine::resume(Thread &thread) {
  running = &thread;
  thread.state = Thread::Ready;
  ++statistics.switches;
  thread.fiber.run(&thread);
  running = nullptr;
  if (thread.state == Thread::Done && status == Result::Ok) threadEnded(thread);
}

void Engine::threadEnded(Thread &thread) {
  Cta &cta = *thread.cta;
  if (Stacks::canary((*stacks)[thread.number - 1]) != Stacks::kCanary) {
    status = Result::Fault;
    report = "stack overflow of the emulated thread, which has " + std::to_string(Stacks::kBytes) +
             " bytes: " + describeThread(thread) + "\n";
    return;
  }
  Grid &grid = *cta.grid;
  if (races) races->threadEnds(thread, grid.launch->end);
  ++cta.done;
  --grid.live;
  releaseBarrier(cta);
  releaseCluster(cta);
  if (cta.done == cta.threads.size()) ctaEnded(cta);
  afterProgress(grid);
}

void Engine::wake(Thread &thread) {
  Cta &cta = *thread.cta;
  thread.state = Thread::Ready;
  thread.fiber.prefetch();
  if (cta.ready.empty()) ready.insert(&cta);
  cta.ready.push_back(&thread);
}

void Engine::yieldNow() {
  wake(*running);
  leave();
}

/// Before a load where loads of one rank are put off.
void Engine::mayStarve() {
  if (running->cta->rank != victim || random.below(2) != 0) return mayYield();
  running->state = Thread::Starved;
  starved.push_back(running);
  leave();
}

void Engine::fail(std::string text) {
  status = Result::Fault;
  report = std::move(text);
  for (;;) leave();
}

void Engine::rawAccess(std::uint64_t address) {
  fail(describeFault(address, 0, "raw access"));
}
