// A GPU for each rank, all in this process, over NCCL's symmetric windows.
//
// Windows are registered with the default flag: that maps every rank's memory into every other's address space, and,
// unlike NCCL_WIN_COLL_SYMMETRIC, makes NCCL create neither buffers nor a multicast object of its own.
#include "fabric/Fabric.h"
#include "fabric/NcclMulticast.h"
#include "platform/NcclLayouts.h"

#include <cstring>
#include <utility>

namespace coll {
namespace {

constexpr int kWindowDefault = 0;          // NCCL_WIN_DEFAULT
constexpr std::uint64_t kAlignment = 4096; // NCCL_WIN_REQUIRED_ALIGNMENT

class NcclRegion final : public SymmetricRegion {
public:
  NcclRegion(const Gpus &gpus, const Nccl &nccl, const std::vector<NcclComm> &comms, const NcclMulticast *multicasts)
      : gpus(gpus), nccl(nccl), comms(comms), multicasts(multicasts), memory(comms.size()), windows(comms.size()),
        addresses(comms.size(), std::vector<void *>(comms.size())), ofAll(comms.size()) {}
  ~NcclRegion() override {
    for (std::size_t rank = 0; rank < comms.size(); ++rank) {
      Current current(gpus.cuda, gpus.list[rank]);
      if (windows[rank]) nccl.commWindowDeregister(comms[rank], windows[rank]);
    }
    for (std::size_t rank = 0; rank < comms.size(); ++rank) {
      Current current(gpus.cuda, gpus.list[rank]);
      if (memory[rank]) nccl.memFree(memory[rank]);
    }
  }
  void *address(int seenBy, int of) const override { return addresses[seenBy][of]; }
  void *multicast(int seenBy) const override { return ofAll[seenBy]; }

  Result<void> allocate(std::uint64_t bytes);
  Result<void> registerWindows(std::uint64_t bytes);
  Result<void> resolve(int rank);
  void resolveMulticast();

private:
  const Gpus &gpus;
  const Nccl &nccl;
  const std::vector<NcclComm> &comms;
  const NcclMulticast *multicasts; ///< null: none
  std::vector<void *> memory;
  std::vector<NcclWindow> windows;
  std::vector<std::vector<void *>> addresses;
  std::vector<void *> ofAll;
};

Result<void> NcclRegion::allocate(std::uint64_t bytes) {
  const Cuda &cuda = gpus.cuda;
  for (std::size_t rank = 0; rank < comms.size(); ++rank) {
    Current current(cuda, gpus.list[rank]);
    if (auto done = nccl.check(nccl.memAlloc(&memory[rank], bytes), "ncclMemAlloc"); !done) return done;
    const auto address = reinterpret_cast<CUdeviceptr>(memory[rank]);
    if (auto done = cuda.check(cuda.cuMemsetD8(address, 0, bytes), "cuMemsetD8"); !done) return done;
    if (auto done = cuda.check(cuda.cuCtxSynchronize(), "cuCtxSynchronize"); !done) return done;
  }
  return {};
}

Result<void> NcclRegion::registerWindows(std::uint64_t bytes) {
  // Collective and blocking: one after the other outside a group, the first would wait for the second for ever.
  if (auto done = nccl.check(nccl.groupStart(), "ncclGroupStart"); !done) return done;
  Result<void> registered;
  for (std::size_t rank = 0; rank < comms.size() && registered; ++rank) {
    Current current(gpus.cuda, gpus.list[rank]);
    registered = nccl.check(nccl.commWindowRegister(comms[rank], memory[rank], bytes, &windows[rank], kWindowDefault),
                            "ncclCommWindowRegister");
  }
  auto ended = nccl.check(nccl.groupEnd(), "ncclGroupEnd of ncclCommWindowRegister");
  return registered ? ended : registered;
}

/// Finds where rank's kernels see the others' memory.
Result<void> NcclRegion::resolve(int rank) {
  const Cuda &cuda = gpus.cuda;
  Current current(cuda, gpus.list[rank]);
  const Error noSymmetricMemory{Error::Code::MachineLacks,
                                "NCCL " + nccl.versionText() + " offers no symmetric memory between these GPUs"};
  if (nccl.getPeerDevicePointer) {
    for (std::size_t peer = 0; peer < comms.size(); ++peer) {
      if (!windows[rank]) return noSymmetricMemory;
      if (auto done = nccl.check(nccl.getPeerDevicePointer(windows[rank], 0, int(peer), &addresses[rank][peer]),
                                 "ncclGetPeerDevicePointer");
          !done)
        return done;
      if (!addresses[rank][peer]) return noSymmetricMemory;
    }
    return {};
  }

  // Before 2.29 there is no getter, and without symmetric support the handle is a pointer of the host's.
  CUmemorytype type = CU_MEMORYTYPE_HOST;
  const auto window = reinterpret_cast<CUdeviceptr>(windows[rank]);
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
  for (std::size_t peer = 0; peer < comms.size(); ++peer)
    addresses[rank][peer] = reinterpret_cast<void *>(base + peer * (std::uint64_t(stride) << 32));
  return {};
}

/// All ranks' kernels take the multicast form or none does.
void NcclRegion::resolveMulticast() {
  if (!multicasts) return;
  for (std::size_t rank = 0; rank < comms.size(); ++rank) {
    Current current(gpus.cuda, gpus.list[rank]);
    ofAll[rank] = multicasts->address(gpus.cuda, int(rank), windows[rank]);
    if (!ofAll[rank]) return ofAll.assign(comms.size(), nullptr);
  }
}

class NcclFabric final : public Fabric {
public:
  NcclFabric(const Gpus &gpus, const Nccl &nccl, int ranks) : gpus(gpus), nccl(nccl), comms(ranks) {}
  ~NcclFabric() override {
    multicast.reset();
    for (NcclComm comm : comms)
      if (comm) nccl.commDestroy(comm);
  }

  FabricKind kind() const override { return FabricKind::Nccl; }
  int ranks() const override { return int(comms.size()); }
  int gpuOf(int rank) const override { return rank; }
  std::string describe() const override { return "nccl " + nccl.versionText() + (multicast ? " with multicast" : ""); }
  NcclComm communicator(int rank) const override { return comms[std::size_t(rank)]; }

  Result<void> connect(bool wantsMulticast) {
    if (auto done = initialise(); !done || !wantsMulticast) return done;
    auto asked = std::make_unique<NcclMulticast>(nccl);
    if (!asked->mayHave(gpus, comms)) return {};
    if (asked->map(gpus, comms)) {
      multicast = std::move(asked);
      return {};
    }
    // NCCL may have given up on communicators that it refused something: begin anew without multicast.
    asked.reset();
    for (NcclComm &comm : comms) nccl.commAbort(std::exchange(comm, nullptr));
    return initialise();
  }

  Result<std::unique_ptr<SymmetricRegion>> allocate(std::uint64_t bytes) override {
    const std::uint64_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    auto region = std::make_unique<NcclRegion>(gpus, nccl, comms, multicast.get());
    if (auto done = region->allocate(whole); !done) return done.error();
    if (auto done = region->registerWindows(whole); !done) return done.error();
    for (int rank = 0; rank < ranks(); ++rank)
      if (auto done = region->resolve(rank); !done) return done.error();
    region->resolveMulticast();
    return std::unique_ptr<SymmetricRegion>(std::move(region));
  }

private:
  Result<void> initialise() {
    std::vector<int> devices;
    for (int rank = 0; rank < ranks(); ++rank) devices.push_back(gpus.list[rank].ordinal);
    return nccl.check(nccl.commInitAll(comms.data(), ranks(), devices.data()), "ncclCommInitAll");
  }

  const Gpus &gpus;
  const Nccl &nccl;
  std::vector<NcclComm> comms;
  std::unique_ptr<NcclMulticast> multicast; ///< null: none
};

} // namespace

Result<std::unique_ptr<Fabric>> createNcclFabric(const Gpus &gpus, const Nccl &nccl, int ranks, bool multicast) {
  if (ranks > int(gpus.list.size()))
    return Error{Error::Code::MachineLacks, "the nccl fabric needs a GPU for each of " + std::to_string(ranks) +
                                                " ranks; there are " + std::to_string(gpus.list.size())};
  auto fabric = std::make_unique<NcclFabric>(gpus, nccl, ranks);
  if (auto done = fabric->connect(multicast); !done) return done.error();
  return std::unique_ptr<Fabric>(std::move(fabric));
}

} // namespace coll
