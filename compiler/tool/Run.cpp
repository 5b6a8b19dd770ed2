// `coll run`: runs members on the GPUs here, or on emulated ranks, and verifies every element of every launch.
#include "context/Runner.h"
#include "platform/Machine.h"
#include "tool/EachMember.h"
#include "tool/FirstEpoch.h"
#include "tool/Mixture.h"
#include "tool/OrFail.h"
#include "tool/Output.h"
#include "tool/Selection.h"
#include "tool/SelectionOptions.h"
#include "tool/Sizes.h"
#include "tool/Source.h"

#include "llvm/ADT/STLExtras.h"

#include <cstdio>

using namespace coll;
using namespace coll::tool;

/// The part of the request that is the same for every member.
static RunRequest requestFrom(const Arguments &arguments) {
  RunRequest request;
  request.compile.unchecked = arguments.has("--unchecked");
  request.compile.strict = arguments.has("--strict");
  request.launches = static_cast<unsigned>(arguments.number("--launches", 20, 1, 1'000'000));
  request.graph = arguments.has("--graph");
  request.multicast = !arguments.has("--no-multicast");
  request.inplace = arguments.has("--inplace");
  request.counts = pickCounts(arguments, {"random", "most", "half", "none"});
  request.elementOffset = static_cast<unsigned>(arguments.number("--offset", 0, 0, 1 << 20));
  request.seed = arguments.number("--seed", 1, 0, UINT64_MAX);
  request.timeoutSeconds = arguments.seconds("--timeout", request.timeoutSeconds);
  request.gpus = static_cast<int>(arguments.number("--gpus", 0, 1, 1024));
  const std::string on = arguments.choice("--on", {"auto", "cpu", "gpu"});
  request.place = on == "cpu" ? Place::Cpu : on == "gpu" || request.gpus ? Place::Gpu : Place::Auto;
  if (on == "cpu" && (request.gpus || request.graph))
    throw Failure{Exit::BadInput, std::string(request.gpus ? "`--gpus`" : "`--graph`") + " means nothing on the CPU"};
  return request;
}

static std::string sizesText(const RunRequest &request) {
  std::string text;
  for (const auto &[name, value] : request.extents)
    text += (text.empty() ? " of " : ", ") + name + " = " + std::to_string(value);
  return request.randomCounts ? text + (text.empty() ? " of random sizes" : ", the rest random") : text;
}

static std::string reportText(const std::string &what, const RunRequest &request, const RunReport &report) {
  std::uint64_t checked = 0, wrong = 0, good = 0;
  std::string details;
  for (std::size_t rank = 0; rank < report.ranks.size(); ++rank) {
    const RankReport &one = report.ranks[rank];
    checked += one.checked;
    wrong += one.wrong;
    good += one.wrong == 0;
    if (one.wrong) details += "         rank " + std::to_string(rank) + ": " + one.firstWrong + "\n";
  }
  char time[32];
  std::snprintf(time, sizeof time, "%.1f ms", report.milliseconds);
  return std::string(report.passed ? "passed   " : "WRONG    ") + what + ": " +
         std::to_string(report.launches) + " launches" + sizesText(request) + ", " + std::to_string(good) + " of " +
         std::to_string(report.ranks.size()) + " ranks verified, " + std::to_string(checked) + " elements, " +
         std::to_string(wrong) + " wrong\n" + "         on " + report.place + ", against " + report.reference +
         ", in " + time + "\n" + details;
}

static bool runMember(RunSeries &series, const Program &program, const Member &member, RunRequest request,
                      const Arguments &arguments) {
  request.instance = pickInstance(member, arguments);
  const Kernel kernel = compileInstance(program, request.instance, request.compile);
  askForMeaning(kernel, arguments);
  const Sizes sizes = pickSizes(kernel.manifest, arguments);
  request.extents = sizes.extents;
  request.scalars = sizes.scalars;
  request.randomCounts = !openExtents(kernel.manifest, sizes).empty();
  request.firstEpoch = pickFirstEpoch(kernel.manifest, arguments, 1);

  Progress progress;
  progress.show("running " + describe(member, request.instance));
  const RunReport report = orFail(series.run(kernel, request));
  progress.clear();
  print(reportText(describe(member, request.instance), request, report));
  return report.passed;
}

/// Of members that are mixed, an option that means nothing for some of them still does for the others.
static void askForMeaningOfAny(const std::vector<Kernel> &kernels, const Arguments &arguments) {
  if (llvm::none_of(kernels, [&](const Kernel &kernel) { return meaningless(kernel, arguments).empty(); }))
    askForMeaning(kernels.front(), arguments);
}

static bool runMixture(const Subject &subject, RunRequest request, const Arguments &arguments) {
  std::vector<Kernel> kernels;
  const std::vector<Instance> instances = subject.instances(arguments);
  for (std::size_t i = 0; i < instances.size(); ++i)
    kernels.push_back(compileInstance(*subject.programs[i], instances[i], request.compile));
  askForMeaningOfAny(kernels, arguments);
  request.randomCounts = true;
  Progress progress;
  progress.show("running " + subject.describe(arguments));
  const RunReport report = orFail(runMixed(kernels, request));
  progress.clear();
  print(reportText(subject.describe(arguments) + (request.graph ? " in graphs of 1, 2, 3 and 5, and one by one" : ""), request,
                   report));
  return report.passed;
}

[[noreturn]] static void noChoice(const std::string &why) {
  throw Failure{Exit::BadInput, "`--table` is for a choice between members, and " + why,
                "leave it out, or give one size and no `--algo`"};
}

/// The members that `--algo` names. Without it, all of them where sizes are random; for one size that which selection
/// would take.
static std::vector<const Member *> membersToRun(const Program &program, const Arguments &arguments) {
  const std::vector<const Member *> members = pickMembersToRun(program, arguments);
  const Member &first = *members.front();
  const bool oneCollective = llvm::all_of(
      members, [&](const Member *member) { return member->collective == first.collective; });
  if (arguments.has("--algo") || members.size() == 1 || !oneCollective) {
    if (arguments.has("--table"))
      noChoice(arguments.has("--algo") ? "`--algo` says which"
               : members.size() == 1   ? "there is one alone"
                                       : "those of several collectives all run");
    return members;
  }
  CompileOptions unchecked;
  unchecked.unchecked = true; // the checker is asked about the one that is chosen
  Diagnostics ignored;
  const Instance instance = pickInstance(first, arguments);
  const auto kernel = program.compile(instance, unchecked, ignored);
  if (!kernel) return members;
  const Sizes sizes = pickSizes(kernel->manifest, arguments);
  if (!openExtents(kernel->manifest, sizes).empty()) {
    if (arguments.has("--table")) noChoice("all run where sizes are random");
    return members;
  }
  SelectionOptions options = selectionOptions(arguments);
  options.nccl = false; // what is verified is Coll's own
  if (const auto machine = machineGpus(); machine && !machine->gpus.empty()) options.gpu = machine->gpus.front().name;
  const Selector selector = orFail(Selector::create(program, first.collective, options));
  const Call call{bytesOf(kernel->manifest, sizes.extents), instance.dtype, instance.ranks,
                  arguments.has("--inplace"), instance.op};
  std::vector<Choice> choices = selector.ranked(call);
  if (!arguments.has("--unchecked")) {
    Ranking ranking = rankingOf(program, first.collective, choices, call, arguments.has("--strict"));
    for (const auto &[member, how] : ranking.unproved)
      printMessage("coll: note: `" + member->name + "` is left out: it is " + how + ", and `coll check` shows " +
                   (how == "refuted" ? "how" : "why") + "\n");
    choices = std::move(ranking.choices);
  }
  for (const Member *member : members)
    if (!choices.empty() && member->algorithm == choices.front().name) return {member};
  return members; // to say of each why it does not take the size
}

static Exit runAll(const Arguments &arguments) {
  const RunRequest request = requestFrom(arguments);
  if (arguments.has("--mixed")) {
    if (arguments.has("--first-epoch"))
      throw Failure{Exit::BadInput, "`--first-epoch` is for one member, and `--mixed` for several"};
    if (arguments.has("--table")) noChoice("`--mixed` says which");
    return runMixture(pickMixture(arguments), request, arguments) ? Exit::Good : Exit::Refuted;
  }
  const auto program = loadProgram(arguments.what());
  std::optional<RunSeries> series;
  return eachMember(membersToRun(*program, arguments), [&](const Member &member) {
    try {
      if (!series) series.emplace();
      return runMember(*series, *program, member, request, arguments);
    } catch (const Failure &) {
      series.reset(); // whose ranks may have been ended in the middle of a launch
      throw;
    }
  });
}

namespace coll::tool {
extern const Verb runVerb;
const Verb runVerb{"run",
                   "WHAT",
                   "run and verify, on the GPUs here or on emulated ranks",
                   {option::algo,
                    option::ranks,
                    option::dtype,
                    option::op,
                    option::count,
                    option::bytes,
                    option::set,
                    option::table,
                    {"--on", "cpu|gpu|auto", "where; on GPUs if there are any, else on the CPU, if not given"},
                    {"--gpus", "K", "use this many GPUs; with more ranks than GPUs, several ranks share one"},
                    {"--launches", "L", "launches, back to back; 20 if not given"},
                    {"--graph", "", "launch them from CUDA graphs"},
                    {"--inplace", "", "inputs and outputs in the same memory, where the contract allows it"},
                    {"--counts", "random|most|half|none",
                     "of messages that say how long they are: each at random, or of all that they may be, half, none; random "
                     "if not given"},
                    {"--offset", "E", "start every buffer E elements past 256-byte alignment"},
                    option::mixed,
                    option::firstEpoch,
                    option::noMulticast,
                    {"--seed", "S", "of inputs and random sizes; 1 if not given"},
                    {"--timeout", "SECONDS", "how long a kernel waits for a peer; 20 if not given"},
                    {"--strict", "", "as `coll emit` has it: rely on the PTX memory model alone"},
                    {"--unchecked", "", "run it although the checker refutes it"}},
                   "coll run allreduce --algo oneshot.ll -n 8                    8 ranks, on GPUs if there are any\n"
                   "coll run mine.coll -n 4 --dtype bf16 --bytes 64Ki --on cpu   emulated ranks; what selection takes\n"
                   "coll run allreduce -n 2 --launches 1000 --graph              every member, from replayed graphs\n"
                   "coll run --mixed allreduce.oneshot.ll,broadcast.direct.flag -n 4 --graph    in turn, in random order\n",
                   runAll};
} // namespace coll::tool
