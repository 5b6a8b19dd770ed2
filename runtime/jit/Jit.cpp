#include "jit/Jit.h"

#include "embed/Embedded.h"
#include "jit/CompileLog.h"
#include "jit/KernelFiles.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

namespace coll {

namespace embedded {
std::span<const EmbeddedFile> deviceHeaders();
}

namespace {

/// The architectures there are, whatever the NVRTC at hand knows of: a name outside this list is a slip of the user's.
constexpr std::array kArchs = {70u, 72u, 75u, 80u, 86u, 87u, 88u, 89u, 90u, 100u, 101u, 103u, 110u, 120u, 121u};

std::string listOf(const auto &numbers) {
  std::string text;
  for (auto number : numbers) text += (text.empty() ? "sm_" : ", sm_") + std::to_string(number);
  return text;
}

double millisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// Owns one nvrtcProgram.
struct ProgramHandle {
  const Nvrtc &api;
  NvrtcProgram program = nullptr;
  ~ProgramHandle() {
    if (program) api.destroyProgram(&program);
  }
};

std::string logOf(const ProgramHandle &handle) {
  std::size_t size = 0;
  if (handle.api.logSize(handle.program, &size) != 0 || size <= 1) return "";
  std::string log(size, '\0');
  handle.api.log(handle.program, log.data());
  log.resize(size - 1);
  return log;
}

std::vector<std::string> optionsFor(const Nvrtc &api, const Arch &arch, Stage stage) {
  // A virtual architecture stops NVRTC before ptxas, whose time nobody who wants to read PTX should pay.
  std::string target = stage == Stage::Ptx ? "--gpu-architecture=compute_" : "--gpu-architecture=sm_";
  target += std::to_string(arch.number) + arch.suffix;
  // Without textures, device launches and the runtime's types, which no kernel uses: 3 ms less.
  std::vector<std::string> options = {target, "-std=c++17", "-default-device", "-minimal"};
  // Newer ones keep a cache of their own with the driver's help, and so initialise the driver, which takes longer than
  // compiling does. KernelCache needs no driver.
  if (std::pair(api.major, api.minor) >= std::pair(12, 9)) options.push_back("-no-cache");
  return options;
}

} // namespace

Result<Arch> Arch::parse(std::string_view text) {
  Arch arch;
  std::string_view rest = text;
  if (rest.substr(0, 3) == "sm_") {
    rest.remove_prefix(3);
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), arch.number);
    if (error == std::errc()) arch.suffix = rest.substr(end - rest.data());
  }
  const bool known = std::find(kArchs.begin(), kArchs.end(), arch.number) != kArchs.end();
  if (!known || (arch.suffix != "" && arch.suffix != "a" && arch.suffix != "f"))
    return Error{Error::Code::BadInput,
                 "unknown architecture `" + std::string(text) + "`; known are " + listOf(kArchs)};
  return arch;
}

Result<Jit> Jit::create(KernelCache cache, const std::string &nvrtcPath) {
  auto api = Nvrtc::get(nvrtcPath);
  if (!api) return api.error();
  return Jit(*api, std::move(cache));
}

Result<void> Jit::supports(const Manifest &manifest, const Arch &arch) const {
  if (arch.number < manifest.minArch)
    return Error{Error::Code::BadInput, "`" + manifest.member + "` needs sm_" + std::to_string(manifest.minArch) +
                                            " or newer; asked for is " + arch.text()};
  if (std::find(api->archs.begin(), api->archs.end(), int(arch.number)) == api->archs.end())
    return Error{Error::Code::MachineLacks, "NVRTC " + api->versionText() + " (`" + api->path +
                                                "`) does not compile for " + arch.text() + "; it knows " +
                                                listOf(api->archs)};
  return {};
}

Result<Binary> Jit::compile(const Kernel &kernel, const Arch &arch, Stage stage) const {
  if (auto able = supports(kernel.manifest, arch); !able) return able.error();
  auto text = textToCompile(kernel);
  if (!text) return text.error();
  if (auto done = dumpSources(kernel, *text); !done) return done.error();

  const auto start = std::chrono::steady_clock::now();
  static const std::string headers = [] {
    std::string all;
    for (const EmbeddedFile &header : embedded::deviceHeaders())
      all.append(header.name).append("\n").append(header.text);
    return all;
  }();
  std::string options;
  for (const std::string &option : optionsFor(*api, arch, stage)) options += option + " ";
  const std::string key = KernelCache::key({*text, headers, options, api->versionText()});
  Binary binary;
  if (auto kept = cache.find(key)) {
    binary = {std::move(*kept), true, millisecondsSince(start)};
  } else {
    auto built = build(*text, kernel.manifest, arch, stage);
    if (!built) { // an edited text is whose edit it is
      const bool edited = built.error().code == Error::Code::Internal && *text != kernel.cuda;
      return Error{edited ? Error::Code::BadInput : built.error().code, built.error().text};
    }
    binary = std::move(*built);
    cache.store(key, binary.bytes);
  }
  const std::string suffix = arch.text() + (stage == Stage::Ptx ? ".ptx" : ".cubin");
  if (auto done = dumpBinary(kernel.manifest, suffix, binary.bytes); !done) return done.error();
  return binary;
}

Result<Binary> Jit::build(const std::string &text, const Manifest &manifest, const Arch &arch, Stage stage) const {
  const auto start = std::chrono::steady_clock::now();
  std::vector<const char *> names, texts, options;
  // Embedded texts and names are literals, so they end in the zero byte that NVRTC wants.
  for (const EmbeddedFile &header : embedded::deviceHeaders())
    names.push_back(header.name.data()), texts.push_back(header.text.data());
  const std::vector<std::string> optionTexts = optionsFor(*api, arch, stage);
  for (const std::string &option : optionTexts) options.push_back(option.c_str());

  const std::string fileName = kernelFileStem(manifest) + ".cu";
  ProgramHandle handle{*api};
  int result = api->createProgram(&handle.program, text.c_str(), fileName.c_str(), int(names.size()), texts.data(),
                                  names.data());
  if (result == 0) result = api->compileProgram(handle.program, int(options.size()), options.data());
  if (result != 0) {
    constexpr int kRefused = 6; // NVRTC_ERROR_COMPILATION
    const std::string log = handle.program ? logOf(handle) : "";
    return Error{result == kRefused ? Error::Code::Internal : Error::Code::Failed,
                 "the CUDA text of `" + manifest.member + "` does not compile for " + arch.text() + " (NVRTC " +
                     api->versionText() + ", " + api->errorString(result) + ")\n" +
                     withSourceLines(log, fileName, manifest)};
  }

  Binary binary;
  std::size_t size = 0;
  result = stage == Stage::Ptx ? api->ptxSize(handle.program, &size) : api->cubinSize(handle.program, &size);
  binary.bytes.resize(size);
  if (result == 0)
    result = stage == Stage::Ptx ? api->ptx(handle.program, binary.bytes.data())
                                 : api->cubin(handle.program, binary.bytes.data());
  if (result != 0 || size == 0)
    return Error{Error::Code::Failed, "NVRTC " + api->versionText() + " gave no binary: " + api->errorString(result)};
  if (stage == Stage::Ptx && binary.bytes.back() == '\0') binary.bytes.pop_back();
  binary.milliseconds = millisecondsSince(start);
  return binary;
}

} // namespace coll
