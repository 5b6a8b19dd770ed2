#include "fabric/NcclRegion.h"

#include "platform/NcclLayouts.h"

#include <cstring>

namespace coll {
namespace {

constexpr int kWindowDefault = 0;          // NCCL_WIN_DEFAULT
constexpr std::uint64_t kAlignment = 4096; // NCCL_WIN_REQUIRED_ALIGNMENT

} // namespace

NcclRegion::~NcclRegion() {
  for (std::size_t i = 0; i < seats.size(); ++i) {
    Current current(cuda, *seats[i].gpu);
    if (windows[i]) nccl.commWindowDeregister(seats[i].comm, windows[i]);
  }
  for (std::size_t i = 0; i < seats.size(); ++i) {
    Current current(cuda, *seats[i].gpu);
    if (memory[i]) nccl.memFree(memory[i]);
  }
}

Result<void> NcclRegion::allocate(std::uint64_t bytes) {
  size = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  for (std::size_t i = 0; i < seats.size(); ++i) {
    Current current(cuda, *seats[i].gpu);
    if (auto done = nccl.check(nccl.memAlloc(&memory[i], size), "ncclMemAlloc"); !done) return done;
    const auto address = reinterpret_cast<CUdeviceptr>(memory[i]);
    if (auto done = cuda.check(cuda.cuMemsetD8(address, 0, size), "cuMemsetD8"); !done) return done;
    if (auto done = cuda.check(cuda.cuCtxSynchronize(), "cuCtxSynchronize"); !done) return done;
  }
  return {};
}

Result<void> NcclRegion::registerWindows() {
  // Collective and blocking: one after the other outside a group, the first would wait for the second for ever.
  if (auto done = nccl.check(nccl.groupStart(), "ncclGroupStart"); !done) return done;
  Result<void> registered;
  for (std::size_t i = 0; i < seats.size() && registered; ++i) {
    Current current(cuda, *seats[i].gpu);
    registered = nccl.check(nccl.commWindowRegister(seats[i].comm, memory[i], size, &windows[i], kWindowDefault),
                            "ncclCommWindowRegister");
  }
  auto ended = nccl.check(nccl.groupEnd(), "ncclGroupEnd of ncclCommWindowRegister");
  return registered ? ended : registered;
}

Result<void> NcclRegion::resolve() {
  for (std::size_t i = 0; i < seats.size(); ++i)
    if (auto done = resolve(i); !done) return done;
  resolveMulticast();
  return {};
}

/// Finds where the kernels of the rank in a seat see the others' memory.
Result<void> NcclRegion::resolve(std::size_t seat) {
  Current current(cuda, *seats[seat].gpu);
  std::vector<void *> &seen = addresses[std::size_t(seats[seat].rank)];
  const Error noSymmetricMemory{Error::Code::MachineLacks,
                                "NCCL " + nccl.versionText() + " offers no symmetric memory between these GPUs"};
  if (nccl.getPeerDevicePointer) {
    for (std::size_t peer = 0; peer < seen.size(); ++peer) {
      if (!windows[seat]) return noSymmetricMemory;
      if (auto done = nccl.check(nccl.getPeerDevicePointer(windows[seat], 0, int(peer), &seen[peer]),
                                 "ncclGetPeerDevicePointer");
          !done)
        return done;
      if (!seen[peer]) return noSymmetricMemory;
    }
    return {};
  }

  // Before 2.29 there is no getter, and without symmetric support the handle is a pointer of the host's.
  CUmemorytype type = CU_MEMORYTYPE_HOST;
  const auto window = reinterpret_cast<CUdeviceptr>(windows[seat]);
  if (!window || cuda.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, window) != CUDA_SUCCESS ||
      type != CU_MEMORYTYPE_DEVICE)
    return noSymmetricMemory;
  unsigned char object[32];
  if (auto done = cuda.check(cuda.cuMemcpyDtoH(object, window, sizeof object), "cuMemcpyDtoH of a window"); !done)
    return done;
  std::uint64_t base = 0;
  std::uint32_t stride = 0;
  std::memcpy(&base, object + nccl_layouts::kWindowBaseAt, sizeof base);
  std::memcpy(&stride, object + nccl_layouts::kWindowStrideAt, sizeof stride);
  for (std::size_t peer = 0; peer < seen.size(); ++peer)
    seen[peer] = reinterpret_cast<void *>(base + peer * (std::uint64_t(stride) << 32));
  return {};
}

/// All ranks' kernels take the multicast form or none does.
void NcclRegion::resolveMulticast() {
  if (!multicasts) return;
  for (std::size_t i = 0; i < seats.size(); ++i) {
    Current current(cuda, *seats[i].gpu);
    void *&found = ofAll[std::size_t(seats[i].rank)];
    found = multicasts->address(cuda, i, windows[i]);
    if (!found) return ofAll.assign(ofAll.size(), nullptr);
  }
}

} // namespace coll
