// NCCL's multicast mapping of what ranks share, where it has one. Internal to fabric/.
//
// Coll makes no multicast object itself: NCCL does, for the device communicator that is created here, and only where
// NCCL itself uses multicast: not with NCCL_NVLS_ENABLE=0, not for two ranks, not on machines without it.
#pragma once

#include "fabric/NcclSeat.h"

namespace coll {

class NcclMulticast {
public:
  explicit NcclMulticast(const Nccl &nccl) : nccl(nccl) {}
  ~NcclMulticast();
  NcclMulticast(const NcclMulticast &) = delete;
  NcclMulticast &operator=(const NcclMulticast &) = delete;

  /// Whether NCCL may have multicast for all ranks, as far as those of this process know. To be asked first: a communicator without it that is asked to map it
  /// is not usable afterwards.
  bool mayHave(const Cuda &cuda, std::span<const NcclSeat> seats, int ranks) const;

  /// Has NCCL map the memory of all ranks, that of now and of later. False if it will not: the communicators are then to
  /// be aborted. Collective over all ranks.
  bool map(const Cuda &cuda, std::span<const NcclSeat> seats, int ranks);

  /// Whether `map` succeeded.
  bool mapped() const { return !devices.empty(); }

  /// An address of the rank in seat `seat` that stands for a window of all ranks at once; null if there is none.
  void *address(const Cuda &cuda, std::size_t seat, NcclWindow window) const;

private:
  /// A device communicator: more than room enough for ncclDevComm of any version; 200 bytes in those read here.
  struct alignas(16) Device {
    NcclComm comm = nullptr;
    unsigned char object[1008] = {};
  };
  const Nccl &nccl;
  std::vector<Device> devices; ///< [seat]; empty unless mapped
};

} // namespace coll
