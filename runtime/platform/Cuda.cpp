#include "platform/Cuda.h"

#include "platform/DynamicLibrary.h"
#include "platform/Machine.h"

#include <cstdlib>
#include <cstring>
#include <mutex>

namespace coll {
namespace {

// Dependent launches inside captured graphs.
constexpr int kOldestDriver = 12030;

#define COLL_TEXT_OF(x) #x
#define COLL_EXPANDED(x) COLL_TEXT_OF(x)

Result<Cuda> load() {
  auto library = DynamicLibrary::open({.what = "the CUDA driver",
                                       .variable = env::Variable::CudaPath,
                                       .names = {"libcuda.so.1"},
                                       .folders = {"/usr/lib/wsl/lib"},
                                       .wheels = {},
                                       .advice = "install NVIDIA's driver"});
  if (!library) return library.error();

  Cuda cuda;
  std::string missing;
#define COLL_CUDA_OPTIONAL(function)                                                                                   \
  cuda.function = reinterpret_cast<decltype(&::function)>(library->symbol(COLL_EXPANDED(function)));
#define COLL_CUDA(function)                                                                                            \
  COLL_CUDA_OPTIONAL(function)                                                                                         \
  if (!cuda.function && missing.empty()) missing = COLL_EXPANDED(function);
#include "platform/Cuda.def"

  if (cuda.cuDriverGetVersion) cuda.cuDriverGetVersion(&cuda.version);
  if (!missing.empty() || cuda.version < kOldestDriver)
    return Error{Error::Code::MachineLacks, "a driver for CUDA " + cudaVersionText(kOldestDriver) +
                                                " or newer is needed (built with the headers of " +
                                                cudaVersionText(CUDA_VERSION) + "); `" + library->path() +
                                                "` is for CUDA " + cudaVersionText(cuda.version) +
                                                (missing.empty() ? "" : " and lacks `" + missing + "`")};

  // Every rank needs a hardware queue of its own: a launch that waits for a peer must not stand before that peer's
  // launch in a shared one. Without effect if the program has initialised CUDA before.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", /*overwrite=*/0);
  if (const CUresult result = cuda.cuInit(0); result != CUDA_SUCCESS) {
    const auto why = cuda.check(result, "cuInit");
    return Error{Error::Code::MachineLacks, "no GPU can be used: " + why.error().text};
  }
  return cuda;
}

} // namespace

std::string cudaVersionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Result<const Cuda *> Cuda::get() {
  static std::mutex mutex;
  static Cuda *cuda = nullptr;
  std::lock_guard lock(mutex);
  if (!cuda) {
    auto loaded = load();
    if (!loaded) return loaded.error();
    cuda = new Cuda(*loaded); // for the life of the process
  }
  return cuda;
}

Result<void> Cuda::check(CUresult result, const char *what) const {
  if (result == CUDA_SUCCESS) return {};
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName) cuGetErrorName(result, &name);
  if (cuGetErrorString) cuGetErrorString(result, &text);
  return Error{Error::Code::Failed, std::string(what) + " failed with " + (name ? name : std::to_string(result)) +
                                        ": " + (text ? text : "unknown error")};
}

/// All of a GPU but its context.
static CUresult read(const Cuda &api, int ordinal, Gpu &gpu) {
  char name[128] = "";
  int major = 0, minor = 0, multiprocessors = 0;
  if (const CUresult got = api.cuDeviceGet(&gpu.device, ordinal); got != CUDA_SUCCESS) return got;
  api.cuDeviceGetName(name, sizeof name, gpu.device);
  api.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, gpu.device);
  api.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, gpu.device);
  api.cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, gpu.device);
  gpu.ordinal = ordinal, gpu.name = name, gpu.arch = major * 10 + minor, gpu.multiprocessors = multiprocessors;
  return CUDA_SUCCESS;
}

Result<std::unique_ptr<Gpus>> Gpus::open(std::span<const int> ordinals) {
  auto cuda = Cuda::get();
  if (!cuda) return cuda.error();
  const Cuda &api = **cuda;
  int count = 0;
  if (auto done = api.check(api.cuDeviceGetCount(&count), "cuDeviceGetCount"); !done) return done.error();
  std::vector<int> wanted(ordinals.begin(), ordinals.end());
  if (wanted.empty())
    for (int ordinal = 0; ordinal < count; ++ordinal) wanted.push_back(ordinal);
  if (wanted.empty()) return Error{Error::Code::MachineLacks, "there is no GPU"};

  std::unique_ptr<Gpus> gpus(new Gpus(api));
  for (int ordinal : wanted) {
    if (ordinal < 0 || ordinal >= count)
      return Error{Error::Code::MachineLacks,
                   "GPU " + std::to_string(ordinal) + " is asked for; there are " + std::to_string(count)};
    Gpu gpu;
    if (auto done = api.check(read(api, ordinal, gpu), "cuDeviceGet"); !done) return done.error();
    if (auto done = api.check(api.cuDevicePrimaryCtxRetain(&gpu.context, gpu.device), "cuDevicePrimaryCtxRetain");
        !done)
      return done.error();
    gpus->list.push_back(gpu);
  }
  return gpus;
}

Gpus::~Gpus() {
  for (const Gpu &gpu : list) cuda.cuDevicePrimaryCtxRelease(gpu.device);
}

/// Atomics on a peer's memory are native over NVLink alone.
Gpus::Uuid Gpus::uuid(const Gpu &gpu) const {
  CUuuid raw = {};
  cuda.cuDeviceGetUuid(&raw, gpu.device);
  Uuid words;
  std::memcpy(words.data(), raw.bytes, sizeof words);
  return words;
}

Gpu Gpus::find(const Uuid &wanted) const {
  int count = 0;
  cuda.cuDeviceGetCount(&count);
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    Gpu gpu;
    if (read(cuda, ordinal, gpu) == CUDA_SUCCESS && uuid(gpu) == wanted) return gpu;
  }
  Gpu unseen;
  unseen.ordinal = -1, unseen.device = CU_DEVICE_INVALID, unseen.name = "of another process, not seen from here";
  return unseen;
}

Link Gpus::link(const Gpu &a, const Gpu &b) const {
  if (a.device == b.device) return Link::SameGpu;
  if (a.device == CU_DEVICE_INVALID || b.device == CU_DEVICE_INVALID) return Link::Other;
  int native = 0;
  cuda.cuDeviceGetP2PAttribute(&native, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, a.device, b.device);
  return native ? Link::NvLink : Link::Other;
}

std::string Gpus::describe() const {
  std::string text;
  for (std::size_t first = 0, last; first < list.size(); first = last) {
    for (last = first; last < list.size() && list[last].name == list[first].name;) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(last - first) + " x " + list[first].name;
  }
  return text;
}

Result<MachineGpus> machineGpus() {
  auto cuda = Cuda::get();
  if (!cuda) return cuda.error();
  const Cuda &api = **cuda;
  MachineGpus machine{cudaVersionText(api.version), {}};
  int count = 0;
  if (auto done = api.check(api.cuDeviceGetCount(&count), "cuDeviceGetCount"); !done) return done.error();
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    CUdevice device = 0;
    if (auto done = api.check(api.cuDeviceGet(&device, ordinal), "cuDeviceGet"); !done) return done.error();
    char name[128] = "";
    int major = 0, minor = 0, multiprocessors = 0;
    std::size_t memory = 0;
    api.cuDeviceGetName(name, sizeof name, device);
    api.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    api.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    api.cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    api.cuDeviceTotalMem(&memory, device);
    std::vector<int> reaches;
    for (int other = 0; other < count; ++other) {
      CUdevice peer = 0;
      int can = 0;
      if (other != ordinal && api.cuDeviceGet(&peer, other) == CUDA_SUCCESS &&
          api.cuDeviceCanAccessPeer(&can, device, peer) == CUDA_SUCCESS && can)
        reaches.push_back(other);
    }
    int multicast = 0;
    api.cuDeviceGetAttribute(&multicast, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, device);
    machine.gpus.push_back({ordinal, name, unsigned(major * 10 + minor), unsigned(multiprocessors), memory, reaches, multicast != 0});
  }
  return machine;
}

} // namespace coll
