// `coll info`: what this machine has of all that Coll can use.
#include "emulator/KernelModule.h"
#include "platform/Env.h"
#include "platform/Machine.h"
#include "platform/Nccl.h"
#include "platform/Nvrtc.h"
#include "tool/Arguments.h"
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
  text += row("C++ compiler", found.cxx.empty() ? "none: emulated ranks need one" : join(found.cxx, " "));
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
                            {"reaches", Array(gpu.reaches)}});
  Object object{{"version", COLL_VERSION}, {"gpus", std::move(gpus)}, {"nvrtc", nullptr}, {"nccl", nullptr}};
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

static Exit info(const Arguments &arguments) {
  const Found found;
  print(arguments.has("--json") ? asJson(found) : asText(found));
  return Exit::Good;
}

namespace coll::tool {
extern const Verb infoVerb;
const Verb infoVerb{.name = "info",
                    .operands = "",
                    .summary = "the libraries, GPUs and compilers that this machine has",
                    .options = {{"--json", "", "as JSON"}},
                    .example = "coll info\n",
                    .run = info};
} // namespace coll::tool
