#include "check/Order.h"

#include <algorithm>
#include <utility>

namespace coll::check {

using Kind = Step::Kind;

std::optional<Order::Hazard> Order::run(llvm::ArrayRef<Epoch> epochs, const std::vector<int> &mailboxCopies) {
  copies = mailboxCopies;
  reset();
  launchBegin.assign(1, 0);
  for (const Epoch &e : epochs) launchBegin.push_back(e.endsLaunch ? int(launchBegin.size()) : launchBegin.back());
  for (launch = 0; launch < int(epochs.size()); ++launch) {
    for (const ScheduledEvent &e : epochs[launch].schedule->events) {
      perform(e);
      if (hazard) return hazard;
    }
    noteDependence();
    epochs[launch].endsLaunch ? boundary() : chunkBoundary();
  }
  return std::nullopt;
}

void Order::reset() {
  ranks = expansion.program->ranks;
  branchWidth = expansion.branches ? ranks : 0;
  width = countedWidth() + (marks ? (marks->perStrand() + 255) / 256 * 8 : 0);
  full = true, relied = reliedOnValues = false;
  hazard.reset();
  const std::size_t bytes = std::size_t(width) * parts();
  clocks.assign(bytes * ranks * strands, Tick(1) << kShift);
  if (expansion.branches) branchStart = branchEnd = clocks;
  snapshots.clear();
  chains.assign(std::size_t(ranks) * strands, {});
  for (std::size_t i = 0; i < chains.size(); ++i) {
    Tick *begin = clocks.data() + i * bytes;
    auto clock = [&](bool there, int part) { return there ? begin + part * width : nullptr; };
    chains[i] = {begin,
                 clock(weak(), 1),
                 clock(relies(), passedPart()),
                 clock(strict, releasedPart()),
                 clock(weak(), parts() - 1),
                 component(int(i) / strands, int(i) % strands)};
  }
  slotBase.clear();
  std::size_t total = 0;
  for (const SlotName &s : expansion.slots) {
    slotBase.push_back(total);
    total += std::size_t(copies[s.box]) * classes;
  }
  slots.clear();
  slots.resize(total);
  const auto adds = [](const ir::Mailbox &m) { return ir::adds(m.sync); };
  additions.assign(llvm::any_of(expansion.program->mailboxes, adds) ? total : 0, {});
  flags.assign(expansion.slots.size() * strands, {});
  credited.assign(ranks, -1);
  creditLaunches = copies.empty() ? 1 : *std::max_element(copies.begin(), copies.end());
  noteBegin(true);
  credits.assign(expansion.credits ? std::size_t(creditLaunches) * ranks * givers() * width * parts() : 0, 0);
}

void Order::noteBegin(bool ofLaunch) {
  if (llvm::none_of(expansion.program->mailboxes, [](const ir::Mailbox &box) { return Expansion::isOfOneThread(box); })) return;
  if (!ofLaunch) snapshots = begun;
  else for (Chain &c : chains) c.begun = snapshot(c);
  begun = snapshots;
}

Order::Slot &Order::slot(const ScheduledEvent &e, int behind) {
  const int all = copies[expansion.boxOf(e.slot)], copy = (launch + (all - behind % all)) % all;
  return slots[slotBase[e.slot] + std::size_t(copy) * classes + e.packets];
}

#if defined(__x86_64__) && defined(__GNUC__)
#define COLL_WITH_AVX2 __attribute__((target("avx2")))
static const bool hasAvx2 = __builtin_cpu_supports("avx2");
#else
#define COLL_WITH_AVX2
constexpr bool hasAvx2 = false;
#endif

// Most of the time of a proof goes here. Ticks are compared as signed numbers, and in blocks of eight, so that baseline
// x86-64 does it in vectors; where there is an instruction for it, that takes a fifth.
template <bool Least, class Tick>
__attribute__((always_inline)) static inline void combineBlocks(Tick *to, const Tick *from, std::size_t ticks) {
  for (std::size_t i = 0; i < ticks; i += 8)
    for (std::size_t j = 0; j < 8; ++j) {
      const auto a = std::int32_t(to[i + j]), b = std::int32_t(from[i + j]);
      to[i + j] = Tick((a > b) != Least ? a : b);
    }
}

template <bool Least, class Tick>
COLL_WITH_AVX2 static void combineWide(Tick *to, const Tick *from, std::size_t ticks) {
  combineBlocks<Least>(to, from, ticks);
}

template <bool Least, class Tick>
static void combineTicks(Tick *to, const Tick *from, std::size_t ticks) {
  hasAvx2 ? combineWide<Least>(to, from, ticks) : combineBlocks<Least>(to, from, ticks);
}

void Order::raise(Tick *to, const Tick *from) const {
  const int counted = marks ? countedWidth() : width;
  combineTicks<false>(to, from, std::size_t(counted));
  for (int i = counted; i < width; ++i) to[i] |= from[i];
}

int Order::snapshot(Chain &c) {
  if (c.snapshot >= 0) return c.snapshot;
  c.snapshot = int(snapshots.size());
  snapshots.insert(snapshots.end(), c.seen, c.seen + std::size_t(width) * sent());
  return c.snapshot;
}

/// Until when all that the chain has not released are reads without which it could not know what it sends, or, of chunks
/// before, that somebody has told it to have ended.
Order::Tick Order::readFor(const ScheduledEvent &send, const Chain &c) const {
  Tick until = 0;
  const std::vector<int> &reads = expansion.computedFrom[std::size_t(send.step->mark)];
  for (const Plain &p : c.plain) {
    if (c.passed[p.component] > p.tick) continue;
    const bool needed = p.step->kind == Kind::Read && std::binary_search(reads.begin(), reads.end(), p.step->mark);
    if (!needed || p.launch != launch || p.component != c.own) break;
    until = p.tick + 1;
  }
  return until;
}

/// What a message says. That its sender has read what it is computed from shows in its value, whatever hardware does.
int Order::snapshotOf(const ScheduledEvent &send, Chain &c) {
  const bool fresh = c.snapshot < 0;
  const int known = snapshot(c);
  if (fresh) c.computedFrom = ir::kNone;
  if (!byValue || !c.passed || send.step->mark == ir::kNone || c.plain.empty()) return known;
  if (c.computedFrom == send.step->mark) return c.computed;
  const Tick until = readFor(send, c);
  c.computedFrom = send.step->mark;
  if (until <= c.passed[c.own]) return c.computed = known;
  reliedOnValues = true;
  const std::size_t each = std::size_t(width) * sent();
  c.computed = int(snapshots.size());
  snapshots.resize(snapshots.size() + each);
  std::copy_n(snapshots.data() + known, each, snapshots.data() + c.computed);
  snapshots[std::size_t(c.computed) + std::size_t(passedPart() * width + c.own)] = until;
  return c.computed;
}

void Order::report(Refutation::Kind kind, const ScheduledEvent &first, int firstLaunch, const ScheduledEvent &second) {
  if (!hazard) hazard = Hazard{kind, first, second, firstLaunch, launch};
}

void Order::perform(const ScheduledEvent &e) {
  if (e.kind == Kind::Barrier) return e.step->ofLaunch ? void() : barrier(); // of chunks, between two of them there is none
  if (e.kind == Kind::Credit) return credit(e);
  const bool all = e.packets == ir::kNone;
  const int begin = all ? 0 : e.map * classes + e.packets, end = all ? strands : begin + 1;
  for (int s = begin; s < end; ++s) {
    Chain &c = chain(e.rank, s);
    switch (e.kind) {
    case Kind::Send: noteLater(e, c, s), send(e, c); break;
    case Kind::Poll:
    case Kind::Read: receive(e, c); break;
    case Kind::Clear: clear(e, c); break;
    case Kind::Fence: fence(c); break;
    case Kind::Signal: noteLater(e, c, s), signal(e, c, s); break;
    case Kind::Await: await(e, c, s); break;
    case Kind::AwaitCredit: awaitCredit(e, c, s); break;
    default: branch(e, c, std::size_t(e.rank) * strands + s);
    }
  }
}

void Order::send(const ScheduledEvent &e, Chain &c) {
  Slot &s = slot(e);
  const bool remote = expansion.slots[e.slot].owner != e.rank;
  for (unsigned i = 0; i < s.readings.size(); ++i) {
    const Reading &r = s.readings[i];
    const bool clear = r.event->kind == Kind::Clear;
    const bool plain = remote && (r.causal || strict);
    const Tick *known = !plain ? c.seen : c.passed ? c.passed : c.caused;
    relied |= plain && !clear && c.caused[r.component] <= r.tick;
    if (known[r.component] <= r.tick)
      return report(clear ? Refutation::Kind::StaleSentinel : Refutation::Kind::OverwriteBeforeRead, *r.event, epochOf(r.tick),
                    e);
  }
  if (expansion.adds(e.slot)) return noteAddition(e, c, s);
  if (!s.cleared) return report(Refutation::Kind::StaleSentinel, *s.event, epochOf(s.tick), e);
  s.readings.clear();
  s.cleared = expansion.program->mailboxes[expansion.boxOf(e.slot)].sync != ir::Sync::Sentinel;
  // The line with a message's length, or with the number of a row, is another thread's, and may be all that there is: what that
  // thread knows for sure is what all did when the launch began.
  if (expansion.shows(e.slot)) s.snapshot = expansion.isOfOneThread(e.slot) ? c.begun : snapshotOf(e, c);
  s.event = &e;
  s.component = c.own;
  s.tick = c.seen[c.own];
  if (!weak()) return;
  // That it has sent this, a rank tells with its next release: what shows by itself that it has arrived needs no other word.
  ++c.seen[c.own];
  (expansion.shows(e.slot) ? c.announced : c.snapshot) = -1;
}

void Order::receive(const ScheduledEvent &e, Chain &c) {
  Slot &s = slot(e);
  const bool waits = e.kind == Kind::Poll;
  const auto learn = [&](int snapshot) {
    raise(c.seen, sentClock(snapshot, 0));
    if (weak()) raise(c.pending, sentClock(snapshot, releasedPart()));
    if (c.passed) raise(c.passed, sentClock(snapshot, passedPart()));
  };
  if (waits && expansion.adds(e.slot)) {
    for (const Addition &a : additionsOf(s)) learn(a.snapshot);
    forgetEarlier(s.readings);
  } else if (waits) {
    learn(s.snapshot);
  } else if (expansion.adds(e.slot)) {
    if (!knowsAdditions(e, c, s)) return;
  } else {
    // Data is there for sure if the same thread has waited for it, or wrote it, or if a barrier lies between.
    const bool own = expansion.slots[e.slot].owner == s.event->rank;
    bool arrived = (own ? c.seen : c.caused)[s.component] > s.tick;
    for (unsigned i = 0; i < s.readings.size(); ++i) {
      const Reading &r = s.readings[i];
      arrived |= r.event->kind == Kind::Poll && c.seen[r.component] > r.tick;
    }
    if (!arrived) return report(Refutation::Kind::ReadWithoutArrival, *s.event, launch, e);
  }
  notePlain(e, c, !waits);
  s.readings.push_back({&e, c.seen[c.own]++, unsigned(c.own), !waits});
  c.snapshot = -1;
}

void Order::clear(const ScheduledEvent &e, Chain &c) {
  Slot &s = slot(e, e.step->number);
  s.cleared = true;
  notePlain(e, c, true);
  s.readings.push_back({&e, c.seen[c.own]++, unsigned(c.own), true});
  c.snapshot = -1;
}

/// Before its tick is counted.
void Order::notePlain(const ScheduledEvent &e, Chain &c, bool plain) {
  if (plain && c.passed) c.plain.push_back({e.step, c.own, c.seen[c.own], launch});
}

// What several ranks add to in one launch, all of them after what was done with the slot in launches before.
void Order::noteAddition(const ScheduledEvent &e, Chain &c, Slot &s) {
  Additions &all = additionsOf(s);
  if (!all.empty() && all.front().launch != launch) all.clear();
  s.event = &e;
  all.push_back({&e, c.own, c.seen[c.own], launch, expansion.shows(e.slot) ? snapshot(c) : -1});
  ++c.seen[c.own];
  c.snapshot = -1;
}

/// Keeps the readings of this launch alone.
void Order::forgetEarlier(Readings &readings) const {
  Readings kept;
  for (unsigned i = 0; i < readings.size(); ++i)
    if (epochOf(readings[i].tick) == launch) kept.push_back(readings[i]);
  readings = std::move(kept);
}

/// All that was added must be there. What was read in launches before has then been looked at.
bool Order::knowsAdditions(const ScheduledEvent &e, Chain &c, Slot &s) {
  for (const Addition &a : additionsOf(s)) {
    const bool own = a.event->rank == e.rank;
    if ((own ? c.seen : c.caused)[a.component] > a.tick) continue;
    report(Refutation::Kind::ReadWithoutArrival, *a.event, launch, e);
    return false;
  }
  forgetEarlier(s.readings);
  return true;
}

/// Adds to what is announced by all that count there.
void Order::join(Flag &f, int snapshot) {
  if (!f.joined) {
    const std::size_t each = std::size_t(width) * sent();
    const int number = int(snapshots.size());
    snapshots.resize(snapshots.size() + each);
    std::copy_n(snapshots.data() + f.snapshot, each, snapshots.data() + number);
    f.snapshot = number, f.joined = true;
  }
  for (int part = 0; part < sent(); ++part)
    raise(snapshots.data() + f.snapshot + part * width, sentClock(snapshot, part));
}

// CTA c announces to CTA c of another rank what all its threads have done, so as with a barrier, what one class of
// packets knows reaches the same class there. Two ranks may use one word in different launches only if the later one
// knows of the earlier: else it passes for it, and may even be set back by it.
void Order::signal(const ScheduledEvent &e, Chain &c, int strand) {
  Flag &f = flags[std::size_t(e.slot) * strands + strand];
  const bool counts = expansion.adds(e.slot);
  if (!counts && f.event && f.event->rank != e.rank && c.caused[f.component] <= f.tick)
    return report(Refutation::Kind::ReadWithoutArrival, *f.event, f.launch, e);
  if (counts && f.launch != launch) f.before = std::exchange(f.raised, {});
  if (counts && !mayCount(f, e, c)) return;
  // Of several in a row, the first has released all that there is.
  if (c.snapshot < 0 || c.announced != c.snapshot) release(c), c.announced = snapshot(c);
  if (f.launch != launch) f.snapshot = c.announced, f.joined = false;
  else if (counts) join(f, c.announced); // the owner waits for all of them
  f.event = &e, f.launch = launch;
  f.component = c.own, f.tick = c.seen[c.own]++;
  if (counts) f.raised.push_back({&e, f.component, f.tick, hasAdditions(e.slot, strand)});
}

bool Order::hasAdditions(int slot, int strand) const {
  const std::size_t copy = std::size_t(launch % copies[std::size_t(expansion.boxOf(slot))]);
  const Additions &all = additions[slotBase[std::size_t(slot)] + copy * std::size_t(classes) + std::size_t(strand % classes)];
  return !all.empty() && all.front().launch == launch;
}

// A word that counts passes from launch to launch: who raises it before all have done so in the launch before stands for
// one of those. That does no harm where nothing was added, and nothing is known from it.
bool Order::mayCount(const Flag &f, const ScheduledEvent &e, const Chain &c) {
  const Tick *known = c.passed ? c.passed : c.caused;
  for (const Raising &r : f.before) {
    if (!r.adds) continue;
    if (known[r.component] <= r.tick) {
      report(Refutation::Kind::OverwriteBeforeRead, *r.event, epochOf(r.tick), e);
      return false;
    }
    relied |= c.caused[r.component] <= r.tick;
  }
  return true;
}

void Order::await(const ScheduledEvent &e, Chain &c, int strand) {
  const Flag &f = flags[std::size_t(e.slot) * strands + strand];
  if (expansion.adds(e.slot) && !hasAdditions(e.slot, strand)) return;
  for (int part = 0; part < (c.passed ? 3 : 2); ++part) raise(c.seen + part * width, sentClock(f.snapshot, part));
  // Who has seen the word knows that it was raised, which the snapshot that it came with does not tell.
  for (Tick *clock : {c.seen, c.caused}) clock[f.component] = std::max(clock[f.component], f.tick + 1);
  for (const Raising &r : f.raised)
    for (Tick *clock : {c.seen, c.caused, c.passed})
      if (clock) clock[r.component] = std::max(clock[r.component], r.tick + 1);
  c.snapshot = -1;
}

Order::Tick *Order::creditOf(int launch, int rank, int strand) {
  const int giver = givers() > 1 ? strand : 0;
  return credits.data() + ((std::size_t(launch % creditLaunches) * ranks + rank) * givers() + giver) * width * parts();
}

// Of a launch, any thread of the rank may be the one that gives it, so it says what all of them know: that includes that
// all are done with the launches before. No thread knows that of chunks. There CTA c tells CTA c of the others when its
// threads have met, as with a signal.
void Order::credit(const ScheduledEvent &e) {
  const std::size_t each = std::size_t(width) * parts();
  // All that a rank gives in an epoch tells what it knew when it gave the first.
  if (std::exchange(credited[e.rank], launch) == launch) return;
  for (int g = 0; g < givers(); ++g) {
    Tick *given = creditOf(launch, e.rank, g);
    if (e.step->releases && givers() > 1) release(chain(e.rank, g));
    std::copy_n(chain(e.rank, g).seen, each, given);
    for (int p = 1; p < strands && givers() == 1; ++p)
      combineTicks<true>(given, chain(e.rank, p).seen, each);
    if (weak() && !e.step->releases) std::fill_n(given + width, width, 0);
  }
}

/// Of what a rank gave, what is of itself.
const Order::Tick *Order::ownOf(std::vector<Tick> &own, const Tick *given, int rank) const {
  own.assign(std::size_t(width) * parts(), 0);
  for (int part = 0; part < parts(); ++part) {
    const int at = part * width + rank * each();
    std::copy_n(given + at, each(), own.begin() + at);
    for (int way = 0; marks && way < marks->count; ++way)
      if (hasMark(given + part * width, rank, way)) setMark(own.data() + part * width, rank, way);
  }
  return own.data();
}

// What a CTA gave in an earlier launch, another grid may have made true of other packets: its chunks count for nothing.
void Order::awaitCredit(const ScheduledEvent &e, Chain &c, int strand) {
  int begun = launch - copies[e.step->box] + 1;
  if (expansion.program->chunks) begun = std::max(begun, launchBegin[launch]);
  if (measured || measuredChunk) begun = copies[e.step->box] <= creditsUpTo ? launch : -1;
  if (begun < 0) return;
  const Tick *given = creditOf(begun, e.step->peer, strand);
  std::vector<Tick> own; // of a credit of an earlier launch, that its rank has begun it
  if ((measured || measuredChunk) && copies[e.step->box] > 1) given = ownOf(own, given, e.step->peer);
  const bool acquires = e.packets == ir::kNone;
  raise(c.seen, given);
  if (weak()) raise(acquires ? c.caused : c.pending, given + width);
  if (strict) raise(acquires ? c.caused : c.pending, given + releasedPart() * width);
  if (c.passed) raise(c.passed, given + passedPart() * width);
  c.snapshot = -1;
}

/// What the rank did before comes before all that is sent from now on.
void Order::release(Chain &c) {
  const int number = int(&c - chains.data()), rank = number / strands, strand = number % strands;
  const int own = component(rank, strand), branches = branchComponent(rank, strand, 0);
  for (Tick *clock : {c.caused, c.passed}) {
    if (!clock) continue;
    clock[c.own] = c.seen[c.own];
    clock[own] = c.seen[own];
    if (c.own == own) std::copy_n(c.seen + branches, branchWidth, clock + branches);
    if (!marks) continue;
    setMark(clock, rank, marks->own);
    if (c.own == own) setMark(clock, rank, marks->ownInBranch);
  }
  c.plain.clear();
  c.snapshot = -1;
}

void Order::fence(Chain &c) {
  if (weak()) raise(c.caused, c.pending);
  if (parts() > 1) release(c);
  if (strict) std::copy_n(c.caused, width, c.released);
}

// CTA c waits for CTA c of all ranks only, so what one class of packets knows reaches the same class of the others.
void Order::barrier() {
  for (int p = 0; p < strands; ++p) {
    Chain &sum = chain(0, p);
    for (int r = 0; r < ranks; ++r) {
      Chain &c = chain(r, p);
      // Other threads of the CTA release and acquire for this one, which has no fence of its own.
      if (strict) release(c);
      else fence(c);
      if (r) raise(sum.seen, c.seen);
      if (r && weak()) raise(sum.caused, c.caused);
      if (r && c.passed) raise(sum.passed, c.passed);
    }
    for (int r = 0; r < ranks; ++r) {
      Chain &c = chain(r, p);
      if (r) std::copy_n(sum.seen, width, c.seen);
      if (r && weak()) std::copy_n(sum.caused, width, c.caused);
      if (r && c.passed) std::copy_n(sum.passed, width, c.passed);
      ++c.seen[component(r, p)];
      c.snapshot = -1;
    }
  }
}

void Order::branch(const ScheduledEvent &e, Chain &c, std::size_t number) {
  const std::size_t each = clocks.size() / chains.size();
  Tick *now = clocks.data() + number * each;
  Tick *start = branchStart.data() + number * each, *end = branchEnd.data() + number * each;
  const int rank = int(number) / strands, strand = int(number) % strands;
  c.snapshot = -1;
  if (e.kind == Kind::Branches) {
    std::copy_n(now, each, start);
    std::copy_n(now, each, end);
    return;
  }
  for (int part = 0; part < parts(); ++part) raise(end + part * width, now + part * width);
  const bool last = e.kind == Kind::BranchesEnd;
  std::copy_n(last ? end : start, each, now);
  c.own = last ? component(rank, strand) : branchComponent(rank, strand, e.slot);
}

// What a rank's packets of one class have come to know, all of them know in its next launch, as far as it concerns
// launches that have ended; of events within a launch, those of another class are told apart only if `exact`.
void Order::boundary() {
  const Tick start = startOf(launch + 1);
  std::vector<Tick> known;
  for (int r = 0; r < ranks; ++r) {
    for (int p = 0; p < strands; ++p) {
      Chain &c = chain(r, p);
      if (!strict) {
        fence(c);
        continue;
      }
      // The threads of the next launch come after those of this one. None of them has had a fence yet.
      release(c);
      std::fill_n(c.released, width, Tick(0));
      std::fill_n(c.pending, width, Tick(0));
    }
    auto spread = [&](Tick *Chain::*clock) {
      known.assign(std::size_t(width), 0);
      for (int p = 0; p < strands; ++p) raise(known.data(), chain(r, p).*clock);
      for (int i = 0; i < components() * (1 + branchWidth) && !exact; ++i) known[std::size_t(i)] = launchOf(known[std::size_t(i)]);
      std::fill_n(known.begin() + component(r, 0), each(), start);
      std::fill_n(known.begin() + components() + component(r, 0) * branchWidth, each() * branchWidth, start);
      for (int p = 0; p < strands; ++p) raise(chain(r, p).*clock, known.data());
    };
    spread(&Chain::seen);
    if (weak()) spread(&Chain::caused);
    if (relies()) spread(&Chain::passed);
    for (int p = 0; p < strands; ++p) chain(r, p).snapshot = -1;
  }
  snapshots.clear();
  noteBegin(true);
}

/// A thread goes on from chunk to chunk: it has done all of the last, and knows nothing more than before.
void Order::chunkBoundary() {
  const Tick start = startOf(launch + 1);
  for (int r = 0; r < ranks; ++r)
    for (int p = 0; p < strands; ++p) {
      Chain &c = chain(r, p);
      c.seen[component(r, p)] = start;
      for (int i = 0; i < branchWidth; ++i) c.seen[branchComponent(r, p, i)] = start;
      c.snapshot = -1;
    }
  snapshots.clear();
  noteBegin(false);
}

void Order::noteDependence() {
  const Tick begun = startOf(launch);
  for (int r = 0; r < ranks && full; ++r)
    for (int from = 0; from < ranks && full; ++from) {
      bool known = r == from;
      for (int p = 0; p < strands && !known; ++p)
        for (int q = 0; q < strands && !known; ++q) known = chain(r, p).seen[component(from, q)] >= begun;
      full = known;
    }
}

} // namespace coll::check
