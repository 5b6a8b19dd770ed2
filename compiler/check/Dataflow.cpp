#include "check/Dataflow.h"

namespace coll::check {

using Kind = Step::Kind;

Dataflow::Dataflow(const Expansion &expansion, int variant, const Classes &classes, const Sizes &sizes, int alias)
    : program(*expansion.program), expansion(expansion), variant(expansion.variants[variant]), classes(classes),
      sizes(sizes), alias(alias), symbols(program) {
  slots.resize(expansion.slots.size() * classes.count());
  announcements.resize(expansion.slots.size());
  for (int r = 0; r < program.ranks; ++r) {
    storage.emplace_back(expansion, sizes, symbols, r, alias);
    Rank &rank = ranks.emplace_back();
    rank.elements.assign(program.values.size(), -1);
    rank.values.resize(program.values.size() * classes.count());
  }
}

std::optional<Refutation> Dataflow::run() {
  bool moved = true, ended = false;
  while (moved && !ended && !refutation) {
    moved = false, ended = true;
    for (int r = 0; r < program.ranks && !refutation; ++r) {
      while (!refutation && advance(r)) moved = true;
      ended &= ranks[r].at == variant.steps[r].size();
    }
  }
  if (!refutation && !ended) reportStuck();
  if (!refutation) reportLeftovers();
  if (!refutation) refutation = checkEnsures(program, variant, sizes, symbols, storage);
  if (refutation) {
    refutation->ranks = program.ranks;
    refutation->counts = {sizes.counts()};
    if (!variant.scalars.empty()) refutation->scalars = {variant.scalars};
    if (alias != ir::kNone) refutation->inplace = program.inplace[alias].first + " = " + program.inplace[alias].second;
  }
  return std::move(refutation);
}

Event Dataflow::event(int rank, const Step &step, int packets) const {
  using What = Event::What;
  Event e;
  e.rank = e.owner = rank;
  e.where = step.where;
  e.begin = classes.begin(packets);
  e.end = std::min(classes.ends[packets], std::max(e.begin, sizes.elements(step.length, step.piece)));
  switch (step.kind) {
  case Kind::Load: e.what = What::Load; break;
  case Kind::Store: e.what = What::Store; break;
  case Kind::Send: e.what = What::Send; break;
  case Kind::Poll: e.what = What::Poll; break;
  case Kind::Read: e.what = What::Read; break;
  case Kind::Clear: e.what = What::Clear; break;
  case Kind::Signal: e.what = What::Signal; break;
  case Kind::Await: e.what = What::Await; break;
  case Kind::Barrier: e.what = What::Barrier; break;
  default: break;
  }
  if (step.box != ir::kNone) e.box = step.box, e.slot = step.index, e.owner = step.peer;
  if (step.buffer != ir::kNone) {
    e.buffer = step.buffer;
    e.begin += sizes.begin(step), e.end += sizes.begin(step);
  }
  return e;
}

void Dataflow::refute(Refutation::Kind kind, Event first, Event second, std::string explanation, std::string fix) {
  if (refutation) return;
  refutation.emplace();
  refutation->kind = kind;
  refutation->first = first;
  refutation->second = second;
  refutation->explanation = std::move(explanation);
  refutation->fix = std::move(fix);
}

void Dataflow::record(Kind kind, int rank, int packets, int slot, const Step &step) {
  order.events.push_back({kind, std::int16_t(rank), std::int16_t(packets), slot, &step});
}

bool Dataflow::advance(int rank) {
  Rank &r = ranks[rank];
  const std::vector<Step> &steps = variant.steps[rank];
  if (r.at == steps.size()) return false;
  const Step &step = steps[r.at];
  switch (step.kind) {
  case Kind::Packets:
    r.packets = 0;
    // Values of no elements still have to be defined, so every loop body is gone through at least once.
    break;
  case Kind::PacketsEnd:
    if (++r.packets < classes.reach(sizes.longest(step.length)))
      r.at = std::size_t(step.partner);
    else
      r.packets = 0;
    break;
  case Kind::Branches:
  case Kind::Branch:
  case Kind::BranchesEnd: control(rank, step); break;
  case Kind::Fence: record(step.kind, rank, ir::kNone, ir::kNone, step); break;
  case Kind::Signal: signal(rank, step); break;
  case Kind::Await:
    if (!await(rank, step)) return false;
    break;
  case Kind::Credit:
    r.begun = true;
    record(step.kind, rank, ir::kNone, step.peer, step);
    break;
  case Kind::AwaitCredit:
    // With one copy it waits for the peer to begin this very launch; with more, for an earlier one.
    if (!ranks[step.peer].begun) return false;
    record(step.kind, rank, step.index ? r.packets : ir::kNone, step.peer, step);
    break;
  case Kind::Barrier: return barrier(step);
  default:
    if (!perform(rank, step)) return false;
  }
  ++r.at;
  return true;
}

void Dataflow::control(int rank, const Step &step) {
  Rank &r = ranks[rank];
  record(step.kind, rank, ir::kNone, step.index, step);
  r.branches = step.kind != Kind::BranchesEnd;
  if (r.branches) return;
  for (int s : r.deferred) slots[s].visible = true;
  for (int s : r.announced) announcements[s].visible = true;
  r.deferred.clear(), r.announced.clear();
}

bool Dataflow::barrier(const Step &step) {
  for (int r = 0; r < program.ranks; ++r) {
    const std::vector<Step> &steps = variant.steps[r];
    if (ranks[r].at == steps.size() || steps[ranks[r].at].kind != Kind::Barrier) return false;
  }
  for (Rank &r : ranks) ++r.at;
  record(Kind::Barrier, 0, ir::kNone, ir::kNone, step);
  return true;
}

/// How long the vector of an operation is, the same from all that say so.
std::optional<std::uint64_t> Dataflow::extent(int rank, const Step &step) {
  Rank &r = ranks[rank];
  const std::uint64_t n = sizes.elements(step.length, step.piece);
  for (int operand : {step.a, step.b}) {
    if (operand == ir::kNone) continue;
    // What a rank keeps for itself is only looked at in its own slot.
    if ((step.kind == Kind::Poll || step.kind == Kind::Read) && step.index != rank) continue;
    const std::int64_t has = r.elements[operand];
    const std::string name = "`" + program.values[operand].name + "`";
    if (has < 0) {
      refute(Refutation::Kind::WrongResult, event(rank, step, r.packets), {},
             name + " is used on rank " + std::to_string(rank) + " but has no value in this launch",
             "give it a value on every rank before it is used");
      return std::nullopt;
    }
    if (std::uint64_t(has) != n) {
      refute(Refutation::Kind::WrongResult, event(rank, step, r.packets), {},
             name + " has " + std::to_string(has) + " elements on rank " + std::to_string(rank) + " where " +
                 std::to_string(n) + " are used",
             "use slices of equal length");
      return std::nullopt;
    }
  }
  return n;
}

bool Dataflow::perform(int rank, const Step &step) {
  const auto n = extent(rank, step);
  if (!n) return false;
  Rank &r = ranks[rank];
  const bool reached = *n > classes.begin(r.packets);
  if (step.kind == Kind::Send) {
    if (step.value != ir::kNone && step.peer == rank) {
      r.elements[step.value] = std::int64_t(*n);
      if (reached) value(r, step.value) = value(r, step.a);
    } else if (reached) {
      send(rank, step, *n);
    }
    return true;
  }
  if (reached) {
    switch (step.kind) {
    case Kind::Load: load(rank, step, *n); break;
    case Kind::Store: store(rank, step, *n); break;
    case Kind::Clear: clear(rank, step); break;
    case Kind::Poll:
    case Kind::Read:
      if (!receive(rank, step, *n)) return false;
      break;
    default: operate(rank, step);
    }
  }
  if (step.value != ir::kNone) r.elements[step.value] = std::int64_t(*n);
  return !refutation;
}

void Dataflow::load(int rank, const Step &step, std::uint64_t n) {
  Rank &r = ranks[rank];
  const std::uint64_t base = sizes.begin(step);
  if (base + n > storage[rank].size(step.buffer))
    return refute(Refutation::Kind::WrongResult, event(rank, step, r.packets), {},
                  "`" + program.buffers[step.buffer].name + "` is read past its end", "");
  const std::uint64_t begin = classes.begin(r.packets), end = std::min(n, classes.ends[r.packets]);
  conflict(rank, storage[rank].load(step, base, begin, end, value(r, step.value)));
}

void Dataflow::store(int rank, const Step &step, std::uint64_t n) {
  Rank &r = ranks[rank];
  const std::uint64_t base = sizes.begin(step);
  if (base + n > storage[rank].size(step.buffer))
    return refute(Refutation::Kind::WrongResult, event(rank, step, r.packets), {},
                  "`" + program.buffers[step.buffer].name + "` is written past its end", "");
  const std::uint64_t begin = classes.begin(r.packets), end = std::min(n, classes.ends[r.packets]);
  conflict(rank, storage[rank].store(step, base, begin, end, value(r, step.a)));
}

void Dataflow::conflict(int rank, const Storage::Conflict &c) {
  if (!c.later) return;
  Event first = event(rank, *c.earlier, 0), second = event(rank, *c.later, 0);
  first.begin = second.begin = c.begin, first.end = second.end = c.end;
  const std::string a = "`" + program.buffers[c.earlier->buffer].name + "`";
  const std::string b = "`" + program.buffers[c.later->buffer].name + "`";
  const bool stores = c.earlier->kind == Kind::Store && c.later->kind == Kind::Store;
  const bool inplace = c.earlier->buffer != c.later->buffer;
  std::string text;
  if (c.sameThread) {
    text = b + " is read after " + a + ", which is the same memory, has been overwritten";
  } else if (stores) {
    text = "two threads write the same elements of " + b + ", and either may be the last";
  } else {
    const bool read = c.later->kind == Kind::Load;
    text = "one thread " + std::string(read ? "reads " : "overwrites ") + b + " where another " +
           (read ? "writes " : "reads ") + a + (inplace ? ", the same memory" : "") +
           ", and nothing orders the two within a launch";
  }
  refute(inplace ? Refutation::Kind::InplaceHazard : Refutation::Kind::WrongResult, first, second, std::move(text),
         inplace ? "read all of " + (c.earlier->kind == Kind::Load ? a : b) +
                       " before the first write to it, slice by slice alike, or declare the algorithm `outofplace`"
                 : "keep the value in a `let` instead of going through " + b);
}

void Dataflow::send(int rank, const Step &step, std::uint64_t n) {
  Rank &r = ranks[rank];
  Slot &s = slot(step.slot, r.packets);
  if (s.sender) {
    Event first = event(s.from, *s.sender, r.packets);
    return refute(Refutation::Kind::OverwriteBeforeRead, first, event(rank, step, r.packets),
                  slotText(expansion, step.slot) + " is written twice in one launch, by rank " +
                      std::to_string(s.from) + " and by rank " + std::to_string(rank) +
                      ", and its reader cannot tell which it gets",
                  "give every send of a launch its own slot");
  }
  if (n > sizes.longest(step.room))
    return refute(Refutation::Kind::MailboxTooSmall, event(rank, step, r.packets), {},
                  std::to_string(n) + " elements are sent to " + slotText(expansion, step.slot) +
                      ", which has room for " + std::to_string(sizes.longest(step.room)),
                  "declare the mailbox for the longest vector that is sent to it");
  if (s.cleared) return lost(step.slot, *s.cleared, rank, step, r.packets);
  s.sender = &step;
  s.from = rank;
  s.visible = !r.branches;
  s.elements = n;
  s.content = value(r, step.a);
  if (r.branches) r.deferred.push_back(int(&s - slots.data()));
  record(step.kind, rank, r.packets, step.slot, step);
}

bool Dataflow::receive(int rank, const Step &step, std::uint64_t n) {
  Rank &r = ranks[rank];
  if (step.a != ir::kNone && step.index == rank) {
    value(r, step.value) = value(r, step.a);
    return true;
  }
  Slot &s = slot(step.slot, r.packets);
  if (!s.sender || !s.visible) return false;
  if (s.cleared) {
    refute(Refutation::Kind::Deadlock, event(rank, *s.cleared, r.packets), event(rank, step, r.packets),
           slotText(expansion, step.slot) + " is read again after it has been cleared, and nothing more is sent to it",
           "clear the slot after its last read");
    return false;
  }
  if (s.elements != n) {
    refute(Refutation::Kind::WrongResult, event(s.from, *s.sender, r.packets), event(rank, step, r.packets),
           "rank " + std::to_string(s.from) + " sends " + std::to_string(s.elements) + " elements to " +
               slotText(expansion, step.slot) + ", where " + std::to_string(n) + " are read",
           "read what is sent: the same slice, seen from the other end");
    return false;
  }
  s.reader = &step;
  value(r, step.value) = s.content;
  record(step.kind, rank, r.packets, step.slot, step);
  return true;
}

void Dataflow::lost(int slot, const Step &clear, int from, const Step &sender, int packets) {
  refute(Refutation::Kind::StaleSentinel, event(expansion.slots[slot].owner, clear, packets),
         event(from, sender, packets),
         slotText(expansion, slot) + " is cleared while rank " + std::to_string(from) +
             " may be sending to it, so what it sends may be lost",
         "clear the slot after it has been read");
}

void Dataflow::clear(int rank, const Step &step) {
  Rank &r = ranks[rank];
  Slot &s = slot(step.slot, r.packets);
  if (s.sender && !s.reader) return lost(step.slot, step, s.from, *s.sender, r.packets);
  s.cleared = &step;
  record(step.kind, rank, r.packets, step.slot, step);
}

void Dataflow::signal(int rank, const Step &step) {
  Rank &r = ranks[rank];
  Announcement &a = announcements[step.slot];
  if (a.signal && a.from != rank)
    return refute(Refutation::Kind::ReadWithoutArrival, event(a.from, *a.signal, 0), event(rank, step, 0),
                  slotText(expansion, step.slot) + " is announced by rank " + std::to_string(a.from) + " and by rank " +
                      std::to_string(rank) + " in one launch, and its reader cannot tell whose data has arrived",
                  "give every sender of a launch its own slot");
  if (!a.signal) {
    a = {&step, rank, !r.branches};
    if (r.branches) r.announced.push_back(step.slot);
  }
  record(step.kind, rank, ir::kNone, step.slot, step);
}

bool Dataflow::await(int rank, const Step &step) {
  const Announcement &a = announcements[step.slot];
  if (!a.signal || !a.visible) return false;
  record(step.kind, rank, ir::kNone, step.slot, step);
  return true;
}

void Dataflow::operate(int rank, const Step &step) {
  Rank &r = ranks[rank];
  if (step.kind == Kind::Fold && step.first) {
    value(r, step.value) = value(r, step.a);
    return;
  }
  const bool fold = step.kind == Kind::Fold;
  symbols.combine(step.op, value(r, fold ? step.value : step.a), value(r, fold ? step.a : step.b), scratch);
  std::swap(value(r, step.value), scratch);
}

} // namespace coll::check
