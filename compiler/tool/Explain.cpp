// `coll explain`: what selection would choose for a call, and why, in the terms of the latency model.
#include "selection/Candidates.h"
#include "tool/OrFail.h"
#include "tool/Output.h"
#include "tool/Selection.h"
#include "tool/SelectionOptions.h"
#include "tool/Source.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace coll;
using namespace coll::tool;

namespace {

/// What is to be explained.
struct Question {
  const Program &program;
  std::string collective;
  SelectionOptions options;
  Call call;
};

} // namespace

static std::string inMicroseconds(double microseconds) {
  return llvm::formatv("{0:F3}", microseconds).str();
}

static std::string inMicroseconds(std::uint64_t nanoseconds) {
  return inMicroseconds(double(nanoseconds) / 1e3);
}

static std::string reasonAgainst(const Question &question, const selection::Candidates &candidates,
                                 const Member &member) {
  const bool named = question.options.algorithm.empty() || candidates.includes(member);
  if (!named) return "held to `" + question.options.algorithm + "`";
  const std::string against = candidates.reasonAgainst(member, question.call);
  if (!against.empty()) return against;
  if (candidates.includes(member)) return "";
  if (member.usesMulticast && !question.options.multicast) return "for teams with multicast; see --multicast";
  return "sums in order class `" + member.order + "`";
}

static std::string sourceText(const Question &question, const selection::Estimate &estimate) {
  if (!estimate.from) return "predicted, by the model alone";
  const selection::Section &from = *estimate.from;
  std::string text = from.gpu + (from.dtype == keyword(question.call.dtype) ? "" : ", " + from.dtype) + ", " + from.date;
  return estimate.predicted ? "predicted, from " + std::to_string(from.ranks) + " ranks of " + text
                            : "measured, " + text;
}

static std::string lineOf(const Question &question, const selection::Candidates &candidates, const Choice &choice,
                          bool chosen) {
  const auto estimate = candidates.estimate(choice.name, question.call);
  const bench::Floors &floors = estimate->from ? estimate->from->floors : candidates.floorsFor(question.call);
  const auto terms = candidates.termsOf(choice.name, question.call, question.call.ranks, floors)
                         .value_or(selection::Terms());
  const double all = double(choice.nanoseconds) / 1e3;
  const std::string shape =
      choice.ctas ? std::to_string(choice.ctas) + " x " + std::to_string(choice.threads) : choice.isNccl() ? "" : "rule";
  return llvm::formatv("{0} {1,-25} {2,9} {3,8} {4,8} {5,8} {6,8} {7,8}  {8,-9} {9}\n", chosen ? ">" : " ", choice.name,
                       inMicroseconds(all), inMicroseconds(terms.launch), inMicroseconds(terms.hops),
                       inMicroseconds(terms.bytes), inMicroseconds(terms.polls), inMicroseconds(all - terms.total()),
                       shape, sourceText(question, *estimate))
      .str();
}

/// One size: every way with its terms, then those that are none. Whether there is any goes to `applies`.
static std::string explainCall(const Question &question, const Selector &selector,
                               const selection::Candidates &candidates, bool &applies) {
  const Ranking ranking = rankingOf(question.program, question.collective, selector.ranked(question.call), question.call);
  const std::vector<Choice> &choices = ranking.choices;
  std::string text = llvm::formatv("  {0,-25} {1,9} {2,8} {3,8} {4,8} {5,8} {6,8}  {7,-9} {8}\n", "", "us", "launch",
                                   "hops", "bytes", "polls", "rest", "shape", "source")
                         .str();
  for (const Choice &choice : choices)
    text += lineOf(question, candidates, choice, &choice == &choices.front());
  for (const auto &[member, how] : ranking.unproved)
    text += llvm::formatv("  {0,-25} no: {1}; `coll check` shows {2}\n", member->algorithm, how, how == "refuted" ? "how" : "why").str();
  for (const Member &member : question.program.members()) {
    if (member.collective != question.collective) continue;
    const std::string against = reasonAgainst(question, candidates, member);
    if (!against.empty()) text += llvm::formatv("  {0,-25} no: {1}\n", member.algorithm, against).str();
  }
  applies = !choices.empty();
  if (!applies) return text + "Nothing applies.\n";
  text += "\n" + choices.front().name + " is chosen";
  if (choices.size() > 1)
    text += "; second best is " + choices[1].name + ", " +
            inMicroseconds(choices[1].nanoseconds - choices[0].nanoseconds) + " us more";
  text += ".\nus = launch + hops + bytes + polls + rest; the rest is what the model of runtime/README.md does not "
          "explain.\n";
  if (std::any_of(choices.begin(), choices.end(), [](const Choice &choice) { return choice.predicted; }))
    text += "Predictions are no measurements: the model's terms for " + std::to_string(question.call.ranks) +
            " ranks, with the rest as it was where it was measured.\n";
  return text;
}

/// All sizes: from where to where which way is chosen.
static std::string explainSteps(const Question &question, const Selector &selector) {
  std::string text =
      llvm::formatv("  {0,-22} {1,-20} {2,9}  {3,-20} {4,9}\n", "to bytes", "choice", "us", "second best", "us").str();
  const auto &steps = selector.steps(question.call);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Choice &first = steps[i].choices.front();
    // Steps that differ in the time alone are one line.
    const auto same = [&](const Selector::Step &step) {
      return step.choices.front().name == first.name && step.choices.front().ctas == first.ctas &&
             step.choices.front().threads == first.threads;
    };
    if (i + 1 < steps.size() && same(steps[i + 1])) continue;
    const Choice *second = steps[i].choices.size() > 1 ? &steps[i].choices[1] : nullptr;
    text += llvm::formatv("  {0,-22} {1,-20} {2,9}  {3,-20} {4,9}{5}\n",
                          i + 1 == steps.size() ? "any" : std::to_string(steps[i].upTo), first ? first.name : "none",
                          first ? inMicroseconds(first.nanoseconds) : "", second ? second->name : "",
                          second ? inMicroseconds(second->nanoseconds) : "", first.predicted ? "  predicted" : "")
                .str();
  }
  return text + "us at the upper end. Give --bytes for the terms of one size.\n";
}

/// The collective that WHAT, or --algo, is about.
static std::string collectiveOf(const Program &program, const Arguments &arguments) {
  const auto members = pickMembers(program, arguments);
  for (const Member *member : members)
    if (member->collective != members.front()->collective)
      throw Failure{Exit::BadInput, "`" + arguments.what() + "` has more than one collective",
                    "pick one with --algo: " + members.front()->name + ", " + member->name};
  return members.front()->collective;
}

/// As `coll run` has it, but that what one member is not offered for another may be.
static Call callOf(const Member &first, const Arguments &arguments) {
  Call call;
  call.inplace = arguments.has("--inplace");
  call.ranks = arguments.has("-n") ? static_cast<int>(arguments.number("-n", 8, 1, 1 << 20)) : pickRanks(first, arguments);
  const auto dtype = parseDType(arguments.text("--dtype"));
  call.dtype = dtype ? *dtype : pickDType(first, arguments);
  const auto op = first.ops.empty() ? std::nullopt : parseReduceOp(arguments.text("--op"));
  call.op = op ? *op : pickOp(first, arguments);
  return call;
}

/// A name that no table has is answered as if it were any other, as at a launch.
static void noteUnknownGpu(const Question &question, const Selector &selector) {
  const std::set<std::string> known = candidatesOf(selector).gpus();
  if (question.options.gpu.empty() || known.count(question.options.gpu)) return;
  printMessage("coll: note: nothing was measured on `" + question.options.gpu + "`: what follows rests on " +
               join({known.begin(), known.end()}) + "\n");
}

static Exit explain(const Arguments &arguments) {
  const auto program = loadProgram(arguments.what());
  const auto members = pickMembers(*program, arguments);
  Question question{*program, collectiveOf(*program, arguments), selectionOptions(arguments), {}};
  question.options.algorithm = arguments.text("--algo");
  question.call = callOf(*members.front(), arguments);
  const bool oneSize = arguments.has("--bytes");
  if (oneSize) question.call.bytes = arguments.number("--bytes", 0, 0, UINT64_MAX);

  const Selector selector = orFail(Selector::create(*program, question.collective, question.options));
  noteUnknownGpu(question, selector);
  bool applies = true;
  print(question.collective + ", " + std::to_string(question.call.ranks) + " ranks, " +
        std::string(keyword(question.call.dtype)) + (question.call.inplace ? ", in place" : "") +
        (oneSize ? ", " + std::to_string(question.call.bytes) + " bytes" : "") + ":\n" +
        (oneSize ? explainCall(question, selector, candidatesOf(selector), applies) : explainSteps(question, selector)));
  return applies ? Exit::Good : Exit::BadInput;
}

namespace coll::tool {
extern const Verb explainVerb;
const Verb explainVerb{"explain",
                       "WHAT",
                       "what would be chosen for a call and why, in the terms of the latency model",
                       {option::algo,
                        option::ranks,
                        option::dtype,
                        option::op,
                        {"--bytes", "B", "size of the call, as 16 or 64Ki; from where to where what is chosen if not given"},
                        {"--inplace", "", "a call with inputs and outputs in the same memory"},
                        option::table,
                        option::gpu,
                        option::order,
                        option::noNccl,
                        {"--multicast", "", "choose as for a team that has multicast"},
                        {"--ordinary", "",
                         "choose for buffers in ordinary memory, as `Context::collective` does unless told otherwise: neither "
                         "windows nor NCCL's symmetric kernels"}},
                       "coll explain allreduce -n 8 --bytes 1Mi\n"
                       "coll explain allreduce -n 2               over all sizes\n",
                       explain};
} // namespace coll::tool
