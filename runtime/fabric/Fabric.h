// How the ranks of a context reach each other's memory.
#pragma once

#include "coll/coll.h"
#include "fabric/SymmetricRegion.h"
#include "platform/Cuda.h"
#include "platform/Nccl.h"

namespace coll {

/// Ranks on GPUs. Nothing here is called while launches are in flight.
class Fabric {
public:
  virtual ~Fabric() = default;

  virtual FabricKind kind() const = 0;
  virtual int ranks() const = 0;
  /// The place in Gpus::list of a rank's GPU.
  virtual int gpuOf(int rank) const = 0;
  /// "nccl 2.28.9", "nccl 2.29.7 with multicast"
  virtual std::string describe() const = 0;

  /// NCCL's communicator of a rank; null where the fabric is not NCCL's.
  virtual NcclComm communicator(int) const { return nullptr; }

  /// Collective over all ranks. Returns when every rank's part is zeroed and reachable.
  virtual Result<std::unique_ptr<SymmetricRegion>> allocate(std::uint64_t bytes) = 0;

  /// How many ranks share a GPU, at most.
  int ranksPerGpu() const;
};

/// One process, a GPU for each rank, NCCL's windows. `gpus` and `nccl` outlive the fabric. `multicast`: where NCCL has it.
Result<std::unique_ptr<Fabric>> createNcclFabric(const Gpus &gpus, const Nccl &nccl, int ranks, bool multicast);

/// One process, rank r on GPU r mod G, ordinary memory with peer access.
Result<std::unique_ptr<Fabric>> createLocalFabric(const Gpus &gpus, int ranks);

} // namespace coll
