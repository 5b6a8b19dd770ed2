// Which launches stand for all, and the checker against a search of every interleaving.
#include "CheckPrograms.h"

#include "check/Check.h"
#include "check/Counts.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

using namespace coll;
using namespace coll::check;
using namespace coll::ir::testing;

TEST(CheckCounts, SequencesContainEveryWordOfTheWindow) {
  for (int kinds : {1, 2, 3, 4})
    for (int window : {3, 4}) {
      const std::vector<int> s = launchSequence(kinds, window);
      const std::size_t length = std::size_t(window) - 1;
      std::set<std::vector<int>> words;
      for (std::size_t i = 0; i + length <= s.size(); ++i) words.insert({s.begin() + i, s.begin() + i + length});
      double all = 1;
      for (std::size_t i = 0; i < length; ++i) all *= kinds;
      EXPECT_EQ(words.size(), std::size_t(all)) << kinds << " kinds, window " << window;
    }
}

// What is sent one way is tried with a copy more than there are ranks, for every root.
TEST(CheckCounts, SequencesOfManyCopiesStayShort) {
  std::vector<LaunchKind> kinds;
  for (int scalars : {0, 1, 2, 3, 4})
    for (int counts : {0, 1, 2}) kinds.push_back({counts, scalars});
  for (int window : {4, 27, 75}) EXPECT_LT(launchSequence(kinds, window).size(), 100'000u) << window;
}

// Events have numbers that run out in a long sequence of launches.
TEST(CheckCounts, LongSequencesAreProvedAlike) {
  Options options;
  options.window = 20'000;
  EXPECT_TRUE(check::check(oneShot({.ranks = 2}), options).proved);
}

TEST(CheckCounts, LargestCountsThatTheBoundAllowsAreTried) {
  ir::Program p = twoShot({.ranks = 8});
  p.maxBytes = 32 * 4;
  EXPECT_TRUE(llvm::is_contained(countClasses(p), (Extents{{"M", 32}})));
  EXPECT_TRUE(llvm::is_contained(countClasses(p), (Extents{{"M", 31}})));
  EXPECT_FALSE(llvm::is_contained(countClasses(p), (Extents{{"M", 33}})));
}

TEST(CheckCounts, ClassesStayWithinTheBoundOnBytes) {
  ir::Program p = allToAll({.ranks = 8});
  EXPECT_EQ(countClasses(p).size(), 5u);
  p.maxBytes = 8 * 8 * 4;
  EXPECT_EQ(countClasses(p), (std::vector<Extents>{{{"M", 1}}, {{"M", 7}}, {{"M", 8}}}));
}

namespace {

/// A launch of every rank alike: in each step, send to the ranks at these distances, then wait for theirs.
using Steps = std::vector<std::vector<int>>;

ir::Program exchange(int ranks, const Steps &steps, int copies) {
  ProgramBuilder b(ranks);
  const ir::Length full = whole({"M"});
  const auto x = b.in("x", {"M"});
  const auto v = b.value("x", full);
  auto at = [&](int d) { return ir::Index::mod(ir::Index::add(me(), num(d)), num(ranks)); };
  ir::Block body = block(b.load(v, b.all(x)));
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const auto box = b.box("box" + std::to_string(s), num(ranks), full, copies);
    for (int d : steps[s]) body.push_back(b.send(v, at(d), box, num(d)));
    for (int d : steps[s]) body.push_back(b.poll(b.value("got", full), box, num(d)));
  }
  return b.finish(block(b.packets(full, std::move(body))));
}

/// Whether some interleaving of `launches` launches lets a send overtake the read of what it overwrites. The state is
/// how far each rank is, since that says which sends and polls have happened.
bool canOvertake(int ranks, const Steps &steps, int copies, int launches) {
  struct Op {
    bool send;
    std::size_t step;
    int distance;
  };
  std::vector<Op> ops;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    for (int d : steps[s]) ops.push_back({true, s, d});
    for (int d : steps[s]) ops.push_back({false, s, d});
  }
  const int perLaunch = int(ops.size());
  auto position = [&](bool send, const Op &like) {
    for (int i = 0; i < perLaunch; ++i)
      if (ops[i].send == send && ops[i].step == like.step && ops[i].distance == like.distance) return i;
    return -1;
  };
  std::set<std::vector<int>> seen;
  std::vector<std::vector<int>> todo{std::vector<int>(ranks, 0)};
  while (!todo.empty()) {
    const std::vector<int> state = todo.back();
    todo.pop_back();
    if (!seen.insert(state).second) continue;
    for (int r = 0; r < ranks; ++r) {
      if (state[r] == perLaunch * launches) continue;
      const int launch = state[r] / perLaunch;
      const Op &op = ops[state[r] % perLaunch];
      const int other = (r + (op.send ? op.distance : ranks - op.distance)) % ranks;
      const int theirs = position(!op.send, op);
      if (op.send && launch >= copies && state[other] <= (launch - copies) * perLaunch + theirs) return true;
      if (!op.send && state[other] <= launch * perLaunch + theirs) continue;
      std::vector<int> next = state;
      ++next[r];
      todo.push_back(std::move(next));
    }
  }
  return false;
}

} // namespace

TEST(CheckCounts, AgreesWithASearchOfEveryInterleaving) {
  std::mt19937 random(1);
  int refuted = 0, proved = 0;
  for (int trial = 0; trial < 150; ++trial) {
    const int ranks = 2 + int(random() % 3), copies = 1 + int(random() % 3);
    Steps steps(1 + random() % 2);
    for (std::vector<int> &distances : steps) {
      for (int d = 0; d < ranks; ++d)
        if (random() % 2) distances.push_back(d);
      if (distances.size() > 2) distances.resize(2);
      if (distances.empty()) distances.push_back(1);
    }
    const bool expected = canOvertake(ranks, steps, copies, copies + 2);
    const Verdict v = check::check(exchange(ranks, steps, copies), {.counts = {{{"M", 1}}}});
    EXPECT_EQ(v.proved, !expected) << "trial " << trial << ": " << v.summary;
    ++(expected ? refuted : proved);
  }
  EXPECT_GT(refuted, 20);
  EXPECT_GT(proved, 20);
}

namespace {

/// Vectors of these lengths, one after the other from every rank to the one so many further, or to all.
ir::Program vectorsOf(int ranks, const std::vector<std::pair<std::string, int>> &vectors) {
  ProgramBuilder b(ranks);
  ir::Block body;
  for (const auto &[extent, distance] : vectors) {
    const std::string number = std::to_string(body.size());
    const ir::Length full = whole({extent});
    const auto x = b.in("x" + number, {extent});
    const auto v = b.value("v" + number, full);
    const auto box = b.box("box" + number, num(ranks), full);
    ir::Block loop = block(b.load(v, b.all(x)));
    const int first = distance ? distance : 1, last = distance ? distance : ranks - 1;
    for (int d = first; d <= last; ++d)
      loop.push_back(b.send(v, ir::Index::mod(ir::Index::add(me(), num(d)), num(ranks)), box, num(d)));
    for (int d = first; d <= last; ++d) loop.push_back(b.poll(b.value("got" + number, full), box, num(d)));
    body.push_back(b.packets(full, std::move(loop)));
  }
  ir::Program p = b.finish(std::move(body));
  p.extents = {"M", "K"};
  return p;
}

} // namespace

// Lengths that rise and fall: what is proved for the counts that are tried holds for others.
TEST(CheckCounts, LengthsWorkedOutOfNamesAreProvedForAllNumbers) {
  const std::vector<std::string> lengths = {"M", "K", "300-M", "M-100", "M/2", "2*M", "300-M+M/8", "M*(300-M)", "K-M", "K*M",
                                            "M/K", "200-K", "K+M-100", "log2(M)", "150-M/2", "(100-M)*K", "M-(K-M)"};
  std::mt19937 random(1);
  int proved = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const int ranks = 2 + int(random() % 2);
    std::vector<std::pair<std::string, int>> vectors(1 + random() % 3);
    for (auto &[extent, distance] : vectors) extent = lengths[random() % lengths.size()], distance = int(random() % std::uint32_t(ranks));
    ir::Program p = vectorsOf(ranks, vectors);
    const Verdict v = check::check(p, {});
    if (!v.proved) continue;
    ++proved;
    Options options;
    for (const std::uint64_t m : {0, 1, 2, 3, 9, 60, 99, 101, 150, 199, 299, 300, 303, 400, 1000})
      for (const std::uint64_t k : {0, 1, 4, 11, 59, 100, 196, 200, 201, 299, 310, 999, 2003}) {
        const Extents counts{{"K", k}, {"M", m}};
        if (llvm::any_of(vectors, [&](const auto &of) { return p.product({of.first}, counts) > 0; })) options.counts.push_back(counts);
      }
    for (std::size_t i = 0; i < p.mailboxes.size(); ++i) p.mailboxes[i].copies = v.copies[i];
    const Verdict all = check::check(p, options);
    EXPECT_TRUE(all.proved) << "trial " << trial << ": " << all.summary;
  }
  EXPECT_GT(proved, 20);
}
