#include "fabric/NcclMulticast.h"

#include "platform/NcclLayouts.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace coll {

using namespace nccl_layouts;

namespace {

template <class T>
T readAt(const unsigned char *object, std::size_t offset) {
  T value;
  std::memcpy(&value, object + offset, sizeof value);
  return value;
}

} // namespace

NcclMulticast::~NcclMulticast() {
  for (const Device &device : devices) nccl.devCommDestroy(device.comm, device.object);
}

bool NcclMulticast::mayHave(const Cuda &cuda, std::span<const NcclSeat> seats, int ranks) const {
  if (!nccl.tellsMulticast()) return false;
  if (nccl.version >= kVersioned)
    return std::all_of(seats.begin(), seats.end(), [&](const NcclSeat &seat) {
      Properties properties;
      return nccl.commQueryProperties(seat.comm, &properties) == 0 && properties.deviceApiSupport &&
             properties.multimemSupport;
    });
  // There is nothing to ask before 2.29: what NCCL's own test begins with.
  const char *enabled = std::getenv("NCCL_NVLS_ENABLE");
  return ranks > 2 && !(enabled && std::strcmp(enabled, "0") == 0) &&
         std::all_of(seats.begin(), seats.end(), [&](const NcclSeat &seat) {
           int supported = 0;
           return cuda.cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, seat.gpu->device) ==
                      CUDA_SUCCESS &&
                  supported;
         });
}

bool NcclMulticast::map(const Cuda &cuda, std::span<const NcclSeat> seats, int ranks) {
  std::vector<Device> created(seats.size());
  VersionedRequirements versioned;
  versioned.rest.lsaMultimem = true;
  versioned.rest.lsaBarrierCount = 1; // as every user of device communicators asks for; not used
  const void *requirements = nccl.version >= kVersioned ? static_cast<const void *>(&versioned) : &versioned.rest;
  if (nccl.groupStart() != 0) return false;
  bool good = true;
  for (std::size_t i = 0; i < seats.size(); ++i) {
    Current current(cuda, *seats[i].gpu);
    created[i].comm = seats[i].comm;
    good = good && nccl.devCommCreate(seats[i].comm, requirements, created[i].object) == 0;
  }
  if (nccl.groupEnd() != 0 || !good) return false;
  devices = std::move(created);
  // The team that multicast reaches must be all ranks.
  return std::all_of(devices.begin(), devices.end(), [&](const Device &device) {
    return readAt<int>(device.object, kLsaSizeAt) == ranks &&
           readAt<void *>(device.object, kLsaMultimemAt) != nullptr;
  });
}

void *NcclMulticast::address(const Cuda &cuda, std::size_t seat, NcclWindow window) const {
  if (!mapped() || !window) return nullptr;
  void *base = readAt<void *>(devices[seat].object, kLsaMultimemAt);
  if (!base) return nullptr;
  if (nccl.version >= kVersioned) {
    void *pointer = nullptr;
    return nccl.getLsaMultimemDevicePointer(window, 0, &pointer) == 0 ? pointer : nullptr;
  }
  std::uint32_t pages = 0;
  const CUdeviceptr at = reinterpret_cast<CUdeviceptr>(window) + kWindowMulticastAt;
  if (cuda.cuMemcpyDtoH(&pages, at, sizeof pages) != CUDA_SUCCESS) return nullptr;
  return static_cast<char *>(base) + std::uint64_t(pages) * 4096;
}

} // namespace coll
