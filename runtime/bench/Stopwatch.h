// A stream for each rank, and the time that what is queued there takes.
#pragma once

#include "bench/Kernels.h"

#include <functional>

namespace coll::bench {

/// Queues something on the ranks' streams.
using Work = std::function<Result<void>()>;

/// CTAs and threads of each.
struct Grid {
  unsigned ctas = 0, threads = 0;
};

/// What was captured on every rank's stream.
class Graphs {
public:
  explicit Graphs(const Gpus &gpus) : gpus(gpus) {}
  ~Graphs();
  Graphs(const Graphs &) = delete;
  Graphs &operator=(const Graphs &) = delete;

  std::vector<CUgraphExec> list; ///< [rank]
  Grid grid;                     ///< of rank 0's largest kernel: whoever launches it, this is what it takes of the GPU

private:
  const Gpus &gpus;
};

class Stopwatch {
public:
  /// Rank r is GPU r of `gpus`. No wait takes longer than `seconds`.
  static Result<std::unique_ptr<Stopwatch>> create(const Gpus &gpus, const Kernels &kernels, double seconds);
  ~Stopwatch();
  Stopwatch(const Stopwatch &) = delete;
  Stopwatch &operator=(const Stopwatch &) = delete;

  int ranks() const { return int(lanes.size()); }
  CUstream stream(int rank) const { return lanes[std::size_t(rank)].stream; }

  Result<std::unique_ptr<Graphs>> capture(const Work &work);
  Result<void> replay(const Graphs &graphs);

  /// Microseconds that `work` takes on each rank's stream. `before` is queued first and not timed. With a gate, no rank
  /// begins before all that is to be timed is queued on all, so that what the host takes for it is not measured.
  Result<std::vector<double>> time(const Work &before, const Work &work, bool gated);

  /// False once a gate has kept the host from queueing what is behind it; then there are no more of them.
  bool gatesWork() const { return gatesOpenInTime; }

  /// Until all streams are idle; Error::Failed if that takes too long.
  Result<void> wait();

private:
  struct Lane {
    CUstream stream = nullptr;
    CUevent begin = nullptr, end = nullptr;
  };
  Stopwatch(const Gpus &gpus, const Kernels &kernels, double seconds)
      : gpus(gpus), cuda(gpus.cuda), kernels(kernels), seconds(seconds) {}
  Result<void> prepare();
  Result<Grid> largestGrid(CUgraph graph) const;
  Result<void> queue(const Work &before, const Work &work, bool gated);
  Result<void> closeGates();
  void openGates();

  const Gpus &gpus;
  const Cuda &cuda;
  const Kernels &kernels;
  double seconds;
  std::vector<Lane> lanes;
  unsigned *opened = nullptr; ///< host memory that gates look at
  unsigned ticket = 0;        ///< of the latest gate
  bool gatesOpenInTime = true;
};

} // namespace coll::bench
