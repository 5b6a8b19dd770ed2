// Counterexamples as diagnostics.
#include "CheckPrograms.h"

#include "check/Check.h"

#include <gtest/gtest.h>

using namespace coll;
using namespace coll::check;
using namespace coll::ir::testing;

TEST(CheckReport, NamesTheLaterEventsLineAndNotesTheEarlierOne) {
  ir::Program p = oneShot({.ranks = 2, .copies = 1, .inPlace = false});
  const std::string text =
      "mailbox box[N] of T[M] depth 1\nforall p in ranks: x -> p.box[me]\ny = reduce(op, r in ranks: box[r])\n";
  p.source = &text;
  p.sourceFile = "test.coll";
  ir::walk(p.body, [](ir::Stmt &s) {
    if (auto *send = std::get_if<ir::Send>(&s.op())) send->where = 50;
    if (auto *poll = std::get_if<ir::Poll>(&s.op())) poll->where = 92;
  });
  const Verdict v = check::check(p);
  ASSERT_TRUE(v.refutation.has_value());
  Diagnostics all;
  all.list.push_back(toDiagnostic(p, *v.refutation));
  EXPECT_EQ(
      all.render(),
      "test.coll:2:20: error: rank 0 may send to `box[0]` of rank 1 in launch e+1 before rank 1 has read there what "
      "it was sent in launch e: with 1 copy both are the same memory, and nothing that rank 0 receives by then was "
      "sent after that [overwrite-before-read]\n"
      "forall p in ranks: x -> p.box[me]\n"
      "                   ^\n"
      "test.coll:3:28: note: rank 1 waits for `box[0]` and reads it here, in launch e\n"
      "y = reduce(op, r in ranks: box[r])\n"
      "                           ^\n"
      "note: for example, time going down:\n"
      "              | rank 1                            | rank 0\n"
      "  launch e    | (late)                            | done\n"
      "  launch e+1  |                                   | send box[0] -> rank 1  <- lands first\n"
      "  launch e    | read box[0]  <- too late          |\n"
      "note: with N = 2, M = 1\n"
      "help: declare `box` with `depth 2`, or leave `depth` out\n");
}

TEST(CheckReport, NoSourceGivesNoPlace) {
  const ir::Program p = oneShot({.copies = 1});
  const Diagnostic d = toDiagnostic(p, *check::check(p).refutation);
  EXPECT_EQ(d.line, 0u);
  EXPECT_EQ(d.kind, "overwrite-before-read");
}
