// NCCL's collectives as calls with a contract's arguments.
#pragma once

#include "coll/Manifest.h"
#include "platform/Nccl.h"

#include <cstdint>
#include <span>

namespace coll {

class NcclCall {
public:
  /// Empty where NCCL has nothing like this contract.
  static std::optional<NcclCall> of(const Manifest &contract);

  bool availableIn(const Nccl &nccl) const;

  /// Queues it on one rank's stream, whose GPU is current. The ranks of a process go into one group. 0 is success.
  int enqueue(const Nccl &nccl, NcclComm comm, std::span<void *const> pointers,
              std::span<const std::uint64_t> extents, int root, void *stream) const;

private:
  enum class Kind { AllReduce, ReduceScatter, Reduce, AllGather, Broadcast, AllToAll };
  NcclCall(Kind kind, const Manifest &contract);

  Kind kind;
  Manifest contract;
  std::size_t in = 0, out = 0; ///< the arguments
};

} // namespace coll
