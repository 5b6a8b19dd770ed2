// What the outputs hold, against the contract, also with arguments in place.
#include "CheckPrograms.h"

#include "check/Check.h"

#include <gtest/gtest.h>

using namespace coll;
using namespace coll::check;
using namespace coll::ir::testing;
using Kind = Refutation::Kind;

namespace {

void expectProved(const ir::Program &program) {
  EXPECT_EQ(ir::verify(program), "");
  const Verdict v = check::check(program);
  EXPECT_TRUE(v.proved) << v.summary;
}

void expectRefuted(const ir::Program &program, Kind kind, const std::string &words, const Options &options = {}) {
  EXPECT_EQ(ir::verify(program), "");
  const Verdict v = check::check(program, options);
  ASSERT_FALSE(v.proved);
  EXPECT_EQ(name(v.refutation->kind).str(), name(kind).str());
  EXPECT_NE(v.refutation->explanation.find(words), std::string::npos) << v.refutation->explanation;
}

} // namespace

TEST(CheckResult, RightProgramsAreProved) {
  expectProved(oneShot({}));
  expectProved(twoShot({}));
  expectProved(allGather({}));
  expectProved(allToAll({}));
  expectProved(reduceScatter({}));
  expectProved(ringAllGather(4));
}

TEST(CheckResult, ContributionTwice) {
  expectRefuted(oneShot({.addOwnTwice = true, .inPlace = false}), Kind::WrongResult, "a contribution comes in twice");
}

TEST(CheckResult, ContributionsMissing) {
  expectRefuted(oneShot({.storeOwn = true}), Kind::WrongResult, "missing the contribution of `x[0]` of rank 1");
}

TEST(CheckResult, OutputNotWritten) {
  expectRefuted(oneShot({.noStore = true, .inPlace = false}), Kind::WrongResult, "is not written");
}

TEST(CheckResult, OwnVectorThatWasNotKept) {
  // Sends to me + 1 alone, so nothing is kept; with two ranks everything else is right.
  expectProved(oneShot({.ranks = 2}));
  expectRefuted(oneShot({.ranks = 2, .ownUndefined = true}), Kind::WrongResult,
                "`own` is used on rank 0 but has no value");
}

TEST(CheckResult, WrongPieceStored) {
  expectRefuted(twoShot({.storeNext = true, .inPlace = false}), Kind::WrongResult,
                "`x[48]` of rank 0 is there instead of `x[0]` of rank 0", {.counts = {{{"M", 64}}}});
}

TEST(CheckResult, WrongOperator) {
  ir::Program p = oneShot({});
  ir::walk(p.body, [](ir::Stmt &s) {
    if (auto *r = std::get_if<ir::Reduce>(&s.op())) r->op = ReduceOp::Max;
  });
  expectRefuted(p, Kind::WrongResult, "not combined by `sum` alone");
}

namespace {

/// One-shot whose sum starts at rank `first` of each: `me` differs between ranks.
ir::Program rotated(bool byRank, std::string order, DType dtype = DType::F32) {
  const int n = 3;
  ProgramBuilder b(n);
  b.program.order = std::move(order);
  b.program.dtype = dtype;
  const ir::Length full = whole({"M"});
  const auto x = b.in("x", {"M"}), y = b.out("y", {"M"});
  const auto box = b.box("box", num(n), full);
  const auto v = b.value("x", full), got = b.value("box", full), s = b.value("s", full);
  const ir::Index first = byRank ? me() : num(1);
  const ir::Index slot = ir::Index::mod(ir::Index::add(first, var("r")), num(n));
  b.ensuresReduction(b.all(y), b.all(x));
  return b.finish(
      block(b.packets(full, block(b.load(v, b.all(x)), b.forRanks("p", block(b.send(v, var("p"), box, me()))),
                                  b.reduce(s, "r", block(b.poll(got, box, slot)), got), b.store(b.all(y), s)))));
}

} // namespace

TEST(CheckResult, OrderOfOperations) {
  expectProved(rotated(false, "fixed"));
  EXPECT_EQ(name(Kind::RankDivergentOrder), "rank-divergent-order");
  expectRefuted(rotated(false, "ascending"), Kind::RankDivergentOrder, "not combined in ascending order");
  expectRefuted(rotated(true, "fixed"), Kind::RankDivergentOrder, "in another order on rank 1 than on rank 0");
  expectProved(rotated(true, "ascending", DType::I32)); // integers do not tell
}

TEST(CheckResult, RowBeyondTheEndAndSlotBeyondTheMailbox) {
  ir::Program p = allGather({});
  p.buffers[1].extents[0] = "3";
  expectRefuted(p, Kind::WrongResult, "`y` is written past its end");
  p = oneShot({});
  p.mailboxes[0].slots = num(3);
  expectRefuted(p, Kind::MailboxTooSmall, "slot 3 of `box` is used, which has 3");
  p = oneShot({});
  p.mailboxes[0].length = piece({"M"}, num(0));
  expectRefuted(p, Kind::MailboxTooSmall, "48 elements are sent to `box[0]` of rank 1, which has room for 12");
}

TEST(CheckResult, ReceiverAndSenderDisagreeOnTheLength) {
  ir::Program p = reduceScatterPieces({});
  // Everyone sends piece 0, which is longer than the piece that later ranks wait for.
  ir::walk(p.body, [&](ir::Stmt &s) {
    if (auto *load = std::get_if<ir::Load>(&s.op())) load->from.length.index = load->from.index = num(0);
  });
  p.values[0].length.index = num(0);
  Verdict v = check::check(p, {.counts = {{{"M", 13}}}});
  ASSERT_FALSE(v.proved);
  EXPECT_EQ(v.refutation->kind, Kind::WrongResult);
  EXPECT_NE(v.refutation->explanation.find("elements"), std::string::npos);
}

namespace {

/// Reads x again, in a loop of its own, after y was stored: harmless unless they are the same memory.
ir::Program readAfterStore(bool inPlace) {
  ProgramBuilder b(3);
  const ir::Length full = whole({"M"});
  const auto x = b.in("x", {"M"}), y = b.out("y", {"M"}), z = b.out("z", {"M"});
  const auto v = b.value("x", full), again = b.value("again", full), sum = b.value("sum", full);
  b.ensuresCopy(b.all(z), b.all(x), me());
  if (inPlace) b.inplace(b.all(y), b.all(x), "y", "x");
  return b.finish(block(b.packets(full, block(b.load(v, b.all(x)), b.combine(sum, v, v), b.store(b.all(y), sum))),
                        b.packets(full, block(b.load(again, b.all(x)), b.store(b.all(z), again)))));
}

/// y[r] = x[r + 1]: each store hits the row that the next iteration reads.
ir::Program shiftRows(bool inPlace) {
  const int n = 3;
  ProgramBuilder b(n);
  const auto x = b.in("x", {"N", "M"}), y = b.out("y", {"N", "M"});
  const auto v = b.value("x", row({"M"}));
  const ir::Index next = ir::Index::mod(ir::Index::add(var("r"), num(1)), num(n));
  const ir::Index nextOfV = ir::Index::mod(ir::Index::add(var("v"), num(1)), num(n));
  b.ensuresCopy(b.rowOf(y, var("v")), b.rowOf(x, nextOfV), me(), "v");
  if (inPlace) b.inplace(b.all(y), b.all(x), "y", "x");
  return b.finish(block(b.packets(
      row({"M"}), block(b.forRanks("r", block(b.load(v, b.rowOf(x, next)), b.store(b.rowOf(y, var("r")), v)))))));
}

} // namespace

TEST(CheckResult, InputReadAfterItsMemoryWasOverwritten) {
  expectProved(shiftRows(false));
  expectRefuted(shiftRows(true), Kind::InplaceHazard, "`x` ");
  expectProved(readAfterStore(false));
  const Verdict v = check::check(readAfterStore(true));
  ASSERT_FALSE(v.proved);
  EXPECT_EQ(v.refutation->kind, Kind::InplaceHazard);
  EXPECT_EQ(v.refutation->inplace, "y = x");
  EXPECT_EQ(v.refutation->first.what, Event::What::Store);
  EXPECT_EQ(v.refutation->second.what, Event::What::Load);
}

TEST(CheckResult, ThreadsOfOneRankDoNotSeeEachOthersStores) {
  // Pieces are stored in one loop and loaded in another, as the same pieces or as rows of one whole.
  auto program = [](bool samePackets) {
    ProgramBuilder b(2);
    const std::vector<std::string> M = {"M"};
    const auto x = b.in("x", M), y = b.out("y", M), z = b.out("z", M);
    const auto v = b.value("X", piece(M, var("r"))), w = b.value("w", piece(M, var("s"))), all = b.value("y", whole(M));
    b.ensuresCopy(b.all(z), b.all(x), me());
    ir::Stmt first =
        b.packets(piece(M, num(0)),
                  block(b.forRanks("r", block(b.load(v, b.pieceOf(x, var("r"))), b.store(b.pieceOf(y, var("r")), v)))));
    ir::Stmt pieces =
        b.packets(piece(M, num(0)),
                  block(b.forRanks("s", block(b.load(w, b.pieceOf(y, var("s"))), b.store(b.pieceOf(z, var("s")), w)))));
    ir::Stmt wholes = b.packets(whole(M), block(b.load(all, b.all(y)), b.store(b.all(z), all)));
    return b.finish(block(first, samePackets ? pieces : wholes));
  };
  expectProved(program(true));
  expectRefuted(program(false), Kind::WrongResult, "nothing orders the two within a launch");
}
