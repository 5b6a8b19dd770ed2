// All that a run needs, set up once: GPUs, streams, floors, rivals, their memory.
#pragma once

#include "bench/Bench.h"
#include "bench/NcclRivals.h"
#include "context/Runner.h"

namespace coll::bench {

class Stage {
public:
  /// What a member's manifest says of the contract alone, without the member's bound on sizes.
  static Manifest contractOf(Manifest member) {
    member.capacity = 0;
    return member;
  }
  Stage(const Request &request, Report &report)
      : request(request), report(report), manifest(contractOf(request.kernels.front().manifest)),
        settings(request.graph && request.nccl) {}

  Result<void> prepare();

  /// Operations with inputs of their own by which a rival is verified at a size.
  static unsigned verifiedOperations(std::uint64_t bytes) { return bytes <= 1u << 20 ? 4 : 1; }
  std::map<std::string, std::string> scalarTexts() const;
  RunRequest sizeRequest(const Extents &extents) const;
  std::uint64_t domainElements(const Extents &extents) const {
    return manifest.elements({"", Direction::In, manifest.dtype, manifest.domain.extents}, extents);
  }
  std::vector<std::uint64_t> argumentBytes(const Extents &extents) const;
  /// Fills `start` for chains of so many operations.
  Result<void> fillStart(unsigned operations);
  void progress(const std::string &text) const {
    if (request.progress) request.progress(text);
  }

  const Request &request;
  Report &report;
  const Manifest manifest; ///< contractOf any member: they have one
  NcclSettings settings;    ///< before anything uses NCCL
  // Each uses those before it.
  std::unique_ptr<Gpus> gpus; ///< rank r is on GPU r
  std::unique_ptr<Kernels> kernels;
  std::unique_ptr<Stopwatch> watch;
  std::optional<Context> context;
  std::vector<std::unique_ptr<Rival>> rivals;
  std::vector<std::vector<void *>> memory; ///< [rival][rank]
  std::vector<void *> start;               ///< [rank]: the values that chains begin with

private:
  Result<void> loadMembers();
  Result<void> loadNccl();
  Result<void> allocate();
  void describe(const Jit &jit);

  std::uint64_t startBytes = 0;
  unsigned startOperations = 0; ///< for which number of operations `start` is filled
};

} // namespace coll::bench
