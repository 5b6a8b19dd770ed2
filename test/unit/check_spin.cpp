// The checker against SPIN, which goes through every interleaving of small programs: what the checker proves must never
// hang or hand on what is not of its launch, and what it refutes must do so in some interleaving.
//
// In the model a slot holds the number of the launch that filled it. Words that show by themselves that they have
// arrived are stored at once; plain stores (clears, announced data) land at any time until the next release.
#include "CheckPrograms.h"

#include "check/Check.h"
#include "check/Expansion.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <unistd.h>

using namespace coll;
using namespace coll::check;
using namespace coll::ir::testing;

namespace {

bool haveSpin() {
  return std::system("spin -V > /dev/null 2>&1") == 0 && std::system("cc --version > /dev/null 2>&1") == 0;
}

/// The program as Promela, for launches of one packet.
std::string promela(const ir::Program &program, int launches) {
  const Expansion expansion = expand(program, {{}});
  const int slots = int(expansion.slots.size());
  int copies = 1;
  for (const ir::Mailbox &m : program.mailboxes) copies = std::max(copies, m.copies);
  std::ostringstream out;
  // slot: 0 is empty, else 1 + launch. late: what a plain store will put there, 255 if none is under way.
  out << "byte slot[" << slots * copies << "];\nbyte flag[" << slots << "];\n"
      << "byte late[" << slots * copies << "] = 255;\n"
      << "byte credit[" << program.ranks * program.ranks << "];\nbyte arrived[" << program.ranks << "];\n";
  std::ostringstream memory;
  for (int r = 0; r < program.ranks; ++r) {
    // A rank's own plain stores are those to the slots that it clears or sends to.
    std::vector<int> plain;
    std::ostringstream body;
    auto place = [&](const Step &s) {
      const int b = program.mailboxes[s.box].copies;
      return std::to_string(s.slot * copies) + " + e % " + std::to_string(b);
    };
    auto fence = [&] {
      for (int p : plain)
        for (int c = 0; c < copies; ++c) body << "    late[" << p * copies + c << "] == 255;\n";
    };
    auto plainStore = [&](const Step &s, const char *value) {
      if (!llvm::is_contained(plain, s.slot)) plain.push_back(s.slot);
      body << "    late[" << place(s) << "] == 255;\n    late[" << place(s) << "] = " << value << ";\n";
    };
    for (const bool count : {true, false}) { // the first time to learn of all plain stores
      if (!count) body.str("");
      for (const Step &s : expansion.variants[0].steps[r]) {
        const bool own = s.a != ir::kNone && s.index == r;
        const ir::Sync sync = s.box == ir::kNone ? ir::Sync::LL : program.mailboxes[s.box].sync;
        switch (s.kind) {
        case Step::Kind::Send:
          if (s.value != ir::kNone && s.peer == r) break;
          if (sync == ir::Sync::Flag || sync == ir::Sync::Barrier)
            plainStore(s, "e + 1");
          else
            body << "    slot[" << place(s) << "] = e + 1;\n";
          break;
        case Step::Kind::Poll:
          if (own) break;
          body << "    slot[" << place(s) << "] " << (sync == ir::Sync::Sentinel ? "!= 0" : "== e + 1") << ";\n"
               << "    assert(slot[" << place(s) << "] == e + 1);\n";
          break;
        case Step::Kind::Read:
          if (!own) body << "    assert(slot[" << place(s) << "] == e + 1);\n";
          break;
        case Step::Kind::Clear: plainStore(s, "0"); break;
        case Step::Kind::Signal:
          fence();
          body << "    flag[" << s.slot << "] = e + 1;\n";
          break;
        case Step::Kind::Await: body << "    flag[" << s.slot << "] >= e + 1;\n"; break;
        case Step::Kind::Fence: fence(); break;
        case Step::Kind::Barrier:
          fence();
          body << "    arrived[" << r << "]++;\n    ";
          for (int p = 0; p < program.ranks; ++p) body << (p ? " && " : "") << "arrived[" << p << "] >= arrived[" << r << "]";
          body << ";\n";
          break;
        case Step::Kind::Credit: body << "    credit[" << s.peer * program.ranks + r << "] = e + 1;\n"; break;
        case Step::Kind::AwaitCredit:
          body << "    credit[" << r * program.ranks + s.peer << "] + " << program.mailboxes[s.box].copies
               << " >= e + 2;\n";
          break;
        default: break;
        }
      }
      fence();
    }
    out << "active proctype rank" << r << "() {\n  byte e = 0;\n  do\n  :: e < " << launches << " ->\n"
        << body.str() << "    e++\n  :: else -> break\n  od\n}\n";
    for (int p : plain)
      for (int c = 0; c < copies; ++c) {
        const int i = p * copies + c;
        memory << "  :: late[" << i << "] != 255 -> atomic { slot[" << i << "] = late[" << i << "]; late[" << i
               << "] = 255 }\n";
      }
  }
  if (!memory.str().empty()) out << "active proctype memory() {\nend:\n  do\n" << memory.str() << "  od\n}\n";
  return out.str();
}

/// Whether SPIN finds an interleaving that hangs or takes wrong data; nothing if it cannot tell.
std::optional<bool> spinRefutes(const ir::Program &program, int launches) {
  namespace fs = std::filesystem;
  const fs::path dir = fs::path(testing::TempDir()) / ("coll-check-spin-" + std::to_string(getpid()));
  fs::create_directories(dir);
  std::ofstream(dir / "model.pml") << promela(program, launches);
  // With tables for few states, which most models have: to clear large ones takes longer than the search.
  const std::string run = "cd '" + dir.string() +
                          "' && rm -f pan out && spin -a model.pml > out 2>&1 && cc -O0 -w -DSAFETY -o pan pan.c && "
                          "./pan -m10000 -w16 > out 2>&1 && if grep -q 'depth too small' out; then ./pan -m1000000 > out 2>&1; fi";
  const int code = std::system(run.c_str());
  std::ifstream file(dir / "out");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  fs::remove_all(dir);
  const std::size_t at = text.find("errors: ");
  if (at == std::string::npos || text.find("max search depth too small") != std::string::npos) {
    ADD_FAILURE() << "spin ends with " << code << ": " << text;
    return std::nullopt;
  }
  return text[at + 8] != '0';
}

/// Sends to the ranks at these distances, then waits for theirs, step after step; each step has a mailbox.
struct Exchange {
  int ranks;
  std::vector<std::vector<int>> steps;
  ir::Sync sync;
  int copies;
  int fences = 0;     ///< bit s: a fence after step s has been received (and cleared)
  int noClear = -1;   ///< a step without its clears
  int lateSignal = 0; ///< 1: announces before it sends; 2: not at all
};

ir::Program build(const Exchange &o) {
  ProgramBuilder b(o.ranks);
  const ir::Length full = whole({"M"});
  const auto x = b.in("x", {"M"});
  const auto v = b.value("x", full);
  auto at = [&](int d) { return ir::Index::mod(ir::Index::add(me(), num(d)), num(o.ranks)); };
  ir::Block body = block(b.packets(full, block(b.load(v, b.all(x)))));
  for (std::size_t s = 0; s < o.steps.size(); ++s) {
    const auto box = b.box("box" + std::to_string(s), num(o.ranks), full, o.copies, o.sync);
    ir::Block sends, signals, awaits, reads;
    for (int d : o.steps[s]) {
      const auto got = b.value("got", full);
      sends.push_back(b.send(v, at(d), box, num(d)));
      signals.push_back(b.signal(at(d), box, num(d)));
      awaits.push_back(b.await(box, num(d)));
      reads.push_back(o.sync == ir::Sync::Flag ? b.read(got, box, num(d)) : b.poll(got, box, num(d)));
      if (o.sync == ir::Sync::Sentinel && int(s) != o.noClear) reads.push_back(b.clear(box, num(d)));
    }
    auto put = [&](ir::Block part) {
      for (ir::Stmt &stmt : part) body.push_back(std::move(stmt));
    };
    const bool flag = o.sync == ir::Sync::Flag;
    ir::Stmt load = b.load(b.value("x", full), b.all(x));
    if (flag && o.lateSignal == 1) put(signals);
    body.push_back(b.packets(full, std::move(sends)));
    if (flag && o.lateSignal == 0) put(signals);
    if (flag) put(awaits);
    if (o.fences >> s & 1) reads.push_back(b.fence());
    body.push_back(b.packets(full, std::move(reads)));
  }
  return b.finish(std::move(body));
}

/// Data from rank 0 to all: what holds it back is `credits`, given as the launch begins, or a barrier at the end.
ir::Program oneWay(int ranks, int copies, bool credits, bool barrier, bool waitsForAll = true) {
  ProgramBuilder b(ranks);
  const ir::Length full = whole({"M"});
  const auto x = b.in("x", {"M"});
  const auto v = b.value("x", full), got = b.value("got", full);
  const auto box = b.box("box", num(1), full, copies);
  ir::Block sends = block(b.load(v, b.all(x)));
  if (credits && waitsForAll) sends.push_back(b.forRanks("w", block(b.awaitCredit(box, var("w")))));
  if (credits && !waitsForAll) sends.push_back(b.awaitCredit(box, num(1)));
  sends.push_back(b.forRanks("p", block(b.send(v, var("p"), box, num(0)))));
  ir::Block body;
  if (credits) body.push_back(b.forRanks("c", block(b.credit(var("c")))));
  body.push_back(b.packets(full, block(b.when(ir::Index::make(ir::Index::Kind::Eq, me(), num(0)), sends),
                                       b.poll(got, box, num(0)))));
  if (barrier) body.push_back(b.barrier());
  return b.finish(std::move(body));
}

/// Whether both refute it; they must agree.
bool compare(const ir::Program &p, int launches, const std::string &what) {
  const Verdict v = check::check(p, {.counts = {{{"M", 1}}}});
  const auto spin = spinRefutes(p, launches);
  if (!spin) return false;
  EXPECT_EQ(v.proved, !*spin) << what << ": " << v.summary;
  return *spin;
}

bool compare(const Exchange &o, const std::string &what) { return compare(build(o), o.copies + 2, what); }

} // namespace

TEST(CheckSpin, RulesOfReuse) {
  if (!haveSpin()) GTEST_SKIP() << "spin is not installed";
  using enum ir::Sync;
  compare({3, {{0, 1, 2}}, LL, 2}, "one-shot");
  compare({3, {{0, 1, 2}}, LL, 1}, "one-shot, one copy");
  compare({3, {{1, 2}, {1, 2}}, LL, 1}, "two-shot");
  compare({3, {{1}}, LL, 2}, "shift");
  compare({2, {{0, 1}}, Sentinel, 2}, "sentinel one-shot");
  compare({2, {{1}}, Sentinel, 1}, "sentinel one-shot, one copy");
  compare({2, {{1}, {1}}, Sentinel, 1, 1}, "sentinel two-shot, fence");
  compare({2, {{1}, {1}}, Sentinel, 1, 0}, "sentinel two-shot, no fence");
  compare({2, {{1}, {1}}, Sentinel, 2, 0}, "sentinel two-shot, two copies");
  compare({2, {{1}}, Sentinel, 2, 0, 0}, "sentinel, no clear");
  compare({2, {{1}}, Flag, 2}, "flag one-shot");
  compare({2, {{1}}, Flag, 1}, "flag one-shot, one copy");
  compare({2, {{1}}, Flag, 2, 0, -1, 1}, "flag before the data");
  compare({2, {{1}}, Flag, 2, 0, -1, 2}, "no flag");
}

// Small forms of the library's protocols, right and with one thing missing.
TEST(CheckSpin, DataThatRunsOneWay) {
  if (!haveSpin()) GTEST_SKIP() << "spin is not installed";
  for (int copies : {1, 2}) {
    EXPECT_FALSE(compare(oneWay(3, copies, true, false), copies + 2, "credits"));
    EXPECT_TRUE(compare(oneWay(3, copies, true, false, /*waitsForAll=*/false), copies + 2, "one reader's credit"));
    EXPECT_TRUE(compare(oneWay(3, copies, false, false), copies + 2, "no credits"));
    EXPECT_FALSE(compare(oneWay(3, copies, false, true), copies + 2, "a barrier at the end"));
  }
}

TEST(CheckSpin, OverBarriers) {
  if (!haveSpin()) GTEST_SKIP() << "spin is not installed";
  for (int copies : {1, 2})
    for (bool barrier : {false, true})
      for (bool after : {false, true}) {
        if (!barrier && after) continue;
        ir::Program p = oneShot({.ranks = 3, .copies = copies, .sync = ir::Sync::Barrier, .barrier = barrier, .barrierAfter = after});
        EXPECT_EQ(compare(p, copies + 2, "one-shot"), !barrier || (copies == 1 && !after));
      }
}

TEST(CheckSpin, RandomPrograms) {
  if (!haveSpin()) GTEST_SKIP() << "spin is not installed";
  std::mt19937 random(3);
  int refuted = 0;
  const int trials = 9;
  for (int trial = 0; trial < trials; ++trial) {
    Exchange o{};
    o.sync = trial % 3 == 0 ? ir::Sync::LL : trial % 3 == 1 ? ir::Sync::Sentinel : ir::Sync::Flag;
    o.ranks = o.sync == ir::Sync::LL ? 2 + int(random() % 3) : 2 + int(random() % 2);
    o.copies = 1 + int(random() % 2);
    o.fences = int(random() % 4);
    o.steps.resize(1 + random() % 2);
    for (auto &distances : o.steps) distances.push_back(1 + int(random() % (o.ranks - 1)));
    if (o.ranks == 2 && random() % 2) o.steps.front().push_back(0);
    refuted += compare(o, "trial " + std::to_string(trial));
  }
  EXPECT_GT(refuted, 1);
  EXPECT_LT(refuted, trials - 1);
}
