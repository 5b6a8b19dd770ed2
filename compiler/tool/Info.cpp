// `coll info`: what this machine has of all that Coll can use.
#include "emulator/KernelModule.h"
#include "litmus/Litmus.h"
#include "platform/Env.h"
#include "platform/Machine.h"
#include "platform/Nccl.h"
#include "platform/Nvrtc.h"
#include "platform/Platform.h"
#include "tool/Arguments.h"
#include "tool/OrFail.h"
#include "tool/Output.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace coll;
using namespace coll::tool;

namespace {

struct Found {
  Result<const Nvrtc *> nvrtc = Nvrtc::get();
  Result<const Nccl *> nccl = Nccl::get();
  Result<MachineGpus> machine = machineGpus();
  std::vector<std::string> cxx = emu::hostCompiler();
};

} // namespace

static std::string row(const std::string &left, const std::string &right) {
  return llvm::formatv("{0,-14} {1}\n", left, right).str();
}

/// A message in a table has one line.
static std::string none(const Error &error) {
  return "none: " + llvm::StringRef(error.text).split('\n').first.str();
}

static std::string archsText(const std::vector<int> &archs) {
  std::string text;
  for (int arch : archs) text += " sm_" + std::to_string(arch);
  return text;
}

static std::string gpuText(const GpuInfo &gpu) {
  std::string reaches;
  for (int other : gpu.reaches) reaches += " " + std::to_string(other);
  return gpu.name + ", sm_" + std::to_string(gpu.arch) + ", " + std::to_string(gpu.multiprocessors) +
         " multiprocessors, " + std::to_string(gpu.memoryBytes >> 30) + " GiB" +
         (reaches.empty() ? "" : ", reaches the memory of" + reaches);
}

/// What is declared of hardware beyond PTX, and what litmus tests have seen there.
static std::string platformsText() {
  std::string text;
  for (const Platform &platform : platforms()) {
    std::string seen;
    for (const litmus::Measured &m : litmus::measured())
      if (m.arch >= platform.arch && m.link == platform.link)
        seen += std::string(seen.empty() ? "" : ", ") + std::string(m.test) + " " + std::to_string(m.surprises) + " of " +
                std::to_string(m.rounds) + " (" + std::string(m.gpu) + ")";
    text += row("sm_" + std::to_string(platform.arch) + " and up",
                "stores of " + std::to_string(platform.bytes) + " bytes arrive whole " + std::string(describe(platform.link)) +
                    "; surprises seen: " + (seen.empty() ? "not measured" : seen));
  }
  return text;
}

/// Why kernels take their loop form instead of multicast; empty where NCCL decides, for the ranks of a context.
static std::string whyNoMulticast(const Found &found) {
  if (!found.machine) return "there is no GPU";
  for (const GpuInfo &gpu : found.machine->gpus)
    if (!gpu.multicast) return "GPU " + std::to_string(gpu.ordinal) + " has none";
  if (!found.nccl) return found.nccl.error().text;
  if (!(*found.nccl)->tellsMulticast()) return "NCCL " + (*found.nccl)->versionText() + " does not tell its address";
  const char *enabled = std::getenv("NCCL_NVLS_ENABLE");
  return enabled && llvm::StringRef(enabled) == "0" ? "NCCL_NVLS_ENABLE is 0" : "";
}

static std::string multicastText(const Found &found) {
  const std::string why = whyNoMulticast(found);
  if (!why.empty()) return none(Error{Error::Code::MachineLacks, why});
  return "yes, where NCCL has it: ranks with a GPU each, more than two of them";
}

static std::string asText(const Found &found) {
  std::string text = row("coll", COLL_VERSION);
  if (found.machine) {
    text += row("CUDA driver", "for CUDA " + found.machine->cuda);
    for (const GpuInfo &gpu : found.machine->gpus) text += row("GPU " + std::to_string(gpu.ordinal), gpuText(gpu));
  } else {
    text += row("GPUs", none(found.machine.error()));
  }
  text += row("NVRTC", found.nvrtc ? (*found.nvrtc)->versionText() + " (" + (*found.nvrtc)->path + "), compiles for" +
                                         archsText((*found.nvrtc)->archs)
                                   : none(found.nvrtc.error()));
  text += row("NCCL",
              found.nccl ? (*found.nccl)->versionText() + " (" + (*found.nccl)->path + ")" : none(found.nccl.error()));
  text += row("multicast", multicastText(found));
  text += row("C++ compiler", found.cxx.empty() ? "none: emulated ranks need one" : join(found.cxx, " "));
  text += platformsText();
  for (const env::Description &variable : env::list())
    if (const char *value = std::getenv(variable.name.c_str())) text += row(variable.name, value);
  return text;
}

static std::string asJson(const Found &found) {
  using namespace llvm::json;
  Array gpus;
  if (found.machine)
    for (const GpuInfo &gpu : found.machine->gpus)
      gpus.push_back(Object{{"ordinal", gpu.ordinal},
                            {"name", gpu.name},
                            {"arch", gpu.arch},
                            {"multiprocessors", gpu.multiprocessors},
                            {"memoryBytes", static_cast<std::int64_t>(gpu.memoryBytes)},
                            {"reaches", Array(gpu.reaches)},
                            {"multicast", gpu.multicast}});
  Object object{{"version", COLL_VERSION}, {"gpus", std::move(gpus)}, {"nvrtc", nullptr}, {"nccl", nullptr}};
  const std::string why = whyNoMulticast(found);
  object["multicast"] = why.empty();
  if (!why.empty()) object["multicastWhyNot"] = fixUTF8(why);
  object["driver"] = found.machine ? Value(found.machine->cuda) : Value(nullptr);
  object["cxx"] = found.cxx.empty() ? Value(nullptr) : Value(join(found.cxx, " "));
  if (found.nvrtc)
    object["nvrtc"] = Object{{"version", (*found.nvrtc)->versionText()},
                             {"path", fixUTF8((*found.nvrtc)->path)},
                             {"archs", Array((*found.nvrtc)->archs)}};
  if (found.nccl)
    object["nccl"] = Object{{"version", (*found.nccl)->versionText()}, {"path", fixUTF8((*found.nccl)->path)}};
  return llvm::formatv("{0:2}\n", Value(std::move(object))).str();
}

static std::string findingText(const litmus::Finding &f) {
  const std::string where = f.from == f.to ? "GPU " + std::to_string(f.from)
                                           : "GPU " + std::to_string(f.from) + " to " + std::to_string(f.to);
  return llvm::formatv("{0,-10} {1,-14} {2,14} rounds  {3}\n", std::string(f.test->name), where, f.rounds,
                       f.rounds == 0      ? std::string("nothing arrived in time")
                       : f.surprises == 0 ? std::string("the opposite was not observed")
                                          : "the opposite was OBSERVED " + std::to_string(f.surprises) + " times")
      .str();
}

/// A line of Platforms.def. Rounds of several pairs of GPUs over the same link count together.
static std::string measuredText(const std::vector<litmus::Finding> &findings) {
  std::map<std::tuple<unsigned, Link, std::string, std::string_view>, std::pair<std::uint64_t, std::uint64_t>> sums;
  for (const litmus::Finding &f : findings) {
    auto &sum = sums[{f.arch, f.link, f.gpu, f.test->name}];
    sum.first += f.rounds, sum.second += f.surprises;
  }
  std::string text;
  for (const auto &[key, sum] : sums) {
    const auto &[arch, link, gpu, test] = key;
    text += "COLL_MEASURED(" + std::to_string(arch) + ", " + std::string(name(link)) + ", " + std::string(test) + ", \"" + gpu +
            "\", " + std::to_string(sum.first) + ", " + std::to_string(sum.second) + ")\n";
  }
  return text;
}

static Exit runLitmus(const Arguments &arguments) {
  litmus::Limits limits;
  limits.rounds = arguments.number("--rounds", limits.rounds, 1, 1 << 30);
  limits.seconds = arguments.seconds("--limit", limits.seconds);
  for (const litmus::Test &test : litmus::tests()) print(row(std::string(test.name), std::string(test.claim)));
  const std::vector<litmus::Finding> findings =
      orFail(litmus::run(limits, [](const litmus::Finding &finding) { print(findingText(finding)); }));
  print("for the list of platforms:\n" + measuredText(findings));
  return Exit::Good;
}

static Exit info(const Arguments &arguments) {
  if (arguments.has("--litmus")) return runLitmus(arguments);
  for (const char *option : {"--rounds", "--limit"})
    if (arguments.has(option)) throw Failure{Exit::BadInput, "`" + std::string(option) + "` is for `--litmus`"};
  const Found found;
  print(arguments.has("--json") ? asJson(found) : asText(found));
  return Exit::Good;
}

namespace coll::tool {
extern const Verb infoVerb;
const Verb infoVerb{.name = "info",
                    .operands = "",
                    .summary = "the libraries, GPUs and compilers that this machine has",
                    .options = {{"--json", "", "as JSON"},
                                {"--litmus", "",
                                 "look on the GPUs here for what hardware is taken never to do, and count it"},
                                {"--rounds", "R", "of each of 32 CTAs in each litmus test; 1Mi if not given"},
                                {"--limit", "SECONDS", "of each litmus test; 5 if not given"}},
                    .example = "coll info\n"
                               "coll info --litmus --rounds 16Mi --limit 20      between every two GPUs, in minutes\n",
                    .run = info};
} // namespace coll::tool
