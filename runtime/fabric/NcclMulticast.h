// NCCL's multicast mapping of what ranks share, where it has one. Internal to fabric/.
//
// Coll makes no multicast object itself: NCCL does, for the device communicator that is created here, and only where
// NCCL itself uses multicast: not with NCCL_NVLS_ENABLE=0, not for two ranks, not on machines without it.
#pragma once

#include "platform/Cuda.h"
#include "platform/Nccl.h"

namespace coll {

class NcclMulticast {
public:
  explicit NcclMulticast(const Nccl &nccl) : nccl(nccl) {}
  ~NcclMulticast();
  NcclMulticast(const NcclMulticast &) = delete;
  NcclMulticast &operator=(const NcclMulticast &) = delete;

  /// Whether NCCL may have multicast for all ranks. To be asked first: a communicator without it that is asked to map it
  /// is not usable afterwards.
  bool mayHave(const Gpus &gpus, const std::vector<NcclComm> &comms) const;

  /// Has NCCL map the memory of all ranks, that of now and of later. False if it will not: the communicators are then to
  /// be aborted. Collective over all ranks, which are in this process.
  bool map(const Gpus &gpus, const std::vector<NcclComm> &comms);

  /// Whether `map` succeeded.
  bool mapped() const { return !devices.empty(); }

  /// An address of `rank` that stands for a window of all ranks at once; null if there is none.
  void *address(const Cuda &cuda, int rank, NcclWindow window) const;

private:
  /// A device communicator: more than room enough for ncclDevComm of any version; 200 bytes in those read here.
  struct alignas(16) Device {
    NcclComm comm = nullptr;
    unsigned char object[1008] = {};
  };
  const Nccl &nccl;
  std::vector<Device> devices; ///< [rank]; empty unless mapped
};

} // namespace coll
