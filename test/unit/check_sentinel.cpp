// Mailboxes of sync mode `sentinel`: a slot is empty until data comes, and its reader empties it again (rules T6, T7).
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

enum class When { After, Never, Before, BetweenReads, OnlyFirst, OtherLoop };

struct Cleared {
  int ranks = 4;
  int copies = 0;
  When clear = When::After;
  bool own = true; ///< what a rank sends to itself stays in registers
};

/// One-shot all-reduce whose reader clears each slot after it has been read.
ir::Program oneShotSentinel(const Cleared &o) {
  ProgramBuilder b(o.ranks);
  const ir::Length full = whole({"M"});
  const auto x = b.in("x", {"M"}), y = b.out("y", {"M"});
  const auto box = b.box("box", num(o.ranks), full, o.copies, ir::Sync::Sentinel);
  const auto v = b.value("x", full), got = b.value("box", full), s = b.value("s", full), again = b.value("again", full);
  const auto own = o.own ? b.value("own", full) : ir::kNone;
  b.ensuresReduction(b.all(y), b.all(x));
  ir::Block body = block(b.load(v, b.all(x)));
  ir::Stmt clear = b.forRanks("c", block(b.clear(box, var("c"))));
  if (o.clear == When::Before) body.push_back(clear);
  body.push_back(b.forRanks("p", block(b.send(v, var("p"), box, me(), own))));
  body.push_back(b.reduce(s, "r", block(b.poll(got, box, var("r"), own)), got));
  if (o.clear == When::After || o.clear == When::BetweenReads) body.push_back(clear);
  if (o.clear == When::OnlyFirst)
    body.push_back(b.forRanks("c", block(b.clear(box, ir::Index::max(var("c"), num(1))))));
  if (o.clear == When::BetweenReads) body.push_back(b.poll(again, box, num(0)));
  body.push_back(b.store(b.all(y), s));
  ir::Stmt loop = b.packets(full, std::move(body));
  if (o.clear != When::OtherLoop) return b.finish(block(loop));
  // Goes over the first piece alone.
  b.program.mailboxes[box].length = piece({"M"}, num(0));
  ir::Stmt other = b.packets(piece({"M"}, num(0)), block(clear));
  ir::Program p = b.finish(block(loop, other));
  return p;
}

struct ClearedTwoShot {
  int ranks = 4;
  Copies copies = {0, 0};
  bool fence = false;       ///< between the clear of the scattered pieces and the sends of the sums
  bool fenceAfter = false;  ///< behind those sends, where it is of no use
  bool clearScatter = true; ///< before the sums are sent; else after the gathered pieces have come
};

ir::Program twoShotSentinel(const ClearedTwoShot &o) {
  ProgramBuilder b(o.ranks);
  const std::vector<std::string> M = {"M"};
  const auto x = b.in("x", M), y = b.out("y", M);
  const auto rs = b.box("rs", num(o.ranks), piece(M, me()), o.copies[0], ir::Sync::Sentinel);
  const auto ag = b.box("ag", num(o.ranks), piece(M, var("slot")), o.copies[1], ir::Sync::Sentinel);
  const auto v = b.value("X", piece(M, var("p"))), got = b.value("rs", piece(M, me()));
  const auto s = b.value("s", piece(M, me())), part = b.value("ag", piece(M, var("g")));
  b.ensuresReduction(b.all(y), b.all(x));
  ir::Block body = block(b.forRanks("p", block(b.load(v, b.pieceOf(x, var("p"))), b.send(v, var("p"), rs, me()))),
                         b.reduce(s, "r", block(b.poll(got, rs, var("r"))), got));
  ir::Stmt clear = b.forRanks("c", block(b.clear(rs, var("c"))));
  if (o.clearScatter) body.push_back(clear);
  if (o.fence) body.push_back(b.fence());
  body.push_back(b.forRanks("q", block(b.send(s, var("q"), ag, me()))));
  if (o.fenceAfter) body.push_back(b.fence());
  body.push_back(
      b.forRanks("g", block(b.poll(part, ag, var("g")), b.store(b.pieceOf(y, var("g")), part), b.clear(ag, var("g")))));
  if (!o.clearScatter) body.push_back(clear);
  return b.finish(block(b.packets(piece(M, num(0)), std::move(body))));
}

/// All-gather round a ring, every slot cleared after it has been handed on. It has no promise: see CopiesAreNotBitForBit.
ir::Program ring(int ranks) {
  ir::Program p = ringAllGather(ranks);
  p.mailboxes[0].sync = ir::Sync::Sentinel;
  p.mailboxes[0].canonical = true;
  p.ensures.clear();
  for (ir::Stmt &s : p.body)
    if (auto *loop = std::get_if<ir::PacketLoop>(&s.op()))
      for (int i = 0; i + 1 < ranks; ++i) loop->body.push_back(ir::Clear{0, num(i), 0});
  return p;
}

} // namespace

class CheckSentinel : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, CheckSentinel, testing::Values(2, 3, 4, 5, 8));

TEST_P(CheckSentinel, OneShotNeedsTwoCopies) {
  EXPECT_EQ(verdict(oneShotSentinel({.ranks = GetParam()})).copies, Copies{2});
  EXPECT_EQ(verdict(oneShotSentinel({.ranks = GetParam(), .own = false})).copies, Copies{2});
}

TEST_P(CheckSentinel, TwoShotNeedsTwoCopiesOrAFence) {
  // The sums of a launch are the credit for its scattered pieces, and go out before the clear is released.
  EXPECT_EQ(verdict(twoShotSentinel({.ranks = GetParam()})).copies, (Copies{2, 1}));
  EXPECT_EQ(verdict(twoShotSentinel({.ranks = GetParam(), .fence = true})).copies, (Copies{1, 1}));
  EXPECT_EQ(verdict(twoShotSentinel({.ranks = GetParam(), .fenceAfter = true})).copies, (Copies{2, 1}));
  EXPECT_EQ(verdict(twoShotSentinel({.ranks = GetParam(), .clearScatter = false})).copies, (Copies{2, 1}));
}

TEST_P(CheckSentinel, RingNeedsTwoCopies) {
  EXPECT_EQ(verdict(ring(GetParam())).copies, Copies{2});
}

// -0.0 comes as +0.0.
TEST_P(CheckSentinel, CopiesAreNotBitForBit) {
  ir::Program p = ring(GetParam());
  p.ensures = ringAllGather(GetParam()).ensures;
  EXPECT_EQ(verdict(p).refutation.value_or(Refutation()).kind, Kind::NoSpareValue);
}

TEST(CheckSentinel, OneCopyOfOneShotIsOverwritten) {
  const Refutation r = refutation(oneShotSentinel({.copies = 1}));
  EXPECT_EQ(r.kind, Kind::OverwriteBeforeRead);
  EXPECT_EQ(r.first.what, What::Poll);
}

TEST(CheckSentinel, ClearThatIsNotReleasedMayWipeOutTheNextData) {
  const Refutation r = refutation(twoShotSentinel({.copies = {1, 1}}));
  EXPECT_EQ(name(r.kind), "stale-sentinel");
  EXPECT_EQ(r.first.what, What::Clear);
  EXPECT_EQ(r.second.what, What::Send);
  EXPECT_EQ(r.second.launch, 1);
  says(r, "may send to `rs[");
  says(r, "what is sent may be cleared away");
  says(r, "declare `rs` with `depth 2`");
}

TEST(CheckSentinel, SlotThatIsNotCleared) {
  Refutation r = refutation(oneShotSentinel({.clear = When::Never}));
  EXPECT_EQ(r.kind, Kind::StaleSentinel);
  EXPECT_EQ(r.first.what, What::Send);
  EXPECT_EQ(r.second.what, What::Poll);
  says(r, "is not cleared after it has been read, so a later launch takes it for its own data");
  r = refutation(oneShotSentinel({.clear = When::OnlyFirst}));
  EXPECT_EQ(r.kind, Kind::StaleSentinel);
  EXPECT_EQ(r.first.slot, 0);
}

TEST(CheckSentinel, ClearThatDoesNotReachAsFarAsTheData) {
  ir::Program p = oneShotSentinel({.clear = When::OtherLoop});
  p.mailboxes[0].length = whole({"M"});
  EXPECT_EQ(refutation(p).kind, Kind::StaleSentinel);
}

TEST(CheckSentinel, ClearBeforeTheReadOrBetweenTwo) {
  Refutation r = refutation(oneShotSentinel({.clear = When::Before}));
  EXPECT_EQ(r.kind, Kind::StaleSentinel);
  EXPECT_EQ(r.first.what, What::Clear);
  says(r, "is cleared while rank 0 may be sending to it");
  r = refutation(oneShotSentinel({.clear = When::BetweenReads, .own = false}));
  EXPECT_EQ(r.kind, Kind::Deadlock);
  says(r, "is read again after it has been cleared");
}

TEST(CheckSentinel, StrengthNamesTheHardwareAssumption) {
  const std::string s = verdict(oneShotSentinel({})).strength;
  EXPECT_NE(s.find("all 32-bit words of a packet being compared"), std::string::npos) << s;
  EXPECT_NE(s.find("no store is performed before the wait that precedes it"), std::string::npos) << s;
  EXPECT_EQ(verdict(oneShot({})).strength.find("sentinel"), std::string::npos);
}

TEST(CheckSentinel, AClearThatIsALaunchBehindTakesThreeCopies) {
  auto deferred = [](int copies) {
    ir::Program p = oneShotSentinel({.copies = copies});
    ir::walk(p.body, [](ir::Stmt &s) {
      if (auto *clear = std::get_if<ir::Clear>(&s.op())) clear->behind = 1;
    });
    return p;
  };
  Options fixed;
  fixed.counts = {{{"M", 64}}};
  EXPECT_EQ(verdict(deferred(0), fixed).copies, Copies{3});
  EXPECT_EQ(refutation(deferred(2), fixed).kind, Kind::StaleSentinel);
  // It reaches as far as its own launch's packets: too short where the one before had more (rule T7).
  EXPECT_EQ(refutation(deferred(3)).kind, Kind::StaleSentinel);
}

TEST(CheckSentinel, PayloadMustNotHoldTheValueThatMeansEmpty) {
  ir::Program p = oneShotSentinel({});
  p.mailboxes[0].canonical = false;
  EXPECT_EQ(refutation(p).kind, Kind::NoSpareValue);
}
