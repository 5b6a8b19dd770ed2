// The memory model: what loads see, when stores take effect, what fences and CTA barriers order.
#include "emulator/Engine.h"

#include "emulator/Region.h"

#include <algorithm>

using namespace coll::emu;
using coll::emulated::Order;

namespace region = coll::region;

Line &Engine::locate(std::uint64_t address, unsigned bytes, const char *verb) {
  Segment *segment = memory.near(address);
  if (segment && !segment->parts.empty()) fail(describeOfAll(address, verb));
  if (!segment || address < segment->address || address + bytes > segment->address + segment->bytes ||
      address % bytes != 0)
    fail(describeFault(address, bytes, verb));
  if (!running->afterOthers && policy.checkWaits)
    fail(std::string(verb) + " before the thread has waited for the kernels before its own: " + describe(address) +
         "\n  by " + describeThread(*running) + "\n");
  if (!isOwners(*segment)) {
    noteUntimely(*segment, *running, address, verb);
    for (;;) leave();
  }
  return memory.line(*segment, address);
}

/// An argument is its rank's to give only while a launch that has it lasts: before, kernels that write it may be running,
/// and after, others that use it again.
bool Engine::isOwners(const Segment &segment) const {
  return segment.launches == 0 || (segment.opened > 0 && segment.unended > 0);
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
  const unsigned bytes = elementBytes * elements, unit = unitBytes(elementBytes, bytes), count = bytes / unit;
  Line &line = locate(address, bytes, "load");
  if (races) watchRace(thread, address, bytes, true, order);
  if (policy.checkThreads) watchThread(thread, address);
  auto *to = static_cast<std::uint8_t *>(value);
  unsigned k = count > 1 && !fair() ? random.below(count) : 0;
  for (unsigned i = 0; i < count; ++i, k = (k + 1) % count) {
    if (i > 0) mayYield();
    loadUnit(thread, line, address + k * unit, unit, to + k * unit, order);
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
  std::uint32_t newest = 0;
  for (unsigned w = firstWord; w <= lastWord; ++w) newest = std::max(newest, line.time[w]);

  std::uint32_t seenAt = now, version = newest;
  alignas(16) std::uint8_t image[16];
  std::memcpy(image + offset, line.value + offset, bytes);
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
  std::memcpy(value, image + offset, bytes);
  if (policy.trace) trace(thread, version < newest ? "loads, stale," : "loads", address, bytes, value);

  thread.lookedAt = std::min(thread.lookedAt, seenAt);
  thread.newestRead = std::max(thread.newestRead, version);
  if (order == Order::Acquire) thread.raiseFloor(version);
}

/// Lays the stores of the thread's CTA that are yet to take effect over what memory holds.
void Engine::forward(Thread &thread, const Line &line, unsigned offset, unsigned bytes, std::uint8_t *image) {
  for (std::uint32_t n = line.pending; n; n = (*units)[n].next) {
    const Pending &p = (*units)[n];
    if (p.cta != thread.cta || p.multicast || !p.overlaps(offset, bytes)) continue;
    if (p.thread != thread.number) thread.sawMate = true;
    const unsigned first = p.offset();
    if (p.isAdd) {
      const auto [add, each, below, above] = units->detail(n);
      for (unsigned at = first; at < first + p.size; at += each)
        if (at >= offset && at + each <= offset + bytes) add(image + at, p.bytes + (at - first));
      continue;
    }
    const unsigned from = std::max(offset, first), to = std::min(offset + bytes, first + p.size);
    std::memcpy(image + from, p.bytes + (from - first), to - from);
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
  const unsigned bytes = elementBytes * elements, unit = unitBytes(elementBytes, bytes), count = bytes / unit;
  Line &line = locate(address, bytes, "store");
  if (races) watchRace(*running, address, bytes, false, order);
  if (policy.checkThreads) watchThread(*running, address);
  for (unsigned k = 0; k < count; ++k)
    issue(*running, line, address + k * unit, unit, static_cast<const std::uint8_t *>(value) + k * unit, nullptr, 0, multicast);
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
  for (unsigned at = 0; at < bytes; at += unit)
    issue(*running, line, address + at, unit, static_cast<const std::uint8_t *>(value) + at, add, elementBytes);
}

void Engine::add4(std::uint64_t address, std::uint32_t value, Order order) {
  ++statistics.stores;
  if (order == Order::Release) drain();
  mayYield();
  Line &line = locate(address, 4, "add");
  if (races) watchRace(*running, address, 4, false, order);
  issue(*running, line, address, 4, &value, addWord, 4);
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
    for (unsigned k = 0; k < 16; k += unit) {
      auto *value = static_cast<std::uint8_t *>(own.value) + k;
      if (isLoad) {
        loadUnit(thread, line, own.address + k, unit, value, Order::Relaxed, !whole);
      } else if (Pending *pending = issue(thread, line, own.address + k, unit, value, own.add, own.each); pending && whole) {
        pending->hasNeighbours = true;
        units->detail(pending->number).below = below;
        units->detail(pending->number).above = 0;
        if (below) units->detail(below).above = pending->number;
        below = pending->number;
      }
    }
  }
}

/// The unit, if it has to wait.
Pending *Engine::issue(Thread &thread, Line &line, std::uint64_t address, unsigned bytes, const void *value,
                       coll::emulated::Combine add, unsigned each, bool multicast) {
  Cta &cta = *thread.cta;
  const unsigned offset = address % 16;
  if (fair()) {
    if (policy.trace) trace(thread, add ? "adds" : "stores", address, bytes, value);
    apply(line, cta.number, offset, bytes, static_cast<const std::uint8_t *>(value), add, each);
    return nullptr;
  }
  Pending &unit = units->take();
  unit.thread = thread.number, unit.cta = &cta, unit.line = &line, unit.next = 0;
  unit.index = std::uint32_t(cta.queue.size()), unit.phase = thread.phase;
  unit.address = address, unit.size = std::uint8_t(bytes);
  unit.multicast = multicast, unit.isAdd = add != nullptr, unit.hasNeighbours = false;
  if (add) units->detail(unit.number) = {add, each, 0, 0};
  std::memcpy(unit.bytes, value, bytes);

  std::uint32_t *tail = &line.pending;
  while (*tail) tail = &(*units)[*tail].next;
  *tail = unit.number;
  line.pendingOf |= 1u << cta.number % 8;
  if (cta.queue.empty()) queued.insert(&cta);
  cta.queue.push_back({&unit, &line});
  cta.enqueued(thread.phase);
  ++thread.pending, ++cta.grid->pending, ++pendingTotal;
  return &unit;
}

/// A store takes effect for all threads of all ranks at once.
void Engine::apply(Line &line, unsigned writer, unsigned offset, unsigned bytes, const std::uint8_t *value,
                   coll::emulated::Combine add, unsigned each) {
  const unsigned firstWord = offset / 4, lastWord = (offset + bytes - 1) / 4;
  ++now;
  for (unsigned w = firstWord; w <= lastWord; ++w) {
    std::memcpy(line.before + w * 4, line.value + w * 4, 4);
    line.time[w] = now;
    line.writer[w] = std::uint16_t(writer);
  }
  if (add)
    for (unsigned at = 0; at < bytes; at += each) add(line.value + offset + at, value + at);
  else std::memcpy(line.value + offset, value, bytes);
  std::uint32_t waiter = line.waiters;
  line.waiters = 0;
  while (waiter) {
    Thread &thread = *threads[waiter];
    waiter = thread.nextWaiter;
    wake(thread);
  }
}

/// Of the stores of the unit's CTA to its location, the one issued first.
Pending &Engine::firstOf(Pending &unit) {
  std::uint32_t earliest = unit.line->pending;
  if (earliest == unit.number) return unit;
  while ((*units)[earliest].cta != unit.cta || (*units)[earliest].multicast != unit.multicast ||
         !(*units)[earliest].overlaps(unit.offset(), unit.size))
    earliest = (*units)[earliest].next;
  return (*units)[earliest];
}

/// Lets the unit take effect, or what must before it; of a line that lanes store together, all parts or the lowest.
void Engine::commitInOrder(Pending &unit) {
  Pending *part = &firstOf(unit);
  while (part->hasNeighbours && units->detail(part->number).below) part = &(*units)[units->detail(part->number).below];
  if (&firstOf(*part) != part) return commitInOrder(firstOf(*part));
  const bool whole = policy.seed / 4 % 2 == 0;
  for (;;) {
    const std::uint32_t next = part->hasNeighbours ? units->detail(part->number).above : 0;
    commit(*part);
    if (!whole || !next) return;
    part = &(*units)[next];
    while (&firstOf(*part) != part) commitInOrder(firstOf(*part));
  }
}

void Engine::commit(Pending &unit) {
  Cta &cta = *unit.cta;
  Thread &issuer = *threads[unit.thread];
  PendingDetail detail = {};
  if (unit.isAdd || unit.hasNeighbours) detail = units->detail(unit.number);
  if (unit.hasNeighbours && detail.above) units->detail(detail.above).below = 0;
  if (unit.hasNeighbours && detail.below) units->detail(detail.below).above = 0;
  if (policy.trace) trace(issuer, unit.isAdd ? "adds" : "stores", unit.address, unit.size, unit.bytes);
  apply(*unit.line, cta.number, unit.offset(), unit.size, unit.bytes, unit.isAdd ? detail.add : nullptr, detail.each);
  if (const Segment &segment = *memory.near(unit.address); !isOwners(segment) && status == Result::Ok)
    noteUntimely(segment, issuer, unit.address, "store that takes effect");

  std::uint32_t *link = &unit.line->pending;
  while (*link != unit.number) link = &(*units)[*link].next;
  *link = unit.next;
  if (!unit.line->pending) unit.line->pendingOf = 0;
  cta.queue[unit.index] = cta.queue.back();
  cta.queue[unit.index].unit->index = unit.index;
  cta.queue.pop_back();
  if (cta.queue.empty()) queued.erase(&cta);
  cta.tookEffect(unit.phase);
  --issuer.pending, --cta.grid->pending, --pendingTotal;
  units->release(unit);

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
  if (thread.sawMate) return thread.cta->queue.empty();
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
  for (const Thread *t : threads) floor = std::max(floor, t->floor), newestRead = std::max(newestRead, t->newestRead);
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
