#include "check/Order.h"

#include <algorithm>

namespace coll::check {

Ways Order::ways() const {
  Ways w;
  w.strands = strands, w.ranks = expansion.program->ranks;
  w.clocks = w.count = parts(), w.sent = sent();
  if (weak()) w.caused = 1, w.pending = parts() - 1;
  if (weak() || relies()) w.own = w.count++, w.ownInBranch = expansion.branches ? w.count++ : w.own;
  if (relies()) w.passed = passedPart();
  if (strict) w.released = releasedPart();
  if (llvm::any_of(expansion.program->mailboxes, [](const ir::Mailbox &box) { return Expansion::isOfOneThread(box); }))
    w.begun = w.count, w.count += w.sent;
  return w;
}

// Behind the components that events count in, each clock has a bit for each rank and way in which its strand may know of
// something at the begin: those that have come to a clock say whose knowledge has.
ChunkEffect Order::chunkEffect(const Schedule &schedule, const std::vector<int> &mailboxCopies, int ofCredits,
                               const std::vector<bool> &plainBefore) {
  copies = mailboxCopies;
  marks = ways();
  reset();
  ChunkEffect effect;
  measuredChunk = &effect, creditsUpTo = ofCredits;
  launchBegin = {0, 1, 2};
  launch = 0;
  boundary();
  launch = 1;
  beginMarks(plainBefore);
  for (const ScheduledEvent &e : schedule.events) perform(e);
  for (const Chain &c : chains) effect.leavesPlain.push_back(!c.plain.empty());
  lasts.assign(std::size_t(strands) * std::size_t(width), {});
  noteEarlier();
  noteChunkTold();
  effect.byValue = reliedOnValues;
  measuredChunk = nullptr, marks.reset();
  return effect;
}

void Order::beginMarks(const std::vector<bool> &plainBefore) {
  static const Step earlier{Step::Kind::Fence}; // whatever it was, it is not what a message of this chunk is computed from
  const auto mark = [&](Tick *clock, int rank, int way) {
    std::fill(clock + countedWidth(), clock + width, Tick(0));
    setMark(clock, rank, way);
  };
  for (std::size_t i = 0; i < chains.size(); ++i) {
    Chain &c = chains[i];
    const int rank = int(i) / strands;
    for (int part = 0; part < parts(); ++part) mark(c.seen + part * width, rank, part);
    for (int part = 0; part < sent() && marks->begun != ir::kNone; ++part)
      mark(snapshots.data() + c.begun + part * width, rank, marks->begun + part);
    c.snapshot = -1;
    if (c.passed && !plainBefore.empty() && plainBefore[i]) c.plain.push_back({&earlier, c.own, 0, 0});
  }
}

/// Who had known of something at the begin where this clock knows of it.
ChunkEffect::Knowers Order::markedIn(const Tick *clock) const {
  ChunkEffect::Knowers all(unsigned(marks->perStrand()));
  all.setBitsInMask(clock + countedWidth(), unsigned(marks->perStrand() + 31) / 32);
  return all;
}

/// Who knows of an access at the end of the chunk. Most of one strand have the same.
ChunkEffect::Knowers Order::knowersOf(int rank, int strand, int component, Tick tick) {
  Last &last = lasts[std::size_t(strand) * std::size_t(width) + std::size_t(component)];
  for (int r = 0; r < ranks && int(last.ticks.size()) < ranks * parts(); ++r)
    for (int part = 0; part < parts(); ++part) last.ticks.push_back(chain(r, strand).seen[part * width + component]);
  if (tick >= last.from && tick < last.upTo) return last.knowers;
  last.knowers = ChunkEffect::Knowers(unsigned(marks->perStrand()));
  last.from = 0, last.upTo = ~Tick(0);
  for (int r = 0, i = 0; r < ranks; ++r)
    for (int part = 0; part < parts(); ++part, ++i) {
      const Tick known = last.ticks[std::size_t(i)];
      if (known <= tick) last.from = std::max(last.from, known);
      else last.upTo = std::min(last.upTo, known), last.knowers.set(unsigned(marks->at(r, part)));
    }
  last.knowers.set(unsigned(marks->at(rank, Ways::kSeen)));
  const int own = component < components() ? marks->own : marks->ownInBranch;
  if (own != ir::kNone) last.knowers.set(unsigned(marks->at(rank, own)));
  return last.knowers;
}

void Order::noteChunkTold() {
  const unsigned all = unsigned(marks->perStrand());
  measuredChunk->tells.assign(std::size_t(strands), std::vector<ChunkEffect::Knowers>(all, ChunkEffect::Knowers(all)));
  for (int s = 0; s < strands; ++s) {
    std::vector<ChunkEffect::Knowers> &tells = measuredChunk->tells[std::size_t(s)];
    for (int r = 0; r < ranks; ++r) {
      for (int way = parts(); way < marks->count; ++way) // these last
        tells[std::size_t(marks->at(r, way))].set(unsigned(marks->at(r, way)));
      for (int part = 0; part < parts(); ++part) {
        const ChunkEffect::Knowers told = markedIn(chain(r, s).seen + part * width);
        for (const unsigned from : told.set_bits()) tells[from].set(unsigned(marks->at(r, part)));
      }
    }
  }
}

} // namespace coll::check
