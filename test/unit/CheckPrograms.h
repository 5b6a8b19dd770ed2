// Right programs for the checker, each with switches that break it in one way: what a test refutes differs from what it
// proves by that switch alone.
#pragma once

#include "ProgramBuilder.h"

namespace coll::ir::testing {

struct OneShot {
  int ranks = 4;
  int copies = 0;
  Sync sync = Sync::LL;
  bool packets = true; ///< in a packet loop, own vector kept, as lowered; else as built from the text
  bool barrier = false;
  bool barrierAfter = false; ///< another one, after the reads
  bool skipRankZero = false;
  bool addOwnTwice = false;
  bool storeOwn = false; ///< the own vector instead of the sum
  bool noStore = false;
  bool ownUndefined = false;
  bool otherSlot = false; ///< sends to slot me + 1
  bool allToSlotZero = false;
  bool inPlace = true;
};

/// forall p: x -> p.box[me]; y = reduce(sum, r: box[r])
inline Program oneShot(const OneShot &o) {
  ProgramBuilder b(o.ranks);
  const Length full = whole({"M"});
  const BufferId x = b.in("x", {"M"}), y = b.out("y", {"M"});
  const MailboxId box = b.box("box", num(o.ranks), full, o.copies, o.sync);
  const ValueId v = b.value("x", full), got = b.value("box", full), s = b.value("s", full);
  const ValueId own = o.packets ? b.value("own", full) : kNone;
  const ValueId twice = b.value("twice", full);
  const Index slot = o.allToSlotZero ? num(0) : o.otherSlot ? Index::mod(Index::add(me(), num(1)), num(o.ranks)) : me();
  b.ensuresReduction(b.all(y), b.all(x));
  if (o.inPlace) b.inplace(b.all(y), b.all(x), "y", "x");

  Block phase1 = block(b.load(v, b.all(x)));
  const Index peer =
      o.ownUndefined ? Index::mod(Index::add(Index::max(var("p"), num(1)), me()), num(o.ranks)) : var("p");
  if (o.ownUndefined)
    phase1.push_back(b.send(v, Index::mod(Index::add(me(), num(1)), num(o.ranks)), box, me(), own));
  else
    phase1.push_back(b.forRanks("p", block(b.send(v, peer, box, slot, own))));
  const Index from = o.skipRankZero ? Index::max(var("r"), num(1)) : o.allToSlotZero ? num(0) : var("r");
  auto receive = o.sync == Sync::LL || o.sync == Sync::LL16 || o.sync == Sync::LL128 ? b.poll(got, box, from, own) : b.read(got, box, from, own);
  Block phase2 = block(b.reduce(s, "r", block(receive), got));
  ValueId result = s;
  if (o.addOwnTwice) phase2.push_back(b.combine(twice, s, v)), result = twice;
  if (o.storeOwn) result = v;
  if (!o.noStore) phase2.push_back(b.store(b.all(y), result));

  Block body;
  auto put = [&](Block phase) {
    if (o.packets) return body.push_back(b.packets(full, std::move(phase)));
    for (Stmt &stmt : phase) body.push_back(std::move(stmt));
  };
  if (o.barrier) {
    put(std::move(phase1));
    body.push_back(b.barrier());
    put(std::move(phase2));
    if (o.barrierAfter) body.push_back(b.barrier());
  } else {
    for (Stmt &stmt : phase2) phase1.push_back(std::move(stmt));
    put(std::move(phase1));
  }
  return b.finish(std::move(body));
}

struct TwoShot {
  int ranks = 4;
  int copies = 0;
  Sync sync = Sync::LL;
  int loops = 1;            ///< packet loops that the phases are spread over; 0: none
  bool storeNext = false;   ///< stores piece r of the gathered ones as piece r + 1
  bool gatherFirst = false; ///< waits for the gathered pieces before the own one is sent
  bool inPlace = true;
};

/// X, Y = split; forall p: X[p] -> p.rs[me]; let s = reduce(sum, r: rs[r]); forall p: s -> p.ag[me];
/// forall r: Y[r] = ag[r]
inline Program twoShot(const TwoShot &o) {
  ProgramBuilder b(o.ranks);
  const BufferId x = b.in("x", {"M"}), y = b.out("y", {"M"});
  const std::vector<std::string> M = {"M"};
  const MailboxId rs = b.box("rs", num(o.ranks), piece(M, me()), o.copies, o.sync);
  const MailboxId ag = b.box("ag", num(o.ranks), piece(M, var("slot")), o.copies, o.sync);
  const ValueId v = b.value("X", piece(M, var("p"))), own = b.value("own", piece(M, me()));
  const ValueId got = b.value("rs", piece(M, me())), s = b.value("s", piece(M, me()));
  const ValueId ownSum = b.value("ownSum", piece(M, me())), part = b.value("ag", piece(M, var("g")));
  b.ensuresReduction(b.all(y), b.all(x));
  if (o.inPlace) b.inplace(b.all(y), b.all(x), "y", "x");

  Block scatter = block(b.forRanks("p", block(b.load(v, b.pieceOf(x, var("p"))), b.send(v, var("p"), rs, me(), own))),
                        b.reduce(s, "r", block(b.poll(got, rs, var("r"), own)), got));
  Stmt push = b.forRanks("q", block(b.send(s, var("q"), ag, me(), o.gatherFirst ? kNone : ownSum)));
  const Index to = o.storeNext ? Index::mod(Index::add(var("g"), num(1)), num(o.ranks)) : var("g");
  Stmt gather = b.forRanks(
      "g", block(b.poll(part, ag, var("g"), o.gatherFirst ? kNone : ownSum), b.store(b.pieceOf(y, to), part)));
  Block gatherAll = o.gatherFirst ? block(gather, push) : block(push, gather);

  const Length domain = piece(M, num(0));
  Block body;
  if (o.loops == 2) {
    body = block(b.packets(domain, scatter), b.packets(domain, gatherAll));
  } else {
    for (Stmt &stmt : gatherAll) scatter.push_back(std::move(stmt));
    body = o.loops ? block(b.packets(domain, std::move(scatter))) : std::move(scatter);
  }
  return b.finish(std::move(body));
}

struct Rows {
  int ranks = 4;
  int copies = 0;
  Sync sync = Sync::LL;
  bool inPlace = true;
};

/// forall p: x -> p.box[me]; forall r: y[r] = box[r]
inline Program allGather(const Rows &o) {
  ProgramBuilder b(o.ranks);
  const BufferId x = b.in("x", {"M"}), y = b.out("y", {"N", "M"});
  const MailboxId box = b.box("box", num(o.ranks), whole({"M"}), o.copies);
  const ValueId v = b.value("x", whole({"M"})), own = b.value("own", whole({"M"})), got = b.value("box", row({"M"}));
  b.ensuresCopy(b.rowOf(y, var("r")), b.all(x), var("r"), "r");
  if (o.inPlace) b.inplace(b.rowOf(y, me()), b.all(x), "x", "y[me]");
  return b.finish(block(
      b.packets(whole({"M"}),
                block(b.load(v, b.all(x)), b.forRanks("p", block(b.send(v, var("p"), box, me(), own))),
                      b.forRanks("g", block(b.poll(got, box, var("g"), own), b.store(b.rowOf(y, var("g")), got)))))));
}

/// forall p: x[p] -> p.box[me]; forall r: y[r] = box[r]
inline Program allToAll(const Rows &o) {
  ProgramBuilder b(o.ranks);
  const BufferId x = b.in("x", {"N", "M"}), y = b.out("y", {"N", "M"});
  const MailboxId box = b.box("box", num(o.ranks), row({"M"}), o.copies);
  const ValueId v = b.value("x", row({"M"})), own = b.value("own", row({"M"})), got = b.value("box", row({"M"}));
  b.ensuresCopy(b.rowOf(y, var("r")), b.rowOf(x, me()), var("r"), "r");
  if (o.inPlace) b.inplace(b.all(y), b.all(x), "y", "x");
  return b.finish(block(b.packets(
      row({"M"}), block(b.forRanks("p", block(b.load(v, b.rowOf(x, var("p"))), b.send(v, var("p"), box, me(), own))),
                        b.forRanks("g", block(b.poll(got, box, var("g"), own), b.store(b.rowOf(y, var("g")), got)))))));
}

/// forall p: x[p] -> p.box[me]; y = reduce(sum, r: box[r]), with rows
inline Program reduceScatter(const Rows &o) {
  ProgramBuilder b(o.ranks);
  const BufferId x = b.in("x", {"N", "M"}), y = b.out("y", {"M"});
  const MailboxId box = b.box("box", num(o.ranks), row({"M"}), o.copies);
  const ValueId v = b.value("x", row({"M"})), own = b.value("own", row({"M"})), got = b.value("box", row({"M"}));
  const ValueId s = b.value("s", row({"M"}));
  b.ensuresReduction(b.all(y), b.rowOf(x, me()));
  if (o.inPlace) b.inplace(b.all(y), b.rowOf(x, me()), "y", "x[me]");
  return b.finish(block(b.packets(
      row({"M"}), block(b.forRanks("p", block(b.load(v, b.rowOf(x, var("p"))), b.send(v, var("p"), box, me(), own))),
                        b.reduce(s, "r", block(b.poll(got, box, var("r"), own)), got), b.store(b.all(y), s)))));
}

/// The same with pieces of one vector: with few elements, only the first ranks receive anything.
inline Program reduceScatterPieces(const Rows &o) {
  ProgramBuilder b(o.ranks);
  const std::vector<std::string> M = {"M"};
  const BufferId x = b.in("x", M), y = b.out("y", M);
  const MailboxId box = b.box("box", num(o.ranks), piece(M, me()), o.copies, o.sync);
  const ValueId v = b.value("X", piece(M, var("p"))), own = b.value("own", piece(M, me()));
  const ValueId got = b.value("box", piece(M, me())), s = b.value("s", piece(M, me()));
  b.ensuresReduction(b.pieceOf(y, me()), b.pieceOf(x, me()));
  return b.finish(block(
      b.packets(piece(M, num(0)),
                block(b.forRanks("p", block(b.load(v, b.pieceOf(x, var("p"))), b.send(v, var("p"), box, me(), own))),
                      b.reduce(s, "r", block(b.poll(got, box, var("r"), own)), got), b.store(b.pieceOf(y, me()), s)))));
}

/// Ring all-gather, or as many steps of it as there are: x -> (me+1).box[0]; then hands on what arrives.
inline Program ringAllGather(int ranks, int copies = 0, int steps = -1) {
  ProgramBuilder b(ranks);
  if (steps < 0) steps = ranks - 1;
  auto at = [&](int distance) { return Index::mod(Index::add(me(), num(distance + ranks)), num(ranks)); };
  const Length full = whole({"M"});
  const BufferId x = b.in("x", {"M"}), y = b.out("y", {"N", "M"});
  const MailboxId box = b.box("box", num(ranks), full, copies);
  ValueId v = b.value("x", full);
  Block body = block(b.load(v, b.all(x)), b.store(b.rowOf(y, me()), v));
  for (int s = 0; s < steps; ++s) {
    body.push_back(b.send(v, at(1), box, num(s)));
    v = b.value("box", full);
    body.push_back(b.poll(v, box, num(s)));
    body.push_back(b.store(b.rowOf(y, at(-s - 1)), v));
  }
  if (steps == ranks - 1) b.ensuresCopy(b.rowOf(y, var("r")), b.all(x), var("r"), "r");
  return b.finish(block(b.packets(full, std::move(body))));
}

} // namespace coll::ir::testing
