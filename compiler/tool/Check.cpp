// `coll check`: proves or refutes each member for each number of ranks.
#include "tool/Output.h"
#include "tool/Selection.h"
#include "tool/Source.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <deque>
#include <functional>

using namespace coll;
using namespace coll::tool;

namespace {

/// What was asked about one instance, and the answer.
struct Verdict {
  const Member *member;
  Instance instance;
  const Workspace *workspace = nullptr; ///< whose members these are together, if it is not one of them
  std::optional<CheckResult> result; ///< empty where it could not be checked at all
  Diagnostics diagnostics;

  bool proved() const { return result && result->proved; }
  /// It has something that this version cannot lower, and so cannot check.
  bool notThereYet() const {
    return !result && !diagnostics.list.empty() && diagnostics.list.front().kind == "not-lowered";
  }
};

} // namespace

/// The numbers of ranks to check a member for: those asked for, else the default ones that its team allows.
static std::vector<int> ranksToCheck(const Member &member, const Arguments &arguments) {
  const bool asked = arguments.has("-n");
  std::vector<std::uint64_t> wanted = arguments.numbers("-n", 1, 1 << 20);
  if (!asked) wanted = {2, 3, 4, 5, 7, 8};
  std::vector<int> result;
  for (std::uint64_t n : wanted) {
    const bool offered = n >= static_cast<unsigned>(member.minRanks) && n <= static_cast<unsigned>(member.maxRanks);
    if (offered)
      result.push_back(static_cast<int>(n));
    else if (asked)
      throw Failure{Exit::BadInput, "`" + member.name + "` is not offered for " + std::to_string(n) + " ranks",
                    "it is offered for " + std::to_string(member.minRanks) + " to " + std::to_string(member.maxRanks)};
  }
  if (result.empty()) result.push_back(member.minRanks);
  return result;
}

/// A workspace as if it were a member: for the ranks and types that all its members are for.
static Member asMember(const Program &program, const Workspace &workspace) {
  Member together;
  for (const std::string &name : workspace.members) {
    const Member &member = *program.find(name);
    if (together.name.empty()) together = member;
    together.minRanks = std::max(together.minRanks, member.minRanks);
    together.maxRanks = std::min(together.maxRanks, member.maxRanks);
    std::erase_if(together.dtypes, [&](DType t) { return !llvm::is_contained(member.dtypes, t); });
    together.name = "workspace " + workspace.name;
  }
  return together;
}

static std::vector<Verdict> checkAll(const Program &program, const Arguments &arguments, std::deque<Member> &together) {
  std::vector<Verdict> verdicts;
  auto add = [&](const Member *member, const Workspace *workspace) {
    for (int ranks : ranksToCheck(*member, arguments))
      verdicts.push_back(
          {member, {member->name, ranks, pickDType(*member, arguments), pickOp(*member, arguments)}, workspace, {}, {}});
  };
  for (const Member *member : pickMembers(program, arguments)) add(member, nullptr);
  for (const Workspace &workspace : program.workspaces())
    if (!arguments.has("--algo") && !workspace.members.empty())
      add(&together.emplace_back(asMember(program, workspace)), &workspace);

  const CheckOptions options{arguments.has("--strict"), arguments.has("--diagram")};
  Progress progress;
  for (Verdict &verdict : verdicts) {
    progress.show("checking " + describe(*verdict.member, verdict.instance));
    verdict.result = verdict.workspace
                         ? program.checkWorkspace(*verdict.workspace, verdict.instance, verdict.diagnostics, options)
                         : program.check(verdict.instance, verdict.diagnostics, options);
  }
  return verdicts;
}

static std::string depthText(const CheckResult &result) {
  std::string text;
  for (const auto &[mailbox, copies] : result.depth)
    text += (text.empty() ? "" : ", ") + mailbox + " depth " + std::to_string(copies);
  return text;
}

static const char *word(const Verdict &verdict) {
  return verdict.proved() ? "proved" : verdict.result ? "refuted" : "not checked";
}

/// Whether both say the same of a member for different numbers of ranks.
static bool sameVerdict(const Verdict &one, const Verdict &other) {
  if (one.member != other.member || one.result.has_value() != other.result.has_value()) return false;
  if (one.proved() != other.proved()) return false;
  return !one.proved() || (one.result->depth == other.result->depth && one.result->summary == other.result->summary &&
                           one.result->assumptions == other.result->assumptions);
}

/// What the proof assumes of hardware. What it asks of the host stands in the kernel's header.
static std::string restsOn(const CheckResult &result) {
  if (result.assumptions.empty()) return "rests on the PTX memory model alone";
  return "rests on hardware, beyond the PTX memory model: " + join(result.assumptions, "; ");
}

/// Verdicts that say the same share their lines.
static std::string verdictLines(const std::vector<Verdict> &verdicts) {
  const std::string indent(13, ' ');
  std::string text;
  for (std::size_t i = 0; i < verdicts.size();) {
    const Verdict &first = verdicts[i];
    std::string ranks;
    double milliseconds = 0;
    for (; i < verdicts.size() && sameVerdict(first, verdicts[i]); ++i) {
      ranks += (ranks.empty() ? "" : ",") + std::to_string(verdicts[i].instance.ranks);
      if (verdicts[i].result) milliseconds += verdicts[i].result->milliseconds;
    }
    text += llvm::formatv("{0,-12} {1}  n = {2}  {3}", word(first), first.member->name, ranks,
                          describeTypes(*first.member, first.instance))
                .str();
    if (!first.result) {
      text += "\n" + indent + (first.diagnostics.list.empty() ? "" : first.diagnostics.list.front().message) + "\n";
      continue;
    }
    text += llvm::formatv("  ({0:F1} ms)\n", milliseconds).str();
    const std::string depth = depthText(*first.result);
    if (first.proved() && !depth.empty()) text += indent + depth + "\n";
    if (!first.result->summary.empty()) text += indent + first.result->summary + "\n";
    if (first.proved()) text += indent + restsOn(*first.result) + "\n";
    for (unsigned line : first.result->removableBarriers)
      text += indent + "proved without the `barrier` of line " + std::to_string(line) + ", too\n";
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

static std::string verdictsAsJson(const std::vector<Verdict> &verdicts, bool strict) {
  llvm::json::Array list;
  for (const Verdict &verdict : verdicts) {
    llvm::json::Array diagnostics;
    for (const Diagnostic &diagnostic : verdict.diagnostics.list) diagnostics.push_back(toJson(diagnostic));
    llvm::json::Object object{{"member", verdict.member->name},
                              {"ranks", verdict.instance.ranks},
                              {"dtype", std::string(keyword(verdict.instance.dtype))},
                              {"verdict", word(verdict)},
                              {"diagnostics", std::move(diagnostics)}};
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

/// Of each member what was said for the first number of ranks with errors: the others say it again with more ranks.
static void printDiagnostics(const std::vector<Verdict> &verdicts, bool leaveOut) {
  const Member *last = nullptr;
  for (const Verdict &verdict : verdicts) {
    if (verdict.member == last || verdict.diagnostics.list.empty() || (leaveOut && verdict.notThereYet())) continue;
    printMessage(verdict.diagnostics.render());
    last = verdict.member;
  }
}

/// Of the first that is refuted, or of the first at all.
static void writeDiagram(const std::vector<Verdict> &verdicts, const std::string &file) {
  const Verdict *drawn = nullptr;
  for (const Verdict &verdict : verdicts)
    if (verdict.result && !verdict.result->diagram.empty() && (!drawn || (drawn->proved() && !verdict.proved())))
      drawn = &verdict;
  if (!drawn) throw Failure{Exit::BadInput, "there is nothing to draw", "pick a member with --algo and a number of ranks with -n"};
  writeResult(file, drawn->result->diagram);
}

/// A file with errors has no members to give verdicts on: one entry with what is wrong.
static std::string notParsedAsJson(const Diagnostics &diagnostics) {
  llvm::json::Array list;
  for (const Diagnostic &diagnostic : diagnostics.list) list.push_back(toJson(diagnostic));
  llvm::json::Object entry{{"verdict", "not checked"}, {"diagnostics", std::move(list)}};
  return llvm::formatv("{0:2}\n", llvm::json::Value(llvm::json::Array{std::move(entry)})).str();
}

static Exit check(const Arguments &arguments) {
  Diagnostics said;
  const auto program = parseProgram(arguments.what(), said);
  if (!program && arguments.has("--json")) return print(notParsedAsJson(said)), Exit::BadInput;
  printMessage(said.render());
  if (!program) return Exit::BadInput;
  std::deque<Member> together;
  const std::vector<Verdict> verdicts = checkAll(*program, arguments, together);
  // Who asks for all that there is wants to hear of what has to wait, and not to fail for it.
  const bool leaveOut = !arguments.has("--algo") && !llvm::all_of(verdicts, std::mem_fn(&Verdict::notThereYet));
  if (arguments.has("--json")) {
    print(verdictsAsJson(verdicts, arguments.has("--strict")));
  } else {
    printDiagnostics(verdicts, leaveOut);
    print(verdictLines(verdicts));
  }
  if (arguments.has("--diagram")) writeDiagram(verdicts, arguments.text("--diagram"));
  Exit worst = Exit::Good;
  for (const Verdict &verdict : verdicts) {
    if (leaveOut && verdict.notThereYet()) continue;
    if (!verdict.result) return Exit::BadInput;
    if (!verdict.proved()) worst = Exit::Refuted;
  }
  return worst;
}

namespace coll::tool {
extern const Verb checkVerb;
const Verb checkVerb{"check",
                     "WHAT",
                     "prove or refute",
                     {option::algo,
                      {"-n", "N,N,...", "numbers of ranks; 2,3,4,5,7,8 if not given"},
                      option::dtype,
                      option::op,
                      {"--strict", "", "rely on the PTX memory model alone, with the fences that takes"},
                      {"--diagram", "F.svg", "draw ranks, messages and the racing pair; of the first that is refuted"},
                      {"--json", "", "the verdicts as JSON, with what would have been printed as messages"}},
                     "coll check allreduce                               every member of the standard library's\n"
                     "coll check mine.coll --algo oneshot.ll -n 2,4,8    one member of a file\n",
                     check};
} // namespace coll::tool
