// The values that launches of a run give to scalars which are left open: what the checker takes to stand for all, so that
// runs see what the proof is about.
#pragma once

#include "context/Runner.h"

#include <memory>

namespace coll {

class ScalarDraw {
public:
  /// Of the kernel with this program. Null, or without whole numbers that decide anything: ranks change, all else is 0.
  ScalarDraw(const Manifest &manifest, const ir::Program *program);

  /// Of launch `number`, by name. They change from launch to launch, now and then only every fourth time: a writer that
  /// stays and one that changes are different hazards.
  std::map<std::string, Scalar> at(const RunRequest &request, std::uint64_t number) const;

private:
  using Values = std::vector<std::int64_t>;
  std::vector<Manifest::Scalar> scalars;
  int ranks;
  std::vector<Values> together; ///< a value for each scalar
  std::vector<Values> each;     ///< by scalar; empty of those that decide nothing

  const Values *combination(const RunRequest &request, std::uint64_t number, std::uint64_t random) const;
  std::string open(std::size_t scalar, std::uint64_t random) const;
};

} // namespace coll
