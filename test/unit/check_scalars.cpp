// Scalars: every value is one launch, and it may change from launch to launch.
#include "CheckPrograms.h"

#include "check/Check.h"
#include "check/Counts.h"
#include "check/Scalars.h"

#include <gtest/gtest.h>

#include <set>

using namespace coll;
using namespace coll::check;
using namespace coll::ir::testing;
using Kind = Refutation::Kind;
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

std::string rendered(const ir::Program &program, const Refutation &r) {
  Diagnostics all;
  all.list.push_back(toDiagnostic(program, r));
  return all.render();
}

ir::Index equal(ir::Index a, ir::Index b) {
  return ir::Index::make(ir::Index::Kind::Eq, a, b);
}

struct Broadcast {
  int ranks = 4;
  ir::Sync sync = ir::Sync::LL;
  bool fixed = false;        ///< rank 0 is always the root
  bool ack = true;           ///< who has read answers the root, which waits for all
  bool slotPerRoot = true;   ///< else every root fills slot 0
  bool wrongRoot = false;    ///< the contract promises the vector of rank root + 1
  bool notOnRankOne = false; ///< rank 1 stores nothing, and nothing is promised there
  bool promiseAll = false;   ///< ... but it is
};

/// if me == root { forall p: x -> p.box[root] }; y = box[root]; y -> root.ack[me]; if me == root { all acks }
ir::Program broadcast(const Broadcast &o) {
  ProgramBuilder b(o.ranks);
  if (!o.fixed) b.program.scalars.push_back({"root", true});
  const ir::Index root = o.fixed ? num(0) : var("root");
  const ir::Length full = whole({"M"});
  const auto x = b.in("x", {"M"}), y = b.out("y", {"M"});
  const auto box = b.box("box", num(o.ranks), full, 0, o.sync);
  const auto acks = o.ack ? b.box("ack", num(o.ranks), full, 0, o.sync) : 0;
  const auto v = b.value("x", full), got = b.value("box", full), back = b.value("ack", full);
  const ir::Index slot = o.slotPerRoot ? root : num(0);
  const ir::Index from = o.wrongRoot ? ir::Index::mod(ir::Index::add(root, num(1)), num(o.ranks)) : root;
  b.ensuresCopy(b.all(y), b.all(x), from);
  const ir::Index notOne = ir::Index::make(ir::Index::Kind::Ne, me(), num(1));
  if (o.notOnRankOne && !o.promiseAll) b.program.ensures[0].on = notOne;
  const bool flag = o.sync == ir::Sync::Flag;
  ir::Stmt store = b.store(b.all(y), got);
  if (o.notOnRankOne) store = b.when(notOne, block(store));
  const ir::Index isRoot = equal(me(), root);
  ir::Block sends =
      block(b.when(isRoot, block(b.load(v, b.all(x)), b.forRanks("p", block(b.send(v, var("p"), box, slot))))));
  ir::Block reads = block(flag ? b.read(got, box, slot) : b.poll(got, box, slot), store);
  if (o.ack && !flag) reads.push_back(b.send(got, root, acks, me()));
  if (o.ack && !flag) reads.push_back(b.when(isRoot, block(b.forRanks("a", block(b.poll(back, acks, var("a")))))));
  if (flag)
    return b.finish(block(b.packets(full, sends),
                          b.when(isRoot, block(b.forRanks("s", block(b.signal(var("s"), box, slot))))),
                          b.await(box, slot), b.packets(full, reads), b.signal(root, acks, me()),
                          b.when(isRoot, block(b.forRanks("a", block(b.await(acks, var("a"))))))));
  for (ir::Stmt &s : reads) sends.push_back(std::move(s));
  return b.finish(block(b.packets(full, std::move(sends))));
}

} // namespace

class CheckScalars : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, CheckScalars, testing::Values(2, 3, 4, 5, 8, 16));

TEST_P(CheckScalars, BroadcastWithAnswersNeedsOneCopy) {
  EXPECT_EQ(verdict(broadcast({.ranks = GetParam()})).copies, (Copies{1, 1}));
  EXPECT_EQ(verdict(broadcast({.ranks = GetParam(), .fixed = true})).copies, (Copies{1, 1}));
}

TEST_P(CheckScalars, BroadcastWithoutAnswersIsOneWay) {
  const Refutation r = refutation(broadcast({.ranks = GetParam(), .ack = false}));
  EXPECT_EQ(r.kind, Kind::OverwriteBeforeRead);
  EXPECT_NE(r.explanation.find("no number of copies helps"), std::string::npos) << r.explanation;
}

TEST(CheckScalars, AnswersToOneRootTellTheNextNothing) {
  EXPECT_EQ(verdict(broadcast({.fixed = true, .slotPerRoot = false})).copies, (Copies{1, 1}));
  const ir::Program p = broadcast({.ranks = 8, .slotPerRoot = false});
  const Verdict v = verdict(p);
  EXPECT_TRUE(!v.proved || v.copies[0] > 1);
  ir::Program one = p;
  one.mailboxes[0].copies = one.mailboxes[1].copies = 1;
  const Refutation r = refutation(one);
  ASSERT_EQ(r.scalars.size(), 2u);
  EXPECT_NE(r.scalars[0], r.scalars[1]);
  EXPECT_NE(rendered(one, r).find("root = "), std::string::npos) << rendered(one, r);
}

TEST(CheckScalars, TwoRootsMayNotRaiseOneWord) {
  EXPECT_EQ(verdict(broadcast({.sync = ir::Sync::Flag})).copies, (Copies{1, 1}));
  ir::Program p = broadcast({.sync = ir::Sync::Flag, .slotPerRoot = false});
  // More copies than the launches that are looked at: only the word that announces is used by two roots.
  p.mailboxes[0].copies = p.mailboxes[1].copies = 9;
  const Refutation r = refutation(p);
  EXPECT_EQ(r.kind, Kind::ReadWithoutArrival);
  EXPECT_EQ(r.second.what, Event::What::Signal);
  EXPECT_NE(r.explanation.find("may announce `box[0]`"), std::string::npos) << r.explanation;
}

TEST(CheckScalars, PromisesDependOnThem) {
  const ir::Program p = broadcast({.wrongRoot = true});
  const Refutation r = refutation(p);
  EXPECT_EQ(r.kind, Kind::WrongResult);
  EXPECT_NE(rendered(p, r).find("note: with N = 4, M = 1, root = 0"), std::string::npos) << rendered(p, r);
}

TEST(CheckScalars, NothingIsPromisedWhereTheConditionDoesNotHold) {
  EXPECT_TRUE(verdict(broadcast({.notOnRankOne = true})).proved);
  const Refutation r = refutation(broadcast({.notOnRankOne = true, .promiseAll = true}));
  EXPECT_EQ(r.kind, Kind::WrongResult);
  EXPECT_EQ(r.first.rank, 1);
}

TEST(CheckScalars, EveryValueIsTriedAndFewInARow) {
  for (int ranks : {2, 8, 72}) {
    const ScalarClasses c = scalarClasses(broadcast({.ranks = ranks}));
    EXPECT_EQ(std::set<std::vector<std::int64_t>>(c.values.begin(), c.values.end()).size(), std::size_t(ranks));
    EXPECT_EQ(c.few, ranks == 72 ? 6 : ranks);
  }
  EXPECT_EQ(scalarClasses(oneShot({})).values.size(), 1u);
}

TEST(CheckScalars, ErrorOfOneRootAmongManyIsFound) {
  // Rank 37 does not send to rank 5 when it is the root.
  ir::Program p = broadcast({.ranks = 40});
  const ir::Index there = ir::Index::make(ir::Index::Kind::And, equal(me(), num(37)), equal(var("p"), num(5)));
  ir::walk(p.body, [&](ir::Stmt &s) {
    auto *loop = std::get_if<ir::ForRanks>(&s.op());
    if (loop && loop->variable == "p") loop->body = block(ir::If{ir::Index::negate(there), loop->body, 0});
  });
  const Refutation r = refutation(p);
  EXPECT_EQ(r.kind, Kind::Deadlock);
  EXPECT_EQ(r.scalars, (std::vector<std::vector<std::int64_t>>{{37}}));
}
