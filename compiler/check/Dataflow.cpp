#include "check/Dataflow.h"

#include "ast/Type.h"

#include <numeric>

namespace coll::check {

using Kind = Step::Kind;

void Dataflow::Mail::empty() {
  for (int s : used) {
    Slot &slot = slots[s];
    slot.sender = slot.reader = slot.cleared = nullptr;
    slot.visible = false;
    slot.content.clear(), slot.added.clear();
  }
  for (int a : announced) announcements[a] = {};
  used.clear(), announced.clear();
}

Dataflow::Dataflow(const Expansion &expansion, int variant, const Classes &classes, const Sizes &sizes, int alias,
                   Mail &mail, bool strict, bool acquiring)
    : program(*expansion.program), expansion(expansion), variant(expansion.variants[variant]), classes(classes),
      sizes(sizes), alias(alias), acquiring(acquiring), symbols(program), causality(program.ranks, classes.count()),
      fetches(expansion, this->variant, classes.count(), !strict && expansion.reaches && expansion.polls), mail(mail) {
  mail.empty();
  mail.slots.resize(std::max(mail.slots.size(), mail.count * classes.count()));
  order.upTo.resize(std::size_t(classes.count()));
  std::iota(order.upTo.begin(), order.upTo.end(), 1);
  for (int r = 0; r < program.ranks; ++r) {
    storage.emplace_back(expansion, sizes, symbols, r, alias);
    Rank &rank = ranks.emplace_back();
    rank.elements.assign(program.values.size(), -1);
    rank.pieces.assign(program.values.size(), 0);
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
  if (!refutation) reportUnfinished();
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
    e.buffer = step.buffer, e.owner = step.peer;
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
  const int map = packets == ir::kNone ? 0 : ranks[rank].map;
  order.events.push_back({kind, std::int16_t(rank), std::int16_t(packets), slot, &step, std::int16_t(map)});
}

/// Something that is done for all packets.
void Dataflow::comeToPlace(Rank &r, int least) {
  inTurn &= !r.inLoop;
  r.place = std::max(r.place + 1, least);
}

/// Of the packets of a class, if it is done in a loop.
void Dataflow::learnFrom(Rank &r, int place) {
  if (r.inLoop) inTurn &= place <= r.place;
  else r.place = std::max(r.place, place);
}

bool Dataflow::advance(int rank) {
  Rank &r = ranks[rank];
  const std::vector<Step> &steps = variant.steps[rank];
  if (r.at == steps.size()) return false;
  const Step &step = steps[r.at];
  switch (step.kind) {
  case Kind::Packets:
    r.packets = 0, r.map = step.number;
    r.inLoop = true, ++r.place;
    r.idle = classes.reach(sizes.longest(step.length)) == 0;
    // Values of no elements still have to be defined, so every loop body is gone through at least once.
    break;
  case Kind::PacketsEnd:
    if (++r.packets < classes.reach(sizes.longest(step.length)))
      r.at = std::size_t(step.partner);
    else
      r.packets = 0, r.inLoop = r.idle = false;
    break;
  case Kind::Branches:
  case Kind::Branch:
  case Kind::BranchesEnd: control(rank, step); break;
  case Kind::Fence:
    if (r.idle) break;
    comeToPlace(r);
    record(step.kind, rank, r.inLoop ? r.packets : ir::kNone, ir::kNone, step);
    break;
  case Kind::Signal:
    comeToPlace(r);
    signal(rank, step);
    break;
  case Kind::Await:
    if (!await(rank, step)) return false;
    break;
  case Kind::Credit:
    comeToPlace(r);
    r.begun = true, r.credited = r.place;
    record(step.kind, rank, ir::kNone, step.peer, step);
    break;
  case Kind::AwaitCredit:
    // With one copy it waits for the peer to begin this very launch; with more, for an earlier one.
    if (r.idle) break; // no thread is there
    if (!ranks[step.peer].begun) return false;
    if (!step.index) comeToPlace(r);
    learnFrom(r, ranks[step.peer].credited);
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
  comeToPlace(r);
  record(step.kind, rank, ir::kNone, step.index, step);
  r.branches = step.kind != Kind::BranchesEnd;
  if (r.branches) return;
  for (int s : r.deferred) mail.slots[s].visible = true, mail.slots[s].place = r.place;
  for (int s : r.announced) mail.announcements[s].visible = true, mail.announcements[s].place = r.place;
  r.deferred.clear(), r.announced.clear();
}

bool Dataflow::barrier(const Step &step) {
  for (int r = 0; r < program.ranks; ++r) {
    const std::vector<Step> &steps = variant.steps[r];
    if (ranks[r].at == steps.size()) return false;
    const Step &there = steps[ranks[r].at];
    if (there.kind != Kind::Barrier || there.index != step.index) return false;
  }
  int place = 0;
  for (const Rank &r : ranks) place = std::max(place, r.place);
  for (Rank &r : ranks) ++r.at, comeToPlace(r, place + 1);
  if (expansion.reaches) causality.barrier();
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
    if (program.values[operand].spread == ir::Spread::Everywhere || program.values[operand].everyRow) continue; // as long as there is need
    const std::int64_t has = r.elements[operand];
    const bool pieces = expansion.lengths[step.length].kind == ir::Length::Kind::Piece;
    if (has >= 0 && std::uint64_t(has) == n) continue;
    const std::string name = "`" + program.values[operand].name + "`";
    if (has < 0) {
      refute(Refutation::Kind::WrongResult, event(rank, step, r.packets), {},
             name + " is used on rank " + std::to_string(rank) + " but has no value in this launch",
             "give it a value on every rank before it is used");
      return std::nullopt;
    }
    if (pieces && r.pieces[operand] != step.piece) {
      refute(Refutation::Kind::WrongResult, event(rank, step, r.packets), {},
             name + " is piece " + std::to_string(r.pieces[operand]) + " on rank " + std::to_string(rank) + " where piece " +
                 std::to_string(step.piece) + " is used, and pieces may differ in length",
             "use pieces of the same number together");
      return std::nullopt;
    }
    refute(Refutation::Kind::WrongResult, event(rank, step, r.packets), {},
           name + " has " + std::to_string(has) + " elements on rank " + std::to_string(rank) + " where " +
               std::to_string(n) + " are used",
           "use slices of equal length");
    return std::nullopt;
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
      r.elements[step.value] = std::int64_t(*n), r.pieces[step.value] = step.piece;
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
    case Kind::StoreCount: storeCount(rank, step); break;
    case Kind::Clear: clear(rank, step); break;
    case Kind::Poll:
    case Kind::Read:
      if (!receive(rank, step, *n)) return false;
      break;
    default: operate(rank, step);
    }
  }
  if (step.value != ir::kNone) r.elements[step.value] = std::int64_t(*n), r.pieces[step.value] = step.piece;
  return !refutation;
}

void Dataflow::load(int rank, const Step &step, std::uint64_t n) {
  Rank &r = ranks[rank];
  if (step.everyRow) return loadRow(rank, step);
  if (step.perRow) {
    loadColumn(rank, step);
    if (step.counts != ir::kNone && !refutation) cut(rank, step);
    return;
  }
  const std::uint64_t base = sizes.begin(step);
  if (base + n > storage[step.peer].size(step.buffer))
    return refute(Refutation::Kind::WrongResult, event(rank, step, r.packets), {},
                  "`" + program.buffers[step.buffer].name + "` is read past its end", "");
  const std::uint64_t begin = classes.begin(r.packets), end = std::min(n, classes.ends[r.packets]);
  const Storage::Accessor by{causality, rank, r.packets};
  touch(rank, step);
  conflict(rank, storage[step.peer].load(step, by, base, begin, end, value(r, step.value)));
  if (step.counts != ir::kNone) cut(rank, step);
}

/// Only as much has been loaded as an element of an input says.
void Dataflow::cut(int rank, const Step &step) {
  Rank &r = ranks[rank];
  const auto element = std::uint64_t(step.detail);
  if (step.detail < 0 || element >= storage[rank].size(step.counts))
    return refute(Refutation::Kind::WrongResult, event(rank, step, r.packets), {},
                  "`" + program.buffers[step.counts].name + "` is read past its end", "");
  value(r, step.value) = symbols.prefix(value(r, step.value), symbols.input(rank, step.counts), step.detail, step.countsRows);
}

/// The thread of packet 0 does it, whose message it is.
void Dataflow::storeCount(int rank, const Step &step) {
  Rank &r = ranks[rank];
  if (r.packets != 0) return;
  const auto count = symbols.countOf(value(r, step.a).front().node);
  if (!count)
    return refute(Refutation::Kind::WrongResult, event(rank, step, r.packets), {},
                  "the message that this is the length of is a whole vector, and no number of an input says so",
                  program.isOfRows(step.a) ? "send `prefix_rows(m, n)`" : "send `prefix(v, n)`");
  const auto element = std::uint64_t(step.number);
  if (element >= storage[rank].size(step.buffer))
    return refute(Refutation::Kind::WrongResult, event(rank, step, r.packets), {},
                  "`" + program.buffers[step.buffer].name + "` is written past its end", "");
  conflict(rank, storage[rank].store(step, {causality, rank, r.packets}, element, 0, 1, {*count}));
}

/// Every thread reads some of the row, whichever packets of the matrix it has.
void Dataflow::loadRow(int rank, const Step &step) {
  Rank &r = ranks[rank];
  const std::uint64_t length = sizes.longest(step.rows);
  if (length != storage[rank].size(step.buffer))
    return refute(Refutation::Kind::WrongResult, event(rank, step, r.packets), {},
                  "`" + program.buffers[step.buffer].name + "` is no row of the matrix", "");
  conflict(rank, storage[rank].load(step, {causality, rank, r.packets}, 0, 0, length, scratch, true));
  if (scratch.size() != 1)
    return refute(Refutation::Kind::WrongResult, event(rank, step, r.packets), {},
                  "`" + program.buffers[step.buffer].name + "` is read as a row after parts of it were written", "");
  const Segment row = scratch.front();
  Segment all = symbols.apply(Symbols::kEveryRow, {classes.begin(r.packets), classes.ends[r.packets], row.node, 0}, row.shift);
  value(r, step.value).assign(1, all);
}

/// The same of a number for each row, which all threads of the row read.
void Dataflow::loadColumn(int rank, const Step &step) {
  Rank &r = ranks[rank];
  const std::uint64_t begin = sizes.begin(step), n = sizes.elements(step.rows, step.number);
  const std::string name = "`" + program.buffers[step.buffer].name + "`";
  if (begin + n > storage[step.peer].size(step.buffer))
    return refute(Refutation::Kind::WrongResult, event(rank, step, r.packets), {}, name + " has not one element for each row", "");
  touch(rank, step);
  const auto known = step.settles ? r.numbers.find(&step) : r.numbers.end();
  if (known == r.numbers.end()) {
    conflict(rank, storage[step.peer].load(step, {causality, rank, r.packets}, begin, 0, n, scratch, !step.settles));
    if (scratch.size() != 1)
      return refute(Refutation::Kind::WrongResult, event(rank, step, r.packets), {},
                    name + " is read along rows after parts of it were written", "");
    if (step.settles) r.numbers[&step] = scratch.front();
  }
  const Segment column = known == r.numbers.end() ? scratch.front() : known->second;
  Segment all = symbols.alongRows(column.node, column.shift - std::int64_t(sizes.pieceBegin(step.rows, step.piece)));
  all.begin = classes.begin(r.packets), all.end = classes.ends[r.packets];
  if (!symbols.hasNoPlace(all.node)) all.shift += std::int64_t(sizes.pieceBegin(step.length, step.piece));
  value(r, step.value).assign(1, all);
}

/// What is constant along a row goes to one element for it, which one of the row's threads stores.
void Dataflow::storeRows(int rank, const Step &step) {
  Rank &r = ranks[rank];
  const Content &of = value(r, step.a);
  const std::uint64_t begin = sizes.begin(step), n = sizes.elements(step.rows, step.number);
  if (step.isSlice ? begin + n > storage[step.peer].size(step.buffer) : n != storage[step.peer].size(step.buffer))
    return refute(Refutation::Kind::WrongResult, event(rank, step, r.packets), {},
                  "`" + program.buffers[step.buffer].name + "` has not one element for each row", "");
  if (n == 0) return;
  const Segment first = of.front();
  const std::int64_t shift = first.shift - std::int64_t(sizes.pieceBegin(step.length, step.piece));
  const Segment number = symbols.ofRows(first.node, shift);
  const Segment rows{0, n, number.node, number.shift + std::int64_t(sizes.pieceBegin(step.rows, step.number))};
  const auto [stored, isFirst] = r.numbers.try_emplace(&step, rows);
  if (of.size() == 1 && isFirst) {
    touch(rank, step);
    return conflict(rank, storage[step.peer].store(step, {causality, rank, r.packets}, begin, 0, n, {rows}));
  }
  if (of.size() != 1 || stored->second.node != rows.node || stored->second.shift != rows.shift)
    refute(Refutation::Kind::WrongResult, event(rank, step, r.packets), {},
           "the elements of a row differ in what goes to `" + program.buffers[step.buffer].name + "`", "");
}

void Dataflow::store(int rank, const Step &step, std::uint64_t n) {
  Rank &r = ranks[rank];
  if (step.perRow) return storeRows(rank, step);
  const std::uint64_t base = sizes.begin(step);
  if (base + n > storage[step.peer].size(step.buffer))
    return refute(Refutation::Kind::WrongResult, event(rank, step, r.packets), {},
                  "`" + program.buffers[step.buffer].name + "` is written past its end", "");
  const std::uint64_t begin = classes.begin(r.packets), end = std::min(n, classes.ends[r.packets]);
  const Storage::Accessor by{causality, rank, r.packets, &fetches, r.map};
  touch(rank, step);
  conflict(rank, storage[step.peer].store(step, by, base, begin, end, value(r, step.a)));
}

void Dataflow::send(int rank, const Step &step, std::uint64_t n) {
  Rank &r = ranks[rank];
  Slot &s = slot(step.slot, r.packets);
  if (s.sender && expansion.adds(step.slot) && s.elements == n && !llvm::is_contained(s.added, rank))
    return add(rank, step, s);
  if (s.sender) {
    Event first = event(s.from, *s.sender, r.packets);
    return refute(Refutation::Kind::OverwriteBeforeRead, first, event(rank, step, r.packets),
                  slotText(expansion, step.slot) + " is written twice in one launch, by rank " +
                      std::to_string(s.from) + (s.from == rank ? "" : " and by rank " + std::to_string(rank)) +
                      ", and its reader cannot tell which it gets",
                  s.from == rank ? "give every send of a launch its own slot"
                                 : "give every sender a slot of its own, as in `p." +
                                       expansion.program->mailboxes[step.box].name + "[me]`");
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
  s.place = r.place;
  s.elements = n;
  s.content = value(r, step.a);
  if (expansion.adds(step.slot)) s.added.assign(1, rank), s.parts.assign(1, {rank, s.content});
  if (acquiring) s.released = causality.release(rank);
  s.told = fetches.toldBy({rank, r.map, r.packets}, step);
  mail.used.push_back(int(&s - mail.slots.data()));
  if (r.branches) r.deferred.push_back(mail.used.back());
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
  // A look at a line counts; who reads without one has waited for the count before.
  if (step.kind == Kind::Poll && expansion.adds(step.slot) && int(s.added.size()) < program.ranks) return false;
  if (s.cleared) {
    refute(Refutation::Kind::Deadlock, event(rank, *s.cleared, r.packets), event(rank, step, r.packets),
           slotText(expansion, step.slot) + " is read again after it has been cleared, and nothing more is sent to it",
           "read the slot once, and name what is read by `let`");
    return false;
  }
  if (s.elements != n) {
    refute(Refutation::Kind::WrongResult, event(s.from, *s.sender, r.packets), event(rank, step, r.packets),
           "rank " + std::to_string(s.from) + " sends " + std::to_string(s.elements) + " elements to " +
               slotText(expansion, step.slot) + ", where " + std::to_string(n) + " are read",
           "read what is sent: the same slice, seen from the other end");
    return false;
  }
  learnFrom(r, s.place);
  if (expansion.adds(step.slot) && !s.reader) sumUp(s, step.slot);
  if (acquiring && step.kind == Kind::Poll && !s.released.empty()) causality.acquire(rank, s.released);
  if (step.kind == Kind::Poll) fetches.learn({rank, r.map, r.packets}, step, s.told);
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
  if (step.number > 0) return record(step.kind, rank, r.packets, step.slot, step); // of an earlier launch: see Order
  Slot &s = slot(step.slot, r.packets);
  if (s.sender && !s.reader) return lost(step.slot, step, s.from, *s.sender, r.packets);
  s.cleared = &step;
  mail.used.push_back(int(&s - mail.slots.data()));
  record(step.kind, rank, r.packets, step.slot, step);
}

void Dataflow::signal(int rank, const Step &step) {
  Rank &r = ranks[rank];
  Announcement &a = mail.announcements[step.slot];
  if (expansion.adds(step.slot)) return count(rank, step);
  if (a.signal && a.from != rank)
    return refute(Refutation::Kind::ReadWithoutArrival, event(a.from, *a.signal, 0), event(rank, step, 0),
                  slotText(expansion, step.slot) + " is announced by rank " + std::to_string(a.from) + " and by rank " +
                      std::to_string(rank) + " in one launch, and its reader cannot tell whose data has arrived",
                  "give every sender of a launch its own slot");
  if (!a.signal) {
    a = {&step, rank, !r.branches, r.place, expansion.reaches ? causality.release(rank) : Causality::Snapshot(), {}};
    mail.announced.push_back(step.slot);
    if (r.branches) r.announced.push_back(step.slot);
  }
  record(step.kind, rank, ir::kNone, step.slot, step);
}

bool Dataflow::await(int rank, const Step &step) {
  const Announcement &a = mail.announcements[step.slot];
  if (!a.signal || !a.visible) return false;
  if (expansion.adds(step.slot) && int(a.counted.size()) < program.ranks) return false;
  comeToPlace(ranks[rank], a.place);
  if (expansion.reaches) causality.acquire(rank, a.released);
  record(step.kind, rank, ir::kNone, step.slot, step);
  return true;
}

void Dataflow::operate(int rank, const Step &step) {
  Rank &r = ranks[rank];
  if (step.kind == Kind::Fold && step.first) {
    value(r, step.value) = value(r, step.a);
    return;
  }
  if (step.kind == Kind::Number) {
    value(r, step.value) = symbols.everywhere(Symbols::Code(step.code), step.detail);
    return;
  }
  if (step.kind == Kind::Mean) {
    symbols.mean(value(r, step.a), scratch);
    std::swap(value(r, step.value), scratch);
    return;
  }
  if (step.kind == Kind::AnyOrder) return symbols.anyOrder(value(r, step.value), step.op, step.number);
  if (step.kind == Kind::Map || step.kind == Kind::Round || step.kind == Kind::RowReduce) {
    if (step.kind == Kind::Map)
      symbols.map(step.function, value(r, step.a), step.b == ir::kNone ? nullptr : &value(r, step.b), step.from, step.type, scratch);
    else if (step.kind == Kind::Round)
      symbols.map(ir::Function::Convert, value(r, step.a), nullptr, ast::accumulatorOf(step.type), step.type, scratch);
    else
      symbols.apply(step.code, value(r, step.a), scratch, step.detail);
    std::swap(value(r, step.value), scratch);
    return;
  }
  const bool fold = step.kind == Kind::Fold;
  symbols.combine(step.op, value(r, fold ? step.value : step.a), value(r, fold ? step.a : step.b), scratch);
  std::swap(value(r, step.value), scratch);
}

} // namespace coll::check
