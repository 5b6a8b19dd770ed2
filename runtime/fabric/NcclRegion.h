// Memory of all ranks that NCCL has mapped into each other's address space. Internal to fabric/.
//
// Windows are registered with the default flag: that maps every rank's memory into every other's address space, and,
// unlike NCCL_WIN_COLL_SYMMETRIC, makes NCCL create neither buffers nor a multicast object of its own.
#pragma once

#include "fabric/NcclMulticast.h"
#include "fabric/SymmetricRegion.h"

namespace coll {

class NcclRegion final : public SymmetricRegion {
public:
  /// `seats` and `multicast`, null for none, outlive the region.
  NcclRegion(const Cuda &cuda, const Nccl &nccl, std::span<const NcclSeat> seats, int ranks, const NcclMulticast *multicast)
      : cuda(cuda), nccl(nccl), seats(seats), multicasts(multicast), memory(seats.size()), windows(seats.size()),
        addresses(std::size_t(ranks), std::vector<void *>(std::size_t(ranks))), ofAll(std::size_t(ranks)) {}
  ~NcclRegion() override;
  void *address(int seenBy, int of) const override { return addresses[std::size_t(seenBy)][std::size_t(of)]; }
  void *multicast(int seenBy) const override { return ofAll[std::size_t(seenBy)]; }

  // In this order. `bytes` is rounded up to what NCCL registers.
  Result<void> allocate(std::uint64_t bytes); ///< zeroed
  Result<void> registerWindows();             ///< collective over all ranks
  Result<void> resolve();

private:
  Result<void> resolve(std::size_t seat);
  void resolveMulticast();

  const Cuda &cuda;
  const Nccl &nccl;
  std::span<const NcclSeat> seats;
  const NcclMulticast *multicasts;
  std::uint64_t size = 0;
  std::vector<void *> memory;                ///< [seat]
  std::vector<NcclWindow> windows;           ///< [seat]
  std::vector<std::vector<void *>> addresses; ///< [rank that sees][rank]; null for ranks of other processes
  std::vector<void *> ofAll;                 ///< [rank that sees]
};

} // namespace coll
