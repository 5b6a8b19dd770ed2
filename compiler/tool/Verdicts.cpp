#include "tool/Verdicts.h"

#include "tool/Arguments.h"
#include "tool/Output.h"
#include "tool/Selection.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <map>
#include <set>

using namespace coll;
using namespace coll::tool;

static std::string depthText(const CheckResult &result) {
  std::string text;
  for (const auto &[mailbox, copies] : result.depth)
    text += (text.empty() ? "" : ", ") + mailbox + " depth " + std::to_string(copies);
  return text;
}

static const char *word(const Verdict &verdict) {
  if (!verdict.result) return "not checked";
  return verdict.proved() ? "proved" : verdict.result->untried ? "not proved" : "refuted";
}

/// Whether both say the same of a member, for different numbers of ranks or types.
static bool sameVerdict(const Verdict &one, const Verdict &other) {
  if (one.member != other.member || one.result.has_value() != other.result.has_value()) return false;
  if (llvm::StringRef(word(one)) != word(other)) return false;
  if (!one.result)
    return !one.diagnostics.list.empty() && !other.diagnostics.list.empty() &&
           one.diagnostics.list.front().message == other.diagnostics.list.front().message;
  return !one.proved() || (one.result->depth == other.result->depth && one.result->summary == other.result->summary &&
                           one.result->assumptions == other.result->assumptions);
}

/// What the proof assumes of hardware. What it asks of the host stands in the kernel's header.
static std::string restsOn(const CheckResult &result) {
  if (result.assumptions.empty()) return "rests on the PTX memory model alone";
  return "rests on hardware, beyond the PTX memory model: " + join(result.assumptions, "; ");
}

namespace {

/// Verdicts of a member that say the same.
struct Group {
  std::vector<const Verdict *> verdicts;
  const Verdict &first() const { return *verdicts.front(); }
};

} // namespace

/// A verdict joins the group of its member that says the same, wherever it stands.
static std::vector<Group> groupsOf(const std::vector<Verdict> &verdicts) {
  std::vector<Group> groups;
  for (const Verdict &verdict : verdicts) {
    const auto same = llvm::find_if(groups, [&](const Group &g) { return sameVerdict(g.first(), verdict); });
    if (same == groups.end()) groups.push_back({{&verdict}});
    else same->verdicts.push_back(&verdict);
  }
  return groups;
}

/// The numbers of ranks for which the group has an instance's types.
static std::string ranksOf(const Group &group, const Instance &types) {
  std::string text;
  for (const Verdict *verdict : group.verdicts)
    if (verdict->instance.dtype == types.dtype && verdict->instance.op == types.op)
      text += (text.empty() ? "" : ",") + std::to_string(verdict->instance.ranks);
  return text;
}

/// Adds to a list what is not in it.
static void note(std::vector<std::string> &list, const std::string &text) {
  if (!llvm::is_contained(list, text)) list.push_back(text);
}

/// The types and operators that verdicts of a member were given for, and those for which they stand.
static std::vector<std::string> typesOf(llvm::ArrayRef<const Verdict *> verdicts) {
  std::vector<std::string> list;
  for (const Verdict *verdict : verdicts) {
    note(list, describeTypes(*verdict->member, verdict->instance));
    for (const Instance &other : verdict->standsFor) note(list, describeTypes(*verdict->member, other));
  }
  return list;
}

namespace {

/// Types and operators that verdicts are about for the same numbers of ranks.
struct Covered {
  std::string ranks;
  std::vector<std::string> types;
};

} // namespace

static void note(std::vector<Covered> &list, const std::string &ranks, const std::string &types) {
  const auto same = llvm::find_if(list, [&](const Covered &entry) { return entry.ranks == ranks; });
  if (same == list.end()) list.push_back({ranks, {types}});
  else same->types.push_back(types);
}

/// The numbers of ranks for which a group says something of types and operators, looked at or stood for.
static std::string coveredRanks(const Group &group, const std::string &types) {
  std::set<int> ranks;
  const Member &member = *group.first().member;
  for (const Verdict *verdict : group.verdicts) {
    const bool looked = describeTypes(member, verdict->instance) == types;
    if (looked || llvm::any_of(verdict->standsFor, [&](const Instance &i) { return describeTypes(member, i) == types; }))
      ranks.insert(verdict->instance.ranks);
  }
  std::string text;
  for (int n : ranks) text += (text.empty() ? "" : ",") + std::to_string(n);
  return text;
}

static std::string listed(const std::vector<Covered> &list) {
  std::string text;
  for (const Covered &entry : list) text += (text.empty() ? "" : "; ") + join(entry.types) + ", n = " + entry.ranks;
  return text;
}

/// Which types and operators besides the first were looked at, and for which others they stand. `most`: how many the
/// verdicts of the member are about.
static std::string coverage(const Group &group, std::size_t most) {
  const Member &member = *group.first().member;
  const std::string first = describeTypes(member, group.first().instance), ranks = coveredRanks(group, first);
  std::vector<std::string> seen;
  for (const Verdict *verdict : group.verdicts) note(seen, describeTypes(member, verdict->instance));
  std::vector<Covered> looked, others;
  const std::vector<std::string> all = typesOf(group.verdicts);
  for (const std::string &types : all)
    if (types != first) note(llvm::is_contained(seen, types) ? looked : others, coveredRanks(group, types), types);
  std::string text = looked.empty() ? "" : "so is " + listed(looked);
  if (others.empty()) return text;
  text += text.empty() ? "" : "; ";
  const bool alike = others.size() == 1 && others.front().ranks == ranks;
  if (alike && all.size() == most)
    return text + "of the " + std::to_string(most) + (member.ops.empty() ? " types" : " types and operators") +
           " the others give the same programs";
  return text + "the same programs have " + (alike ? join(others.front().types) : listed(others));
}

/// What a verdict that there is none stands for: types by name where it is so with all operators.
static std::vector<std::string> notChecked(const Verdict &verdict) {
  std::map<DType, std::vector<Instance>> byType;
  byType[verdict.instance.dtype].push_back(verdict.instance);
  for (const Instance &other : verdict.standsFor) byType[other.dtype].push_back(other);
  std::vector<std::string> list;
  for (const auto &[type, instances] : byType) {
    const bool all = instances.size() > 1 && std::ptrdiff_t(instances.size()) == llvm::count_if(verdict.member->ops, [&](ReduceOp op) {
                       return llvm::any_of(instances, [&](const Instance &i) { return i.op == op; });
                     });
    if (all) list.push_back(std::string(keyword(type)) + " with any operator");
    else
      for (const Instance &instance : instances)
        if (instance.dtype != verdict.instance.dtype || instance.op != verdict.instance.op)
          list.push_back(describeTypes(*verdict.member, instance));
  }
  return list;
}

/// The lines under a group's first.
static std::string body(const Group &group, std::size_t most) {
  const std::string indent(13, ' ');
  const Verdict &first = group.first();
  if (!first.result) {
    const std::string why = first.diagnostics.list.empty() ? "" : first.diagnostics.list.front().message;
    return indent + why + "\n" + (first.standsFor.empty() ? "" : indent + "nor are " + join(notChecked(first)) + "\n");
  }
  std::string text;
  const std::string depth = depthText(*first.result);
  if (first.proved() && !depth.empty()) text += indent + depth + "\n";
  if (!first.result->summary.empty()) text += indent + first.result->summary + "\n";
  if (first.proved()) text += indent + restsOn(*first.result) + "\n";
  for (unsigned line : first.result->removableBarriers)
    text += indent + "proved without the `barrier` of line " + std::to_string(line) + ", too\n";
  if (const std::string covered = coverage(group, most); !covered.empty()) text += indent + covered + "\n";
  return text;
}

std::string coll::tool::verdictLines(const std::vector<Verdict> &verdicts) {
  const std::vector<Group> groups = groupsOf(verdicts);
  std::vector<std::string> bodies;
  for (const Group &group : groups) {
    std::vector<const Verdict *> ofMember;
    for (const Verdict &verdict : verdicts)
      if (verdict.member == group.first().member) ofMember.push_back(&verdict);
    bodies.push_back(body(group, typesOf(ofMember).size()));
  }
  std::string text;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Verdict &first = groups[i].first();
    double milliseconds = 0;
    for (const Verdict *verdict : groups[i].verdicts)
      if (verdict->result) milliseconds += verdict->result->milliseconds;
    text += llvm::formatv("{0,-12} {1}  n = {2}  {3}", word(first), first.member->name,
                          ranksOf(groups[i], first.instance), describeTypes(*first.member, first.instance))
                .str();
    text += first.result ? llvm::formatv("  ({0:F1} ms)\n", milliseconds).str() : "\n";
    // Modes that are refuted alike are refuted once.
    const bool again = i + 1 < groups.size() && !first.proved() && !groups[i + 1].first().proved() &&
                       first.result && groups[i + 1].first().result &&
                       first.result->summary == groups[i + 1].first().result->summary;
    if (!again) text += bodies[i];
  }
  return text;
}

static llvm::json::Value toJson(const Diagnostic &diagnostic) {
  static const char *const severities[] = {"error", "warning", "remark", "note"};
  llvm::json::Array notes;
  for (const Diagnostic &note : diagnostic.notes) notes.push_back(toJson(note));
  return llvm::json::Object{{"severity", severities[static_cast<int>(diagnostic.severity)]},
                            {"kind", diagnostic.kind},
                            {"file", llvm::json::fixUTF8(diagnostic.file)},
                            {"line", diagnostic.line},
                            {"column", diagnostic.column},
                            {"message", llvm::json::fixUTF8(diagnostic.message)},
                            {"help", llvm::json::fixUTF8(diagnostic.help)},
                            {"notes", std::move(notes)}};
}

/// The two events of a refutation, and the sizes of the launches they lie in.
static void addCounterexample(const CheckResult &result, llvm::json::Object &object) {
  llvm::json::Array events, launches;
  for (const CheckEvent &e : result.events)
    events.push_back(llvm::json::Object{{"what", e.what},
                                        {"launch", e.launch},
                                        {"rank", e.rank},
                                        {"owner", e.owner},
                                        {"name", e.name},
                                        {"slot", e.slot},
                                        {"begin", static_cast<std::int64_t>(e.begin)},
                                        {"end", static_cast<std::int64_t>(e.end)},
                                        {"file", llvm::json::fixUTF8(e.file)},
                                        {"line", e.line},
                                        {"column", e.column}});
  for (const Extents &counts : result.counts) {
    llvm::json::Object extents;
    for (const auto &[name, value] : counts) extents[name] = static_cast<std::int64_t>(value);
    launches.push_back(std::move(extents));
  }
  object["events"] = std::move(events);
  object["launches"] = std::move(launches);
}

std::string coll::tool::verdictsAsJson(const std::vector<Verdict> &verdicts, bool strict) {
  llvm::json::Array list;
  for (const Verdict &verdict : verdicts) {
    llvm::json::Array diagnostics;
    for (const Diagnostic &diagnostic : verdict.diagnostics.list) diagnostics.push_back(toJson(diagnostic));
    llvm::json::Object object{{"member", verdict.member->name},
                              {"ranks", verdict.instance.ranks},
                              {"dtype", std::string(keyword(verdict.instance.dtype))},
                              {"verdict", word(verdict)},
                              {"diagnostics", std::move(diagnostics)}};
    if (!verdict.standsFor.empty()) {
      llvm::json::Array others;
      for (const Instance &other : verdict.standsFor) others.push_back(describeTypes(*verdict.member, other));
      object["standsFor"] = std::move(others);
    }
    if (!verdict.member->ops.empty()) object["op"] = std::string(keyword(verdict.instance.op));
    if (verdict.result) {
      llvm::json::Object depth;
      for (const auto &[mailbox, copies] : verdict.result->depth) depth[mailbox] = copies;
      object["depth"] = std::move(depth);
      object["summary"] = verdict.result->summary;
      object["strict"] = strict;
      if (verdict.proved()) {
        object["strength"] = verdict.result->strength;
        object["assumptions"] = llvm::json::Array(verdict.result->assumptions);
        object["removableBarriers"] = llvm::json::Array(verdict.result->removableBarriers);
      }
      if (!verdict.proved()) addCounterexample(*verdict.result, object);
      object["milliseconds"] = verdict.result->milliseconds;
    }
    list.push_back(std::move(object));
  }
  return llvm::formatv("{0:2}\n", llvm::json::Value(std::move(list))).str();
}

std::string coll::tool::notParsedAsJson(const Diagnostics &diagnostics) {
  llvm::json::Array list;
  for (const Diagnostic &diagnostic : diagnostics.list) list.push_back(toJson(diagnostic));
  llvm::json::Object entry{{"verdict", "not checked"}, {"diagnostics", std::move(list)}};
  return llvm::formatv("{0:2}\n", llvm::json::Value(llvm::json::Array{std::move(entry)})).str();
}

std::string coll::tool::failureAsJson(const Failure &failure, Diagnostics said) {
  Diagnostic &error = *said.list.emplace(said.list.begin());
  error.kind = "input";
  error.message = failure.message;
  error.help = failure.help;
  return notParsedAsJson(said);
}

namespace {

/// Messages that several members have in common.
struct Said {
  Diagnostics diagnostics;
  std::vector<const Member *> members;

  bool same(const Diagnostics &o) const {
    return std::equal(diagnostics.list.begin(), diagnostics.list.end(), o.list.begin(), o.list.end(),
                      [](const Diagnostic &a, const Diagnostic &b) {
                        return a.kind == b.kind && a.file == b.file && a.line == b.line && a.column == b.column &&
                               a.message == b.message && a.help == b.help;
                      });
  }
};

} // namespace

void coll::tool::printDiagnostics(const std::vector<Verdict> &verdicts) {
  std::vector<Said> all;
  std::vector<std::pair<const Member *, std::string>> done; // and a kind
  for (const Verdict &verdict : verdicts) {
    if (verdict.diagnostics.list.empty()) continue;
    const std::pair what(verdict.member, verdict.diagnostics.list.front().kind);
    if (llvm::is_contained(done, what)) continue;
    done.push_back(what);
    const auto same = llvm::find_if(all, [&](const Said &s) { return s.same(verdict.diagnostics); });
    if (same == all.end()) all.push_back({verdict.diagnostics, {verdict.member}});
    else same->members.push_back(verdict.member);
  }
  for (Said &said : all) {
    if (said.members.size() > 1) {
      std::vector<std::string> names;
      for (const Member *member : said.members) names.push_back("`" + member->name + "`");
      Diagnostic note;
      note.severity = Severity::Note;
      note.message = "the same holds for " + join({names.begin() + 1, names.end()}) + " as for " + names.front();
      said.diagnostics.list.back().notes.push_back(note);
    }
    printMessage(said.diagnostics.render());
  }
}
