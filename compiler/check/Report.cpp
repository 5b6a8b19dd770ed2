#include "check/Report.h"

#include "check/Counts.h"
#include "check/Scalars.h"
#include "coll/Extent.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <set>

namespace coll::check {
namespace {

using What = Event::What;

std::string copiesText(int copies) {
  return std::to_string(copies) + (copies == 1 ? " copy" : " copies");
}

/// What has an epoch of its own.
std::string epochWord(const ir::Program &program) {
  return program.chunks ? "chunk" : "launch";
}

std::string launchText(const ir::Program &program, int launch) {
  return epochWord(program) + (launch ? " e+" + std::to_string(launch) : " e");
}

std::string slotText(const ir::Program &program, const Event &e) {
  return "`" + program.mailboxes[e.box].name + "[" + std::to_string(e.slot) + "]`";
}

std::string eventText(const ir::Program &program, const Event &e) {
  const std::string rank = "rank " + std::to_string(e.rank) + " ";
  switch (e.what) {
  case What::None: return {};
  case What::Load:
  case What::Store:
    return rank + (e.what == What::Load ? "reads `" : "writes `") + program.buffers[e.buffer].name + "`" +
           (e.owner == e.rank ? "" : " of rank " + std::to_string(e.owner));
  case What::Send: return rank + "sends to " + slotText(program, e) + " of rank " + std::to_string(e.owner);
  case What::Poll: return rank + "waits for " + slotText(program, e) + " and reads it";
  case What::Read: return rank + "reads " + slotText(program, e);
  case What::Clear: return rank + "clears " + slotText(program, e);
  case What::Signal: return rank + "announces " + slotText(program, e) + " of rank " + std::to_string(e.owner);
  case What::Await: return rank + "waits for " + slotText(program, e);
  case What::Barrier: return rank + "waits at a barrier";
  }
  return {};
}

/// The counts and scalars of the launches, once if they are all alike.
std::string countsText(const ir::Program &program, const Refutation &r) {
  std::string text;
  auto one = [&](std::size_t launch) {
    std::string t;
    auto add = [&](llvm::StringRef name, auto value) {
      t += (t.empty() ? "" : ", ") + name.str() + " = " + std::to_string(value);
    };
    if (launch < r.counts.size())
      for (const auto &[name, value] : r.counts[launch]) add(name, value);
    if (launch < r.scalars.size())
      for (std::size_t i = 0; i < program.scalars.size(); ++i) add(program.scalars[i].name, r.scalars[launch][i]);
    return t;
  };
  const std::size_t launches = std::max(r.counts.size(), r.scalars.size());
  bool same = true;
  for (std::size_t i = 1; i < launches; ++i) same &= one(i) == one(0);
  for (std::size_t i = 0; i < (same ? std::min<std::size_t>(1, launches) : launches);) {
    std::size_t next = i + 1;
    while (next < launches && one(next) == one(i)) ++next;
    text += (i ? ", then " : "") + one(i);
    if (const std::size_t times = next - i; times > 1 && !same) text += " (" + std::to_string(times) + " launches)";
    i = next;
  }
  return text;
}

/// The lengths worked out of names that were given a value as if they were names.
std::set<std::string> lengthsAsNames(const Refutation &r) {
  std::set<std::string> found;
  for (const Extents &counts : r.counts)
    for (const auto &[name, value] : counts)
      if (isComputed(name)) found.insert(name);
  return found;
}

/// The line and column of an offset, from whichever text the program has.
void place(const ir::Program &program, ir::SourceOffset where, Diagnostic &d) {
  d.file = program.sourceFile;
  if (program.sources) {
    const Sources::Position p = program.sources->position(std::uint32_t(where));
    d.file = p.file->name;
    d.line = p.line, d.column = p.column;
    d.snippet = program.sources->snippet({std::uint32_t(where), std::uint32_t(where)});
    return;
  }
  if (!program.source || where > program.source->size()) return;
  const std::string_view before = std::string_view(*program.source).substr(0, where);
  d.line = 1 + unsigned(std::count(before.begin(), before.end(), '\n'));
  const std::size_t start = before.rfind('\n') + 1; // 0 where there is no newline
  d.column = unsigned(where - start) + 1;
  const std::string_view line = std::string_view(*program.source).substr(start);
  d.snippet = std::string(line.substr(0, line.find('\n'))) + "\n" + std::string(where - start, ' ') + "^";
}

/// One rank beside the other, time going down.
std::string diagram(const ir::Program &program, const Refutation &r) {
  const Event &a = r.first, &b = r.second;
  auto action = [&](const Event &e) {
    const char *verb = e.what == What::Send     ? "send "
                       : e.what == What::Signal ? "announce "
                       : e.what == What::Clear  ? "clear "
                                                : "read ";
    return verb + program.mailboxes[e.box].name + "[" + std::to_string(e.slot) + "]" +
           (e.what == What::Send || e.what == What::Signal ? " -> rank " + std::to_string(e.owner) : "");
  };
  const bool overtaken = r.kind != Refutation::Kind::ReadWithoutArrival || b.what == What::Signal;
  const Event &left = a, &right = b;
  const std::size_t width = 34;
  std::string text;
  auto row = [&](int launch, std::string l, std::string rr) {
    std::string line = "  " + launchText(program, launch);
    line.resize(14, ' ');
    line += "| " + l;
    line.resize(16 + width, ' ');
    text += "\n" + line + (rr.empty() ? "|" : "| " + rr);
  };
  text = "              | rank " + std::to_string(left.rank);
  text.resize(16 + width, ' ');
  text += "| rank " + std::to_string(right.rank);
  if (overtaken) {
    row(left.launch, "(late)", "done");
    for (int l = left.launch + 1; l < right.launch; ++l) row(l, "", "done");
    row(right.launch, "", action(right) + "  <- lands first");
    row(left.launch, action(left) + "  <- too late", "");
  } else {
    row(left.launch, "", action(right) + "  <- reads first");
    row(left.launch, action(left) + "  <- too late", "");
  }
  return "for example, time going down:\n" + text;
}

} // namespace

llvm::StringRef name(Refutation::Kind kind) {
  using Kind = Refutation::Kind;
  switch (kind) {
  case Kind::WrongResult: return "wrong-result";
  case Kind::RankDivergentOrder: return "rank-divergent-order";
  case Kind::ReadWithoutArrival: return "read-without-arrival";
  case Kind::OverwriteBeforeRead: return "overwrite-before-read";
  case Kind::StaleSentinel: return "stale-sentinel";
  case Kind::Deadlock: return "deadlock";
  case Kind::OrphanSend: return "orphan-send";
  case Kind::InplaceHazard: return "inplace-hazard";
  case Kind::MailboxTooSmall: return "mailbox-too-small";
  case Kind::MissingBarrier: return "missing-barrier";
  case Kind::NoSpareValue: return "no-spare-value";
  case Kind::AtomicityNotDeclared: return "atomicity-not-declared";
  case Kind::Unbounded: return "unbounded";
  }
  return {};
}

Refutation untried(const ir::Program &program, const ScalarClasses::Refusal &refusal) {
  Refutation r;
  r.kind = Refutation::Kind::Unbounded;
  r.first.where = refusal.where;
  r.ranks = program.ranks;
  if (!refusal.at) {
    r.explanation = "the scalars have too many combinations of values here to prove anything for all of them";
    r.fix = "compare each scalar itself with numbers or ranks, or take fewer scalars";
    return r;
  }
  const std::string name = "`" + refusal.scalar + "`", at = refusal.at->str();
  if (refusal.overflows) {
    r.explanation = "nothing is proved for all values of " + name + ": `" + at + "` may go beyond 2^62, where whole numbers end";
    const auto declared = llvm::find_if(program.scalars, [&](const ir::Scalar &s) { return s.name == refusal.scalar; });
    r.fix = "take less of " + name + (sizeOf(declared->type) > 4 ? ", compare it itself with numbers, or declare it with a narrower type such as `i32`"
                                                                 : ", or compare it itself with numbers");
    return r;
  }
  if (!refusal.isFollowed) {
    r.explanation = "nothing is proved for all values of " + name + ": for which of them `" + at + "` is what, is not followed";
    r.fix = "compare " + name + ", its quotient or its remainder with numbers, or " + name +
            " itself with another scalar, a number more or less, or pass the outcome as a scalar of its own";
    return r;
  }
  r.explanation = "nothing is proved for all values of " + name + ": they have more outcomes in `" + at + "` than can be tried";
  r.fix = "compare " + name + " itself, its quotient or its remainder with numbers, or pass the outcome as a scalar of its own";
  return r;
}

static Refutation unbounded(const ir::Program &program) {
  Refutation r;
  r.kind = Refutation::Kind::Unbounded;
  r.ranks = program.ranks;
  for (const ir::Mailbox &m : program.mailboxes)
    if (m.payload && !r.first.where) r.first.where = m.where;
  return r;
}

Refutation untriedLaunches(const ir::Program &program) {
  Refutation r = unbounded(program);
  r.explanation = "the scalars make launches do too many different things to prove anything for all that may follow each other";
  r.fix = "take fewer scalars, or compare them with fewer numbers";
  return r;
}

Refutation untriedStreams(const ir::Program &program) {
  Refutation r = unbounded(program);
  r.explanation = "the launches that may come between two uses of a slot are too many to prove anything for all of them";
  r.fix = "declare `reuse ack` for the mailboxes, or a smaller `depth`, so that fewer launches lie between";
  return r;
}

/// What peers do with arguments, if anything.
static std::string windowsText(const ir::Program &program) {
  std::string names;
  for (const ir::Buffer &b : program.buffers)
    if (b.window) names += (names.empty() ? "`" : ", `") + b.name + "`";
  if (names.empty()) return {};
  bool waits = false;
  ir::walk(program.body, [&](const ir::Stmt &s) { waits |= std::holds_alternative<ir::Await>(s.op()); });
  return "peers touch " + names + " only after its owner has started the launch and before that ends, by barriers " +
         (waits ? "and waits " : "") + "of the launch, so launches cannot disturb each other";
}

/// Which values of the scalars stand for all, where that is not each of them.
static std::string scalarsText(const ir::Program &program) {
  const ScalarClasses scalars = scalarClasses(program);
  static constexpr int kMostNamed = 8;
  const auto list = [](const auto &values, auto &&text) {
    std::string all;
    const int count = int(values.size());
    for (int i = 0; i < std::min(count, kMostNamed); ++i) all += (i ? ", " : "") + text(values[std::size_t(i)]);
    return count > kMostNamed ? all + " and " + std::to_string(count - kMostNamed) + " more" : all;
  };
  const auto number = [](std::int64_t v) { return std::to_string(v); };
  const auto names = [&] { return list(program.scalars, [](const ir::Scalar &s) { return s.name; }); };
  std::string text;
  for (std::size_t s = 0; s < program.scalars.size(); ++s)
    if (!program.scalars[s].rank && scalars.each[s].size() > 1)
      text += "; " + program.scalars[s].name + " was tried with " + list(scalars.each[s], number);
  if (!scalars.edges.empty()) {
    text += "; of " + names() + " not all combinations were tried, but one for every outcome of the conditions, and each value of one with";
    for (std::size_t s = 0; s < program.scalars.size(); ++s)
      text += (s ? ", " : " ") + program.scalars[s].name + " = " + list(scalars.edges[s], number);
    text += " of the others";
  }
  return text;
}

/// Which numbers of empty pieces stand for all.
static std::string piecesText(const ir::Program &program) {
  const PiecesTried tried = piecesTried(program);
  if (tried.all) return {};
  std::string text = "; of " + std::to_string(program.ranks) + " pieces";
  for (std::size_t i = 0; i < tried.numbers.size(); ++i)
    text += (!i ? " " : i + 1 < tried.numbers.size() ? ", " : " and ") + std::to_string(tried.numbers[i]);
  return text + " with elements were tried";
}

/// What a proof says beyond the rule of reuse.
static std::string resultText(const ir::Program &program) {
  std::string text;
  for (const ir::Mailbox &m : program.mailboxes)
    if (m.sync == ir::Sync::Sentinel || ir::adds(m.sync)) {
      text += "; the clear of a slot is released, by the end of its launch at the latest, before whatever leads to the "
              "send that fills it again (rule T6)";
      break;
    }
  text += scalarsText(program) + piecesText(program);
  if (program.ensures.empty()) text += "; the contract has no `ensures`, so the result itself is not checked";
  return text;
}

std::string proofText(const ir::Program &program, const Verdict &v) {
  std::string text = windowsText(program);
  if (llvm::none_of(program.mailboxes, [](const ir::Mailbox &m) { return m.payload; }))
    return !text.empty() ? text : "no mailbox is used, so launches cannot disturb each other";
  if (!text.empty()) text += "; ";
  for (std::size_t i = 0; i < program.mailboxes.size(); ++i) {
    text += (i ? ", " : "") + program.mailboxes[i].name + ": " + copiesText(v.copies[i]);
    if (v.smallest[i] < v.copies[i]) text += " (" + std::to_string(v.smallest[i]) + " would do)";
  }
  text += "; ";
  const auto answered = llvm::count_if(program.mailboxes, [](const ir::Mailbox &m) { return m.reuse == ir::Reuse::Ack; });
  if (answered > 0) {
    text += "whoever fills a slot " + std::string(answered < long(program.mailboxes.size()) ? "with `reuse ack` " : "") +
            "again has waited until its reader has begun a later " + epochWord(program) +
            " than the one that read it (rule T4, ack)";
    if (answered == long(program.mailboxes.size())) return text + resultText(program);
    text += "; of the others, ";
  }
  const int most = *std::max_element(v.copies.begin(), v.copies.end());
  const bool barrier = program.barriers > 0;
  if (most == 1)
    text += barrier ? "a barrier of the " + epochWord(program) +
                          " stands between the last read of a slot and the send that fills it again"
                    : "whoever fills a slot again has, earlier in its " + epochWord(program) +
                          ", received what the reader of the slot sent after reading it (rule T3)";
  else if (v.fullDependence)
    text += "every rank waits for every other in each " + epochWord(program) + ", so whoever writes epoch e+" + std::to_string(most) +
            (barrier ? " has passed a barrier of e+" : " has received e+") + std::to_string(most - 1) +
            (barrier ? " with" : " from") + " the reader of e (rule T1)";
  else
    text += "whoever writes epoch e+" + std::to_string(most) +
            " has received, directly or through others, something that the reader of e sent after it (rule T1, over " +
            std::to_string(most - 1) + " launches)";
  return text + resultText(program);
}

unsigned atomicBytes(ir::Sync sync) {
  switch (sync) {
  case ir::Sync::LL: return 8;       // a word of data and its flag
  case ir::Sync::LL16: return 16;    // a line of data and its flag
  case ir::Sync::Counter16: return 16; // a line of sums and their count
  case ir::Sync::LL128: return 128;  // a line, whose end is its flag
  case ir::Sync::Counter128: return 128; // a line of sums, whose end is their count
  case ir::Sync::Sentinel: return 4; // every word shows by itself that it has come
  case ir::Sync::Flag:
  case ir::Sync::Counter:
  case ir::Sync::Barrier: return 4; // the word that announces
  }
  return 0;
}

std::vector<std::string> assumptions(const ir::Program &program, bool trusts, bool reliesOnWaits, bool reliesOnValues,
                                     bool reliesOnFetches) {
  std::vector<std::string> list;
  bool lines = false, lines16 = false, words = false, sums = false, sums128 = false, waits = reliesOnWaits;
  for (const ir::Mailbox &m : program.mailboxes) {
    lines |= m.sync == ir::Sync::LL128;
    lines16 |= m.sync == ir::Sync::LL16;
    words |= m.sync == ir::Sync::LL;
    sums |= m.sync == ir::Sync::Counter16;
    sums128 |= m.sync == ir::Sync::Counter128;
    waits |= m.sync == ir::Sync::Counter16 || m.sync == ir::Sync::Counter128 || m.sync == ir::Sync::LL || m.sync == ir::Sync::LL16 ||
             m.sync == ir::Sync::LL128 || m.sync == ir::Sync::Sentinel;
  }
  if (lines16)
    list.push_back("aligned stores and loads of 16 bytes are single-copy atomic, which platforms have to declare");
  if (sums)
    list.push_back("aligned additions and loads of 16 bytes take effect at once, which platforms have to declare");
  if (sums128)
    list.push_back("lines of 128 bytes, each added and loaded by 8 threads of a warp at once, are summed and seen at once, "
                   "which platforms have to declare");
  if (lines)
    list.push_back("aligned lines of 128 bytes, each stored and loaded by 8 threads of a warp at once, arrive whole, which "
                   "platforms have to declare");
  if (program.usesMulticast())
    list.push_back(std::string("what is stored and loaded by multicast is ordered as if each place had one address") +
                   (words ? ", and its words of 8 bytes reach each rank whole" : ""));
  if ((trusts && waits) || reliesOnFetches) list.push_back("no store is performed before the wait that precedes it in its thread has ended");
  if ((trusts && reliesOnValues) || reliesOnFetches) list.push_back("no store is performed before the loads that its value is computed from");
  if (trusts) list.push_back("the end of a kernel is a fence for what the rank's next launch sends");
  return list;
}

void offerFlags(const ir::Program &program, Refutation &refutation) {
  std::string names;
  for (const ir::Mailbox &m : program.mailboxes)
    if (m.payload && m.sync != ir::Sync::Flag && m.sync != ir::Sync::Barrier) names += (names.empty() ? "`" : ", `") + m.name + "`";
  refutation.fix = "declare " + names + " with `sync flag`, whose words order what comes before them; or " + refutation.fix;
}

std::string strengthText(const ir::Program &program, const Verdict &verdict) {
  bool ll = false, sentinel = false, counter = false, grid = program.barriers > 0 || program.hasWindows();
  for (const ir::Mailbox &m : program.mailboxes) {
    ll |= m.sync == ir::Sync::LL;
    sentinel |= m.sync == ir::Sync::Sentinel;
    counter |= ir::adds(m.sync);
    grid |= m.sync == ir::Sync::Flag || m.sync == ir::Sync::Counter || (program.chunks && m.reuse == ir::Reuse::Ack);
  }
  std::string text = verdict.assumptions.empty() ? "the PTX memory model alone" : "the PTX memory model";
  if (ll) text += ", 8-byte words of data and flag being single-copy atomic";
  if (sentinel)
    text += ", all 32-bit words of a packet being compared, so that none of it is taken before it has arrived";
  for (std::size_t i = 0; i < verdict.assumptions.size(); ++i)
    text += (i ? ", and that " : "; of hardware, beyond the model, that ") + verdict.assumptions[i];
  text += "; of the host, ";
  if (counter) text += "links between GPUs that do additions natively, ";
  if (sentinel) text += "slots that hold the sentinel before the first launch, ";
  return text + "one launch in flight per region and the same sequence of launches" +
         (grid ? ", of the same grid each," : "") + " on all ranks";
}

std::optional<Refutation> refuteByPlatform(const ir::Program &program, const Options &options) {
  Refutation r;
  r.ranks = program.ranks;
  for (std::size_t box = 0; box < program.mailboxes.size(); ++box) {
    const ir::Mailbox &m = program.mailboxes[box];
    r.first.where = m.where;
    r.first.box = ir::MailboxId(box);
    if (const unsigned bytes = atomicBytes(m.sync); bytes > std::min(options.atomicBytes, options.strict ? 8u : 128u)) {
      r.kind = Refutation::Kind::AtomicityNotDeclared;
      r.explanation = "`" + m.name + "` is `sync " + ir::keyword(m.sync).str() + "`, whose lines are right only if " +
                      std::to_string(bytes) + " bytes of a store take effect at once, and " +
                      (options.strict ? "PTX promises it of 8" : std::to_string(options.atomicBytes) + " are promised");
      r.fix = "use `sync flag`, which rests on no more than words of 4 bytes";
      return r;
    }
    if (m.sync == ir::Sync::Sentinel && !m.canonical) {
      r.kind = Refutation::Kind::NoSpareValue;
      r.explanation = "what is sent to `" + m.name + "` may hold the value that means an empty slot, and is then waited "
                      "for without end";
      r.fix = "turn that value into an equal one, as +0.0 for -0.0, before it is sent";
      return r;
    }
  }
  return options.sameGrid ? std::nullopt : refuteOtherGrids(program);
}

std::optional<Refutation> refuteOtherGrids(const ir::Program &program) {
  Refutation r;
  r.ranks = program.ranks;
  ir::walk(program.body, [&](const ir::Stmt &s) {
    const auto *barrier = std::get_if<ir::Barrier>(&s.op());
    const auto *await = std::get_if<ir::Await>(&s.op());
    const auto *credit = program.chunks ? std::get_if<ir::AwaitCredit>(&s.op()) : nullptr;
    if ((!barrier && !await && !credit) || !r.explanation.empty()) return;
    r.kind = Refutation::Kind::Deadlock;
    r.first.where = barrier ? barrier->where : await ? await->where : credit->where;
    r.explanation = "CTA c of a rank waits here for CTA c of another, which a rank with fewer CTAs does not have";
    r.fix = "launch the same grid on all ranks, or use `sync ll`, which packets wait for one by one";
  });
  return r.explanation.empty() ? std::nullopt : std::optional(r);
}

void explainOrder(const ir::Program &program, Refutation &r, const std::vector<int> &enough) {
  const Event &a = r.first, &b = r.second;
  const std::string slot = slotText(program, a) + " of rank " + std::to_string(a.owner);
  if (b.what == What::Signal) {
    r.explanation = "rank " + std::to_string(b.rank) + " may announce " + slot + " in " + launchText(program, b.launch) +
                    " before rank " + std::to_string(a.rank) + " has announced it in " + launchText(program, a.launch) +
                    ": its reader then takes what rank " + std::to_string(a.rank) + " sends as arrived too early";
    r.fix = "give every sender its own slot";
    if (!ir::adds(program.mailboxes[a.box].sync)) return;
    r.explanation = "rank " + std::to_string(b.rank) + " may announce what it adds to " + slot + " in " + launchText(program, b.launch) +
                    " before rank " + std::to_string(a.rank) + " has done so in " + launchText(program, a.launch) +
                    ": the owner counts announcements, and takes one for the other";
    r.fix = "put a `barrier` after the read, or let the owner send back what it reads";
    return;
  }
  if (r.kind == Refutation::Kind::ReadWithoutArrival) {
    r.explanation = "rank " + std::to_string(b.rank) + " may read " + slot + " before what rank " +
                    std::to_string(a.rank) + " sends to it has arrived: nothing makes it wait";
    switch (program.mailboxes[a.box].sync) {
    case ir::Sync::Barrier: r.fix = "put a `barrier` between the send and the read"; break;
    case ir::Sync::Flag:
    case ir::Sync::Counter: r.fix = "announce the slot after the send, and wait for that before the read"; break;
    default: r.fix = "wait for the slot before it is read";
    }
    return;
  }
  const std::string &box = program.mailboxes[a.box].name;
  const bool stale = r.kind == Refutation::Kind::StaleSentinel;
  const int copies = r.copies[a.box];
  r.explanation = "rank " + std::to_string(b.rank) + " may send to " + slot + " in " + launchText(program, b.launch) +
                  " before rank " + std::to_string(a.rank) + " has " + (a.what == What::Clear ? "cleared" : "read") +
                  " there what it was sent in " + launchText(program, a.launch) + ": with " + copiesText(copies) +
                  " both are the same memory, and nothing that rank " + std::to_string(b.rank) +
                  " receives by then was sent after that" + (stale ? ", with the clear released before it" : "");
  if (stale) r.explanation += "; what is sent may be cleared away";
  if (!enough.empty()) {
    r.fix.clear();
    for (std::size_t i = 0; i < enough.size(); ++i)
      if (enough[i] > r.copies[i])
        r.fix += (r.fix.empty() ? "declare `" : ", `") + program.mailboxes[i].name + "` with `depth " +
                 std::to_string(enough[i]) + "`";
    if (r.fix.empty()) r.fix = "leave `depth` to the checker";
    r.fix += ", or leave `depth` out";
  } else if (stale && program.chunks) {
    r.explanation += "; no number of copies helps, as only the end of a launch releases a clear, not that of a chunk";
    r.fix = "use another sync mode in a `pipeline`";
  } else {
    r.explanation += "; no number of copies helps, as data runs one way only";
    r.fix = "let rank " + std::to_string(a.rank) + " answer: declare `" + box +
            "` with `reuse ack`, or put a `barrier` after the read";
  }
}

std::vector<CheckEvent> eventsOf(const ir::Program &program, const Refutation &r) {
  static constexpr const char *words[] = {"", "load", "store", "send", "wait", "read", "clear", "announce", "wait", "barrier"};
  std::vector<CheckEvent> events;
  for (const Event *e : {&r.first, &r.second}) {
    if (e->what == What::None) continue;
    Diagnostic at;
    place(program, e->where, at);
    CheckEvent &out = events.emplace_back();
    out.what = words[int(e->what)];
    out.launch = e->launch, out.rank = e->rank, out.owner = e->owner, out.slot = e->slot;
    out.begin = e->begin, out.end = e->end;
    if (e->box != ir::kNone) out.name = program.mailboxes[e->box].name;
    else if (e->buffer != ir::kNone) out.name = program.buffers[e->buffer].name;
    out.file = at.file, out.line = at.line, out.column = at.column;
  }
  return events;
}

Diagnostic toDiagnostic(const ir::Program &program, const Refutation &r) {
  const bool two = r.second.what != What::None;
  Diagnostic d;
  d.kind = name(r.kind).str();
  d.message = r.explanation;
  d.help = r.fix;
  place(program, two ? r.second.where : r.first.where, d);
  auto note = [&](std::optional<ir::SourceOffset> where, std::string message) {
    Diagnostic n;
    n.severity = Severity::Note;
    n.message = std::move(message);
    if (where) place(program, *where, n);
    d.notes.push_back(std::move(n));
  };
  const bool overLaunches = !r.copies.empty();
  if (two)
    note(r.first.where,
         eventText(program, r.first) + " here" + (overLaunches ? ", in " + launchText(program, r.first.launch) : std::string()));
  if (two && overLaunches) note(std::nullopt, diagram(program, r));
  if (r.promise && *r.promise != r.first.where) note(r.promise, "what is promised");
  std::string assumed = "with N = " + std::to_string(r.ranks);
  if (const std::string counts = countsText(program, r); !counts.empty()) assumed += ", " + counts;
  if (!r.inplace.empty()) assumed += ", in place (`" + r.inplace + "`)";
  note(std::nullopt, assumed);
  for (const std::string &length : lengthsAsNames(r))
    note(std::nullopt, "how its names change `" + length + "` is not followed: it is taken for any length. If they rule this "
                       "one out, give the length a name of its own, and `reuse ack` where data runs one way");
  return d;
}

} // namespace coll::check
