#include "platform/Nccl.h"

#include "platform/NcclLayouts.h"

#include <mutex>

namespace coll {
namespace {

std::string textOf(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

Result<Nccl> load(const std::string &path) {
  auto library = DynamicLibrary::open({.what = "NCCL",
                                       .variable = env::Variable::NcclPath,
                                       .names = {"libnccl.so.2"},
                                       .onlyOne = true,
                                       .folders = {"/usr/local/cuda/lib64"},
                                       .wheels = {"nvidia/nccl/lib"},
                                       .advice = "install libnccl2 or `pip install nvidia-nccl-cu13`"},
                                      path);
  if (!library) return library.error();

  Nccl api = {};
  bool complete = true;
  const auto bind = [&](auto &function, const char *name, bool optional = false) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(library->symbol(name));
    complete &= optional || function != nullptr;
  };
  bind(api.getVersion, "ncclGetVersion");
  bind(api.getErrorString, "ncclGetErrorString");
  bind(api.getLastError, "ncclGetLastError");
  bind(api.groupStart, "ncclGroupStart");
  bind(api.groupEnd, "ncclGroupEnd");
  bind(api.commInitAll, "ncclCommInitAll");
  bind(api.getUniqueId, "ncclGetUniqueId");
  bind(api.commInitRank, "ncclCommInitRank");
  bind(api.commSplit, "ncclCommSplit");
  bind(api.commCount, "ncclCommCount");
  bind(api.commUserRank, "ncclCommUserRank");
  bind(api.commCuDevice, "ncclCommCuDevice");
  bind(api.commDestroy, "ncclCommDestroy");
  bind(api.commAbort, "ncclCommAbort");
  bind(api.allReduce, "ncclAllReduce");
  bind(api.reduceScatter, "ncclReduceScatter");
  bind(api.reduce, "ncclReduce");
  bind(api.allGather, "ncclAllGather");
  bind(api.broadcast, "ncclBroadcast");
  bind(api.allToAll, "ncclAlltoAll", /*optional=*/true);
  bind(api.memAlloc, "ncclMemAlloc");
  bind(api.memFree, "ncclMemFree");
  bind(api.commWindowRegister, "ncclCommWindowRegister");
  bind(api.commWindowDeregister, "ncclCommWindowDeregister");
  bind(api.getPeerDevicePointer, "ncclGetPeerDevicePointer", /*optional=*/true);
  bind(api.devCommCreate, "ncclDevCommCreate", /*optional=*/true);
  bind(api.devCommDestroy, "ncclDevCommDestroy", /*optional=*/true);
  bind(api.commQueryProperties, "ncclCommQueryProperties", /*optional=*/true);
  bind(api.getLsaMultimemDevicePointer, "ncclGetLsaMultimemDevicePointer", /*optional=*/true);
  if (api.getVersion) api.getVersion(&api.version);
  if (!complete || api.version < Nccl::kOldest)
    return Error{Error::Code::MachineLacks, "NCCL " + textOf(Nccl::kOldest) +
                                                " or newer is needed for symmetric memory; `" + library->path() +
                                                "` is " + textOf(api.version)};
  api.path = library->path();
  return api;
}

} // namespace

std::string Nccl::versionText() const {
  return textOf(version);
}

bool Nccl::tellsMulticast() const {
  if (version < nccl_layouts::kFirst || !devCommCreate || !devCommDestroy) return false;
  return version < nccl_layouts::kVersioned || (commQueryProperties && getLsaMultimemDevicePointer);
}

Result<void> Nccl::check(int result, const char *what) const {
  if (result == 0) return {};
  const char *more = getLastError(nullptr);
  std::string text = std::string(what) + " of NCCL " + versionText() + " failed: " + getErrorString(result);
  if (more && *more) text += std::string(" (") + more + ")";
  return Error{Error::Code::Failed, text};
}

Result<const Nccl *> Nccl::get(const std::string &path) {
  static std::mutex mutex;
  static Nccl *api = nullptr;
  std::lock_guard lock(mutex);
  if (!api) {
    auto loaded = load(path);
    if (!loaded) return loaded.error();
    api = new Nccl(std::move(*loaded)); // for the life of the process
  }
  return api;
}

} // namespace coll
