// Measured times as data: what `coll tune` writes, what is embedded as defaults, what selection reads.
#pragma once

#include "bench/Limit.h"
#include "coll/Result.h"
#include "coll/Types.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace coll::selection {

/// One size that was measured. Whole nanoseconds, so that everyone computes the same from it.
struct Point {
  std::uint64_t bytes = 0, nanoseconds = 0;
  unsigned ctas = 0, threads = 0; ///< 0: the shape rule's
};

/// A rival's times over sizes, ascending.
struct Curve {
  std::vector<Point> points;

  /// Between points in a straight line, below the first as that, above the last at the rate of the last two. 0 if there
  /// are no points.
  std::uint64_t at(std::uint64_t bytes) const;
  /// The point whose shape serves a size: the first not below it, or the last.
  const Point &shapeFor(std::uint64_t bytes) const;
};

/// What was measured in one run.
struct Section {
  std::string gpu, collective, dtype;
  int ranks = 0;
  bool inplace = false;
  std::string date, driver, nccl; ///< of the measurement
  bench::Floors floors;
  std::map<std::string, Curve> curves; ///< by rival: `oneshot.ll`, `nccl`, `nccl-symmetric`
};

struct Table {
  std::vector<Section> sections;

  static Result<Table> parse(const std::string &json, const std::string &name);
  std::string toJson() const;
};

/// The tables that are part of the library.
const Table &builtinTable();

} // namespace coll::selection
