#include "check/Order.h"

#include <algorithm>

namespace coll::check {

using Kind = Step::Kind;

std::optional<Order::Hazard> Order::run(const std::vector<const Schedule *> &launches,
                                        const std::vector<int> &mailboxCopies) {
  copies = mailboxCopies;
  reset();
  for (launch = 0; launch < int(launches.size()); ++launch) {
    for (const ScheduledEvent &e : launches[launch]->events) {
      perform(e);
      if (hazard) return hazard;
    }
    noteDependence();
    boundary();
  }
  return std::nullopt;
}

void Order::reset() {
  ranks = expansion.program->ranks;
  branchWidth = expansion.branches ? ranks : 0;
  width = (components() * (1 + branchWidth) + 7) / 8 * 8;
  full = true, relied = false;
  hazard.reset();
  const std::size_t each = std::size_t(width) * parts();
  clocks.assign(each * ranks * classes, Tick(1) << kShift);
  if (expansion.branches) branchStart = branchEnd = clocks;
  snapshots.clear();
  chains.assign(std::size_t(ranks) * classes, {});
  for (std::size_t i = 0; i < chains.size(); ++i) {
    Tick *begin = clocks.data() + i * each;
    auto clock = [&](bool there, int part) { return there ? begin + part * width : nullptr; };
    chains[i] = {begin,
                 clock(expansion.weak, 1),
                 clock(expansion.relies(), passedPart()),
                 clock(expansion.weak, parts() - 1),
                 component(int(i) / classes, int(i) % classes),
                 -1};
  }
  slotBase.clear();
  std::size_t total = 0;
  for (const SlotName &s : expansion.slots) {
    slotBase.push_back(total);
    total += std::size_t(copies[s.box]) * classes;
  }
  slots.clear();
  slots.resize(total);
  flags.assign(expansion.slots.size() * classes, {});
  creditLaunches = copies.empty() ? 1 : *std::max_element(copies.begin(), copies.end());
  credits.assign(expansion.credits ? std::size_t(creditLaunches) * ranks * width * parts() : 0, 0);
}

Order::Slot &Order::slot(const ScheduledEvent &e) {
  const int copy = launch % copies[expansion.boxOf(e.slot)];
  return slots[slotBase[e.slot] + std::size_t(copy) * classes + e.packets];
}

// Ticks are compared as signed numbers, and in blocks of eight, so that baseline x86-64 does it in vectors.
void Order::raise(Tick *to, const Tick *from) const {
  for (int i = 0; i < width; i += 8)
    for (int j = 0; j < 8; ++j) {
      const auto a = std::int32_t(to[i + j]), b = std::int32_t(from[i + j]);
      to[i + j] = Tick(a > b ? a : b);
    }
}

int Order::snapshot(Chain &c) {
  if (c.snapshot >= 0) return c.snapshot;
  c.snapshot = int(snapshots.size());
  snapshots.insert(snapshots.end(), c.seen, c.seen + std::size_t(width) * sent());
  return c.snapshot;
}

void Order::report(Refutation::Kind kind, const ScheduledEvent &first, int firstLaunch, const ScheduledEvent &second) {
  if (!hazard) hazard = Hazard{kind, first, second, firstLaunch, launch};
}

void Order::perform(const ScheduledEvent &e) {
  if (e.kind == Kind::Barrier) return barrier();
  if (e.kind == Kind::Credit) return credit(e);
  const int begin = e.packets == ir::kNone ? 0 : e.packets, end = e.packets == ir::kNone ? classes : e.packets + 1;
  for (int p = begin; p < end; ++p) {
    Chain &c = chain(e.rank, p);
    switch (e.kind) {
    case Kind::Send: send(e, c); break;
    case Kind::Poll:
    case Kind::Read: receive(e, c); break;
    case Kind::Clear: clear(e, c); break;
    case Kind::Fence: fence(c); break;
    case Kind::Signal: signal(e, c, p); break;
    case Kind::Await: await(e, c, p); break;
    case Kind::AwaitCredit: awaitCredit(e, c); break;
    default: branch(e, c, std::size_t(e.rank) * classes + p);
    }
  }
}

void Order::send(const ScheduledEvent &e, Chain &c) {
  Slot &s = slot(e);
  const bool remote = expansion.slots[e.slot].owner != e.rank;
  for (const Reading &r : s.readings) {
    const bool clear = r.event->kind == Kind::Clear;
    const bool plain = remote && r.causal;
    const Tick *known = !plain ? c.seen : c.passed ? c.passed : c.caused;
    relied |= plain && !clear && c.caused[r.component] <= r.tick;
    if (known[r.component] <= r.tick)
      return report(clear ? Refutation::Kind::StaleSentinel : Refutation::Kind::OverwriteBeforeRead, *r.event, r.launch,
                    e);
  }
  s.readings.clear();
  s.snapshot = snapshot(c);
  s.event = &e;
  s.component = c.own;
  s.tick = c.seen[c.own];
  if (expansion.weak) ++c.seen[c.own], c.snapshot = -1;
}

void Order::receive(const ScheduledEvent &e, Chain &c) {
  Slot &s = slot(e);
  const bool waits = e.kind == Kind::Poll;
  if (waits) {
    raise(c.seen, sentClock(s.snapshot, 0));
    if (expansion.weak) raise(c.pending, sentClock(s.snapshot, 1));
    if (c.passed) raise(c.passed, sentClock(s.snapshot, passedPart()));
  } else {
    // Data is there for sure if the same thread has waited for it, or wrote it, or if a barrier lies between.
    const bool own = expansion.slots[e.slot].owner == s.event->rank;
    bool arrived = (own ? c.seen : c.caused)[s.component] > s.tick;
    for (const Reading &r : s.readings) arrived |= r.event->kind == Kind::Poll && c.seen[r.component] > r.tick;
    if (!arrived) return report(Refutation::Kind::ReadWithoutArrival, *s.event, launch, e);
  }
  s.readings.push_back({&e, c.own, c.seen[c.own]++, launch, !waits});
  c.snapshot = -1;
}

void Order::clear(const ScheduledEvent &e, Chain &c) {
  slot(e).readings.push_back({&e, c.own, c.seen[c.own]++, launch, true});
  c.snapshot = -1;
}

// CTA c announces to CTA c of another rank what all its threads have done, so as with a barrier, what one class of
// packets knows reaches the same class there. Two ranks may use one word in different launches only if the later one
// knows of the earlier: else it passes for it, and may even be set back by it.
void Order::signal(const ScheduledEvent &e, Chain &c, int packets) {
  Flag &f = flags[std::size_t(e.slot) * classes + packets];
  if (f.event && f.event->rank != e.rank && c.caused[f.component] <= f.tick)
    return report(Refutation::Kind::ReadWithoutArrival, *f.event, f.launch, e);
  release(c);
  if (f.launch != launch) f.snapshot = snapshot(c);
  f.event = &e, f.launch = launch;
  f.component = c.own, f.tick = c.seen[c.own]++;
  c.snapshot = -1;
}

void Order::await(const ScheduledEvent &e, Chain &c, int packets) {
  const Flag &f = flags[std::size_t(e.slot) * classes + packets];
  raise(c.seen, sentClock(f.snapshot, 0));
  raise(c.caused, sentClock(f.snapshot, 1));
  if (c.passed) raise(c.passed, sentClock(f.snapshot, passedPart()));
  c.snapshot = -1;
}

Order::Tick *Order::creditOf(int launch, int rank) {
  return credits.data() + (std::size_t(launch % creditLaunches) * ranks + rank) * width * parts();
}

// Any thread of the rank may be the one that gives it, so it says what all of them know.
void Order::credit(const ScheduledEvent &e) {
  Tick *given = creditOf(launch, e.rank);
  const std::size_t each = std::size_t(width) * parts();
  std::copy_n(chain(e.rank, 0).seen, each, given);
  for (int p = 1; p < classes; ++p)
    for (std::size_t i = 0; i < each; ++i) given[i] = std::min(given[i], chain(e.rank, p).seen[i]);
  if (expansion.weak && !e.step->releases) std::fill_n(given + width, width, 0);
}

void Order::awaitCredit(const ScheduledEvent &e, Chain &c) {
  const int begun = launch - copies[e.step->box] + 1;
  if (begun < 0) return;
  const Tick *given = creditOf(begun, e.step->peer);
  const bool acquires = e.packets == ir::kNone;
  raise(c.seen, given);
  if (expansion.weak) raise(acquires ? c.caused : c.pending, given + width);
  if (c.passed) raise(c.passed, given + passedPart() * width);
  c.snapshot = -1;
}

/// What the rank did before comes before all that is sent from now on.
void Order::release(Chain &c) {
  const int number = int(&c - chains.data()), rank = number / classes, packets = number % classes;
  const int own = component(rank, packets), branches = branchComponent(rank, packets, 0);
  for (Tick *clock : {c.caused, c.passed}) {
    if (!clock) continue;
    clock[c.own] = c.seen[c.own];
    clock[own] = c.seen[own];
    if (c.own == own) std::copy_n(c.seen + branches, branchWidth, clock + branches);
  }
  c.snapshot = -1;
}

void Order::fence(Chain &c) {
  if (expansion.weak) raise(c.caused, c.pending);
  if (parts() > 1) release(c);
}

// CTA c waits for CTA c of all ranks only, so what one class of packets knows reaches the same class of the others.
void Order::barrier() {
  for (int p = 0; p < classes; ++p) {
    Chain &sum = chain(0, p);
    for (int r = 0; r < ranks; ++r) {
      Chain &c = chain(r, p);
      fence(c);
      if (r) raise(sum.seen, c.seen);
      if (r && expansion.weak) raise(sum.caused, c.caused);
      if (r && c.passed) raise(sum.passed, c.passed);
    }
    for (int r = 0; r < ranks; ++r) {
      Chain &c = chain(r, p);
      if (r) std::copy_n(sum.seen, width, c.seen);
      if (r && expansion.weak) std::copy_n(sum.caused, width, c.caused);
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
  const int rank = int(number) / classes, packets = int(number) % classes;
  c.snapshot = -1;
  if (e.kind == Kind::Branches) {
    std::copy_n(now, each, start);
    std::copy_n(now, each, end);
    return;
  }
  for (int part = 0; part < parts(); ++part) raise(end + part * width, now + part * width);
  const bool last = e.kind == Kind::BranchesEnd;
  std::copy_n(last ? end : start, each, now);
  c.own = last ? component(rank, packets) : branchComponent(rank, packets, e.slot);
}

// What a rank's packets of one class have come to know, all of them know in its next launch, as far as it concerns
// launches that have ended; of events within a launch, those of another class are told apart only if `exact`.
void Order::boundary() {
  const Tick start = Tick(launch + 2) << kShift;
  for (int r = 0; r < ranks; ++r) {
    for (int p = 0; p < classes; ++p) fence(chain(r, p));
    auto spread = [&](Tick *Chain::*clock) {
      for (int i = 0; i < components() * (1 + branchWidth); ++i) {
        Tick known = 0;
        for (int p = 0; p < classes; ++p) {
          const Tick t = (chain(r, p).*clock)[i];
          known = std::max(known, exact ? t : launchOf(t));
        }
        if (isOf(i, r)) known = start;
        for (int p = 0; p < classes; ++p) {
          Tick &t = (chain(r, p).*clock)[i];
          t = std::max(t, known);
        }
      }
    };
    spread(&Chain::seen);
    if (expansion.weak) spread(&Chain::caused);
    if (expansion.relies()) spread(&Chain::passed);
    for (int p = 0; p < classes; ++p) chain(r, p).snapshot = -1;
  }
  snapshots.clear();
}

void Order::noteDependence() {
  const Tick begun = Tick(launch + 1) << kShift;
  for (int r = 0; r < ranks && full; ++r)
    for (int from = 0; from < ranks && full; ++from) {
      bool known = r == from;
      for (int p = 0; p < classes && !known; ++p)
        for (int q = 0; q < classes && !known; ++q) known = chain(r, p).seen[component(from, q)] >= begun;
      full = known;
    }
}

} // namespace coll::check
