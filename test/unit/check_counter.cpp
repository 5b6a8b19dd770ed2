// Mailboxes of sync mode `counter`: all ranks add into one slot, whose owner counts them; and of `counter16`, whose lines
// count themselves.
#include "CheckPrograms.h"

#include "check/Check.h"

#include <gtest/gtest.h>

using namespace coll;
using namespace coll::check;
using namespace coll::ir::testing;
using Kind = Refutation::Kind;

namespace {

Verdict verdict(const ir::Program &program) {
  EXPECT_EQ(ir::verify(program), "");
  return check::check(program);
}

Refutation refutation(const ir::Program &program) {
  const Verdict v = verdict(program);
  EXPECT_FALSE(v.proved) << v.summary;
  return v.refutation.value_or(Refutation());
}

struct Counted {
  int ranks = 4;
  int copies = 0;
  bool await = true, clear = true, signal = true;
  bool signalFirst = false; ///< counted before it is added
  bool notAll = false;      ///< rank 0 adds nothing
  bool whole = false;       ///< every rank sums all of it
  bool lines = false;       ///< `counter16`: nothing is announced
};

/// forall p: X[p] +> p.acc; let s = acc; forall p: s -> p.ag[me]; forall r: Y[r] = ag[r]. Or with `whole`: y = acc.
ir::Program counted(const Counted &o) {
  ProgramBuilder b(o.ranks);
  b.program.order = "any";
  const std::vector<std::string> M = {"M"};
  const auto part = [&](ir::Index i) { return o.whole ? whole(M) : piece(M, std::move(i)); };
  const auto x = b.in("x", M), y = b.out("y", M);
  const auto acc = b.box("acc", num(1), part(me()), o.copies, o.lines ? ir::Sync::Counter16 : ir::Sync::Counter);
  const auto ag = o.whole ? ir::kNone : b.box("ag", num(o.ranks), piece(M, var("slot")));
  const auto v = b.value("X", part(var("p"))), s = b.value("acc", part(me())), g = b.value("ag", piece(M, var("g")));
  b.ensuresReduction(b.all(y), b.all(x));
  const ir::Length domain = part(num(0));
  ir::Stmt add = b.send(v, var("p"), acc, num(0));
  if (o.notAll) add = b.when(me(), block(add));
  ir::Stmt adds = b.packets(
      domain, block(b.forRanks("p", block(b.load(v, o.whole ? b.all(x) : b.pieceOf(x, var("p"))), add))));
  ir::Stmt signal = b.signal(var("q"), acc, num(0));
  if (o.notAll) signal = b.when(me(), block(signal));
  ir::Stmt signals = b.forRanks("q", block(signal));
  ir::Block reads = block(o.lines ? b.poll(s, acc, num(0)) : b.read(s, acc, num(0)));
  if (o.clear) reads.push_back(b.clear(acc, num(0)));
  if (o.whole) {
    reads.push_back(b.store(b.all(y), s));
  } else {
    reads.push_back(b.forRanks("p", block(b.send(s, var("p"), ag, me()))));
    reads.push_back(b.forRanks("g", block(b.poll(g, ag, var("g")), b.store(b.pieceOf(y, var("g")), g))));
  }
  ir::Block body;
  const bool announces = o.signal && !o.lines;
  if (announces && o.signalFirst) body.push_back(signals);
  body.push_back(adds);
  if (announces && !o.signalFirst) body.push_back(signals);
  if (o.await && !o.lines) body.push_back(b.await(acc, num(0)));
  body.push_back(b.packets(domain, std::move(reads)));
  return b.finish(std::move(body));
}

} // namespace

TEST(Counter, TwoShotIsProved) {
  for (int n : {2, 3, 4, 5, 8}) {
    const Verdict v = verdict(counted({.ranks = n}));
    EXPECT_TRUE(v.proved) << v.summary;
    EXPECT_GT(v.copies.at(0), 1) << "what clears a slot is released by the end of the launch only";
  }
}

TEST(Counter, CopiesAreNeeded) {
  const Verdict v = verdict(counted({}));
  const Refutation r = refutation(counted({.copies = v.copies.at(0) - 1}));
  // That it has read the sum, the owner shows by what it sends on; that it has cleared the slot, nothing does.
  EXPECT_EQ(r.kind, Kind::StaleSentinel) << r.explanation;
}

TEST(Counter, SlotMustBeCleared) {
  const Refutation r = refutation(counted({.clear = false}));
  EXPECT_EQ(r.kind, Kind::StaleSentinel);
  EXPECT_NE(r.explanation.find("a later launch adds to it"), std::string::npos) << r.explanation;
}

TEST(Counter, OwnerMustWait) {
  EXPECT_EQ(refutation(counted({.await = false})).kind, Kind::ReadWithoutArrival);
  EXPECT_EQ(refutation(counted({.signal = false})).kind, Kind::Deadlock);
  EXPECT_EQ(refutation(counted({.signalFirst = true})).kind, Kind::ReadWithoutArrival);
}

TEST(Counter, AllRanksMustAdd) {
  const Refutation r = refutation(counted({.notAll = true}));
  EXPECT_EQ(r.kind, Kind::Deadlock);
  EXPECT_NE(r.explanation.find("only 3 of 4 do"), std::string::npos) << r.explanation;
}

TEST(Counter, EachRankItsOwnSumIsAnother) {
  EXPECT_EQ(refutation(counted({.whole = true})).kind, Kind::RankDivergentOrder);
}

TEST(Counter, LinesThatCountThemselvesNeedNoAnnouncement) {
  for (int n : {2, 3, 5, 8}) {
    const Verdict v = verdict(counted({.ranks = n, .lines = true}));
    ASSERT_TRUE(v.proved) << v.summary;
    EXPECT_GT(v.copies.at(0), 1) << "what clears a line is released by the end of the launch only";
    EXPECT_NE(v.strength.find("additions and loads of 16 bytes"), std::string::npos) << v.strength;
  }
  const Verdict v = verdict(counted({.lines = true}));
  EXPECT_FALSE(verdict(counted({.copies = v.copies.at(0) - 1, .lines = true})).proved);
  EXPECT_EQ(refutation(counted({.clear = false, .lines = true})).kind, Kind::StaleSentinel);
  EXPECT_EQ(refutation(counted({.notAll = true, .lines = true})).kind, Kind::Deadlock);
}
