// What the CTAs of a cluster tell each other: shared memory, its counters, the cluster's barrier.
#include "emulator/Engine.h"

using namespace coll::emu;

/// The first CTA of the cluster that a CTA is in.
Cta *Engine::clusterOf(Cta &cta) {
  const unsigned size = cta.grid->launch->cluster;
  return &cta.grid->ctas[unsigned(cta.index) / size * size];
}

/// A word that nothing was written to in this launch is a NaN. Weaker than hardware only in who goes first: what a thread
/// writes is there at once, so that a barrier which is missing shows as a word read too early or too late.
std::uint32_t Engine::loadShared(unsigned word) {
  mayYield();
  std::vector<std::uint32_t> &shared = running->cta->shared;
  if (word >= emulated::kSharedWords) fail("shared memory is read past its end\n  by " + describeThread(*running) + "\n");
  return word < shared.size() ? shared[word] : 0xffffffffu;
}

void Engine::storeShared(unsigned ctaOfCluster, unsigned word, std::uint32_t value) {
  mayYield();
  if (word >= emulated::kSharedWords || ctaOfCluster >= running->cta->grid->launch->cluster)
    fail("shared memory is written past its end\n  by " + describeThread(*running) + "\n");
  std::vector<std::uint32_t> &shared = clusterOf(*running->cta)[ctaOfCluster].shared;
  if (word >= shared.size()) shared.resize(word + 1, 0xffffffffu);
  shared[word] = value;
}

void Engine::clusterSync() {
  Thread &thread = *running;
  Cta &cta = *thread.cta;
  thread.state = Thread::AtCluster;
  cta.atCluster.push_back(&thread);
  if (races) races->arrives(thread);
  releaseCluster(cta);
  leave();
}

void Engine::releaseCluster(Cta &cta) {
  Cta *first = clusterOf(cta);
  const unsigned size = cta.grid->launch->cluster;
  std::vector<Thread *> there;
  for (unsigned c = 0; c < size; ++c) {
    if (first[c].atCluster.size() + first[c].done < first[c].threads.size()) return;
    there.insert(there.end(), first[c].atCluster.begin(), first[c].atCluster.end());
  }
  if (there.empty()) return;
  passBarrier(there);
  for (unsigned c = 0; c < size; ++c) first[c].atCluster.clear();
}

// ---- Counters of words that arrive ----
// They are ready when a launch begins, as all CTAs of a cluster begin together here.

void Engine::expectShared(unsigned counter, unsigned words) {
  mayYield();
  Cta::Counter &own = running->cta->counters[counter];
  if (own.expects) fail("a counter of shared memory is told twice what to expect\n  by " + describeThread(*running) + "\n");
  own.expects = true, own.expected = words;
  endRound(*running->cta, own);
}

void Engine::sendShared(unsigned ctaOfCluster, unsigned word, std::uint32_t value, unsigned counter) {
  storeShared(ctaOfCluster, word, value);
  Cta &receiver = clusterOf(*running->cta)[ctaOfCluster];
  ++receiver.counters[counter].got;
  endRound(receiver, receiver.counters[counter]);
}

void Engine::endRound(Cta &cta, Cta::Counter &counter) {
  if (!counter.expects || counter.got < counter.expected) return;
  if (counter.got > counter.expected)
    fail("shared memory gets more words than its counter expects\n  by " + describeThread(*running) + "\n");
  counter.got = 0, counter.expects = false;
  ++counter.rounds;
  for (Thread *thread : cta.atCounter) wake(*thread);
  cta.atCounter.clear();
}

void Engine::awaitShared(unsigned counter, unsigned round) {
  Thread &thread = *running;
  mayYield();
  while (thread.cta->counters[counter].rounds <= round) {
    thread.state = Thread::AtCounter;
    thread.cta->atCounter.push_back(&thread);
    leave();
  }
}
