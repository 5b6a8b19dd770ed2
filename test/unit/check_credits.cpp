// Credits: what `reuse ack` adds where data runs one way, and what it takes for them to be enough.
#include "CheckPrograms.h"

#include "check/Check.h"

#include <gtest/gtest.h>

using namespace coll;
using namespace coll::check;
using namespace coll::ir::testing;
using Kind = Refutation::Kind;
using Copies = std::vector<int>;

namespace {

Verdict verdict(const ir::Program &program) {
  EXPECT_EQ(ir::verify(program), "");
  return check::check(program);
}

Kind refuted(const ir::Program &program) {
  const Verdict v = verdict(program);
  EXPECT_FALSE(v.proved) << v.summary;
  return v.refutation.value_or(Refutation()).kind;
}

struct Broadcast {
  int ranks = 4;
  ir::Sync sync = ir::Sync::LL;
  int copies = 0;
  bool fixed = false;      ///< rank 0 is always the root
  bool oneSlot = false;    ///< all roots fill slot 0
  bool gives = true, givesLast = false, releases = true;
  bool waits = true, waitsForAll = true; ///< for rank 1 alone otherwise
  bool waitsInLoop = false;              ///< also where data is plain
  bool chunks = false;                   ///< all of it for each chunk of a launch
};

/// credits; if me == root { forall p: awaitcredit p; forall p: x -> p.box[root] }; y = box[root]
ir::Program broadcast(const Broadcast &o) {
  ProgramBuilder b(o.ranks);
  if (!o.fixed) b.program.scalars.push_back({"root", true});
  const ir::Index root = o.fixed ? num(0) : var("root"), isRoot = ir::Index::make(ir::Index::Kind::Eq, me(), root);
  const ir::Length full = whole({"M"});
  const auto x = b.in("x", {"M"}), y = b.out("y", {"M"});
  const auto box = b.box("box", num(o.ranks), full, o.copies, o.sync);
  b.program.mailboxes[box].reuse = ir::Reuse::Ack;
  const auto v = b.value("x", full), got = b.value("box", full);
  const ir::Index slot = o.oneSlot ? num(0) : root;
  b.ensuresCopy(b.all(y), b.all(x), root);
  const bool flag = o.sync == ir::Sync::Flag;

  const ir::Stmt give = b.forRanks("c", block(b.credit(var("c"), o.releases)));
  ir::Block wait;
  if (o.waits)
    wait = o.waitsForAll ? block(b.forRanks("w", block(b.awaitCredit(box, var("w"))))) : block(b.awaitCredit(box, num(1)));
  ir::Block sends = block(b.load(v, b.all(x)));
  if (!flag || o.waitsInLoop) sends.insert(sends.end(), wait.begin(), wait.end());
  sends.push_back(b.forRanks("p", block(b.send(v, var("p"), box, slot))));
  ir::Block reads = block(flag ? b.read(got, box, slot) : b.poll(got, box, slot), b.store(b.all(y), got));

  ir::Block body;
  if (o.gives && !o.givesLast) body.push_back(give);
  if (flag && !o.waitsInLoop && o.waits) body.push_back(b.when(isRoot, wait));
  body.push_back(b.packets(full, block(b.when(isRoot, sends))));
  if (flag) body.push_back(b.when(isRoot, block(b.forRanks("s", block(b.signal(var("s"), box, slot))))));
  if (flag) body.push_back(b.await(box, slot));
  body.push_back(b.packets(full, reads));
  if (o.gives && o.givesLast) body.push_back(give);
  if (o.chunks) b.program.chunks = ir::Chunks{full, 1024, 0};
  return b.finish(std::move(body));
}

} // namespace

class CheckCredits : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, CheckCredits, testing::Values(2, 3, 4, 5, 8, 16));

// One copy is enough; the second is there so that the credit has time to arrive.
TEST_P(CheckCredits, BroadcastIsProved) {
  for (ir::Sync sync : {ir::Sync::LL, ir::Sync::Flag})
    for (bool fixed : {true, false}) {
      const Verdict v = verdict(broadcast({.ranks = GetParam(), .sync = sync, .fixed = fixed}));
      EXPECT_EQ(v.copies, (Copies{2})) << v.summary;
      EXPECT_EQ(v.smallest, (Copies{1})) << v.summary;
      EXPECT_TRUE(verdict(broadcast({.ranks = GetParam(), .sync = sync, .copies = 1, .fixed = fixed})).proved);
    }
}

TEST_P(CheckCredits, NothingElseIsCreditEnough) {
  for (ir::Sync sync : {ir::Sync::LL, ir::Sync::Flag})
    EXPECT_EQ(refuted(broadcast({.ranks = GetParam(), .sync = sync, .waits = false})), Kind::OverwriteBeforeRead);
}

TEST(CheckCreditsOf, EveryReaderIsNeeded) {
  EXPECT_EQ(refuted(broadcast({.waitsForAll = false})), Kind::OverwriteBeforeRead);
  EXPECT_TRUE(verdict(broadcast({.ranks = 2, .fixed = true, .waitsForAll = false})).proved);
}

TEST(CheckCreditsOf, AWaitWithoutACreditNeverEnds) {
  EXPECT_EQ(refuted(broadcast({.gives = false})), Kind::Deadlock);
}

// The root waits for readers that wait for it.
TEST(CheckCreditsOf, ACreditAfterTheReadComesTooLate) {
  EXPECT_EQ(refuted(broadcast({.givesLast = true})), Kind::Deadlock);
}

// Plain reads come before a plain store by release and acquire alone.
TEST(CheckCreditsOf, PlainDataNeedsRelease) {
  EXPECT_EQ(refuted(broadcast({.sync = ir::Sync::Flag, .releases = false})), Kind::OverwriteBeforeRead);
  EXPECT_EQ(refuted(broadcast({.sync = ir::Sync::Flag, .waitsInLoop = true})), Kind::OverwriteBeforeRead);
  EXPECT_TRUE(verdict(broadcast({.sync = ir::Sync::LL, .releases = false})).proved);
}

// A rank gives its credit to all, so that the next root may use the slot of the last; but not its flag.
TEST(CheckCreditsOf, OneSlotForAllRoots) {
  EXPECT_TRUE(verdict(broadcast({.oneSlot = true})).proved);
  EXPECT_EQ(refuted(broadcast({.sync = ir::Sync::Flag, .copies = 2, .oneSlot = true})), Kind::ReadWithoutArrival);
}

// The end of a chunk is no end of a launch: CTA c tells CTA c of the others, whose packets are the same.
TEST_P(CheckCredits, ChunksAreProved) {
  for (ir::Sync sync : {ir::Sync::LL, ir::Sync::Flag})
    for (int copies : {0, 1, 3}) {
      const Verdict v = verdict(broadcast({.ranks = GetParam(), .sync = sync, .copies = copies, .chunks = true}));
      EXPECT_EQ(v.copies, (Copies{copies ? copies : 2})) << v.summary;
      EXPECT_EQ(v.smallest, (Copies{1})) << v.summary;
    }
}

TEST_P(CheckCredits, ChunksWithoutThemAreNot) {
  for (ir::Sync sync : {ir::Sync::LL, ir::Sync::Flag})
    EXPECT_EQ(refuted(broadcast({.ranks = GetParam(), .sync = sync, .waits = false, .chunks = true})),
              Kind::OverwriteBeforeRead);
}

TEST(CheckCreditsOf, PlainDataOfChunksNeedsRelease) {
  EXPECT_EQ(refuted(broadcast({.sync = ir::Sync::Flag, .releases = false, .chunks = true})), Kind::OverwriteBeforeRead);
  EXPECT_EQ(refuted(broadcast({.sync = ir::Sync::Flag, .waitsInLoop = true, .chunks = true})), Kind::OverwriteBeforeRead);
  EXPECT_EQ(refuted(broadcast({.givesLast = true, .chunks = true})), Kind::Deadlock);
}

// Which packets CTA c has depends on the grid.
TEST(CheckCreditsOf, ChunksNeedTheSameGridOnAllRanks) {
  Options anyGrid;
  anyGrid.sameGrid = false;
  const Verdict v = check::check(broadcast({.chunks = true}), anyGrid);
  ASSERT_TRUE(v.refutation);
  EXPECT_EQ(v.refutation->kind, Kind::Deadlock);
  EXPECT_TRUE(check::check(broadcast({}), anyGrid).proved);
}
