// A rank in each process, over NCCL's symmetric windows: the caller's communicator, or one made from a UniqueId.
//
// The fabric works on a part of that communicator of its own, so that it neither meets the caller's own collectives nor
// leaves the caller's communicator unusable when NCCL refuses it multicast.
#include "fabric/Fabric.h"
#include "fabric/NcclRegion.h"

#include <chrono>
#include <thread>
#include <utility>

namespace coll {
namespace {

constexpr int kUint64 = 5; // ncclUint64

class ProcessFabric final : public Fabric {
public:
  ProcessFabric(const Gpus &gpus, const Nccl &nccl, double timeoutSeconds)
      : gpus(gpus), nccl(nccl), timeoutSeconds(timeoutSeconds) {}
  ~ProcessFabric() override {
    multicast.reset();
    Current current(gpus.cuda, gpu());
    if (words) gpus.cuda.cuMemFree(words);
    if (stream) gpus.cuda.cuStreamDestroy(stream);
    for (NcclComm comm : {seat.comm, owned}) {
      if (comm && gone) nccl.commAbort(comm);
      if (comm && !gone) nccl.commDestroy(comm);
    }
  }

  FabricKind kind() const override { return FabricKind::Nccl; }
  int ranks() const override { return count; }
  int gpuOf(int) const override { return 0; }
  std::vector<int> own() const override { return {seat.rank}; }
  std::string describe() const override {
    return "nccl " + nccl.versionText() + (multicast ? " with multicast" : "") + ", a process for each";
  }
  NcclComm communicator(int rank) const override { return rank == seat.rank ? seat.comm : nullptr; }

  Result<void> connect(NcclComm whole, bool wantsMulticast);
  Result<void> connect(const UniqueId &id, int ranks, int rank, bool wantsMulticast);
  Result<std::unique_ptr<SymmetricRegion>> allocate(std::uint64_t bytes) override;
  Result<std::vector<std::uint64_t>> gather(std::uint64_t mine) override;

private:
  const Gpu &gpu() const { return gpus.list.front(); }
  Result<void> split(NcclComm whole);
  Result<void> await();

  const Gpus &gpus;
  const Nccl &nccl;
  double timeoutSeconds;
  NcclComm owned = nullptr; ///< made here from a UniqueId; null where the caller has it
  NcclSeat seat{0, nullptr, nullptr};
  int count = 0;
  bool gone = false; ///< whether a rank did not come to a meeting
  CUstream stream = nullptr;
  CUdeviceptr words = 0;                    ///< [rank], for `gather`
  std::unique_ptr<NcclMulticast> multicast; ///< null: none
};

Result<void> ProcessFabric::split(NcclComm whole) {
  Current current(gpus.cuda, gpu());
  return nccl.check(nccl.commSplit(whole, /*color=*/0, /*key=*/seat.rank, &seat.comm, nullptr), "ncclCommSplit");
}

Result<void> ProcessFabric::connect(NcclComm whole, bool wantsMulticast) {
  seat.gpu = &gpu();
  if (auto done = nccl.check(nccl.commCount(whole, &count), "ncclCommCount"); !done) return done;
  if (auto done = nccl.check(nccl.commUserRank(whole, &seat.rank), "ncclCommUserRank"); !done) return done;
  if (auto done = split(whole); !done) return done;
  Current current(gpus.cuda, gpu());
  if (auto done = gpus.cuda.check(gpus.cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate"); !done)
    return done;
  if (auto done = gpus.cuda.check(gpus.cuda.cuMemAlloc(&words, std::size_t(count) * 8), "cuMemAlloc"); !done) return done;

  const std::span seats(&seat, 1);
  auto asked = std::make_unique<NcclMulticast>(nccl);
  const auto may = gather(wantsMulticast && asked->mayHave(gpus.cuda, seats, count));
  if (!may) return may.error();
  for (const std::uint64_t one : *may)
    if (!one) return {};
  const auto mapped = gather(asked->map(gpus.cuda, seats, count));
  bool all = bool(mapped);
  for (std::size_t rank = 0; all && rank < mapped->size(); ++rank) all = (*mapped)[rank] != 0;
  if (all) {
    multicast = std::move(asked);
    return {};
  }
  asked.reset();
  nccl.commAbort(std::exchange(seat.comm, nullptr));
  return split(whole);
}

Result<void> ProcessFabric::connect(const UniqueId &id, int ranks, int rank, bool wantsMulticast) {
  NcclUniqueId raw;
  std::copy(id.bytes.begin(), id.bytes.end(), raw.bytes);
  Current current(gpus.cuda, gpu());
  if (auto done = nccl.check(nccl.commInitRank(&owned, ranks, raw, rank), "ncclCommInitRank"); !done) return done;
  return connect(owned, wantsMulticast);
}

/// Waits for the stream, but not for a rank that never comes.
Result<void> ProcessFabric::await() {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    const CUresult state = gpus.cuda.cuStreamQuery(stream);
    if (state != CUDA_ERROR_NOT_READY) return gpus.cuda.check(state, "a meeting of all ranks");
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
    if (waited.count() > timeoutSeconds) {
      gone = true;
      nccl.commAbort(std::exchange(seat.comm, nullptr));
      return Error{Error::Code::Failed, "rank " + std::to_string(seat.rank) + " waited " +
                                            std::to_string(int(timeoutSeconds)) +
                                            " s for the other ranks; all must make, load and allocate the same, in the "
                                            "same order"};
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

Result<std::vector<std::uint64_t>> ProcessFabric::gather(std::uint64_t mine) {
  if (!seat.comm) return Error{Error::Code::Failed, "a rank did not come to a meeting before; make a new context"};
  const Cuda &cuda = gpus.cuda;
  Current current(cuda, gpu());
  std::vector<std::uint64_t> all(std::size_t(count), 0);
  const CUdeviceptr at = words + std::size_t(seat.rank) * 8;
  if (auto done = cuda.check(cuda.cuMemcpyHtoDAsync(at, &mine, 8, stream), "cuMemcpyHtoDAsync"); !done) return done.error();
  const int result = nccl.allGather(reinterpret_cast<void *>(at), reinterpret_cast<void *>(words), 1, kUint64, seat.comm, stream);
  if (auto done = nccl.check(result, "ncclAllGather"); !done) return done.error();
  if (auto done = await(); !done) return done.error();
  if (auto done = cuda.check(cuda.cuMemcpyDtoHAsync(all.data(), words, all.size() * 8, stream), "cuMemcpyDtoHAsync"); !done)
    return done.error();
  if (auto done = cuda.check(cuda.cuStreamSynchronize(stream), "cuStreamSynchronize"); !done) return done.error();
  return all;
}

Result<std::unique_ptr<SymmetricRegion>> ProcessFabric::allocate(std::uint64_t bytes) {
  auto region = std::make_unique<NcclRegion>(gpus.cuda, nccl, std::span(&seat, 1), count, multicast.get());
  const auto allocated = region->allocate(bytes);
  // Before what waits without limit: whether all ranks are here, have their memory, and mean the same.
  const auto sizes = gather(allocated ? bytes + 1 : 0);
  if (!allocated) return allocated.error();
  if (!sizes) return sizes.error();
  for (std::size_t rank = 0; rank < sizes->size(); ++rank)
    if ((*sizes)[rank] != bytes + 1)
      return Error{(*sizes)[rank] ? Error::Code::BadInput : Error::Code::Failed,
                   "rank " + std::to_string(rank) +
                       ((*sizes)[rank] ? " allocates " + std::to_string((*sizes)[rank] - 1) + " bytes of symmetric memory, and rank " +
                                             std::to_string(seat.rank) + " " + std::to_string(bytes)
                                       : " has no memory left")};
  if (auto done = region->registerWindows(); !done) return done.error();
  if (auto done = region->resolve(); !done) return done.error();
  return std::unique_ptr<SymmetricRegion>(std::move(region));
}

} // namespace

Result<std::unique_ptr<Fabric>> createProcessFabric(const Gpus &gpus, const Nccl &nccl, const ContextOptions &options,
                                                    double timeoutSeconds) {
  auto fabric = std::make_unique<ProcessFabric>(gpus, nccl, timeoutSeconds);
  auto done = options.communicator
                  ? fabric->connect(static_cast<NcclComm>(options.communicator), options.multicast)
                  : fabric->connect(*options.id, options.ranks, options.rank, options.multicast);
  if (!done) return done.error();
  return std::unique_ptr<Fabric>(std::move(fabric));
}

} // namespace coll
