// Mailboxes of sync mode `flag`: data, then a word that announces it.
#include "CheckPrograms.h"

#include "check/Check.h"

#include <gtest/gtest.h>

using namespace coll;
using namespace coll::check;
using namespace coll::ir::testing;
using Kind = Refutation::Kind;
using What = Event::What;
using Copies = std::vector<int>;

namespace {

Verdict verdict(const ir::Program &program, const Options &options = {}) {
  EXPECT_EQ(ir::verify(program), "");
  return check::check(program, options);
}

Refutation refutation(const ir::Program &program, const Options &options = {}) {
  const Verdict v = verdict(program, options);
  EXPECT_FALSE(v.proved) << v.summary;
  return v.refutation.value_or(Refutation());
}

bool says(const Refutation &r, const std::string &words) {
  if ((r.explanation + "; " + r.fix).find(words) != std::string::npos) return true;
  ADD_FAILURE() << r.explanation << "; " << r.fix;
  return false;
}

struct Flagged {
  int ranks = 4;
  int copies = 0;
  bool signal = true, await = true;
  bool signalFirst = false;  ///< announces before it sends
  bool awaitFirst = false;   ///< waits before it announces
  bool signalOwn = true;     ///< announces to itself too, where nothing is sent
  bool skipSlotZero = false; ///< awaits slot 1 twice instead
  bool together = false;     ///< announces and awaits in one loop
};

/// One-shot all-reduce: packets { x -> p.box[me] }; announce all; await all; packets { y = reduce(box[r]) }
ir::Program oneShotFlag(const Flagged &o) {
  ProgramBuilder b(o.ranks);
  const ir::Length full = whole({"M"});
  const auto x = b.in("x", {"M"}), y = b.out("y", {"M"});
  const auto box = b.box("box", num(o.ranks), full, o.copies, ir::Sync::Flag);
  const auto v = b.value("x", full), got = b.value("box", full), s = b.value("s", full);
  b.ensuresReduction(b.all(y), b.all(x));
  ir::Stmt sends = b.packets(full, block(b.load(v, b.all(x)), b.forRanks("p", block(b.send(v, var("p"), box, me())))));
  ir::Stmt signal = b.signal(var("q"), box, me());
  ir::Stmt await = b.await(box, o.skipSlotZero ? ir::Index::max(var("a"), num(1)) : var("a"));
  if (!o.signalOwn) signal = b.when(ir::Index::make(ir::Index::Kind::Ne, var("q"), me()), block(signal));
  if (!o.signalOwn) await = b.when(ir::Index::make(ir::Index::Kind::Ne, var("a"), me()), block(await));
  ir::Stmt signals = b.forRanks("q", block(signal)), awaits = b.forRanks("a", block(await));
  ir::Stmt both = b.forRanks("a", block(b.signal(var("a"), box, me()), b.await(box, var("a"))));
  ir::Stmt reads =
      b.packets(full, block(b.reduce(s, "r", block(b.read(got, box, var("r"))), got), b.store(b.all(y), s)));
  ir::Block body;
  if (o.together) return b.finish(block(sends, both, reads));
  if (o.signal && o.signalFirst) body.push_back(signals);
  body.push_back(sends);
  if (o.await && o.awaitFirst) body.push_back(awaits);
  if (o.signal && !o.signalFirst) body.push_back(signals);
  if (o.await && !o.awaitFirst) body.push_back(awaits);
  body.push_back(reads);
  return b.finish(std::move(body));
}

struct FlaggedTwoShot {
  int ranks = 4;
  bool announceGather = true, announceScatter = true;
  bool awaitGather = true;
};

ir::Program twoShotFlag(const FlaggedTwoShot &o) {
  ProgramBuilder b(o.ranks);
  const std::vector<std::string> M = {"M"};
  const auto x = b.in("x", M), y = b.out("y", M);
  const auto rs = b.box("rs", num(o.ranks), piece(M, me()), 0, ir::Sync::Flag);
  const auto ag = b.box("ag", num(o.ranks), piece(M, var("slot")), 0, ir::Sync::Flag);
  const auto v = b.value("X", piece(M, var("p"))), got = b.value("rs", piece(M, me()));
  const auto s = b.value("s", piece(M, me())), part = b.value("ag", piece(M, var("g")));
  b.ensuresReduction(b.all(y), b.all(x));
  const ir::Length domain = piece(M, num(0));
  ir::Block body = block(b.packets(
      domain, block(b.forRanks("p", block(b.load(v, b.pieceOf(x, var("p"))), b.send(v, var("p"), rs, me()))))));
  if (o.announceScatter) body.push_back(b.forRanks("p", block(b.signal(var("p"), rs, me()))));
  body.push_back(b.forRanks("r", block(b.await(rs, var("r")))));
  body.push_back(b.packets(domain, block(b.reduce(s, "r", block(b.read(got, rs, var("r"))), got),
                                         b.forRanks("q", block(b.send(s, var("q"), ag, me()))))));
  if (o.announceGather) body.push_back(b.forRanks("p", block(b.signal(var("p"), ag, me()))));
  if (o.awaitGather) body.push_back(b.forRanks("r", block(b.await(ag, var("r")))));
  body.push_back(b.packets(
      domain, block(b.forRanks("g", block(b.read(part, ag, var("g")), b.store(b.pieceOf(y, var("g")), part))))));
  return b.finish(std::move(body));
}

/// Pieces of one vector to rank 0, which answers if `ack`: nothing else comes back.
ir::Program toRankZero(int ranks, bool ack, bool ackBeforeRead = false) {
  ProgramBuilder b(ranks);
  const ir::Length full = whole({"M"});
  const auto x = b.in("x", {"M"}), y = b.out("y", {"N", "M"});
  const auto box = b.box("box", num(ranks), full, 0, ir::Sync::Flag);
  const auto acks = ack ? b.box("ack", num(1), full, 0, ir::Sync::Flag) : 0;
  const auto v = b.value("x", full), got = b.value("box", full);
  const ir::Index root = ir::Index::make(ir::Index::Kind::Eq, me(), num(0));
  ir::Block body =
      block(b.packets(full, block(b.load(v, b.all(x)), b.send(v, num(0), box, me()))), b.signal(num(0), box, me()));
  ir::Block reads = block(b.forRanks("a", block(b.await(box, var("a")))));
  if (ack && ackBeforeRead) reads.push_back(b.forRanks("b", block(b.signal(var("b"), acks, num(0)))));
  reads.push_back(
      b.packets(full, block(b.forRanks("r", block(b.read(got, box, var("r")), b.store(b.rowOf(y, var("r")), got))))));
  if (ack && !ackBeforeRead) reads.push_back(b.forRanks("b", block(b.signal(var("b"), acks, num(0)))));
  body.push_back(b.when(root, std::move(reads)));
  if (ack) body.push_back(b.await(acks, num(0)));
  return b.finish(std::move(body));
}

} // namespace

class CheckFlag : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, CheckFlag, testing::Values(2, 3, 4, 5, 8));

TEST_P(CheckFlag, OneShotNeedsTwoCopiesAndTwoShotOne) {
  EXPECT_EQ(verdict(oneShotFlag({.ranks = GetParam()})).copies, Copies{2});
  EXPECT_EQ(verdict(twoShotFlag({.ranks = GetParam()})).copies, (Copies{1, 1}));
}

TEST(CheckFlag, OneCopyOfOneShotIsOverwritten) {
  const Refutation r = refutation(oneShotFlag({.copies = 1}));
  EXPECT_EQ(r.kind, Kind::OverwriteBeforeRead);
  EXPECT_EQ(r.first.what, What::Read);
  EXPECT_EQ(r.second.what, What::Send);
  says(r, "`depth 2`");
}

TEST(CheckFlag, AnnouncementToItselfMayBeLeftOutWithItsWait) {
  // Its own slot holds what the same thread has stored.
  EXPECT_EQ(verdict(oneShotFlag({.signalOwn = false})).copies, Copies{2});
}

TEST(CheckFlag, SendThatIsNotAnnounced) {
  Refutation r = refutation(oneShotFlag({.signal = false}));
  EXPECT_EQ(r.kind, Kind::Deadlock);
  EXPECT_EQ(r.first.what, What::Await);
  EXPECT_EQ(r.second.what, What::Send);
  says(r, "waits for `box[0]` of rank 0, to which rank 0 sends, but without announcing it");
  says(r, "announce the slot after the last send to it");
  r = refutation(twoShotFlag({.announceGather = false}));
  EXPECT_EQ(r.kind, Kind::Deadlock);
}

TEST(CheckFlag, AnnouncementBeforeTheSend) {
  const Refutation r = refutation(oneShotFlag({.signalFirst = true}));
  EXPECT_EQ(r.kind, Kind::ReadWithoutArrival);
  EXPECT_EQ(r.first.what, What::Send);
  EXPECT_EQ(r.second.what, What::Read);
  says(r, "announce the slot after the send, and wait for that before the read");
}

TEST(CheckFlag, ReadWithoutWaiting) {
  EXPECT_EQ(refutation(oneShotFlag({.await = false})).kind, Kind::ReadWithoutArrival);
  EXPECT_EQ(refutation(oneShotFlag({.signal = false, .await = false})).kind, Kind::ReadWithoutArrival);
  EXPECT_EQ(refutation(twoShotFlag({.awaitGather = false})).kind, Kind::ReadWithoutArrival);
}

TEST(CheckFlag, OneSlotThatIsNotAwaited) {
  const Refutation r = refutation(oneShotFlag({.skipSlotZero = true}));
  EXPECT_EQ(r.kind, Kind::ReadWithoutArrival);
  EXPECT_EQ(r.first.slot, 0);
}

TEST(CheckFlag, EveryoneWaitsBeforeAnnouncing) {
  const Refutation r = refutation(oneShotFlag({.awaitFirst = true}));
  EXPECT_EQ(r.kind, Kind::Deadlock);
  says(r, "a circle in which everyone waits and nobody sends");
  EXPECT_EQ(refutation(oneShotFlag({.together = true})).kind, Kind::Deadlock);
}

TEST(CheckFlag, OneWayNeedsAnAnswerAfterTheRead) {
  const Refutation r = refutation(toRankZero(3, false));
  EXPECT_EQ(r.kind, Kind::OverwriteBeforeRead);
  says(r, "no number of copies helps");
  EXPECT_EQ(verdict(toRankZero(3, true)).copies, (Copies{1, 1}));
  // An answer before the read says only that data has arrived: that of the next launch may not be sent yet.
  EXPECT_EQ(verdict(toRankZero(3, true, true)).copies, (Copies{2, 1}));
}

TEST(CheckFlag, TwoRanksAnnounceOneSlot) {
  ProgramBuilder b(3);
  const auto box = b.box("box", num(1), whole({"M"}), 0, ir::Sync::Flag);
  const Refutation r = refutation(b.finish(block(b.signal(num(0), box, num(0)), b.await(box, num(0)))));
  EXPECT_EQ(r.kind, Kind::ReadWithoutArrival);
  says(r, "is announced by rank 0 and by rank 1 in one launch");
}

TEST(CheckFlag, StrengthNamesTheGrid) {
  EXPECT_NE(verdict(oneShotFlag({})).strength.find("same grid"), std::string::npos);
}

TEST(CheckFlag, CtasMeetOnlyWhereGridsAreEqual) {
  Options options;
  options.sameGrid = false;
  const Refutation r = check::check(oneShotFlag({}), options).refutation.value_or(Refutation());
  EXPECT_EQ(r.kind, Refutation::Kind::Deadlock);
  EXPECT_TRUE(check::check(oneShot({}), options).proved);
}

TEST(CheckFlag, WordsNeedWhatTheySayTheyNeed) {
  Options options;
  options.atomicBytes = 4;
  EXPECT_TRUE(check::check(oneShotFlag({}), options).proved);
  const Refutation r = check::check(oneShot({}), options).refutation.value_or(Refutation());
  EXPECT_EQ(name(r.kind), "atomicity-not-declared");
}
