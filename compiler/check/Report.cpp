#include "check/Report.h"

#include "check/Counts.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>

namespace coll::check {
namespace {

using What = Event::What;

std::string copiesText(int copies) {
  return std::to_string(copies) + (copies == 1 ? " copy" : " copies");
}

std::string launchText(int launch) {
  return launch ? "launch e+" + std::to_string(launch) : "launch e";
}

std::string slotText(const ir::Program &program, const Event &e) {
  return "`" + program.mailboxes[e.box].name + "[" + std::to_string(e.slot) + "]`";
}

std::string eventText(const ir::Program &program, const Event &e) {
  const std::string rank = "rank " + std::to_string(e.rank) + " ";
  switch (e.what) {
  case What::None: return {};
  case What::Load: return rank + "reads `" + program.buffers[e.buffer].name + "`";
  case What::Store: return rank + "writes `" + program.buffers[e.buffer].name + "`";
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
  for (std::size_t i = 0; i < (same ? std::min<std::size_t>(1, launches) : launches); ++i)
    text += (i ? ", then " : "") + one(i);
  return text;
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
    std::string line = "  " + launchText(launch);
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
  }
  return {};
}

/// What a proof says beyond the rule of reuse.
static std::string resultText(const ir::Program &program) {
  std::string text;
  for (const ir::Mailbox &m : program.mailboxes)
    if (m.sync == ir::Sync::Sentinel) {
      text += "; the clear of a slot is released, by the end of its launch at the latest, before whatever leads to the "
              "send that fills it again (rule T6)";
      break;
    }
  if (const ScalarClasses scalars = scalarClasses(program); scalars.few < int(scalars.values.size())) {
    text += "; launches in a row were tried with " + program.scalars.front().name + " =";
    for (int i = 0; i < scalars.few; ++i) text += (i ? ", " : " ") + std::to_string(scalars.values[i].front());
  }
  if (program.ensures.empty()) text += "; the contract has no `ensures`, so the result itself is not checked";
  return text;
}

std::string proofText(const ir::Program &program, const Verdict &v) {
  if (program.mailboxes.empty()) return "no mailbox is used, so launches cannot disturb each other";
  std::string text;
  for (std::size_t i = 0; i < program.mailboxes.size(); ++i) {
    text += (i ? ", " : "") + program.mailboxes[i].name + ": " + copiesText(v.copies[i]);
    if (v.smallest[i] < v.copies[i]) text += " (" + std::to_string(v.smallest[i]) + " would do)";
  }
  text += "; ";
  const auto answered = llvm::count_if(program.mailboxes, [](const ir::Mailbox &m) { return m.reuse == ir::Reuse::Ack; });
  if (answered > 0) {
    text += "whoever fills a slot " + std::string(answered < long(program.mailboxes.size()) ? "with `reuse ack` " : "") +
            "again has waited until its reader has begun a later launch than the one that read it (rule T4, ack)";
    if (answered == long(program.mailboxes.size())) return text + resultText(program);
    text += "; of the others, ";
  }
  const int most = *std::max_element(v.copies.begin(), v.copies.end());
  const bool barrier = program.barriers > 0;
  if (most == 1)
    text += barrier ? "a barrier of the launch stands between the last read of a slot and the send that fills it again"
                    : "whoever fills a slot again has, earlier in its launch, received what the reader of the slot "
                      "sent after reading it (rule T3)";
  else if (v.fullDependence)
    text += "every rank waits for every other in each launch, so whoever writes epoch e+" + std::to_string(most) +
            (barrier ? " has passed a barrier of e+" : " has received e+") + std::to_string(most - 1) +
            (barrier ? " with" : " from") + " the reader of e (rule T1)";
  else
    text += "whoever writes epoch e+" + std::to_string(most) +
            " has received, directly or through others, something that the reader of e sent after it (rule T1, over " +
            std::to_string(most - 1) + " launches)";
  return text + resultText(program);
}

std::string strengthText(const ir::Program &program, bool reliesOnWaits) {
  bool ll = false, lines = false, sentinel = false, flag = false;
  for (const ir::Mailbox &m : program.mailboxes) {
    ll |= m.sync == ir::Sync::LL;
    lines |= m.sync == ir::Sync::LL128;
    sentinel |= m.sync == ir::Sync::Sentinel;
    flag |= m.sync == ir::Sync::Flag;
  }
  std::string text = "PTX memory model";
  if (ll) text += ", 8-byte words of data and flag being single-copy atomic";
  if (sentinel)
    text += ", all 32-bit words of a packet being compared, so that none of it is taken before it has arrived";
  if (lines)
    text += "; assumes, beyond the model, that aligned lines of 128 bytes, each stored and loaded by 8 threads of a warp at "
            "once, arrive whole, which platforms have to declare";
  if (sentinel || reliesOnWaits)
    text +=
        "; assumes, beyond the model, that hardware performs no store before the wait for a word that it depends on "
        "has ended";
  if (sentinel) text += ", and that slots hold the sentinel before the first launch";
  text += "; assumes that the end of a kernel orders its accesses before the next launch of the rank, one launch in "
          "flight per region, and the same sequence of launches";
  if (flag) text += ", of the same grid each,";
  return text + " on all ranks";
}

void explainOrder(const ir::Program &program, Refutation &r, const std::vector<int> &enough) {
  const Event &a = r.first, &b = r.second;
  const std::string slot = slotText(program, a) + " of rank " + std::to_string(a.owner);
  if (b.what == What::Signal) {
    r.explanation = "rank " + std::to_string(b.rank) + " may announce " + slot + " in " + launchText(b.launch) +
                    " before rank " + std::to_string(a.rank) + " has announced it in " + launchText(a.launch) +
                    ": its reader then takes what rank " + std::to_string(a.rank) + " sends as arrived too early";
    r.fix = "give every sender its own slot";
    return;
  }
  if (r.kind == Refutation::Kind::ReadWithoutArrival) {
    r.explanation = "rank " + std::to_string(b.rank) + " may read " + slot + " before what rank " +
                    std::to_string(a.rank) + " sends to it has arrived: nothing makes it wait";
    switch (program.mailboxes[a.box].sync) {
    case ir::Sync::Barrier: r.fix = "put a `barrier` between the send and the read"; break;
    case ir::Sync::Flag: r.fix = "announce the slot after the send, and wait for that before the read"; break;
    default: r.fix = "wait for the slot before it is read";
    }
    return;
  }
  const std::string &box = program.mailboxes[a.box].name;
  const bool stale = r.kind == Refutation::Kind::StaleSentinel;
  const int copies = r.copies[a.box];
  r.explanation = "rank " + std::to_string(b.rank) + " may send to " + slot + " in " + launchText(b.launch) +
                  " before rank " + std::to_string(a.rank) + " has " + (a.what == What::Clear ? "cleared" : "read") +
                  " there what it was sent in " + launchText(a.launch) + ": with " + copiesText(copies) +
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
  } else {
    r.explanation += "; no number of copies helps, as data runs one way only";
    r.fix = "let rank " + std::to_string(a.rank) + " answer: declare `" + box +
            "` with `reuse ack`, or put a `barrier` after the read";
  }
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
         eventText(program, r.first) + " here" + (overLaunches ? ", in " + launchText(r.first.launch) : std::string()));
  if (two && overLaunches) note(std::nullopt, diagram(program, r));
  if (r.promise && *r.promise != r.first.where) note(r.promise, "what is promised");
  std::string assumed = "with N = " + std::to_string(r.ranks);
  if (const std::string counts = countsText(program, r); !counts.empty()) assumed += ", " + counts;
  if (!r.inplace.empty()) assumed += ", in place (`" + r.inplace + "`)";
  note(std::nullopt, assumed);
  return d;
}

} // namespace coll::check
