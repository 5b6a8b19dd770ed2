// Chunks: what is followed from chunk to chunk agrees with every sequence written out.
#include "CheckPrograms.h"

#include "check/ChunkStreams.h"
#include "check/Counts.h"
#include "check/Dataflow.h"
#include "check/Launches.h"
#include "check/Order.h"
#include "check/Scalars.h"

#include <gtest/gtest.h>

#include <utility>

using namespace coll;
using namespace coll::check;
using namespace coll::ir::testing;

namespace {

/// What the chunks of a program do, of which those that are full may go on with any.
struct Kinds {
  Kinds(ir::Program p, bool strict) : program(std::move(p)), expansion(expand(program, scalarClasses(program).values)), strict(strict) {
    const std::vector<Extents> counts = countClasses(program);
    for (const Extents &c : counts) sizes.emplace_back(expansion, c);
    classes = classify(expansion, sizes);
    launches.classes = classes.count();
    Dataflow::Mail mail(expansion);
    for (int v = 0; v < int(expansion.variants.size()); ++v)
      for (int s = 0; s < int(sizes.size()); ++s) {
        Dataflow launch(expansion, v, classes, sizes[std::size_t(s)], ir::kNone, mail, strict);
        EXPECT_FALSE(launch.run());
        launches.note(launch.schedule(), {{s, v}});
      }
    const std::size_t all = launches.kinds.size();
    for (std::size_t a = 0; a < all; ++a) {
      goesOn.emplace_back(unsigned(all));
      for (std::size_t b = 0; b < all; ++b)
        if (launches.schedules[a].upTo.back() == classes.count() && launches.kinds[a].scalars == launches.kinds[b].scalars)
          goesOn[a].set(unsigned(b));
    }
  }

  bool streamsFind(int copies) {
    const std::vector<int> each(program.mailboxes.size(), copies);
    std::vector<int> credits{0};
    if (expansion.credits) credits.push_back(copies);
    Order order(expansion, launches.classes, /*exact=*/false, strict, /*byValue=*/false);
    ChunkStreams streams(order.ways(), credits, goesOn);
    for (const Schedule &s : launches.schedules) {
      std::vector<ChunkEffect> effects;
      for (const int c : credits) effects.push_back(order.chunkEffect(s, each, c, {}));
      streams.add(std::move(effects));
    }
    const Streams::Found found = streams.run(each);
    EXPECT_TRUE(found.all);
    return !found.hazards.empty();
  }

  /// Of all sequences of so many chunks, with each launch as long as it may be and as short.
  bool wordsFind(int copies, std::vector<Order::Epoch> word = {}, int last = -1) {
    if (int(word.size()) == copies + 1) {
      Order order(expansion, launches.classes, /*exact=*/true, strict, /*byValue=*/false);
      return order.run(word, std::vector<int>(program.mailboxes.size(), copies)).has_value();
    }
    for (std::size_t k = 0; k < launches.kinds.size(); ++k)
      for (const bool ends : {false, true}) {
        if (last < 0 ? ends : !ends && !goesOn[std::size_t(last)].test(unsigned(k))) continue;
        std::vector<Order::Epoch> longer = word;
        if (!longer.empty()) longer.back().endsLaunch = ends;
        longer.push_back({&launches.schedules[k]});
        if (wordsFind(copies, longer, int(k))) return true;
      }
    return false;
  }

  const ir::Program program;
  const Expansion expansion;
  const bool strict;
  std::vector<Sizes> sizes;
  Classes classes;
  Launches launches;
  std::vector<llvm::BitVector> goesOn;
};

int found = 0, right = 0; ///< so that the programs are known to be of both kinds

void agree(ir::Program program) {
  program.chunks = ir::Chunks{program.values.front().length, 1024, 0};
  program.chunks->of.index = ir::Index();
  for (const bool strict : {false, true})
    for (int copies = 1; copies <= 3; ++copies) {
      Kinds kinds(program, strict);
      const bool wrong = kinds.wordsFind(copies);
      std::string text;
      llvm::raw_string_ostream os(text);
      ir::print(program, os);
      EXPECT_EQ(kinds.streamsFind(copies), wrong) << copies << " copies" << (strict ? ", strict" : "") << "\n" << os.str();
      ++(wrong ? found : right);
    }
}

/// if me == root: x -> (me + 1).box; y = box there, with flags and, if it answers, a credit for the copy
ir::Program oneWay(int ranks, bool flag, bool answers, bool releases) {
  ProgramBuilder b(ranks);
  b.program.scalars.push_back({"root", true});
  const ir::Length full = whole({"M"});
  const auto x = b.in("x", {"M"}), y = b.out("y", {"M"});
  const auto box = b.box("box", num(1), full, 0, flag ? ir::Sync::Flag : ir::Sync::LL);
  const auto v = b.value("x", full), got = b.value("box", full);
  const ir::Index next = ir::Index::mod(ir::Index::add(me(), num(1)), num(ranks));
  const ir::Index before = ir::Index::mod(ir::Index::add(me(), num(ranks - 1)), num(ranks));
  const auto isRoot = [&](const ir::Index &i) { return ir::Index::make(ir::Index::Kind::Eq, i, var("root")); };
  if (answers) b.program.mailboxes[box].reuse = ir::Reuse::Ack;

  ir::Block body, sends;
  if (answers) body.push_back(b.forRanks("c", block(b.credit(var("c"), releases))));
  if (answers) sends.push_back(b.awaitCredit(box, next));
  if (flag && answers) body.push_back(b.when(isRoot(me()), std::exchange(sends, {})));
  sends.push_back(b.load(v, b.all(x)));
  sends.push_back(b.send(v, next, box, num(0)));
  body.push_back(b.packets(full, block(b.when(isRoot(me()), sends))));
  if (flag) body.push_back(b.when(isRoot(me()), block(b.signal(next, box, num(0)))));
  if (flag) body.push_back(b.when(isRoot(before), block(b.await(box, num(0)))));
  const ir::Block reads = block(flag ? b.read(got, box, num(0)) : b.poll(got, box, num(0)), b.store(b.all(y), got));
  body.push_back(b.packets(full, block(b.when(isRoot(before), reads))));
  return b.finish(std::move(body));
}

} // namespace

TEST(CheckChunks, StreamsFindWhatEverySequenceShows) {
  for (const int ranks : {2, 3}) {
    agree(oneShot({.ranks = ranks}));
    agree(oneShot({.ranks = ranks, .sync = ir::Sync::Barrier, .barrier = true}));
    agree(oneShot({.ranks = ranks, .sync = ir::Sync::Barrier, .barrier = true, .barrierAfter = true}));
    agree(twoShot({.ranks = ranks}));
    agree(allGather({.ranks = ranks}));
  }
  for (const bool flag : {false, true})
    for (const bool answers : {false, true})
      for (const bool releases : {false, true}) agree(oneWay(2, flag, answers, releases));
  EXPECT_GT(found, 10);
  EXPECT_GT(right, 10);
}
