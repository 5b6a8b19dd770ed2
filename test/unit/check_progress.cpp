// Whether a launch ends, and whether every message arrives where and when it is read.
#include "CheckPrograms.h"

#include "check/Check.h"

#include <gtest/gtest.h>

using namespace coll;
using namespace coll::check;
using namespace coll::ir::testing;
using Kind = Refutation::Kind;
using What = Event::What;

namespace {

Refutation refutation(const ir::Program &program) {
  EXPECT_EQ(ir::verify(program), "");
  const Verdict v = check::check(program);
  EXPECT_FALSE(v.proved);
  return v.refutation.value_or(Refutation());
}

bool says(const Refutation &r, const std::string &words) {
  if (r.explanation.find(words) != std::string::npos) return true;
  ADD_FAILURE() << r.explanation;
  return false;
}

} // namespace

TEST(CheckProgress, BarrierMailboxWithoutBarrier) {
  EXPECT_TRUE(check::check(oneShot({.sync = ir::Sync::Barrier, .barrier = true})).proved);
  const Refutation r = refutation(oneShot({.sync = ir::Sync::Barrier, .barrier = false}));
  EXPECT_EQ(r.kind, Kind::ReadWithoutArrival);
  EXPECT_NE(r.fix.find("`barrier`"), std::string::npos);
}

TEST(CheckProgress, SlotThatNobodyFills) {
  ProgramBuilder b(3);
  const ir::Length full = whole({"M"});
  const auto x = b.in("x", {"M"});
  const auto box = b.box("box", num(4), full);
  const auto v = b.value("x", full), got = b.value("box", full), more = b.value("more", full);
  auto program = [&](bool tooMany) {
    ir::Block body = block(b.load(v, b.all(x)), b.forRanks("p", block(b.send(v, var("p"), box, me()))),
                           b.forRanks("r", block(b.poll(got, box, var("r")))));
    if (tooMany) body.push_back(b.poll(more, box, num(3)));
    return b.finish(block(b.packets(full, std::move(body))));
  };
  EXPECT_TRUE(check::check(program(false)).proved);
  const Refutation r = refutation(program(true));
  EXPECT_EQ(r.kind, Kind::Deadlock);
  says(r, "`box[3]` of rank 0, to which nothing is sent in this launch");
}

TEST(CheckProgress, EveryoneWaitsBeforeSending) {
  const Refutation r = refutation(twoShot({.gatherFirst = true}));
  EXPECT_EQ(r.kind, Kind::Deadlock);
  says(r, "rank 0 waits for `ag[0]` of rank 0 from rank 0: a circle");
}

TEST(CheckProgress, TwoRanksWaitForEachOther) {
  auto program = [](bool sendFirst) {
    ProgramBuilder b(2);
    const ir::Length full = whole({"M"});
    const ir::Index other = ir::Index::sub(num(1), me());
    const auto x = b.in("x", {"M"});
    const auto box = b.box("box", num(1), full);
    const auto v = b.value("x", full), got = b.value("box", full);
    ir::Stmt load = b.load(v, b.all(x)), send = b.send(v, other, box, num(0)), poll = b.poll(got, box, num(0));
    return b.finish(block(b.packets(full, sendFirst ? block(load, send, poll) : block(load, poll, send))));
  };
  EXPECT_TRUE(check::check(program(true)).proved);
  const Refutation r = refutation(program(false));
  EXPECT_EQ(r.kind, Kind::Deadlock);
  EXPECT_EQ(r.first.rank, 0);
  EXPECT_EQ(r.second.rank, 1);
  says(r, "rank 0 waits for `box[0]` of rank 0 from rank 1, rank 1 waits for `box[0]` of rank 1 from rank 0");
}

TEST(CheckProgress, IterationsOfALoopMayRunInAnyOrder) {
  // Every iteration exchanges with one rank. In ascending order that ends; if each starts at its successor, never.
  auto program = [](bool together) {
    ProgramBuilder b(3);
    const ir::Length full = whole({"M"});
    const auto x = b.in("x", {"M"});
    const auto box = b.box("box", num(3), full);
    const auto v = b.value("x", full), got = b.value("box", full);
    ir::Stmt load = b.load(v, b.all(x)), send = b.send(v, var("p"), box, me());
    ir::Stmt both = b.forRanks("p", block(send, b.poll(got, box, var("p"))));
    ir::Stmt sends = b.forRanks("p", block(send)), polls = b.forRanks("r", block(b.poll(got, box, var("r"))));
    return b.finish(block(b.packets(full, together ? block(load, both) : block(load, sends, polls))));
  };
  EXPECT_TRUE(check::check(program(false)).proved);
  EXPECT_EQ(refutation(program(true)).kind, Kind::Deadlock);
}

TEST(CheckProgress, SendThatNobodyReads) {
  ProgramBuilder b(3);
  const ir::Length full = whole({"M"});
  const auto x = b.in("x", {"M"});
  const auto box = b.box("box", num(4), full);
  const auto v = b.value("x", full), got = b.value("box", full);
  const Refutation r = refutation(b.finish(
      block(b.packets(full, block(b.load(v, b.all(x)), b.forRanks("p", block(b.send(v, var("p"), box, me()))),
                                  b.send(v, me(), box, num(3)), b.forRanks("r", block(b.poll(got, box, var("r")))))))));
  EXPECT_EQ(r.kind, Kind::OrphanSend);
  EXPECT_EQ(r.first.what, What::Send);
  EXPECT_EQ(r.first.slot, 3);
  says(r, "what rank 0 sends to `box[3]` of rank 0 is not read");
}

TEST(CheckProgress, TwoWritersOfOneSlot) {
  const Refutation r = refutation(oneShot({.packets = false, .allToSlotZero = true}));
  EXPECT_EQ(r.kind, Kind::OverwriteBeforeRead);
  says(r, "is written twice in one launch, by rank 0 and by rank 1");
}
