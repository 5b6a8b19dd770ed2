#include "Mutants.h"

#include "../unit/CheckPrograms.h"

namespace coll::mutation {

using Kind = check::Refutation::Kind;
using namespace ir::testing;

namespace {

std::function<void(ir::Program &)> copies(std::vector<int> number) {
  return [number](ir::Program &p) {
    for (std::size_t i = 0; i < number.size(); ++i) p.mailboxes[i].copies = number[i], p.mailboxes[i].declaredDepth = true;
  };
}

/// Removes all statements that `drops` says, wherever they are.
void drop(ir::Block &block, const std::function<bool(const ir::Stmt &)> &drops) {
  llvm::erase_if(block, drops);
  for (ir::Stmt &s : block)
    if (ir::Block *body = ir::bodyOf(s)) drop(*body, drops);
}

template <class Op>
bool consistsOf(const ir::Stmt &s) {
  if (std::holds_alternative<Op>(s.op())) return true;
  const ir::Block *body = ir::bodyOf(s);
  return body && body->size() == 1 && consistsOf<Op>(body->front());
}

void dropBarriers(ir::Program &p) {
  drop(p.body, [](const ir::Stmt &s) { return std::holds_alternative<ir::Barrier>(s.op()); });
  p.barriers = 0;
}

/// The barrier of that number.
std::function<void(ir::Program &)> dropBarrier(std::uint32_t number) {
  return [number](ir::Program &p) {
    drop(p.body, [&](const ir::Stmt &s) {
      const auto *barrier = std::get_if<ir::Barrier>(&s.op());
      return barrier && barrier->number.isConstant(number);
    });
    ir::numberBarriers(p);
  };
}

template <class Op>
void dropAll(ir::Program &p) {
  drop(p.body, [](const ir::Stmt &s) { return consistsOf<Op>(s); });
}

void dropClears(ir::Program &p) {
  drop(p.body, [](const ir::Stmt &s) { return std::holds_alternative<ir::Clear>(s.op()); });
}

void deferClears(ir::Program &p) {
  ir::walk(p.body, [](ir::Stmt &s) {
    if (auto *clear = std::get_if<ir::Clear>(&s.op())) clear->behind = 1;
  });
}

/// The signals go in front of what they announce.
void announceFirst(ir::Program &p) {
  for (std::size_t i = 1; i < p.body.size(); ++i)
    if (consistsOf<ir::Signal>(p.body[i])) std::swap(p.body[i], p.body[i - 1]);
}

/// The rank's own slots are cleared before anything else.
void clearFirst(ir::Program &p) {
  const ir::SourceOffset where = p.mailboxes[0].where;
  for (ir::Stmt &s : p.body)
    if (auto *loop = std::get_if<ir::PacketLoop>(&s.op())) {
      ir::ForRanks all{"early", {}, where};
      all.body.push_back(ir::Clear{0, ir::Index::variable("early"), where});
      loop->body.insert(loop->body.begin(), ir::Stmt(all));
      return;
    }
}

/// Rank 0 sends nothing.
void keepRankZeroSilent(ir::Program &p) {
  for (ir::Stmt &s : p.body)
    if (auto *loop = std::get_if<ir::PacketLoop>(&s.op()))
      for (ir::Stmt &inner : loop->body)
        if (consistsOf<ir::Send>(inner)) {
          ir::If silent{ir::Index::make(ir::Index::Kind::Lt, num(0), me()), {}, p.mailboxes[0].where};
          silent.body.push_back(inner);
          inner = silent;
        }
}

/// Data as it is, then a word that says so, with what orders the two.
ir::Program announced(bool release, bool acquire, bool sameThread) {
  ProgramBuilder b(3);
  const ir::Length full = whole({"M"});
  const auto x = b.in("x", {"M"}), y = b.out("y", {"N", "M"});
  const auto data = b.box("data", num(3), full, 0, ir::Sync::Barrier), flag = b.box("flag", num(3), full);
  const auto v = b.value("x", full), w = b.value("x", full), f = b.value("flag", full), got = b.value("data", full);
  b.ensuresCopy(b.rowOf(y, var("r")), b.all(x), var("r"), "r");
  ir::Stmt sends = b.packets(full, block(b.load(v, b.all(x)), b.forRanks("p", block(b.send(v, var("p"), data, me())))));
  ir::Block rest = block(b.load(w, b.all(x)));
  if (release) rest.push_back(b.fence());
  rest.push_back(b.forRanks("q", block(b.send(w, var("q"), flag, me()))));
  rest.push_back(b.forRanks("f", block(b.poll(f, flag, var("f")))));
  if (acquire) rest.push_back(b.fence());
  rest.push_back(b.forRanks("g", block(b.read(got, data, var("g")), b.store(b.rowOf(y, var("g")), got))));
  ir::Stmt flags = b.packets(full, std::move(rest));
  if (!sameThread) std::get<ir::PacketLoop>(flags.op()).map = ir::ThreadMap::Blocked;
  return b.finish(block(sends, flags));
}

/// Two-shot whose gathered pieces are received by other threads than those that have read the scattered ones.
ir::Program gatheredByOthers(bool others) {
  ir::Program p = twoShot({.ranks = 4, .copies = 1, .loops = 2, .inPlace = false});
  if (others)
    for (ir::Stmt &s : p.body)
      if (auto *loop = std::get_if<ir::PacketLoop>(&s.op()); loop && &s != &p.body[1]) loop->map = ir::ThreadMap::Blocked;
  return p;
}

/// A mailbox whose `receive` finds a packet complete as `late` says.
std::string reader(const std::string &late) {
  return "struct Looks : coll::sentinel::Wire<T> {\n"
         "  __device__ static coll::u32 late(const coll::Words2 &line, coll::u32) { return " + late + "; }\n"
         "};\n"
         "struct Reader : Box {\n"
         "  template <coll::u32 kCount>\n"
         "  __device__ static void receive(coll::Launch<N> &launch, coll::u32 first, coll::u32 wanted, coll::u32 i,\n"
         "                                 Packet (&part)[kCount]) {\n"
         "    launch.begin();\n"
         "    const char *lines = launch.team.peer[0] + at(launch.epoch, first, i);\n"
         "    coll::Words2 seen[kCount];\n"
         "    coll::detail::awaitLines<Looks, kCount, Lines::kSlotBytes>(launch, 0, first, wanted, lines, seen);\n"
         "    for (coll::u32 s = 0; s < kCount; ++s) {\n"
         "      if ((wanted >> s & 1) && launch.active) clear(launch, first + s, i);\n"
         "      part[s] = coll::detail::fromWords<Packet>(seen[s]);\n"
         "    }\n"
         "  }\n"
         "};\n";
}

const char *const kTorn = R"(
__device__ inline void tornSend(coll::Launch<N> &launch, coll::u32 hop, coll::u32 slot, coll::u32 i, const Packet &x) {
  launch.begin();
  if (!launch.active) return;
  char *line = launch.team.peer[hop] + Box::at(launch.epoch, slot, i);
  for (int w = 0; w < 2; ++w) {
    coll::ptx::storeRelaxed4(line + 8 * w, x.word[w]);
    coll::ptx::storeRelaxed4(line + 8 * w + 4, launch.epoch);
  }
}
)";

const char *const kAnnounce = R"(
__device__ inline void announce(coll::Launch<N> &launch, coll::u32 slot) {
  launch.begin();
  SYNC
  for (coll::u32 hop = threadIdx.x + 1; hop < N; hop += blockDim.x)
    coll::ptx::STORE(launch.team.peer[hop] + Box::flagOf(slot), launch.epoch);
}
)";

std::string announce(const std::string &sync, const std::string &store) {
  std::string text = kAnnounce;
  text.replace(text.find("SYNC"), 4, sync);
  return text.replace(text.find("STORE"), 5, store);
}

const char *const kAwait = R"(
__device__ inline void await(coll::Launch<N> &launch, coll::u32 me) {
  for (coll::u32 r = threadIdx.x; r < N; r += blockDim.x) {
    if (r == me) continue;
    const char *flag = launch.team.peer[0] + Box::flagOf(r);
    while (coll::ptx::loadRelaxed4(flag) < launch.epoch) coll::ptx::spinHint(flag);
  }
  coll::ptx::ctaSync();
}
)";

const char *const kClearBehind = R"(
__device__ inline void clearBehind(coll::Launch<N> &launch, coll::u32 me, coll::u32 i) {
  constexpr coll::u64 kEmpty = coll::sentinel::Spare<T>::kEmpty;
  for (coll::u32 r = 0; r < N; ++r)
    if (r != me && launch.active)
      coll::ptx::storeRelaxed16(launch.team.peer[0] + Box::at(launch.epoch + COPIES - 1, r, i),
                                coll::Words2{{kEmpty, kEmpty}});
}
)";

std::string clearBehind(int copies) {
  std::string text = kClearBehind;
  return text.replace(text.find("COPIES"), 6, std::to_string(copies));
}

const Edit kReadThere = {"coll::reduceSlots<Op, T, Box>", "coll::reduceSlots<Op, T, Reader>"};
const Edit kDefer[] = {{"coll::reduceSlots<Op, T, Box>", "coll::reduceSlots<Op, T, Box::Kept>"},
                       {"launch.begin();\n", "launch.begin();\n    clearBehind(launch, me, i);\n"}};

/// The gather of a two-shot in a loop of its own, whose threads have their packets in the other order.
const std::vector<Edit> kGatherByOthers = {
    {"for (int hop = 1; hop < N; ++hop) Ag::send", "for (int hop = 0; hop < N; ++hop) Ag::send"},
    {"    coll::eachSlot<Ag>(\n        launch, i, s, ",
     "  });\n  const coll::u32 packets = Packet::count(pieces.piece);\n  Shape::forEach(launch, packets, [&](coll::u32 k) {\n"
     "    const coll::u32 i = packets - 1 - k;\n    coll::eachSlot<Ag>(\n        launch, i, "}};

const char *const kBroadcast = R"(coll 1
collective first<T in any>(in x: T[M], out y: T[M])
  ensures y == (0 as rank).x
algorithm push for first on lsa(2..8) when bytes <= 64Ki {
  mailbox box[1] of T[M] sync ll reuse double_buffer depth DEPTH
  if me == 0 { forall p in ranks: x -> p.box[0] }
  y = box[0]
}
)";

std::string broadcast(int depth) {
  std::string text = kBroadcast;
  return text.replace(text.find("DEPTH"), 5, std::to_string(depth));
}

/// What `coll::counter` waits for, without the word that says how far it has counted.
const char *const kCountOnce = R"(
__device__ inline void countOnce(coll::Launch<N> &launch) {
  const char *count = launch.team.peer[0] + Acc::countOf(0);
  if (threadIdx.x == 0)
    while (coll::ptx::loadAcquire4(count) < N) coll::ptx::spinHint(count);
  coll::ptx::ctaSync();
}
)";

/// What has been added, left as it is.
const char *const kKept = R"(
struct Kept : Acc {
  template <coll::u32 kCount>
  __device__ static void receive(coll::Launch<N> &launch, coll::u32 first, coll::u32, coll::u32 i,
                                 Packet (&part)[kCount]) {
    if (launch.active)
      part[0] = coll::detail::loadWhole<Packet>(launch.team.peer[0] + at(launch.epoch, first, i));
  }
};
)";

const char *const kStream = R"(coll 1
use ALL
algorithm stream<S in {ll, flag}> for ALL on lsa(2..8) {
  mailbox box[N] of T[M] sync S REUSE
  pipeline c in 0 .. chunks(x, 4Ki) {
    BODY
  }
}
)";

std::string stream(const std::string &collective, const std::string &body, const std::string &reuse = "") {
  std::string text = kStream;
  text.replace(text.find("REUSE"), 5, reuse);
  for (std::size_t at; (at = text.find("ALL")) != std::string::npos;) text.replace(at, 3, collective);
  return text.replace(text.find("BODY"), 4, body);
}

const std::string kStreamReduced = stream("allreduce", "forall p in ranks: x -> p.box[me]\n    y = reduce(op, r in ranks: box[r])");
const std::string kStreamSpread = stream("broadcast", "if me == root { forall p in ranks: x -> p.box[me] }\n    y = box[root]", "reuse ack");

/// Two-shot in chunks, as gatheredByOthers.
ir::Program chunksGatheredByOthers(bool others) {
  ir::Program p = gatheredByOthers(others);
  p.chunks = ir::Chunks{piece({"M"}, {}), 1024, 0};
  return p;
}

const char *const kRing = R"(coll 1
collective gather<T in any>(in x: T[M], out y: T[N][M])
  ensures forall r in ranks: y[r] == r.x
algorithm ring for gather on lsa(2..8) when bytes <= 64Ki {
  mailbox box[N] of T[M] sync ll
  var v = x
  y[me] = x
  for s in 1 .. N - 1 {
    v -> (me + 1).box[s]
    v = box[s]
    y[me - s] = v
  }
}
)";

check::Options fixed(std::uint64_t elements) {
  check::Options o;
  o.counts = {{{"M", elements}}};
  return o;
}
check::Options atomic(unsigned bytes) {
  check::Options o;
  o.atomicBytes = bytes;
  return o;
}
check::Options anyGrid() {
  check::Options o;
  o.sameGrid = false;
  return o;
}
/// A packet for each thread even of a whole chunk.
tool::Adversary::Settings shape(LaunchShape of) {
  tool::Adversary::Settings s;
  s.shape = of;
  return s;
}
tool::Adversary::Settings unequalGrids() {
  tool::Adversary::Settings s;
  s.unequalGrids = true;
  return s;
}

std::vector<Mutant> table() {
  const std::string push = "-> p.box[me]", sum = "reduce(op, r in ranks: box[r])", rows = "y[r] = box[r]";
  const auto overwrite = Kind::OverwriteBeforeRead, early = Kind::ReadWithoutArrival, stale = Kind::StaleSentinel;
  const std::string box = "mailbox `box`";
  return {
      // ---- reference runs of the emulator: one for each defect found there ----
      {.name = "OneShotLlOneCopy", .text = "allreduce", .member = "oneshot.ll", .change = copies({1}), .kind = overwrite,
       .line = push, .shows = box},
      {.name = "LlLineInFourWords", .text = "allreduce", .member = "oneshot.ll", .options = atomic(4),
       .kind = Kind::AtomicityNotDeclared, .line = "mailbox box", .edits = {{"Box::send(", "tornSend("}}, .prelude = kTorn},
      {.name = "TwoShotGatheredByOtherThreads", .text = "allreduce", .member = "twoshot.ll", .byHand = gatheredByOthers,
       .kind = overwrite, .edits = kGatherByOthers, .shows = "thread map: packet"},
      {.name = "FlagOneCopy", .text = "allgather", .member = "direct.flag", .change = copies({1}), .kind = overwrite,
       .line = push},
      {.name = "FlagBeforeData", .text = "allgather", .member = "direct.flag", .change = announceFirst, .kind = early,
       .line = rows},
      {.name = "FlagNotReleased", .text = "allgather", .member = "direct.flag",
       .byHand = [](bool broken) { return announced(!broken, true, true); }, .kind = early,
       .edits = {{"Box::announce(", "announce("}}, .prelude = announce("coll::ptx::ctaSync();", "storeRelaxed4")},
      {.name = "FlagNotAcquired", .text = "allgather", .member = "direct.flag",
       .byHand = [](bool broken) { return announced(true, !broken, true); }, .kind = early,
       .edits = {{"Box::await(launch, 0, N, me)", "await(launch, me)"}}, .prelude = kAwait},
      {.name = "FlagWithoutCtaBarrier", .text = "allgather", .member = "direct.flag",
       .byHand = [](bool broken) { return announced(true, true, !broken); }, .kind = early,
       .edits = {{"Box::announce(", "announce("}}, .prelude = announce("", "storeRelease4")},
      {.name = "SentinelDeferredTwoCopies", .text = "allreduce", .member = "oneshot.sentinel",
       .change = [](ir::Program &p) { deferClears(p), copies({2})(p); }, .options = fixed(64), .kind = stale, .line = push,
       .edits = {kDefer[0], kDefer[1]}, .prelude = clearBehind(2), .extents = {{"M", 64}}},
      {.name = "SentinelOneCopy", .text = "allreduce", .member = "oneshot.sentinel", .change = copies({1}),
       .kind = overwrite, .line = push},
      {.name = "SentinelTwoShotOneCopy", .text = "allreduce", .member = "twoshot.sentinel", .change = copies({1, 1}),
       .kind = stale, .line = "-> p.rs[me]"},
      {.name = "SentinelClearsThisLaunchsRange", .text = "allreduce", .member = "oneshot.sentinel",
       .change = [](ir::Program &p) { deferClears(p), copies({3})(p); }, .kind = stale, .line = push,
       .edits = {kDefer[0], kDefer[1]}, .prelude = clearBehind(3), .copies = 3},
      {.name = "BroadcastWithoutCreditTwoCopies", .text = broadcast(2), .member = "push", .kind = overwrite,
       .line = "x -> p.box[0]"},
      {.name = "BroadcastWithoutCreditThreeCopies", .text = broadcast(3), .member = "push", .kind = overwrite,
       .line = "x -> p.box[0]"},
      {.name = "RingOneCopy", .text = kRing, .member = "ring", .change = copies({1}), .kind = overwrite,
       .line = "v -> (me + 1).box[s]", .shows = box},
      {.name = "FlagsBetweenDifferentGrids", .text = "allgather", .member = "direct.flag", .options = anyGrid(),
       .kind = Kind::Deadlock, .line = rows, .edits = {{"", ""}}, .settings = unequalGrids()},
      {.name = "BarrierLeftOut", .text = "allreduce", .member = "oneshot.barrier", .change = dropBarriers, .kind = early,
       .line = sum},

      // ---- several epochs in a launch ----
      {.name = "ChunksTwoCopies", .text = kStreamReduced, .member = "stream.ll", .ranks = 3, .change = copies({2}),
       .kind = overwrite, .line = push, .settings = shape({16, 32}), .extents = {{"M", 1030}}, .shows = box},
      {.name = "ChunksWithRotatedThreads", .text = kStreamReduced, .member = "stream.ll", .byHand = chunksGatheredByOthers,
       .kind = overwrite,
       .edits = {{"[&](coll::u32 k) {", "[&](coll::u32 j) {\n      const coll::u32 k = (j + c * 32) % chunks.size(c);"}},
       .extents = {{"M", 2500}}, .shows = "thread map: packet"},
      {.name = "ChunksOneWayWithoutCredits", .text = kStreamSpread, .member = "stream.ll",
       .change = dropAll<ir::AwaitCredit>, .kind = overwrite, .line = push, .extents = {{"M", 2500}}, .shows = box},
      {.name = "ChunksOneWayWithoutCreditsFlag", .text = kStreamSpread, .member = "stream.flag",
       .change = dropAll<ir::AwaitCredit>, .kind = overwrite, .line = push, .extents = {{"M", 2500}}, .shows = box},
      {.name = "CreditsOfCtasOfDifferentGrids", .text = kStreamSpread, .member = "stream.ll", .options = anyGrid(),
       .kind = Kind::Deadlock, .line = push, .edits = {{"", ""}}, .settings = unequalGrids(), .extents = {{"M", 2500}}},

      // ---- windows ----
      {.name = "PullBeforeTheBarrier", .text = "allreduce", .member = "pull_oneshot", .change = dropBarrier(0),
       .kind = Kind::MissingBarrier, .line = "r.x", .shows = "before its owner has begun the launch"},
      {.name = "PushBeforeTheBarrier", .text = "allgather", .member = "push", .change = dropBarrier(0),
       .kind = Kind::MissingBarrier, .line = "x -> p.y[me]", .shows = "before its owner has begun the launch"},
      {.name = "PushWithoutTheClosingBarrier", .text = "allgather", .member = "push", .change = dropBarrier(1),
       .kind = Kind::MissingBarrier, .line = "x -> p.y[me]"},
      {.name = "PushedPieceNotAwaited", .text = "allgather", .member = "ring_push", .change = dropAll<ir::Await>,
       .kind = early, .line = "y[me - s]"},

      // ---- counters ----
      {.name = "CounterTargetNotAdvanced", .text = "allreduce", .member = "counter.flag", .change = dropAll<ir::Await>,
       .kind = early, .line = "+> p.acc", .edits = {{"Acc::await(launch, 0, 1)", "countOnce(launch)"}},
       .prelude = kCountOnce},
      {.name = "CounterNotZeroed", .text = "allreduce", .member = "counter.flag", .change = dropClears, .kind = stale,
       .line = "let s = acc", .edits = {{"coll::readSlot<Acc>", "coll::readSlot<Kept>"}}, .prelude = kKept},

      // ---- epilogues ----
      {.name = "FusedOneCopy", .text = "allreduce_rmsnorm", .member = "oneshot.ll", .change = copies({1}),
       .kind = overwrite, .line = push, .shows = box},

      // ---- public defects of other libraries: sentinels ----
      {.name = "S01NegativeZeroSentAsItIs", .text = "allreduce", .member = "oneshot.sentinel",
       .change = [](ir::Program &p) { p.mailboxes[0].canonical = false; }, .kind = Kind::NoSpareValue, .line = "mailbox box",
       .edits = {{"Box::send(launch, hop, me, i, x);",
                  "coll::ptx::storeRelaxed16If(launch.active, launch.team.peer[hop] + Box::at(launch.epoch, me, i), "
                  "coll::detail::toWords(x));"}}},
      {.name = "S01SubnormalsTakenForZero", .text = "allreduce", .member = "oneshot.sentinel",
       .change = [](ir::Program &p) { p.mailboxes[0].canonical = false; }, .kind = Kind::NoSpareValue, .line = "mailbox box",
       .edits = {kReadThere},
       .prelude = reader("!(line.w[0] & 0x7f800000) | !(line.w[0] >> 32 & 0x7f800000) | "
                         "!(line.w[1] & 0x7f800000) | !(line.w[1] >> 32 & 0x7f800000)")},
      {.name = "S02SentinelComparedAsANumber", .text = "allreduce", .member = "oneshot.sentinel",
       .change = [](ir::Program &p) { p.mailboxes[0].canonical = false; }, .kind = Kind::NoSpareValue, .line = "mailbox box",
       .edits = {kReadThere},
       .prelude = reader("!(coll::u32(line.w[0]) << 1) | !(coll::u32(line.w[0] >> 32) << 1) | "
                         "!(coll::u32(line.w[1]) << 1) | !(coll::u32(line.w[1] >> 32) << 1)")},
      {.name = "S04SlotNotCleared", .text = "allreduce", .member = "oneshot.sentinel", .change = dropClears, .kind = stale,
       .line = sum, .edits = {kDefer[0]}},
      {.name = "S05OneWordOfThePacketLookedAt", .text = "allreduce", .member = "oneshot.sentinel", .options = atomic(2),
       .kind = Kind::AtomicityNotDeclared, .line = "mailbox box", .edits = {kReadThere},
       .prelude = reader("coll::u32(line.w[0]) == coll::u32(coll::sentinel::Spare<T>::kEmpty)")},
      {.name = "S07SlotReadThatNobodyFilled", .text = "allreduce", .member = "oneshot.barrier",
       .change = keepRankZeroSilent, .kind = early, .line = sum},

      // ---- the same: reuse of buffers ----
      {.name = "R01OneStagingSlot", .text = "allreduce", .member = "oneshot.barrier", .change = copies({1}),
       .kind = overwrite, .line = push},
      {.name = "R03WordNotReset", .text = "allreduce", .member = "twoshot.sentinel", .change = dropClears, .kind = stale,
       .line = "reduce(op, r in ranks: rs[r])",
       .edits = {{"coll::reduceSlots<Op, T, Rs>", "coll::reduceSlots<Op, T, Rs::Kept>"}}},
      {.name = "R07PullWithoutTheClosingBarrier", .text = "allreduce", .member = "pull_oneshot", .change = dropBarrier(1),
       .kind = Kind::MissingBarrier, .line = "r.x", .shows = "after the end of its owner's launch"},
      {.name = "R14OwnSlotsWipedAtTheStart", .text = "allreduce", .member = "oneshot.sentinel", .change = clearFirst,
       .kind = stale, .line = push,
       .edits = {{"launch.begin();\n",
                  "launch.begin();\n    for (coll::u32 r = 0; r < N; ++r)\n      if (r != me) Box::clear(launch, r, i);\n"}}},
  };
}

} // namespace

const std::vector<Mutant> &mutants() {
  static const std::vector<Mutant> all = table();
  return all;
}

} // namespace coll::mutation
