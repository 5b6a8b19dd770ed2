// The order of one rank's launches, whichever streams they are on. Internal to GpuBackend; the GPU's context must be
// current in every call but destruction.
#pragma once

#include "platform/Cuda.h"

#include <optional>

namespace coll {

/// Launches of a rank share scratch memory and the place that was reckoned for them on the GPU, so they run one after the
/// other. Where the stream changes, the new one waits for an event that is recorded in the old one at that moment; as long
/// as it stays the same, a launch costs no more than asking what the stream is, because a handle may be that of a stream
/// which is gone.
///
/// There are two orders: that of the launches that run, and that of the launches within a capture, which run when their
/// graph is replayed. Replays are the caller's to order.
class StreamOrder {
public:
  StreamOrder(const Cuda &cuda, const Gpu &gpu, int rank) : cuda(cuda), gpu(gpu), rank(rank) {}
  StreamOrder(const StreamOrder &) = delete;
  StreamOrder &operator=(const StreamOrder &) = delete;
  ~StreamOrder();

  /// Allocates what launches need; none of them does.
  Result<void> create();

  /// To be called before a launch. What is launched on `stream` next follows the launch before. True: because the stream
  /// now waits for another, so the launch must not begin early (programmatic stream serialisation speaks of the kernel
  /// before in the same stream, not of an event's). Error::BadInput where no event can lead from one to the other.
  Result<bool> follow(CUstream stream);
  /// To be called after it.
  Result<void> launched();

  /// Whether all launches that did not go into graphs have ended. If so no stream is remembered, nor is one that is gone.
  Result<bool> finished();

  bool enabled = true; ///< false, for tests: launches are in no order but that of their streams

private:
  struct Latest {
    CUstream stream = nullptr;
    std::uint64_t id = 0;      ///< unique in the life of the process; 0 while it is captured
    std::uint64_t capture = 0; ///< the capture's id; 0: none
    bool recorded = false;     ///< its end is in the event already
  };

  Result<Latest> look(CUstream stream) const;
  std::optional<Latest> lookAgain(const Latest &launch) const;
  Result<std::uint64_t> captureOf(CUstream stream) const;
  void noteCapture();
  Result<bool> follow(const Latest &before, const Latest &next, CUevent event);
  Result<bool> ended(Latest launch, CUevent event);
  Error gone() const;

  const Cuda &cuda;
  const Gpu &gpu;
  const int rank;
  CUevent runningEvent = nullptr, capturedEvent = nullptr;
  std::optional<Latest> latest;   ///< launch of either kind. One that ran when its stream came into use may since be captured
  std::optional<Latest> running;  ///< that was not captured
  std::optional<Latest> captured; ///< into the last graph
};

} // namespace coll
