#include "platform/Nvrtc.h"

#include <algorithm>
#include <mutex>

namespace coll {
namespace {

Result<Nvrtc> load(const std::string &path) {
  auto library = DynamicLibrary::open({.what = "NVRTC",
                                       .variable = env::Variable::NvrtcPath,
                                       .names = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"},
                                       .folders = {"/usr/local/cuda/lib64", "/usr/local/cuda/targets/sbsa-linux/lib"},
                                       .wheels = {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"},
                                       .advice = "install CUDA 12.4 or newer or `pip install nvidia-cuda-nvrtc`"},
                                      path);
  if (!library) return library.error();

  Nvrtc api = {};
  bool complete = true;
  const auto bind = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(library->symbol(name));
    complete &= function != nullptr;
  };
  bind(api.version, "nvrtcVersion");
  bind(api.errorString, "nvrtcGetErrorString");
  bind(api.numSupportedArchs, "nvrtcGetNumSupportedArchs");
  bind(api.supportedArchs, "nvrtcGetSupportedArchs");
  bind(api.createProgram, "nvrtcCreateProgram");
  bind(api.destroyProgram, "nvrtcDestroyProgram");
  bind(api.compileProgram, "nvrtcCompileProgram");
  bind(api.ptxSize, "nvrtcGetPTXSize");
  bind(api.ptx, "nvrtcGetPTX");
  bind(api.cubinSize, "nvrtcGetCUBINSize");
  bind(api.cubin, "nvrtcGetCUBIN");
  bind(api.logSize, "nvrtcGetProgramLogSize");
  bind(api.log, "nvrtcGetProgramLog");
  if (api.version) api.version(&api.major, &api.minor);
  if (!complete || std::pair(api.major, api.minor) < std::pair(Nvrtc::kOldestMajor, Nvrtc::kOldestMinor))
    return Error{Error::Code::MachineLacks, "NVRTC " + std::to_string(Nvrtc::kOldestMajor) + "." +
                                                std::to_string(Nvrtc::kOldestMinor) + " or newer is needed; `" +
                                                library->path() + "` is " + api.versionText()};

  api.path = library->path();
  int count = 0;
  if (api.numSupportedArchs(&count) == 0 && count > 0) {
    api.archs.resize(count);
    api.supportedArchs(api.archs.data());
    std::sort(api.archs.begin(), api.archs.end());
  }
  return api;
}

} // namespace

Result<const Nvrtc *> Nvrtc::get(const std::string &path) {
  // Only success is kept: a later call with another path may find what this one did not.
  static std::mutex mutex;
  static Nvrtc *api = nullptr;
  std::lock_guard lock(mutex);
  if (!api) {
    auto loaded = load(path);
    if (!loaded) return loaded.error();
    api = new Nvrtc(std::move(*loaded)); // for the life of the process
  }
  return api;
}

} // namespace coll
