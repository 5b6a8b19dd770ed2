// One size of a run: every rival verified, then all of them timed in turn.
#pragma once

#include "bench/Chain.h"
#include "bench/Expected.h"
#include "bench/Stage.h"
#include "bench/Tune.h"

namespace coll::bench {

class SizeRun {
public:
  SizeRun(Stage &stage, std::uint64_t bytes, const Extents &extents);
  /// Adds rows to the report.
  Result<void> measure();
  /// Adds a traced launch of each kernel: the last of a chain.
  Result<void> trace(const std::vector<Collective> &traced);
  /// Adds a row for each rival with the quickest of the shapes that there are to try.
  Result<void> tune(const std::vector<TuneSpace> &spaces);

private:
  /// One rival.
  struct Contest {
    Rival *rival;
    const std::vector<void *> *memory; ///< [rank]
    std::vector<Operation> operations; ///< the two of the chain that alternate
    std::unique_ptr<Graphs> graphs;
    Shape shape;
    std::vector<double> fastest, slowest; ///< of each replay
    Row row;
  };
  Contest enter(std::size_t rival, const Shape &shape = {}) const;
  Result<std::unique_ptr<Expected>> begin();
  Result<void> captureChain(Contest &contest);
  Result<std::vector<std::size_t>> enterShapes(const std::vector<TuneSpace> &spaces);
  std::vector<void *> pointers(const Contest &contest, int rank, const std::vector<std::uint64_t> &offsets) const;
  Result<void> verify(Contest &contest, const Expected &expected);
  Result<void> enqueueChain(const Contest &contest) const;
  Result<void> reset(const Contest &contest) const;
  Result<void> resetCounts(const Contest &contest) const;
  Result<void> timeOnce(Contest &contest, bool counts);
  Result<void> checkChain(Contest &contest) const;
  Result<void> timeAll();
  void finish(Contest &contest);
  Error failed(Contest &contest, const Error &error);

  Stage &stage;
  std::uint64_t bytes;
  Extents extents;
  std::vector<std::uint64_t> sizes; ///< [argument]: bytes
  Chain chain;
  unsigned operations, replays;
  std::vector<Contest> contests;
};

} // namespace coll::bench
