// The memory model: what loads see, when stores take effect, what fences and CTA barriers order.
#include "emulator/Engine.h"

#include "emulator/Region.h"

#include <algorithm>
#include <bit>

using namespace coll::emu;
using coll::emulated::Order;

namespace region = coll::region;

/// Of a power of two up to 16, without a call.
static void copy(void *to, const void *from, unsigned bytes) {
  switch (bytes) {
  case 16: std::memcpy(to, from, 16); break;
  case 8: std::memcpy(to, from, 8); break;
  case 4: std::memcpy(to, from, 4); break;
  case 2: std::memcpy(to, from, 2); break;
  default: std::memcpy(to, from, 1);
  }
}

/// An argument is its rank's to give only while a launch that has it lasts: before, kernels that write it may be running,
/// and after, others that use it again.
inline bool Engine::isOwners(const Segment &segment) const {
  return segment.launches == 0 || (segment.opened > 0 && segment.unended > 0);
}

/// The line that an access lies in. `bytes` is a power of two.
inline Line &Engine::locate(std::uint64_t address, unsigned bytes, const char *verb) {
  Segment *segment = memory.near(address);
  if (!segment || !segment->parts.empty() || address < segment->address ||
      address + bytes > segment->address + segment->bytes || (address & (bytes - 1)) != 0 ||
      (!running->afterOthers && policy.checkWaits) || !isOwners(*segment)) [[unlikely]]
    refuse(segment, address, bytes, verb);
  return memory.line(*segment, address);
}

/// Ends the run for an access that `locate` does not find good.
void Engine::refuse(const Segment *segment, std::uint64_t address, unsigned bytes, const char *verb) {
  if (segment && !segment->parts.empty()) fail(describeOfAll(address, verb));
  if (!segment || address < segment->address || address + bytes > segment->address + segment->bytes ||
      address % bytes != 0)
    fail(describeFault(address, bytes, verb));
  if (!running->afterOthers && policy.checkWaits)
    fail(std::string(verb) + " before the thread has waited for the kernels before its own: " + describe(address) +
         "\n  by " + describeThread(*running) + "\n");
  noteUntimely(*segment, *running, address, verb);
  for (;;) leave();
}

void Engine::noteUntimely(const Segment &segment, const Thread &thread, std::uint64_t address, const char *verb) {
  const bool early = segment.opened == 0;
  report = std::string(verb) + (early ? " before its owner has begun the launch: " : " after the end of its owner's launch: ") +
           describe(address) + "\n  by " + describeThread(thread) + "\n";
  status = Result::Race;
}

/// The addresses of all ranks that one lies in, of which accesses by it touch every part.
const Segment &Engine::locateOfAll(std::uint64_t address, unsigned bytes, const char *verb) {
  Segment *segment = memory.near(address);
  if (segment && segment->parts.empty()) fail(describeOfAll(address, verb));
  if (!segment || address < segment->address ||
      address + bytes > segment->address + segment->bytes || address % bytes != 0)
    fail(describeFault(address, bytes, verb));
  return *segment;
}

/// In an order that no one knows, but on a fair run.
std::vector<unsigned> Engine::shuffledRanks() {
  std::vector<unsigned> order(ranks.size());
  for (unsigned r = 0; r < order.size(); ++r) order[r] = r;
  for (unsigned r = unsigned(order.size()); !fair() && r > 1; --r) std::swap(order[r - 1], order[random.below(r)]);
  return order;
}

/// Tells the race detector of an access, which `locate` has found good.
void Engine::watchRace(const Thread &thread, std::uint64_t address, unsigned bytes, bool isLoad, Order order) {
  const Segment &segment = *memory.near(address);
  const auto watch = [&](std::uint64_t location, bool flag) {
    isLoad ? races->load(thread, location, flag, order) : races->store(thread, location, flag, order);
  };
  const std::uint64_t location = memory.location(address);
  if (segment.member) return watch(location, segment.member->isFlag(address - segment.address));
  for (unsigned at = 0; segment.elementBytes > 0 && at < bytes; at += segment.elementBytes)
    watch(RaceDetector::ofElement(location + at), false);
}

/// A packet's line is its thread's alone, on both sides: what a thread has received it may rely on when it sends.
void Engine::watchThread(Thread &thread, std::uint64_t address) {
  const Segment &segment = *memory.near(address);
  const Manifest &manifest = members[thread.cta->grid->launch->member].manifest; // others may have mailboxes there too
  if (!segment.member || !manifest.cyclicThreads) return;
  const std::uint64_t inRegion = address - segment.address;
  thread.wraps |= inRegion >= region::kWrapCounters && inRegion < region::kWrapCounters + 8;
  if (thread.wraps) return;
  std::uint64_t packet = 0;
  const Manifest::Mailbox *box = mailboxAt(manifest, inRegion, packet);
  if (!box || box->sync == "ll128" || box->sync == "counter128") return; // whose warps take turns
  if (const std::uint64_t lines = box->linesOfPacket; lines > 1) packet = packet / (32 * lines) * 32 + packet % 32;
  const std::uint64_t block = thread.at.blockDim.x, owner = packet % (thread.at.gridDim.x * block);
  if (owner == thread.at.block.x * block + thread.at.thread.x) return;
  report = "thread map: packet " + std::to_string(packet) + " of `" + box->name + "` is that of CTA " +
           std::to_string(owner / block) + ", thread " + std::to_string(owner % block) + ", and is touched by\n  " +
           describeThread(thread) + "\n";
  status = Result::Race;
  for (;;) leave();
}

unsigned Engine::unitBytes(unsigned elementBytes, unsigned bytes) const {
  return std::min(bytes, std::max(elementBytes, unsigned(policy.atomicity)));
}

void Engine::load(std::uint64_t address, void *value, unsigned elementBytes, unsigned elements, Order order) {
  ++statistics.loads;
  beforeLoad();
  Thread &thread = *running;
  const unsigned bytes = elementBytes * elements, unit = unitBytes(elementBytes, bytes);
  Line &line = locate(address, bytes, "load");
  if (races) watchRace(thread, address, bytes, true, order);
  if (policy.checkThreads) watchThread(thread, address);
  auto *to = static_cast<std::uint8_t *>(value);
  unsigned at = unit < bytes && !fair() ? random.below(bytes / unit) * unit : 0;
  for (unsigned done = 0; done < bytes; done += unit, at = (at + unit) & (bytes - 1)) {
    if (done > 0) mayYield();
    loadUnit(thread, line, address + at, unit, to + at, order);
  }
}

/// Whether the newest version of some words is a CTA's own: its threads never see an older one.
static bool writtenBy(const Line &line, const Cta &cta, unsigned firstWord, unsigned lastWord, std::uint32_t newest) {
  for (unsigned w = firstWord; w <= lastWord; ++w)
    if (line.time[w] == newest && line.writer[w] == std::uint16_t(cta.number)) return true;
  return false;
}

void Engine::loadUnit(Thread &thread, Line &line, std::uint64_t address, unsigned bytes, void *value, Order order,
                      bool mayBeStale) {
  const unsigned offset = address % 16;
  const unsigned firstWord = offset / 4, lastWord = (offset + bytes - 1) / 4;
  const std::uint32_t newest = bytes == 16  ? line.newest()
                               : bytes == 8 ? std::max(line.time[firstWord], line.time[firstWord + 1])
                                            : line.time[firstWord];

  std::uint32_t seenAt = now, version = newest;
  alignas(16) std::uint8_t image[16];
  std::memcpy(image, line.value, sizeof image);
  const double staleRate = !mayBeStale ? 0 : order == Order::Weak ? policy.staleWeak : policy.staleRelaxed;
  if (staleRate > 0) {
    const std::uint64_t location = memory.location(address);
    if (newest > thread.floor && newest > thread.recent.newest(location) && !writtenBy(line, *thread.cta, firstWord, lastWord, newest) &&
        random.chance(staleRate)) {
      // As of just before the newest version: only the words that it changed differ.
      seenAt = version = newest - 1;
      for (unsigned w = firstWord; w <= lastWord; ++w) {
        const unsigned from = std::max(offset, w * 4), to = std::min(offset + bytes, w * 4 + 4);
        if (line.time[w] == newest) std::memcpy(image + from, line.before + from, to - from);
      }
    }
    thread.raiseFloor(thread.recent.note(location, version));
  }
  if (line.pendingOf >> thread.cta->number % 8 & 1) forward(thread, line, offset, bytes, image);
  copy(value, image + offset, bytes);
  if (policy.trace) trace(thread, version < newest ? "loads, stale," : "loads", address, bytes, value);

  thread.lookedAt = std::min(thread.lookedAt, seenAt);
  thread.newestRead = std::max(thread.newestRead, version);
  if (order == Order::Acquire) thread.raiseFloor(version);
}

/// Lays the stores of the thread's CTA that are yet to take effect over what memory holds.
void Engine::forward(Thread &thread, const Line &line, unsigned offset, unsigned bytes, std::uint8_t *image) {
  for (std::uint32_t n = line.pending; n; n = (*pending)[n].next) {
    const Pending &store = (*pending)[n];
    if (threads[store.thread]->cta != thread.cta || store.multicast) continue;
    for (unsigned unit = 0; store.left >> unit; ++unit) {
      if (!(store.left >> unit & 1) || !store.overlaps(unit, offset, bytes)) continue;
      if (store.thread != thread.number) thread.sawMate = true;
      const unsigned first = store.offset(unit), end = first + store.unitBytes();
      if (store.isAdd) {
        const auto [add, each, below, above] = pending->detail(n);
        for (unsigned at = first; at < end; at += each)
          if (at >= offset && at + each <= offset + bytes) add(image + at, store.value(unit) + (at - first));
        continue;
      }
      const unsigned from = std::max(offset, first), to = std::min(offset + bytes, end);
      std::memcpy(image + from, store.value(unit) + (from - first), to - from);
    }
  }
}

void Engine::store(std::uint64_t address, const void *value, unsigned elementBytes, unsigned elements, Order order) {
  if (order == Order::Release) drain();
  issueAll(address, value, elementBytes, elements, order, false);
}

/// The units of a store.
void Engine::issueAll(std::uint64_t address, const void *value, unsigned elementBytes, unsigned elements, Order order,
                      bool multicast) {
  ++statistics.stores;
  mayYield();
  const unsigned bytes = elementBytes * elements, unit = unitBytes(elementBytes, bytes);
  Line &line = locate(address, bytes, "store");
  if (races) watchRace(*running, address, bytes, false, order);
  if (policy.checkThreads) watchThread(*running, address);
  issue(*running, line, address, bytes, unit, value, nullptr, 0, multicast);
}

void Engine::storeToAll(std::uint64_t address, const void *value, unsigned elementBytes, unsigned elements) {
  const Segment &all = locateOfAll(address, elementBytes * elements, "store");
  for (const unsigned rank : shuffledRanks())
    issueAll(all.parts[rank] + (address - all.address), value, elementBytes, elements, Order::Relaxed, true);
}

/// Each element's values come in an order of their own: the network may reduce them so.
unsigned Engine::loadFromAll(std::uint64_t address, void *values, unsigned elementBytes, unsigned elements) {
  const unsigned bytes = elementBytes * elements;
  const Segment &all = locateOfAll(address, bytes, "load");
  std::vector<std::uint8_t> loaded(bytes * ranks.size());
  for (const unsigned rank : shuffledRanks())
    load(all.parts[rank] + (address - all.address), loaded.data() + rank * bytes, elementBytes, elements, Order::Relaxed);
  for (unsigned e = 0; e < elements; ++e) {
    auto *to = static_cast<std::uint8_t *>(values) + e * elementBytes;
    for (const unsigned rank : shuffledRanks()) {
      std::memcpy(to, loaded.data() + rank * bytes + e * elementBytes, elementBytes);
      to += bytes;
    }
  }
  return unsigned(ranks.size());
}

static void addWord(void *sum, const void *value) {
  std::uint32_t a, b;
  std::memcpy(&a, sum, 4), std::memcpy(&b, value, 4);
  a += b;
  std::memcpy(sum, &a, 4);
}

/// Additions to one place have no order to keep, so none is a race with another.
void Engine::addEach(std::uint64_t address, const void *value, unsigned elementBytes, unsigned elements,
                     coll::emulated::Combine add) {
  ++statistics.stores;
  mayYield();
  Line &line = locate(address, elementBytes * elements, "add");
  if (races && memory.near(address)->member) races->add(*running, memory.location(address));
  // Whole where stores of as many bytes are, else element by element.
  const unsigned bytes = elementBytes * elements, unit = unsigned(policy.atomicity) >= bytes ? bytes : elementBytes;
  issue(*running, line, address, bytes, unit, value, add, elementBytes);
}

void Engine::add4(std::uint64_t address, std::uint32_t value, Order order) {
  ++statistics.stores;
  if (order == Order::Release) drain();
  mayYield();
  Line &line = locate(address, 4, "add");
  if (races) watchRace(*running, address, 4, false, order);
  issue(*running, line, address, 4, 4, &value, addWord, 4);
}

/// The last lane to come does it for all.
void Engine::meetWarp(WarpCall &call) {
  if (call.kind == WarpCall::Load) beforeLoad();
  else mayYield();
  Thread &thread = *running;
  auto &mates = thread.cta->threads;
  const unsigned first = thread.at.thread.x / Thread::kWarp * Thread::kWarp;
  if (first + Thread::kWarp > mates.size())
    fail("a warp of fewer than 32 threads acts together\n  by " + describeThread(thread) + "\n");
  thread.call = &call;
  thread.state = Thread::AtWarp;
  for (unsigned lane = 0; lane < Thread::kWarp; ++lane)
    if (mates[first + lane].state != Thread::AtWarp) return leave();
  callWarp(&mates[first]);
  for (unsigned lane = 0; lane < Thread::kWarp; ++lane)
    if (&mates[first + lane] != &thread) wake(mates[first + lane]);
  thread.state = Thread::Ready;
}

void Engine::callWarp(Thread *lanes) {
  const WarpCall call = *lanes[0].call; // the first's
  bool any = false;
  for (unsigned lane = 0; lane < Thread::kWarp; ++lane) {
    const WarpCall &own = *lanes[lane].call;
    any |= own.said;
    const bool lines = own.kind == WarpCall::Load || own.kind == WarpCall::Store;
    if (own.kind != call.kind || (lines ? own.address % 128 != lane % Thread::kLine * 16 ||
                                              own.address / 128 != lanes[lane / Thread::kLine * Thread::kLine].call->address / 128
                                        : own.address != call.address))
      fail("the lanes of a warp do different things\n  by " + describeThread(lanes[lane]) + "\n");
  }
  std::uint32_t below = 0;
  for (unsigned lane = 0; lane < Thread::kWarp; ++lane) {
    Thread &thread = lanes[lane];
    if (lane % Thread::kLine == 0) below = 0;
    WarpCall &own = *thread.call;
    own.said = any;
    if (own.kind == WarpCall::Vote) continue;
    if (own.kind == WarpCall::Shuffle) {
      *static_cast<unsigned *>(own.value) = lanes[lane ^ unsigned(own.address)].call->shuffled;
      continue;
    }
    const bool isLoad = own.kind == WarpCall::Load, whole = policy.atomicity == Atomicity::Bytes128;
    const unsigned unit = own.add ? (unsigned(policy.atomicity) >= 16 ? 16 : own.each) : unitBytes(8, 16);
    Line &line = locate(own.address, 16, isLoad ? "load" : own.add ? "add" : "store");
    ++(isLoad ? statistics.loads : statistics.stores);
    if (races && !own.add) watchRace(thread, own.address, 16, isLoad, Order::Relaxed);
    if (races && own.add && memory.near(own.address)->member) races->add(thread, memory.location(own.address));
    auto *value = static_cast<std::uint8_t *>(own.value);
    if (isLoad) {
      for (unsigned k = 0; k < 16; k += unit)
        loadUnit(thread, line, own.address + k, unit, value + k, Order::Relaxed, !whole);
      continue;
    }
    const std::uint32_t number = issue(thread, line, own.address, 16, unit, value, own.add, own.each);
    if (number && whole) {
      (*pending)[number].hasNeighbours = true;
      pending->detail(number).below = below;
      pending->detail(number).above = 0;
      if (below) pending->detail(below).above = number;
      below = number;
    }
  }
}

/// Cuts a store into units of so many bytes. Returns the number of the last part, if it has to wait.
std::uint32_t Engine::issue(Thread &thread, Line &line, std::uint64_t address, unsigned bytes, unsigned unit,
                            const void *value, coll::emulated::Combine add, unsigned each, bool multicast) {
  const auto *from = static_cast<const std::uint8_t *>(value);
  if (fair()) {
    for (unsigned at = 0; at < bytes; at += unit) {
      if (policy.trace) trace(thread, add ? "adds" : "stores", address + at, unit, from + at);
      apply(line, thread.cta->number, address % 16 + at, unit, from + at, add, each);
    }
    return 0;
  }
  std::uint32_t number = 0;
  for (unsigned at = 0; at < bytes; at += unit * Pending::kUnits) {
    const unsigned part = std::min(bytes - at, unit * Pending::kUnits);
    number = enqueue(thread, line);
    Pending &store = (*pending)[number];
    store.first = (address + at) % 16, store.unitLog2 = unsigned(std::countr_zero(unit));
    store.left = (1u << part / unit) - 1;
    store.multicast = multicast, store.isAdd = add != nullptr, store.hasNeighbours = false;
    if (add) pending->detail(number) = {add, each, 0, 0};
    copy(store.bytes, from + at, part);
  }
  return number;
}

/// A pending store, to be filled, at the end of its line's list and in the queue of its CTA.
std::uint32_t Engine::enqueue(Thread &thread, Line &line) {
  Cta &cta = *thread.cta;
  const std::uint32_t number = pending->take();
  Pending &store = (*pending)[number];
  store.line = memory.number(line), store.next = 0;
  store.thread = thread.number, store.phase = std::min(thread.phase, Pending::kMostPhase);

  std::uint32_t *tail = &line.pending;
  while (*tail) tail = &(*pending)[*tail].next;
  *tail = number;
  line.pendingOf |= 1u << cta.number % 8;
  if (cta.pending++ == 0) queued.insert(&cta);
  cta.queue.push_back(number);
  cta.enqueued(store.phase);
  ++thread.pending, ++cta.grid->pending, ++pendingTotal;
  return number;
}

/// A store takes effect for all threads of all ranks at once.
void Engine::apply(Line &line, unsigned writer, unsigned offset, unsigned bytes, const std::uint8_t *value,
                   coll::emulated::Combine add, unsigned each) {
  ++now;
  const unsigned firstWord = offset / 4, words = bytes / 4 + (bytes % 4 != 0);
  copy(line.before + firstWord * 4, line.value + firstWord * 4, words * 4);
  for (unsigned w = firstWord; w < firstWord + words; ++w) line.time[w] = now, line.writer[w] = std::uint16_t(writer);
  if (add)
    for (unsigned at = 0; at < bytes; at += each) add(line.value + offset + at, value + at);
  else copy(line.value + offset, value, bytes);
  std::uint32_t waiter = line.waiters;
  line.waiters = 0;
  while (waiter) {
    Thread &thread = *threads[waiter];
    waiter = thread.nextWaiter;
    wake(thread);
  }
}

/// Of the units of the same CTA to the same location, the one issued first.
Engine::Unit Engine::firstOf(Unit unit) const {
  const Pending &store = (*pending)[unit.store];
  std::uint32_t n = memory.line(store.line).pending;
  if (n == unit.store) return unit;
  const Cta *cta = threads[store.thread]->cta;
  for (; n != unit.store; n = (*pending)[n].next) {
    const Pending &earlier = (*pending)[n];
    if (threads[earlier.thread]->cta != cta || earlier.multicast != store.multicast) continue;
    for (unsigned at = 0; earlier.left >> at; ++at)
      if ((earlier.left >> at & 1) && earlier.overlaps(at, store.offset(unit.at), store.unitBytes())) return {n, at};
  }
  return unit;
}

/// Lets the unit take effect, or what must before it; of a line that lanes store together, all parts or the lowest.
void Engine::commitInOrder(Unit unit) {
  Unit part = firstOf(unit);
  const auto detail = [&]() -> const PendingDetail & { return pending->detail(part.store); };
  while ((*pending)[part.store].hasNeighbours && detail().below) part = {detail().below, 0};
  if (const Unit before = firstOf(part); before != part) return commitInOrder(before);
  const bool whole = policy.seed / 4 % 2 == 0;
  for (;;) {
    const std::uint32_t next = (*pending)[part.store].hasNeighbours ? detail().above : 0;
    commit(part);
    if (!whole || !next) return;
    part = {next, 0};
    for (Unit before = firstOf(part); before != part; before = firstOf(part)) commitInOrder(before);
  }
}

void Engine::commit(Unit unit) {
  Pending &store = (*pending)[unit.store];
  Thread &issuer = *threads[store.thread];
  Line &line = memory.line(store.line);
  PendingDetail detail = {};
  if (store.isAdd || store.hasNeighbours) detail = pending->detail(unit.store);
  if (store.hasNeighbours && detail.above) pending->detail(detail.above).below = 0;
  if (store.hasNeighbours && detail.below) pending->detail(detail.below).above = 0;
  const unsigned offset = store.offset(unit.at);
  const auto address = [&] { return memory.addressOf(store.line) + offset; };
  if (policy.trace) trace(issuer, store.isAdd ? "adds" : "stores", address(), store.unitBytes(), store.value(unit.at));
  apply(line, issuer.cta->number, offset, store.unitBytes(), store.value(unit.at), store.isAdd ? detail.add : nullptr,
        detail.each);
  if (const Segment &segment = memory.segmentOf(store.line); !isOwners(segment) && status == Result::Ok)
    noteUntimely(segment, issuer, address(), "store that takes effect");
  store.left &= ~(1u << unit.at);
  if (!store.left) hasTakenEffect(unit.store);
}

/// All units of the store have.
void Engine::hasTakenEffect(std::uint32_t number) {
  const Pending &store = (*pending)[number];
  Line &line = memory.line(store.line);
  Thread &issuer = *threads[store.thread];
  Cta &cta = *issuer.cta;
  std::uint32_t *link = &line.pending;
  while (*link != number) link = &(*pending)[*link].next;
  *link = store.next;
  if (!line.pending) line.pendingOf = 0;
  cta.tookEffect(store.phase);
  --issuer.pending, --cta.pending, --cta.grid->pending, --pendingTotal;

  for (std::size_t i = 0; i < cta.draining.size();) {
    Thread &thread = *cta.draining[i];
    if (!drained(thread)) {
      ++i;
      continue;
    }
    cta.draining[i] = cta.draining.back();
    cta.draining.pop_back();
    wake(thread);
  }
  afterProgress(*cta.grid);
}

bool Engine::drained(const Thread &thread) const {
  if (thread.sawMate) return thread.cta->pending == 0;
  return thread.pending == 0 && thread.cta->oldestPhase >= thread.phase;
}

void Engine::drain() {
  Thread &thread = *running;
  if (!drained(thread)) {
    thread.state = Thread::Draining;
    thread.cta->draining.push_back(&thread);
    leave();
  }
  thread.sawMate = false;
}

void Engine::fence() {
  drain();
  running->raiseFloor(running->newestRead);
  running->released = now; // what it has stored has taken effect by then
  if (races) races->fence(*running);
}

void Engine::ctaSync() {
  Thread &thread = *running;
  Cta &cta = *thread.cta;
  thread.state = Thread::AtBarrier;
  cta.atBarrier.push_back(&thread);
  if (races) races->arrives(thread);
  releaseBarrier(cta);
  leave();
}

/// Lets the CTA go on if all its threads that have not ended are at the barrier. What one of them had acquired, or
/// read of a mate's waiting stores, all of them have then.
void Engine::releaseBarrier(Cta &cta) {
  if (cta.atBarrier.empty() || cta.atBarrier.size() + cta.done < cta.threads.size()) return;
  passBarrier(cta.atBarrier);
  cta.atBarrier.clear();
}

void Engine::passBarrier(const std::vector<Thread *> &threads) {
  if (races) races->ctaBarrier(threads);
  std::uint32_t floor = 0, newestRead = 0;
  for (const Thread *t : threads) floor = std::max({floor, t->floor, t->released}), newestRead = std::max(newestRead, t->newestRead);
  for (Thread *t : threads) {
    ++t->phase;
    t->newestRead = newestRead;
    t->raiseFloor(floor);
    wake(*t);
  }
}

void Engine::spinHint(std::uint64_t address) {
  Thread &thread = *running;
  Line &line = locate(address / 4 * 4, 4, "wait");
  if (races) races->lookedInVain(thread, memory.location(address));
  // Whatever took effect after the thread looked may be what it waits for, so it looks again.
  const bool missed = line.newest() > thread.lookedAt;
  thread.lookedAt = UINT32_MAX;
  if (missed) return yieldNow();
  thread.state = Thread::Polling;
  thread.polled = address;
  thread.nextWaiter = line.waiters;
  line.waiters = thread.number;
  leave();
}
