// How many copies a mailbox needs when launches follow each other: rules T1 to T5, and who is named when it has fewer.
#include "CheckPrograms.h"

#include "check/Check.h"

#include <gtest/gtest.h>

using namespace coll;
using namespace coll::check;
using namespace coll::ir::testing;
using What = Event::What;
using Kind = Refutation::Kind;

namespace {

std::vector<int> copies(const ir::Program &program, Options options = {}) {
  EXPECT_EQ(ir::verify(program), "");
  Verdict v = check::check(program, options);
  EXPECT_EQ(v.proved, !v.refutation.has_value());
  return v.copies;
}

Refutation refutation(const ir::Program &program, Options options = {}) {
  EXPECT_EQ(ir::verify(program), "");
  Verdict v = check::check(program, options);
  EXPECT_FALSE(v.proved) << v.summary;
  return v.refutation.value_or(Refutation());
}

using Copies = std::vector<int>;

class ForRanks : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Check, ForRanks, testing::Values(2, 3, 4, 5, 7, 8, 16));

} // namespace

TEST_P(ForRanks, OneShotNeedsTwoCopies) {
  EXPECT_EQ(copies(oneShot({.ranks = GetParam()})), Copies{2});
  EXPECT_EQ(copies(oneShot({.ranks = GetParam(), .packets = false})), Copies{2});
  EXPECT_EQ(copies(oneShot({.ranks = GetParam(), .copies = 2})), Copies{2});
}

TEST_P(ForRanks, TwoShotNeedsOneCopy) {
  for (int loops : {0, 1, 2}) EXPECT_EQ(copies(twoShot({.ranks = GetParam(), .loops = loops})), (Copies{1, 1}));
}

TEST_P(ForRanks, OneBarrierNeedsTwoCopiesAndTwoBarriersOne) {
  OneShot o{.ranks = GetParam(), .sync = ir::Sync::Barrier, .barrier = true};
  EXPECT_EQ(copies(oneShot(o)), Copies{2});
  o.barrierAfter = true;
  EXPECT_EQ(copies(oneShot(o)), Copies{1});
}

TEST_P(ForRanks, DirectExchangesOfRowsNeedTwoCopies) {
  EXPECT_EQ(copies(allGather({.ranks = GetParam()})), Copies{2});
  EXPECT_EQ(copies(allToAll({.ranks = GetParam()})), Copies{2});
  EXPECT_EQ(copies(reduceScatter({.ranks = GetParam()})), Copies{2});
}

TEST_P(ForRanks, RingNeedsTwoCopiesAndOneStepOfItAsManyAsRanks) {
  EXPECT_EQ(copies(ringAllGather(GetParam())), Copies{2});
  EXPECT_EQ(copies(ringAllGather(GetParam(), 0, 1)), Copies{GetParam()});
}

TEST(CheckOrder, OneCopyOfOneShotNamesThePollAndTheSendThatOvertakesIt) {
  const Refutation r = refutation(oneShot({.copies = 1}));
  EXPECT_EQ(r.kind, Kind::OverwriteBeforeRead);
  EXPECT_EQ(r.first.what, What::Poll);
  EXPECT_EQ(r.second.what, What::Send);
  EXPECT_EQ(r.first.launch, 0);
  EXPECT_EQ(r.second.launch, 1);
  EXPECT_EQ(r.second.owner, r.first.rank);
  EXPECT_EQ(r.second.slot, r.first.slot);
  EXPECT_EQ(r.first.slot, r.second.rank); // slot `me` of everyone
  EXPECT_EQ(r.copies, Copies{1});
  EXPECT_EQ(r.counts.size(), 2u);
  EXPECT_NE(r.fix.find("`depth 2`"), std::string::npos) << r.fix;
}

TEST(CheckOrder, OneBarrierWithOneCopyLetsAFastRankOverwrite) {
  const Refutation r = refutation(oneShot({.copies = 1, .sync = ir::Sync::Barrier, .barrier = true}));
  EXPECT_EQ(r.kind, Kind::OverwriteBeforeRead);
  EXPECT_EQ(r.first.what, What::Read);
  EXPECT_NE(r.fix.find("`depth 2`"), std::string::npos) << r.fix;
}

TEST(CheckOrder, MoreCopiesThanNeededAreNoted) {
  const Verdict v = check::check(oneShot({.copies = 4}));
  EXPECT_TRUE(v.proved);
  EXPECT_EQ(v.copies, Copies{4});
  EXPECT_EQ(v.smallest, Copies{2});
  EXPECT_NE(v.summary.find("2 would do"), std::string::npos) << v.summary;
}

TEST(CheckOrder, RuleIsNamed) {
  EXPECT_NE(check::check(oneShot({})).summary.find("rule T1"), std::string::npos);
  EXPECT_NE(check::check(twoShot({})).summary.find("rule T3"), std::string::npos);
  EXPECT_TRUE(check::check(oneShot({})).fullDependence);
  EXPECT_FALSE(check::check(ringAllGather(4, 0, 1)).fullDependence);
}

namespace {

/// All-gather of the pieces of one vector. With one element it is a broadcast from rank 0. `ack`: the readers answer.
ir::Program gatherPieces(int ranks, bool ack, bool ackInLoop) {
  ProgramBuilder b(ranks);
  const std::vector<std::string> M = {"M"};
  const auto x = b.in("x", M), y = b.out("y", M);
  const auto box = b.box("box", num(ranks), piece(M, var("slot")));
  const auto acks = b.box("ack", num(ranks), piece(M, me()));
  const auto v = b.value("X", piece(M, me())), got = b.value("box", piece(M, var("g")));
  const auto again = b.value("again", piece(M, var("h"))), back = b.value("ack", piece(M, me()));
  b.ensuresCopy(b.pieceOf(y, var("r")), b.pieceOf(x, var("r")), var("r"), "r");
  ir::Block loop = block(b.poll(got, box, var("g")), b.store(b.pieceOf(y, var("g")), got));
  if (ack && ackInLoop) loop.push_back(b.send(got, var("g"), acks, me()));
  ir::Block body = block(b.load(v, b.pieceOf(x, me())), b.forRanks("p", block(b.send(v, var("p"), box, me()))),
                         b.forRanks("g", std::move(loop)));
  if (ack && !ackInLoop)
    body.push_back(b.forRanks("h", block(b.poll(again, box, var("h")), b.send(again, var("h"), acks, me()))));
  if (ack) body.push_back(b.forRanks("a", block(b.poll(back, acks, var("a")))));
  if (!ack) b.program.mailboxes.pop_back();
  return b.finish(block(b.packets(piece(M, num(0)), std::move(body))));
}

} // namespace

TEST_P(ForRanks, BroadcastIsRefutedForEveryDepthAndProvedWithAnAnswer) {
  const Options broadcast{.counts = {{{"M", 1}}}};
  const Refutation r = refutation(gatherPieces(GetParam(), false, false), broadcast);
  EXPECT_EQ(r.kind, Kind::OverwriteBeforeRead);
  EXPECT_EQ(r.second.rank, 0);
  EXPECT_NE(r.explanation.find("no number of copies helps"), std::string::npos) << r.explanation;
  EXPECT_NE(r.fix.find("`reuse ack`"), std::string::npos) << r.fix;
  EXPECT_EQ(copies(gatherPieces(GetParam(), true, true), broadcast), (Copies{1, 1}));
  EXPECT_EQ(copies(gatherPieces(GetParam(), true, true)), (Copies{1, 1}));
}

TEST(CheckOrder, IterationsOfALoopAreNotOrdered) {
  // The answer of one iteration says nothing of the reads of the others: rank me + 1 answers for the wrong slot.
  auto program = [](int shift) {
    const int n = 4;
    ProgramBuilder b(n);
    const ir::Length full = whole({"M"});
    const auto x = b.in("x", {"M"});
    const auto box = b.box("box", num(n), full), acks = b.box("ack", num(n), full);
    const auto v = b.value("x", full), got = b.value("box", full), back = b.value("ack", full);
    const ir::Index to = ir::Index::mod(ir::Index::add(var("g"), num(shift)), num(n));
    return b.finish(
        block(b.packets(full, block(b.load(v, b.all(x)), b.forRanks("p", block(b.send(v, var("p"), box, me()))),
                                    b.forRanks("g", block(b.poll(got, box, var("g")), b.send(got, to, acks, me()))),
                                    b.forRanks("a", block(b.poll(back, acks, var("a"))))))));
  };
  EXPECT_EQ(copies(program(0)), (Copies{1, 1}));
  EXPECT_EQ(copies(program(1)), (Copies{2, 2}));
}

TEST(CheckOrder, ReduceScatterOfFewElementsIsOneWay) {
  // Pieces of 16 bytes: a single one goes to rank 0, which sends nothing back.
  const Refutation r = refutation(reduceScatterPieces({}));
  EXPECT_EQ(r.kind, Kind::OverwriteBeforeRead);
  EXPECT_EQ(r.first.rank, 0);
  EXPECT_EQ(r.counts.front().at("M"), 1u);
  EXPECT_EQ(copies(reduceScatterPieces({}), {.counts = {{{"M", 1024}}}}), Copies{2});
}

TEST(CheckOrder, CreditOfOnePacketIsNoneForAnother) {
  // The second exchange goes over whole vectors: its later packets belong to threads without a part in the first.
  auto program = [](bool wholeVectors) {
    const int n = 4;
    ProgramBuilder b(n);
    const std::vector<std::string> M = {"M"};
    const ir::Length own = wholeVectors ? whole(M) : piece(M, me());
    const auto x = b.in("x", M);
    const auto rs = b.box("rs", num(n), piece(M, me()));
    const auto ag = b.box("ag", num(n), wholeVectors ? whole(M) : piece(M, var("slot")));
    const auto v = b.value("X", piece(M, var("p"))), got = b.value("rs", piece(M, me()));
    const auto w = b.value("x", own), part = b.value("ag", wholeVectors ? whole(M) : piece(M, var("g")));
    return b.finish(block(b.packets(piece(M, num(0)), block(b.forRanks("p", block(b.load(v, b.pieceOf(x, var("p"))),
                                                                                  b.send(v, var("p"), rs, me()))),
                                                            b.forRanks("r", block(b.poll(got, rs, var("r")))))),
                          b.packets(wholeVectors ? whole(M) : piece(M, num(0)),
                                    block(b.load(w, wholeVectors ? b.all(x) : b.pieceOf(x, me())),
                                          b.forRanks("q", block(b.send(w, var("q"), ag, me()))),
                                          b.forRanks("g", block(b.poll(part, ag, var("g"))))))));
  };
  EXPECT_EQ(copies(program(false)), (Copies{1, 1}));
  EXPECT_EQ(copies(program(true)), (Copies{1, 2}));
}

TEST(CheckOrder, FenceOnBothSidesOfAMessageOrdersPlainStores) {
  // Plain data, then a flagged word as its flag.
  auto program = [](bool release, bool acquire) {
    const int n = 3;
    ProgramBuilder b(n);
    const ir::Length full = whole({"M"});
    const auto x = b.in("x", {"M"}), y = b.out("y", {"N", "M"});
    const auto data = b.box("data", num(n), full, 0, ir::Sync::Barrier), flag = b.box("flag", num(n), full);
    const auto v = b.value("x", full), f = b.value("flag", full), got = b.value("data", full);
    b.ensuresCopy(b.rowOf(y, var("r")), b.all(x), var("r"), "r");
    ir::Block body = block(b.load(v, b.all(x)), b.forRanks("p", block(b.send(v, var("p"), data, me()))));
    if (release) body.push_back(b.fence());
    body.push_back(b.forRanks("q", block(b.send(v, var("q"), flag, me()))));
    body.push_back(b.forRanks("f", block(b.poll(f, flag, var("f")))));
    if (acquire) body.push_back(b.fence());
    body.push_back(b.forRanks("g", block(b.read(got, data, var("g")), b.store(b.rowOf(y, var("g")), got))));
    return b.finish(block(b.packets(full, std::move(body))));
  };
  EXPECT_EQ(copies(program(true, true)), (Copies{2, 2}));
  EXPECT_EQ(refutation(program(false, true)).kind, Kind::ReadWithoutArrival);
  EXPECT_EQ(refutation(program(true, false)).kind, Kind::ReadWithoutArrival);
}

TEST(CheckOrder, EndOfALaunchTellsAllPacketsWhatOneOfThemKnows) {
  // Rank 0 sends last, so what it has read is known to rank 1 through the same packet, which the next launch may lack.
  auto program = [](int copies) {
    const int n = 3;
    ProgramBuilder b(n);
    const ir::Length full = whole({"M"});
    const auto x = b.in("x", {"M"}), y = b.out("y", {"M"});
    const auto box = b.box("box", num(1), full, copies);
    const auto v = b.value("x", full), got = b.value("box", full);
    const ir::Index next = ir::Index::mod(ir::Index::add(me(), num(1)), num(n));
    const ir::Index before = ir::Index::mod(ir::Index::add(me(), num(2)), num(n));
    const ir::Index zero = ir::Index::make(ir::Index::Kind::Eq, me(), num(0));
    b.ensuresCopy(b.all(y), b.all(x), before);
    ir::Stmt early = b.when(ir::Index::negate(zero), block(b.send(v, next, box, num(0))));
    ir::Stmt late = b.when(zero, block(b.send(v, next, box, num(0))));
    return b.finish(block(
        b.packets(full, block(b.load(v, b.all(x)), early, b.poll(got, box, num(0)), b.store(b.all(y), got), late))));
  };
  EXPECT_EQ(copies(program(0)), Copies{2});
  EXPECT_EQ(refutation(program(1)).kind, Kind::OverwriteBeforeRead);
}

TEST(CheckOrder, PlainReadMayRelyOnTheWaitBeforeTheStore) {
  // Plain data behind a barrier; what its reader sends in its next launch comes with flagged words, and is waited for
  // before the slot is filled again.
  auto program = [](bool waits) {
    const int n = 3;
    ProgramBuilder b(n);
    const ir::Length full = whole({"M"});
    const auto x = b.in("x", {"M"}), y = b.out("y", {"N", "M"});
    const auto credit = b.box("credit", num(n), full, 2), data = b.box("data", num(n), full, 1, ir::Sync::Barrier);
    const auto v = b.value("x", full), w = b.value("x", full), c = b.value("credit", full), got = b.value("data", full);
    b.ensuresCopy(b.rowOf(y, var("r")), b.all(x), var("r"), "r");
    ir::Stmt wait = b.forRanks("f", block(b.poll(c, credit, var("f"))));
    ir::Stmt send = b.forRanks("q", block(b.send(v, var("q"), data, me())));
    ir::Block first = block(b.load(v, b.all(x)), b.forRanks("p", block(b.send(v, var("p"), credit, me()))));
    for (const ir::Stmt &s : waits ? block(wait, send) : block(send, wait)) first.push_back(s);
    ir::Stmt barrier = b.barrier();
    return b.finish(
        block(b.packets(full, first), barrier,
              b.packets(full, block(b.load(w, b.all(x)), b.forRanks("r", block(b.read(got, data, var("r")),
                                                                               b.store(b.rowOf(y, var("r")), got)))))));
  };
  const Verdict v = check::check(program(true));
  EXPECT_TRUE(v.proved) << v.summary;
  EXPECT_NE(v.strength.find("no store is performed before the wait"), std::string::npos) << v.strength;
  EXPECT_EQ(check::check(oneShot({.sync = ir::Sync::Barrier, .barrier = true})).strength.find("no store is performed before"),
            std::string::npos);
  EXPECT_EQ(refutation(program(false)).kind, Kind::OverwriteBeforeRead);
}

TEST(CheckStrict, FencesDoWhatHardwareIsTrustedToDo) {
  // One-shot: what a launch has read is passed on by a fence at the start of the next, and taken by one behind the wait.
  auto program = [](bool atEntry, bool behindWait) {
    ir::Program p = oneShot({.inPlace = false});
    if (atEntry) p.body.insert(p.body.begin() + 1, ir::Fence{0});
    if (behindWait) p.body.insert(p.body.end() - 1, ir::Fence{0});
    return p;
  };
  Options strict;
  strict.strict = true;
  const Verdict v = check::check(program(true, true), strict);
  EXPECT_TRUE(v.proved) << v.summary;
  EXPECT_EQ(v.copies, Copies{2});
  EXPECT_TRUE(v.assumptions.empty());
  EXPECT_NE(v.strength.find("the PTX memory model alone"), std::string::npos) << v.strength;
  for (const auto &[entry, behind] : {std::pair(false, true), std::pair(true, false), std::pair(false, false)}) {
    const Verdict w = check::check(program(entry, behind), strict);
    ASSERT_FALSE(w.proved) << entry << behind;
    EXPECT_EQ(w.refutation->kind, Kind::OverwriteBeforeRead);
    const Verdict trusting = check::check(program(entry, behind));
    EXPECT_TRUE(trusting.proved);
    EXPECT_EQ(trusting.assumptions.size(), 2u);
  }
}

TEST(CheckStrict, BarriersRestOnTheModelAlone) {
  const Verdict v = check::check(oneShot({.sync = ir::Sync::Barrier, .barrier = true}));
  EXPECT_TRUE(v.proved) << v.summary;
  EXPECT_TRUE(v.assumptions.empty()) << v.assumptions.front();
}

TEST(CheckOrder, OtherThreadsKnowNothingWithinALaunch) {
  // What one loop has received its thread knows in the next loop, if the packet is the same thread's there (rule T3).
  ir::Program p = twoShot({.copies = 1, .loops = 2, .inPlace = false});
  EXPECT_TRUE(check::check(p).proved);
  std::get<ir::PacketLoop>(p.body[2].op()).map = ir::ThreadMap::Blocked;
  EXPECT_EQ(refutation(p).kind, Kind::OverwriteBeforeRead);
  // The end of a launch tells all threads: one launch more, and so one copy more, than if they were the same.
  for (ir::Mailbox &box : p.mailboxes) box.copies = 2;
  EXPECT_FALSE(check::check(p).proved);
  for (ir::Mailbox &box : p.mailboxes) box.copies = 3;
  EXPECT_TRUE(check::check(p).proved);
}

TEST(CheckOrder, BarriersThatMayGo) {
  const ir::Program needed = oneShot({.copies = 2, .sync = ir::Sync::Barrier, .barrier = true});
  EXPECT_TRUE(removableBarriers(needed).empty());
  const ir::Program spare = oneShot({.copies = 2, .sync = ir::Sync::Barrier, .barrier = true, .barrierAfter = true});
  EXPECT_EQ(removableBarriers(spare).size(), 1u);
}
