// `coll fuzz`: the generated kernel on emulated ranks under adversarial schedules, seed after seed.
#include "check/Report.h"
#include "context/Values.h"
#include "tool/Adversary.h"
#include "tool/EachMember.h"
#include "tool/FirstEpoch.h"
#include "tool/Mixture.h"
#include "tool/OrFail.h"
#include "tool/Output.h"
#include "tool/Selection.h"
#include "tool/Sizes.h"
#include "tool/Source.h"

#include <future>
#include <thread>

using namespace coll;
using namespace coll::tool;

/// As asked for; else the least that the member is made for.
static emu::Atomicity atomicityFrom(const Arguments &arguments, const std::vector<Kernel> &kernels) {
  const std::string given = arguments.choice("--atomicity", {"element", "8", "16", "128"});
  unsigned needed = 0;
  for (const Kernel &kernel : kernels) needed = std::max(needed, kernel.manifest.unsplitBytes);
  if (!arguments.has("--atomicity") && needed > 8) return needed > 16 ? emu::Atomicity::Bytes128 : emu::Atomicity::Bytes16;
  return given == "8"     ? emu::Atomicity::Bytes8
         : given == "16"  ? emu::Atomicity::Bytes16
         : given == "128" ? emu::Atomicity::Bytes128
                          : emu::Atomicity::Element;
}

namespace {

/// What a run depends on besides its seed, as far as a failing one is made smaller.
struct Case {
  int ranks;
  unsigned launches;
  std::uint64_t elements; ///< the most of the domain's vector; 0: sizes are given
  std::uint64_t seed = 0;
};

} // namespace

static Case caseFrom(const Subject &subject, const Arguments &arguments) {
  return {subject.instances(arguments).front().ranks,
          static_cast<unsigned>(arguments.number("--launches", subject.members.size() == 1 ? 6 : 12, 1, 10'000)),
          // A few packets per thread show all that many would, sooner.
          arguments.number("--most", 1024, 1, 1 << 20)};
}

/// Different grids are for kernels in which no CTA waits for the one of its number elsewhere. With `--unchecked` what
/// comes of it is to be seen.
static void askForEqualGrids(const std::vector<Kernel> &kernels, const Arguments &arguments) {
  if (!arguments.has("--unequal-grids") || arguments.has("--unchecked")) return;
  for (const Kernel &kernel : kernels) {
    const std::optional<check::Refutation> refutation = check::refuteOtherGrids(*kernel.program);
    if (!refutation) continue;
    Diagnostics said;
    said.list.push_back(check::toDiagnostic(*kernel.program, *refutation));
    said.list.back().help.clear();
    printMessage(said.render());
    throw Failure{Exit::BadInput, "`" + kernel.manifest.member + "` needs the same grid on all ranks",
                  "leave `--unequal-grids` out, or add `--unchecked` to see how it goes wrong"};
  }
}

/// Where launches of a rank go: of members that are mixed each has a stream, and those of one are dealt out. Nothing if all
/// go to one stream.
static void dealStreams(const Subject &subject, const Arguments &arguments, Adversary::Settings &settings) {
  const auto streams = static_cast<unsigned>(arguments.number("--streams", 1, 1, 16));
  settings.events = !arguments.has("--unordered");
  if (streams == 1 && !settings.events)
    throw Failure{Exit::BadInput, "`--unordered` is for launches on several streams", "say how many by `--streams K`"};
  if (streams == 1) return settings.events = false, void();
  if (settings.interpret) throw Failure{Exit::BadInput, "the interpreter knows one stream", "leave `--on` or `--streams` out"};
  const bool mixed = subject.members.size() > 1;
  settings.stream = [streams, mixed](std::size_t member, unsigned number) {
    return mixed ? unsigned(member % streams) : unsigned(mix(number, 5) % streams);
  };
}

static std::uint64_t seedsFrom(const Arguments &arguments) {
  return arguments.number("--seeds", 100, 1, 1'000'000'000);
}

/// The members, ready to be run under any seed. Says in `what` whether sizes are given. What there is to say of the
/// members is said the first time; a case made `smaller` is quiet.
static Adversary adversaryFor(const Subject &subject, const Arguments &arguments, Case &what, bool smaller = false) {
  CompileOptions options;
  options.unchecked = arguments.has("--unchecked");
  options.strict = arguments.has("--strict");
  std::vector<Kernel> kernels;
  for (std::size_t i = 0; i < subject.members.size(); ++i) {
    Instance instance = subject.instances(arguments)[i];
    instance.ranks = what.ranks;
    kernels.push_back(compileInstance(*subject.programs[i], instance, options, smaller));
  }
  if (kernels.size() == 1) askForMeaning(kernels.front(), arguments);
  askForEqualGrids(kernels, arguments);
  const Manifest &first = kernels.front().manifest;
  const Sizes sizes = pickSizes(first, arguments);
  RunRequest request;
  request.launches = what.launches;
  request.inplace = arguments.has("--inplace");
  request.extents = sizes.extents;
  request.scalars = sizes.scalars;
  request.randomCounts = kernels.size() > 1 || !openExtents(first, sizes).empty();
  if (!request.randomCounts) what.elements = 0;
  request.maxElements = what.elements;
  Adversary::Settings settings;
  settings.atomicity = atomicityFrom(arguments, kernels);
  settings.interpret = arguments.choice("--on", {"cpu", "interpreter"}) == "interpreter";
  settings.fewRuns = arguments.has("--replay") || seedsFrom(arguments) <= 16;
  settings.firstEpoch = pickFirstEpoch(first, arguments, 0);
  settings.unequalGrids = arguments.has("--unequal-grids");
  dealStreams(subject, arguments, settings);
  settings.multicast = !arguments.has("--no-multicast");
  settings.residentCtas = static_cast<unsigned>(arguments.number("--resident", 0, 0, 256));
  if (arguments.has("--trace")) settings.trace = static_cast<unsigned>(arguments.number("--trace", 0, 1, 1'000'000));
  return orFail(Adversary::create(kernels, request, settings));
}

namespace {

/// The seeds to try, and what came of them.
struct Campaign {
  std::uint64_t first, count;
  std::uint64_t elements = 0;   ///< compared
  std::uint64_t failedSeed = 0; ///< the lowest, if `failure` is not empty
  std::string failure = {}, trace = {};
};

} // namespace

/// Seeds side by side, as many at a time as there are processors, until one fails.
static void runCampaign(const Adversary &adversary, Campaign &campaign, Progress &progress, const std::string &what) {
  const std::uint64_t width = std::max(1u, std::thread::hardware_concurrency());
  for (std::uint64_t done = 0; done < campaign.count && campaign.failure.empty(); done += width) {
    progress.show("fuzzing " + what + ": " + std::to_string(done) + " of " + std::to_string(campaign.count) + " seeds");
    std::vector<std::future<Result<Adversary::Outcome>>> running;
    for (std::uint64_t i = done; i < std::min(done + width, campaign.count); ++i)
      running.push_back(std::async(width == 1 ? std::launch::deferred : std::launch::async,
                                   [&adversary, seed = campaign.first + i] { return adversary.run(seed); }));
    for (std::size_t i = 0; i < running.size(); ++i) {
      const Adversary::Outcome outcome = orFail(running[i].get());
      campaign.elements += outcome.checked;
      if (outcome.failure.empty() || !campaign.failure.empty()) continue;
      campaign.failure = outcome.failure;
      campaign.trace = outcome.trace;
      campaign.failedSeed = campaign.first + done + i;
    }
  }
}

/// The first of some seeds, that which is known to fail before others, under which a smaller case fails.
static std::optional<std::uint64_t> failingSeed(const Adversary &adversary, std::uint64_t known) {
  constexpr std::uint64_t kSeeds = 48;
  if (!orFail(adversary.run(known)).failure.empty()) return known;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
    if (!orFail(adversary.run(seed)).failure.empty()) return seed;
  return std::nullopt;
}

/// Fewer ranks, then fewer launches, then shorter vectors, each as few as still fail under some seed.
static Case shrink(const Subject &subject, const Arguments &arguments, Case failing) {
  Progress progress;
  progress.show("looking for a smaller case");
  auto fails = [&](Case smaller) {
    const Adversary adversary = adversaryFor(subject, arguments, smaller, /*smaller=*/true);
    if (smaller.elements != failing.elements && !smaller.elements) return false;
    const std::optional<std::uint64_t> seed = failingSeed(adversary, failing.seed);
    if (!seed) return false;
    smaller.seed = *seed;
    failing = smaller;
    return true;
  };
  int least = 2;
  for (const Member *member : subject.members) least = std::max(least, member->minRanks);
  for (int ranks = least; ranks < failing.ranks; ++ranks) {
    Case smaller = failing;
    smaller.ranks = ranks;
    if (fails(smaller)) break;
  }
  for (unsigned launches = 1; launches < failing.launches; ++launches) {
    Case smaller = failing;
    smaller.launches = launches;
    if (fails(smaller)) break;
  }
  for (std::uint64_t elements = 1; elements < failing.elements; elements *= 2) {
    Case smaller = failing;
    smaller.elements = elements;
    if (fails(smaller)) break;
  }
  return failing;
}

/// A name that begins like an option is none.
static std::string fileForShell(const std::string &name) {
  return forShell(name.size() > 1 && name[0] == '-' ? "./" + name : name);
}

/// The options that were given and still hold, and those of the case.
static std::string commandOf(const Subject &subject, const Arguments &arguments, const Case &c) {
  std::string text = "coll fuzz " + (arguments.has("--mixed") ? "--mixed " + forShell(arguments.text("--mixed"))
                                                             : fileForShell(arguments.what()) + " --algo " +
                                                                   subject.members.front()->algorithm);
  text += " -n " + std::to_string(c.ranks);
  for (const char *option : {"--dtype", "--op", "--count", "--bytes", "--set", "--atomicity", "--first-epoch", "--resident", "--streams", "--on"})
    if (arguments.has(option)) text += std::string(" ") + option + " " + forShell(arguments.text(option));
  for (const char *option : {"--inplace", "--unequal-grids", "--unordered", "--no-multicast", "--strict", "--unchecked"})
    if (arguments.has(option)) text += std::string(" ") + option;
  text += " --launches " + std::to_string(c.launches);
  if (c.elements) text += " --most " + std::to_string(c.elements);
  return text + " --replay " + std::to_string(c.seed) + " --trace 40";
}

static std::string lines(std::string text) {
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text;
}

/// The smaller case, how it fails and how to see it again.
static void printShrunk(const Subject &subject, const Arguments &arguments, const Case &failing) {
  Case smallest = shrink(subject, arguments, failing);
  const Adversary adversary = adversaryFor(subject, arguments, smallest, /*smaller=*/true);
  const Adversary::Outcome outcome = orFail(adversary.run(smallest.seed));
  print("shrunk   to " + std::to_string(smallest.ranks) + " ranks, " + std::to_string(smallest.launches) +
        (smallest.launches == 1 ? " launch" : " launches") +
        (smallest.elements ? " of at most " + std::to_string(smallest.elements) + " elements" : "") + ": seed " +
        std::to_string(smallest.seed) + "\n" + lines(outcome.failure) + "`" +
        commandOf(subject, arguments, smallest) + "` shows it again, event by event\n");
}

/// True if it survived every seed. Seed 0 goes first: a fair run, with a look for what nothing orders.
static bool fuzzSubject(const Subject &subject, const Arguments &arguments) {
  const bool replay = arguments.has("--replay");
  Campaign campaign{replay ? arguments.number("--replay", 0, 0, UINT64_MAX) : 0,
                    replay ? 1 : seedsFrom(arguments) + 1};
  const std::string what = subject.describe(arguments);
  Case one = caseFrom(subject, arguments);
  const Adversary adversary = adversaryFor(subject, arguments, one);
  {
    Progress progress;
    runCampaign(adversary, campaign, progress, what);
  }
  if (campaign.failure.empty()) {
    print("survived " + what + ": " +
          (replay ? "seed " + std::to_string(campaign.first) : std::to_string(campaign.count - 1) + " seeds") + ", " +
          std::to_string(campaign.elements) + " elements, 0 wrong\n");
    return true;
  }
  if (const std::string lacking = adversary.lacking(); !lacking.empty())
    campaign.failure = lines(campaign.failure) + lacking + "\n";
  print("FAILED   " + what + ": seed " + std::to_string(campaign.failedSeed) + "\n" + lines(campaign.failure) +
        (campaign.trace.empty() ? "" : "what happened last:\n" + campaign.trace));
  one.seed = campaign.failedSeed;
  if (!replay) printShrunk(subject, arguments, one);
  return false;
}

static Exit fuzz(const Arguments &arguments) {
  if (arguments.has("--replay") && arguments.has("--seeds"))
    throw Failure{Exit::BadInput, "`--replay` runs one seed and `--seeds` many; give one of them"};
  if (arguments.has("--mixed")) {
    for (const char *single : {"--first-epoch", "--on"})
      if (arguments.has(single))
        throw Failure{Exit::BadInput, "`" + std::string(single) + "` is for one member, and `--mixed` for several"};
    return fuzzSubject(pickMixture(arguments), arguments) ? Exit::Good : Exit::Refuted;
  }
  const std::shared_ptr<const Program> program = loadProgram(arguments.what());
  return eachMember(pickMembersToRun(*program, arguments),
                    [&](const Member &member) { return fuzzSubject({{program}, {&member}}, arguments); });
}

namespace coll::tool {
extern const Verb fuzzVerb;
const Verb fuzzVerb{
    "fuzz",
    "WHAT",
    "adversarial runs on the CPU, to find what a proof or the emitter missed",
    {option::algo,
     option::ranks,
     option::dtype,
     option::op,
     option::count,
     option::bytes,
     option::set,
     {"--on", "cpu|interpreter",
      "the kernel compiled for the CPU, or the IR itself, which takes no compiler and knows less; cpu if not given"},
     option::mixed,
     {"--seeds", "K", "seeds 1 to K, each another schedule, inputs and sizes; 100 if not given"},
     {"--launches", "L", "launches per seed; 6 if not given, 12 of members that are mixed"},
     {"--atomicity", "element|8|16|128",
      "the largest part of a store that peers see at once, in bytes; if not given an element, or what the sync mode "
      "needs of the hardware"},
     {"--inplace", "", "inputs and outputs in the same memory, where the contract allows it"},
     {"--most", "E", "sizes that are not given are random up to this many elements; 1024 if not given"},
     {"--unequal-grids", "", "let ranks launch different numbers of CTAs; right where no CTA waits for a CTA"},
     option::firstEpoch,
     {"--resident", "K",
      "run at most K CTAs of a rank at a time, the others when those have ended: how it stands still where a launch does "
      "not fit the GPU, which contexts refuse; 0: all"},
     {"--streams", "K",
      "deal launches out to K streams, each after the one before by an event as contexts have it; of members that are "
      "mixed each has one of them"},
     {"--unordered", "", "without these events: right between members that share no scratch, wrong within one"},
     option::noMulticast,
     {"--replay", "SEED", "run this seed alone; 0 is a fair run that looks for accesses which nothing orders"},
     {"--trace", "K", "print the last K events of a run that fails"},
     {"--strict", "", "fuzz what `--strict` makes of it, see `coll emit`"},
     {"--unchecked", "", "run it although the checker refutes it"}},
    "coll fuzz allreduce --algo oneshot.ll -n 8 --seeds 200\n"
    "coll fuzz --mixed allreduce.oneshot.ll,allgather.direct.flag -n 4   one after the other in random order\n"
    "coll fuzz mine.coll -n 3 --unchecked --replay 17          what the checker refutes, and how it goes wrong\n",
    fuzz};
} // namespace coll::tool
