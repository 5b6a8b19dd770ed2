// `coll check`: proves or refutes each member for each number of ranks.
#include "tool/Output.h"
#include "tool/Selection.h"
#include "tool/Source.h"
#include "tool/Verdicts.h"

#include "llvm/ADT/STLExtras.h"

#include <deque>
#include <functional>
#include <set>

using namespace coll;
using namespace coll::tool;

/// Says why something is left out.
static void leaveOut(const std::string &why, Diagnostics &said) {
  Diagnostic &note = said.list.emplace_back();
  note.severity = Severity::Note;
  note.message = why + ", and is left out";
}

/// The numbers of ranks to check a member for: those asked for, else the default ones that its team allows. Of several
/// that are asked for, those that it is not offered for go to `said`, if others are left.
static std::vector<int> ranksToCheck(const Member &member, const Arguments &arguments, Diagnostics &said) {
  const bool asked = arguments.has("-n");
  std::vector<std::uint64_t> wanted = arguments.numbers("-n", 1, 1 << 20);
  if (!asked) wanted = {2, 3, 4, 5, 7, 8};
  std::vector<int> result;
  std::string missing;
  for (std::uint64_t n : wanted) {
    const bool offered = n >= static_cast<unsigned>(member.minRanks) && n <= static_cast<unsigned>(member.maxRanks);
    if (offered)
      result.push_back(static_cast<int>(n));
    else if (asked)
      missing += (missing.empty() ? "" : ", ") + std::to_string(n);
  }
  const std::string reason = "`" + member.name + "` is not offered for " + missing + " ranks";
  if (!missing.empty() && result.empty())
    throw Failure{Exit::BadInput, reason,
                  "it is offered for " + std::to_string(member.minRanks) + " to " + std::to_string(member.maxRanks)};
  if (!missing.empty()) leaveOut(reason, said);
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

/// The types and operators to look at for a number of ranks: those asked for, of each that look the same one.
static std::vector<Likeness> typesToCheck(const Program &program, const Member &member, const Arguments &arguments,
                                          int ranks) {
  const Instance first{member.name, ranks, pickDType(member, arguments), pickOp(member, arguments)};
  if (arguments.has("--dtype") && (arguments.has("--op") || member.ops.empty())) return {{first, {}}};
  Member asked = member;
  if (arguments.has("--dtype")) asked.dtypes = {first.dtype};
  if (arguments.has("--op")) asked.ops = {first.op};
  std::vector<Likeness> types = program.likenesses(asked, first);
  if (types.empty()) return {{first, {}}}; // and why not, is said of it
  return types;
}

/// Splits what looks the same by the size of its elements, which the looks leave out.
static std::vector<Likeness> bySize(const Likeness &alike) {
  std::vector<Likeness> sizes{{alike.instance, {}}};
  for (const Instance &other : alike.others) {
    const auto same = llvm::find_if(sizes, [&](const Likeness &l) { return sizeOf(l.instance.dtype) == sizeOf(other.dtype); });
    if (same == sizes.end()) sizes.push_back({other, {}});
    else same->others.push_back(other);
  }
  return sizes;
}

namespace {

/// Verdicts that are to be given of one member, by types in the order in which they come up.
class Questions {
public:
  void add(Verdict verdict) {
    const auto same = llvm::find_if(byTypes, [&](const std::vector<Verdict> &asked) {
      return asked.front().instance.dtype == verdict.instance.dtype && asked.front().instance.op == verdict.instance.op;
    });
    if (same == byTypes.end()) byTypes.push_back({std::move(verdict)});
    else same->push_back(std::move(verdict));
  }

  /// Whether why one of these types is not checked is not said yet.
  bool isNews(const Likeness &alike) {
    bool news = said.emplace(alike.instance.dtype, alike.instance.op).second;
    for (const Instance &other : alike.others) news |= said.emplace(other.dtype, other.op).second;
    return news;
  }

  std::vector<std::vector<Verdict>> byTypes;

private:
  std::set<std::pair<DType, ReduceOp>> said;
};

} // namespace

/// What to look at of one member: for every number of ranks, each type and operator that differs from the others in more
/// than its name. One stands for another only where the programs for that very number are alike: what differs in them may
/// not show with few ranks. Above 8, where a proof takes longest, nothing is said of elements of other sizes.
static void addVerdicts(const Program &program, const Member &member, const Arguments &arguments,
                        std::vector<Verdict> &verdicts, Diagnostics &said) {
  const std::vector<int> numbers = ranksToCheck(member, arguments, said);
  const int smallest = *std::min_element(numbers.begin(), numbers.end());
  Questions questions;
  for (int ranks : numbers)
    for (const Likeness &alike : typesToCheck(program, member, arguments, ranks)) {
      if (!alike.emitted) {
        if (questions.isNews(alike)) questions.add({&member, alike.instance, nullptr, alike.others});
        continue;
      }
      for (const Likeness &ofSize : bySize(alike)) {
        questions.add({&member, ofSize.instance, nullptr, ofSize.others});
        if (ranks > 8 && ranks != smallest) break;
      }
    }
  for (std::vector<Verdict> &asked : questions.byTypes)
    for (Verdict &verdict : asked) verdicts.push_back(std::move(verdict));
}

/// The same of all members picked, and of the workspaces that members share. Of several, those that are not offered for
/// what is asked for are left out, if others are.
static void addVerdictsOfAll(const Program &program, const Arguments &arguments, std::vector<Verdict> &verdicts,
                             std::deque<Member> &together, Diagnostics &said) {
  std::optional<Failure> reason;
  const auto add = [&](llvm::function_ref<void()> addOf) {
    try {
      addOf();
    } catch (const Failure &failure) {
      if (!reason) reason = failure;
      leaveOut(failure.message, said);
    }
  };
  for (const Member *member : pickMembers(program, arguments)) add([&] { addVerdicts(program, *member, arguments, verdicts, said); });
  if (reason && verdicts.empty()) throw *reason;
  for (const Workspace &workspace : program.workspaces()) {
    if (arguments.has("--algo") || workspace.members.empty()) continue;
    const Member &member = together.emplace_back(asMember(program, workspace));
    add([&] {
      for (int ranks : ranksToCheck(member, arguments, said))
        verdicts.push_back({&member, {member.name, ranks, pickDType(member, arguments), pickOp(member, arguments)}, &workspace});
    });
  }
}

static std::vector<Verdict> checkAll(const Program &program, const Arguments &arguments, std::deque<Member> &together,
                                     Diagnostics &said) {
  std::vector<Verdict> verdicts;
  addVerdictsOfAll(program, arguments, verdicts, together, said);

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

/// Of the first that is refuted, or of the first at all.
static void writeDiagram(const std::vector<Verdict> &verdicts, const std::string &file) {
  const Verdict *drawn = nullptr;
  for (const Verdict &verdict : verdicts)
    if (verdict.result && !verdict.result->diagram.empty() && (!drawn || (drawn->proved() && !verdict.proved())))
      drawn = &verdict;
  if (!drawn) throw Failure{Exit::BadInput, "there is nothing to draw", "pick a member with --algo and a number of ranks with -n"};
  writeResult(file, drawn->result->diagram);
}

static Diagnostics errorsFirst(Diagnostics said) {
  llvm::stable_sort(said.list, [](const Diagnostic &a, const Diagnostic &b) { return a.severity == Severity::Error && b.severity != Severity::Error; });
  return said;
}

/// `said`: of the text as a whole.
static Exit checkProgram(const Arguments &arguments, Diagnostics &said) {
  const auto program = parseProgram(arguments.what(), said);
  if (!program && arguments.has("--json")) return print(notParsedAsJson(said)), Exit::BadInput;
  if (!program) return printMessage(errorsFirst(said).render()), Exit::BadInput;
  std::deque<Member> together;
  Diagnostics leftOut;
  std::vector<Verdict> verdicts = checkAll(*program, arguments, together, leftOut);
  printMessage(leftOut.render());
  if (arguments.has("--json")) {
    said.list.insert(said.list.end(), leftOut.list.begin(), leftOut.list.end());
    for (Verdict &verdict : verdicts) verdict.diagnostics.list.insert(verdict.diagnostics.list.end(), said.list.begin(), said.list.end());
    print(verdictsAsJson(verdicts, arguments.has("--strict")));
  } else {
    printDiagnostics(verdicts);
    printMessage(said.render()); // warnings, behind the errors that they would hide
    print(verdictLines(verdicts));
  }
  if (arguments.has("--diagram")) writeDiagram(verdicts, arguments.text("--diagram"));
  Exit worst = Exit::Good;
  for (const Verdict &verdict : verdicts) {
    if (!verdict.result) return Exit::BadInput;
    if (!verdict.proved()) worst = Exit::Refuted;
  }
  return worst;
}

/// With `--json`, what cannot be looked at at all is said in it, too.
static Exit check(const Arguments &arguments) {
  Diagnostics said;
  try {
    return checkProgram(arguments, said);
  } catch (const Failure &failure) {
    if (arguments.has("--json") && !failure.message.empty()) print(failureAsJson(failure, std::move(said)));
    throw;
  }
}

namespace coll::tool {
extern const Verb checkVerb;
const Verb checkVerb{"check",
                     "WHAT",
                     "prove or refute",
                     {option::algo,
                      {"-n", "N,N,...", "numbers of ranks; 2,3,4,5,7,8 if not given"},
                      {option::dtype.name, option::dtype.value, "check this type alone; all that differ if not given"},
                      {option::op.name, option::op.value, "check this operator alone; all that differ if not given"},
                      {"--strict", "", "rely on the PTX memory model alone, with the fences that takes"},
                      {"--diagram", "F.svg", "draw ranks, messages and the racing pair; of the first that is refuted"},
                      {"--json", "", "the verdicts as JSON, with what would have been printed as messages"}},
                     "coll check allreduce                               every member of the standard library's\n"
                     "coll check mine.coll --algo oneshot.ll -n 2,4,8    one member of a file\n",
                     check};
} // namespace coll::tool
