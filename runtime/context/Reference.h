// What the outputs of a collective must be, computed on the host from the inputs of all ranks.
#pragma once

#include "coll/Manifest.h"
#include "coll/Result.h"

#include <cstddef>
#include <functional>

namespace coll {

/// The inputs of one launch: the elements of argument `argument` of rank `rank`.
using Inputs = std::function<const std::vector<std::byte> &(int rank, std::size_t argument)>;

/// One launch's sizes and scalars.
struct LaunchSizes {
  Extents extents;
  std::map<std::string, std::int64_t> scalars;
};

/// The contract of a collective as a function.
class Reference {
public:
  /// Error::BadInput where Coll has no reference for the collective of this manifest.
  static Result<Reference> of(const Manifest &manifest);

  /// Elements of output `argument` of rank `rank`, in the contract's order: for reductions, from rank 0 up, accumulated
  /// in f32 for narrower floats and rounded once. Empty where the contract says nothing of this rank's output.
  std::vector<std::byte> expected(int rank, std::size_t argument, const LaunchSizes &sizes, const Inputs &inputs) const;

  /// Whether every rank's outputs are the same, so that one computation serves all.
  bool sameOnAllRanks() const { return same; }
  /// For a person: "y == reduce(sum, r in ranks: r.x), in ascending order, accumulated in f32".
  std::string describe() const;

private:
  enum class Kind { AllReduce, Reduce, ReduceScatter, AllGather, AllToAll, Broadcast };
  Reference(const Manifest &manifest, Kind kind, bool same) : manifest(manifest), kind(kind), same(same) {}

  Manifest manifest;
  Kind kind;
  bool same;
};

} // namespace coll
