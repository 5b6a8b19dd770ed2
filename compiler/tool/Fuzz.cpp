// `coll fuzz`: the generated kernel on emulated ranks under adversarial schedules, seed after seed.
#include "tool/Adversary.h"
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
static emu::Atomicity atomicityFrom(const Arguments &arguments, const Manifest &manifest) {
  const std::string given = arguments.choice("--atomicity", {"element", "8", "16", "128"});
  if (!arguments.has("--atomicity") && manifest.unsplitBytes > 16) return emu::Atomicity::Bytes128;
  return given == "8"     ? emu::Atomicity::Bytes8
         : given == "16"  ? emu::Atomicity::Bytes16
         : given == "128" ? emu::Atomicity::Bytes128
                          : emu::Atomicity::Element;
}

/// The member, ready to be run under any seed.
static Adversary adversaryFor(const Program &program, const Member &member, const Arguments &arguments) {
  CompileOptions options;
  options.unchecked = arguments.has("--unchecked");
  const Kernel kernel = compileInstance(program, pickInstance(member, arguments), options);
  const Sizes sizes = pickSizes(kernel.manifest, arguments);
  RunRequest request;
  request.launches = static_cast<unsigned>(arguments.number("--launches", 6, 1, 10'000));
  request.inplace = arguments.has("--inplace");
  request.extents = sizes.extents;
  request.scalars = sizes.scalars;
  request.randomCounts = !openExtents(kernel.manifest, sizes).empty();
  request.maxElements = 1024; // a few packets per thread show all that many would, sooner
  return orFail(Adversary::create(kernel, request, atomicityFrom(arguments, kernel.manifest)));
}

namespace {

/// The seeds to try, and what came of them.
struct Campaign {
  std::uint64_t first, count;
  std::uint64_t elements = 0;   ///< compared
  std::uint64_t failedSeed = 0; ///< the lowest, if `failure` is not empty
  std::string failure = {};
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
      campaign.failedSeed = campaign.first + done + i;
    }
  }
}

/// True if it survived every seed.
static bool fuzzMember(const Program &program, const Member &member, const Arguments &arguments) {
  const bool replay = arguments.has("--replay");
  Campaign campaign{replay ? arguments.number("--replay", 0, 0, UINT64_MAX) : 1,
                    replay ? 1 : arguments.number("--seeds", 100, 1, 1'000'000'000)};
  const std::string what = describe(member, pickInstance(member, arguments));
  const Adversary adversary = adversaryFor(program, member, arguments);
  {
    Progress progress;
    runCampaign(adversary, campaign, progress, what);
  }
  if (campaign.failure.empty()) {
    print("survived " + what + ": " +
          (replay ? "seed " + std::to_string(campaign.first) : std::to_string(campaign.count) + " seeds") + ", " +
          std::to_string(campaign.elements) + " elements, 0 wrong\n");
    return true;
  }
  const std::string seed = std::to_string(campaign.failedSeed);
  if (campaign.failure.back() != '\n') campaign.failure += '\n';
  if (const std::string lacking = adversary.lacking(); !lacking.empty()) campaign.failure += lacking + "\n";
  print("FAILED   " + what + ": seed " + seed + "\n" + campaign.failure +
        (replay ? "" : "the same command with `--replay " + seed + "` shows it again\n"));
  return false;
}

static Exit fuzz(const Arguments &arguments) {
  if (arguments.has("--replay") && arguments.has("--seeds"))
    throw Failure{Exit::BadInput, "`--replay` runs one seed and `--seeds` many; give one of them"};
  const auto program = loadProgram(arguments.what());
  bool survived = true;
  for (const Member *member : pickMembersToRun(*program, arguments))
    survived &= fuzzMember(*program, *member, arguments);
  return survived ? Exit::Good : Exit::Refuted;
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
     {"--seeds", "K", "seeds 1 to K, each another schedule, inputs and sizes; 100 if not given"},
     {"--launches", "L", "launches per seed; 6 if not given"},
     {"--atomicity", "element|8|16|128",
      "the largest part of a store that peers see at once, in bytes; if not given an element, or what the sync mode "
      "needs of the hardware"},
     {"--inplace", "", "inputs and outputs in the same memory, where the contract allows it"},
     {"--replay", "SEED", "run this seed alone"},
     {"--unchecked", "", "run it although the checker refutes it"}},
    "coll fuzz allreduce --algo oneshot.ll -n 8 --seeds 200\n"
    "coll fuzz mine.coll -n 3 --unchecked --replay 17          what the checker refutes, and how it goes wrong\n",
    fuzz};
} // namespace coll::tool
