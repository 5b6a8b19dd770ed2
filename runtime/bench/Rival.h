// What is measured: something that queues one operation on every rank's stream.
#pragma once

#include "bench/Limit.h"
#include "bench/NcclLog.h"
#include "bench/Stopwatch.h"
#include "coll/coll.h"

namespace coll::bench {

/// One operation, for all ranks.
struct Operation {
  std::vector<std::vector<void *>> pointers; ///< [rank][argument]
  std::vector<std::uint64_t> extents;        ///< in the manifest's order
  Shape shape = {};                          ///< for rivals whose shape is ours to choose
};

class Rival {
public:
  virtual ~Rival() = default;

  virtual std::string name() const = 0;
  virtual std::string version() const { return ""; }
  virtual Traffic traffic() const = 0;
  /// Neither a member nor NCCL.
  virtual bool foreign() const { return false; }
  /// Whether results are bit-equal to the host's reference.
  virtual bool exact() const = 0;
  virtual bool takes(std::uint64_t domainElements) const = 0;
  /// Before a size is verified and timed; nothing is in flight.
  virtual Result<void> prepare() { return {}; }
  virtual Result<void> enqueue(const Operation &operation) = 0;
  /// Each rank's memory for buffers, `bytes` of it.
  virtual Result<std::vector<void *>> memory(std::uint64_t bytes) = 0;
  /// Called after a graph was captured: what there is to say of it.
  virtual std::string note() { return ""; }
  /// Ends whatever of it hangs.
  virtual void abort() = 0;
};

} // namespace coll::bench
