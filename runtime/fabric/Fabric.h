// How the ranks of a context reach each other's memory.
#pragma once

#include "coll/coll.h"
#include "fabric/SymmetricRegion.h"
#include "platform/Cuda.h"
#include "platform/Nccl.h"

namespace coll {

/// Ranks on GPUs, all of them in this process or one. Nothing here is called while launches are in flight.
class Fabric {
public:
  virtual ~Fabric() = default;

  virtual FabricKind kind() const = 0;
  virtual int ranks() const = 0;
  /// The ranks that this process has, ascending.
  virtual std::vector<int> own() const;
  /// The place in Gpus::list of the GPU of a rank that this process has.
  virtual int gpuOf(int rank) const = 0;
  /// "nccl 2.28.9", "nccl 2.29.7 with multicast"
  virtual std::string describe() const = 0;

  /// NCCL's communicator of a rank; null where the fabric is not NCCL's.
  virtual NcclComm communicator(int) const { return nullptr; }

  /// Collective over all ranks. Returns when every rank's part is zeroed and reachable.
  virtual Result<std::unique_ptr<SymmetricRegion>> allocate(std::uint64_t bytes) = 0;

  /// What each rank says, [rank]; those of one process say the same. Collective over all ranks, which have all come when
  /// it returns. Error::Failed if one does not come in time.
  virtual Result<std::vector<std::uint64_t>> gather(std::uint64_t mine);

  /// How many ranks of this process share a GPU, at most.
  int ranksPerGpu() const;
};

/// One process, a GPU for each rank, NCCL's windows. `gpus` and `nccl` outlive the fabric. `multicast`: where NCCL has it.
Result<std::unique_ptr<Fabric>> createNcclFabric(const Gpus &gpus, const Nccl &nccl, int ranks, bool multicast);

/// A rank in this process, on the one GPU of `gpus`, and the others in processes of their own: `options.communicator`, or
/// `options.id` with `ranks` and `rank`. Collective over all of them.
Result<std::unique_ptr<Fabric>> createProcessFabric(const Gpus &gpus, const Nccl &nccl, const ContextOptions &options,
                                                    double timeoutSeconds);

/// One process, rank r on GPU r mod G, ordinary memory with peer access.
Result<std::unique_ptr<Fabric>> createLocalFabric(const Gpus &gpus, int ranks);

} // namespace coll
