// Vector clocks of threads, places and ranks.
#include "emulator/RaceDetector.h"

#include "emulator/Grid.h"

#include <algorithm>

using namespace coll::emu;
using coll::emulated::Order;

RaceDetector::RaceDetector(std::size_t threadCount) : threads(threadCount + 1) {}

RaceDetector::PerThread &RaceDetector::of(const Thread &thread) {
  return threads[thread.number];
}

void RaceDetector::join(Clock &into, const Clock &other) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], other[i]);
}

void RaceDetector::join(Moment &into, const Moment &other) {
  join(into.known, other.known);
  join(into.performed, other.performed);
}

void RaceDetector::report(Race::Kind kind, Event first, Event second, std::uint64_t location) {
  if (!found) found = Race{kind, first, second, location};
}

/// The end of a launch is a release and the start of the next an acquire, whatever the threads.
void RaceDetector::launchBegins(const Thread &thread, int launch, const Moment &before) {
  PerThread &t = of(thread);
  t.known = t.causal = t.fenced = before.known;
  t.performed = before.performed;
  t.observed.assign(t.known.size(), 0);
  t.knownCopy = t.fencedCopy = t.performedCopy = nullptr;
  t.unsettled.clear();
  t.launch = std::uint32_t(launch);
}

void RaceDetector::threadEnds(const Thread &thread, Moment &end) {
  settle(thread);
  PerThread &t = of(thread);
  t.performed[thread.number] = t.known[thread.number];
  join(end.known, t.known);
  join(end.performed, t.performed);
}

void RaceDetector::lookedInVain(const Thread &thread, std::uint64_t location) {
  std::erase_if(of(thread).unsettled, [&](const Load &load) { return load.covers(location); });
}

void RaceDetector::load(const Thread &thread, std::uint64_t location, bool flag, Order order) {
  const Load load{location / (flag ? 4 : 16) * (flag ? 4 : 16), flag, order};
  std::vector<Load> &unsettled = of(thread).unsettled;
  std::erase_if(unsettled, [&](const Load &earlier) { return earlier.key == load.key; });
  unsettled.push_back(load);
}

/// Makes the loads since the last event count: they were not a look in vain.
void RaceDetector::settle(const Thread &thread) {
  PerThread &t = of(thread);
  if (t.unsettled.empty()) return;
  const Event reader = {thread.number, t.launch, t.known[thread.number] + 1};
  for (const Load &load : t.unsettled) {
    Place &place = places[load.key];
    const Event &writer = place.writer;
    if (load.order == Order::Acquire && place.released) {
      join(t.known, *place.released);
      join(t.causal, *place.released);
      join(t.performed, *place.performed);
      t.performedCopy = nullptr;
    }
    if (load.order != Order::Weak) {
      // A relaxed load that finds nothing new is a slot that the kernel has no interest in and reads only because
      // that is cheaper than a branch; what it finds has no meaning. If it is a message of which the thread has heard in
      // another way, it shows all the same that this has taken effect.
      if (!writer.thread) continue;
      if (!place.added && t.known[writer.thread] >= writer.clock) {
        t.performed[writer.thread] = std::max(t.performed[writer.thread], writer.clock);
        t.performedCopy = nullptr;
        continue;
      }
      join(t.known, *place.known);
      t.known[writer.thread] = writer.clock;
      join(t.observed, *place.released);
      join(t.performed, *place.performed);
      t.performedCopy = nullptr;
    }
    if (load.flag) continue;
    if (load.order == Order::Weak && writer.thread && writer.thread != thread.number &&
        t.causal[writer.thread] < writer.clock)
      report(Race::ReadsEarly, writer, reader, load.key);
    place.readers.push_back(reader);
  }
  t.known[thread.number] = reader.clock;
  t.knownCopy = nullptr;
  t.unsettled.clear();
}

void RaceDetector::checkOverwritten(const Place &place, const Event &stored, const Event &writer, std::uint64_t location) {
  const PerThread &t = threads[writer.thread];
  for (const Event &reader : place.readers)
    if (reader.thread != writer.thread && t.known[reader.thread] < reader.clock)
      report(Race::OverwritesRead, reader, writer, location);
  // What somebody has read who comes before this store, the store comes after.
  if (place.readers.empty() && stored.thread && stored.thread != writer.thread && t.performed[stored.thread] < stored.clock)
    report(Race::OverwritesStore, stored, writer, location);
}

void RaceDetector::add(const Thread &thread, std::uint64_t location) {
  settle(thread);
  PerThread &t = of(thread);
  Place &place = places[location / 16 * 16];
  const Event writer = {thread.number, t.launch, t.known[thread.number] + 1};
  if (!place.added) place.base = place.writer;
  checkOverwritten(place, place.base, writer, location);
  t.known[thread.number] = writer.clock;
  t.knownCopy = nullptr;
  auto known = std::make_shared<Clock>(t.known), released = std::make_shared<Clock>(t.fenced),
       performed = std::make_shared<Clock>(t.performed);
  if (place.added) join(*known, *place.known), join(*released, *place.released), join(*performed, *place.performed);
  place.known = std::move(known), place.released = std::move(released), place.performed = std::move(performed);
  place.writer = writer;
  place.added = true;
  place.readers.clear();
}

void RaceDetector::store(const Thread &thread, std::uint64_t location, bool flag, Order order) {
  settle(thread);
  PerThread &t = of(thread);
  Place &place = places[location / (flag ? 4 : 16) * (flag ? 4 : 16)];
  const Event writer = {thread.number, t.launch, t.known[thread.number] + 1};
  if (!flag) {
    checkOverwritten(place, place.writer, writer, location);
    place.readers.clear();
    place.added = false;
  }
  if (!t.knownCopy) t.knownCopy = std::make_shared<const Clock>(t.known);
  if (!t.fencedCopy) t.fencedCopy = std::make_shared<const Clock>(t.fenced);
  if (!t.performedCopy) t.performedCopy = std::make_shared<const Clock>(t.performed);
  t.known[thread.number] = writer.clock;
  if (order == Order::Release) {
    performAll(thread);
    // Includes the thread's own stores, which the shared copy may be behind on; and, for a counter, what those who
    // added to it before have released.
    auto released = std::make_shared<Clock>(t.known);
    auto performed = std::make_shared<Clock>(t.performed);
    if (place.released) join(*released, *place.released), join(*performed, *place.performed);
    place.released = std::move(released), place.performed = std::move(performed);
  } else {
    place.released = t.fencedCopy, place.performed = t.performedCopy;
  }
  place.known = t.knownCopy;
  place.writer = writer;
}

void RaceDetector::fence(const Thread &thread) {
  settle(thread);
  PerThread &t = of(thread);
  join(t.causal, t.observed);
  performAll(thread);
  t.fenced = t.known;
  t.fencedCopy = nullptr;
}

/// A release or fence: what the thread and, before a CTA barrier, its mates have stored takes effect first.
void RaceDetector::performAll(const Thread &thread) {
  PerThread &t = of(thread);
  const std::uint32_t first = thread.number - thread.at.thread.x; // mates have consecutive numbers
  for (std::uint32_t mate = first; mate < first + thread.at.blockDim.x; ++mate)
    t.performed[mate] = std::max(t.performed[mate], t.causal[mate]);
  t.performed[thread.number] = t.known[thread.number];
  t.performedCopy = nullptr;
}

void RaceDetector::ctaBarrier(const std::vector<Thread *> &mates) {
  Clock known = of(*mates[0]).known, causal = of(*mates[0]).causal, performed = of(*mates[0]).performed;
  for (const Thread *mate : mates)
    join(known, of(*mate).known), join(causal, of(*mate).causal), join(performed, of(*mate).performed);
  for (const Thread *mate : mates) causal[mate->number] = of(*mate).known[mate->number];
  for (const Thread *mate : mates) {
    PerThread &t = of(*mate);
    t.known = known, t.causal = causal, t.performed = performed;
    t.knownCopy = t.performedCopy = nullptr;
  }
}
