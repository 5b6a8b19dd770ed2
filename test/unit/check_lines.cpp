// Mailboxes of sync mode `ll128`: ordered as those of `ll`, by packets that come in groups, on one assumption more; and
// of `ll16`, on another.
#include "CheckPrograms.h"

#include "check/Check.h"
#include "check/Counts.h"
#include "check/Expansion.h"

#include <gtest/gtest.h>

using namespace coll;
using namespace coll::check;
using namespace coll::ir::testing;
using Copies = std::vector<int>;
using ir::Sync;

namespace {

Verdict verdict(const ir::Program &program, const Options &options = {}) {
  EXPECT_EQ(ir::verify(program), "");
  return check::check(program, options);
}

} // namespace

TEST(CheckLines, NeedAsManyCopiesAsLl) {
  for (int ranks : {2, 3, 8}) {
    EXPECT_EQ(verdict(oneShot({.ranks = ranks, .sync = Sync::LL128})).copies, Copies{2});
    EXPECT_EQ(verdict(twoShot({.ranks = ranks, .sync = Sync::LL128})).copies, (Copies{1, 1}));
  }
}

TEST(CheckLines, OneCopyIsOverwrittenBeforeItIsRead) {
  const Verdict v = verdict(oneShot({.copies = 1, .sync = Sync::LL128}));
  ASSERT_FALSE(v.proved);
  EXPECT_EQ(v.refutation->kind, Refutation::Kind::OverwriteBeforeRead);
}

TEST(CheckLines, AreSaidToRestOnUnsplitLines) {
  EXPECT_NE(verdict(oneShot({.sync = Sync::LL128})).strength.find("lines of 128 bytes"), std::string::npos);
  EXPECT_EQ(verdict(oneShot({})).strength.find("lines of 128 bytes"), std::string::npos);
}

TEST(CheckLines, OfSixteenBytesRestOnWholeStoresOfThem) {
  EXPECT_NE(verdict(oneShot({.sync = Sync::LL16})).strength.find("loads of 16 bytes"), std::string::npos);
  EXPECT_EQ(verdict(oneShot({.sync = Sync::LL16})).copies, Copies{2});
  EXPECT_FALSE(verdict(oneShot({.copies = 1, .sync = Sync::LL16})).proved);
  const Verdict v = verdict(oneShot({.sync = Sync::LL16}), {.atomicBytes = 8});
  ASSERT_FALSE(v.proved);
  EXPECT_EQ(v.refutation->kind, Refutation::Kind::AtomicityNotDeclared);
}

// 240 floats are a group of 32 packets. One float more for each of 4 ranks than that, and the last piece, which is
// shorter, has no second group.
TEST(CheckLines, PacketsOfAGroupShareTheirFate) {
  const ir::Program lines = twoShot({.sync = Sync::LL128});
  EXPECT_EQ(packetElements(lines), 240u);
  EXPECT_EQ(packetElements(twoShot({})), 4u);
  const Expansion expansion = expand(lines, {{}});
  const auto groups = [&](std::uint64_t count, int piece) {
    const Sizes sizes(expansion, {{"M", count}});
    const int length = expansion.variants[0].steps[0][1].length;
    return classify(expansion, {sizes}).reach(sizes.elements(length, piece));
  };
  EXPECT_EQ(groups(961, 0), 2);
  EXPECT_EQ(groups(961, 3), 1);
  const std::vector<Extents> counts = countClasses(lines);
  EXPECT_NE(std::find(counts.begin(), counts.end(), Extents{{"M", 961}}), counts.end());
}

// Whoever sends no second group to the last rank receives none of its credit, as with packets of `ll`.
TEST(CheckLines, CountsThatLeaveAGroupOutAreTried) {
  const auto proved = [](std::uint64_t a, std::uint64_t b) {
    return verdict(reduceScatterPieces({.copies = 2, .sync = Sync::LL128}), {.counts = {{{"M", a}}, {{"M", b}}}}).proved;
  };
  EXPECT_TRUE(proved(1920, 3840));
  EXPECT_FALSE(verdict(reduceScatterPieces({.copies = 2, .sync = Sync::LL128})).proved);
}
