// Windows: what peers do with arguments between the barriers of a launch.
#include "CheckPrograms.h"

#include "check/Check.h"

#include <gtest/gtest.h>

using namespace coll;
using namespace coll::check;
using namespace coll::ir::testing;
using Kind = Refutation::Kind;

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

struct Pull {
  int ranks = 4;
  bool entry = true, exit = true;
  bool inPlace = false;
};

/// y = reduce(sum, r in ranks: r.x)
ir::Program pullOneShot(const Pull &o) {
  ProgramBuilder b(o.ranks);
  const ir::Length full = whole({"M"});
  const auto x = b.window(b.in("x", {"M"})), y = b.out("y", {"M"});
  const auto v = b.value("x", full), s = b.value("s", full);
  b.ensuresReduction(b.all(y), b.all(x));
  if (o.inPlace) b.inplace(b.all(y), b.all(x), "y", "x");
  ir::Block body;
  if (o.entry) body.push_back(b.barrier());
  body.push_back(b.packets(
      full, block(b.reduce(s, "r", block(b.load(v, b.of(var("r"), b.all(x)))), v), b.store(b.all(y), s))));
  if (o.exit) body.push_back(b.barrier());
  return b.finish(std::move(body));
}

struct Pieces {
  int ranks = 4;
  bool entry = true, middle = true, exit = true;
  bool inPlace = true;
  bool gatherAll = false; ///< each rank fetches the others' whole vector instead of their piece
  bool push = false;      ///< the sums are written to where they are wanted
  bool toNext = false;    ///< to the piece of the next rank
};

/// let s = reduce(sum, r in ranks: r.X[me]); then either s -> p.Y[me], or Y[me] = s; barrier; Y[r] = r.Y[r]
ir::Program pullTwoShot(const Pieces &o) {
  ProgramBuilder b(o.ranks);
  const std::vector<std::string> M = {"M"};
  const auto x = b.window(b.in("x", M)), y = b.window(b.out("y", M));
  const auto v = b.value("X", piece(M, me())), s = b.value("s", piece(M, me())), g = b.value("Y", piece(M, var("g")));
  b.ensuresReduction(b.all(y), b.all(x));
  if (o.inPlace) b.inplace(b.all(y), b.all(x), "y", "x");
  const ir::Length domain = piece(M, num(0));
  ir::Block sum = block(b.reduce(s, "r", block(b.load(v, b.of(var("r"), b.pieceOf(x, me())))), v));
  const ir::Index to = o.toNext ? ir::Index::mod(ir::Index::add(me(), num(1)), num(o.ranks)) : me();
  if (o.push) sum.push_back(b.forRanks("p", block(b.store(b.of(var("p"), b.pieceOf(y, to)), s))));
  else sum.push_back(b.store(b.pieceOf(y, me()), s));
  ir::Block body;
  if (o.entry) body.push_back(b.barrier());
  body.push_back(b.packets(domain, std::move(sum)));
  if (!o.push) {
    if (o.middle) body.push_back(b.barrier());
    const auto other = ir::Index::make(ir::Index::Kind::Ne, var("g"), me());
    body.push_back(b.packets(
        domain, block(b.forRanks("g", block(b.when(other, block(b.load(g, b.of(var("g"), b.pieceOf(y, var("g")))),
                                                                b.store(b.pieceOf(y, var("g")), g))))))));
  }
  if (o.exit) body.push_back(b.barrier());
  return b.finish(std::move(body));
}

} // namespace

TEST(Window, PullsAreProved) {
  for (int n : {2, 3, 4, 5, 8}) {
    EXPECT_TRUE(verdict(pullOneShot({.ranks = n})).proved);
    EXPECT_TRUE(verdict(pullTwoShot({.ranks = n})).proved);
    EXPECT_TRUE(verdict(pullTwoShot({.ranks = n, .push = true})).proved);
  }
}

TEST(Window, OwnerMustHaveStarted) {
  const Refutation r = refutation(pullOneShot({.entry = false}));
  EXPECT_EQ(r.kind, Kind::MissingBarrier);
  EXPECT_TRUE(says(r, "before anything says that rank"));
  EXPECT_TRUE(says(r, "entry barrier"));
  EXPECT_NE(r.first.owner, r.first.rank);
  EXPECT_EQ(refutation(pullTwoShot({.entry = false, .push = true})).kind, Kind::MissingBarrier);
}

TEST(Window, OwnerMustNotEndBefore) {
  const Refutation r = refutation(pullOneShot({.exit = false}));
  EXPECT_EQ(r.kind, Kind::MissingBarrier);
  EXPECT_TRUE(says(r, "exit barrier"));
  EXPECT_EQ(refutation(pullTwoShot({.exit = false})).kind, Kind::MissingBarrier) << "one in the middle is not enough";
  EXPECT_EQ(refutation(pullTwoShot({.exit = false, .push = true})).kind, Kind::MissingBarrier);
}

TEST(Window, WhatPeersWriteMustBeThere) {
  const Refutation r = refutation(pullTwoShot({.middle = false, .inPlace = false}));
  EXPECT_EQ(r.kind, Kind::ReadWithoutArrival);
  EXPECT_TRUE(says(r, "nothing orders the two"));
}

TEST(Window, InPlaceUnderPeers) {
  EXPECT_EQ(refutation(pullOneShot({.inPlace = true})).kind, Kind::InplaceHazard);
  Options full; // all pieces as long as each other
  full.counts = {{{"M", 64}}};
  EXPECT_EQ(refutation(pullTwoShot({.push = true, .toNext = true}), full).kind, Kind::WrongResult);
  ProgramBuilder b(2); // what a peer may be reading is written
  const std::vector<std::string> M = {"M"};
  const auto x = b.window(b.in("x", M)), y = b.window(b.out("y", M));
  const auto v = b.value("X", piece(M, me()));
  const auto next = ir::Index::mod(ir::Index::add(me(), num(1)), num(2));
  b.inplace(b.all(y), b.all(x), "y", "x");
  ir::Block body = block(b.barrier());
  body.push_back(b.packets(piece(M, num(0)), block(b.load(v, b.of(next, b.pieceOf(x, me()))),
                                                   b.store(b.pieceOf(y, next), v))));
  body.push_back(b.barrier());
  EXPECT_EQ(refutation(b.finish(std::move(body)), full).kind, Kind::InplaceHazard);
}

// A barrier orders CTA c with CTA c, and different slices give an element to different CTAs.
TEST(Window, BarrierOrdersNotAllThreads) {
  ProgramBuilder b(2);
  const std::vector<std::string> M = {"M"};
  const auto x = b.in("x", M), t = b.window(b.out("t", M)), y = b.out("y", M);
  const auto v = b.value("x", whole(M)), s = b.value("X", piece(M, me()));
  const auto other = ir::Index::mod(ir::Index::add(me(), num(1)), num(2));
  ir::Block body = block(b.barrier());
  body.push_back(b.packets(whole(M), block(b.load(v, b.all(x)), b.store(b.all(t), v))));
  body.push_back(b.barrier());
  body.push_back(b.packets(piece(M, num(0)),
                           block(b.load(s, b.of(other, b.pieceOf(t, me()))), b.store(b.pieceOf(y, me()), s))));
  body.push_back(b.barrier());
  const Refutation r = refutation(b.finish(std::move(body)));
  EXPECT_EQ(r.kind, Kind::ReadWithoutArrival);
  EXPECT_TRUE(says(r, "by different slices, so by different CTAs"));
}
