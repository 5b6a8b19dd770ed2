// What the outputs of a collective must be, computed on the host from the inputs of all ranks.
#pragma once

#include "coll/coll.h"

#include <cstddef>
#include <functional>

namespace coll {

/// The inputs of one launch: the elements of argument `argument` of rank `rank`.
using Inputs = std::function<const std::vector<std::byte> &(int rank, std::size_t argument)>;

/// One launch's sizes and scalars.
struct LaunchSizes {
  Extents extents;
  std::map<std::string, Scalar> scalars;
};

/// a op b as the reference has it: of floats, and of the bits of two elements, rounded.
float combineFloats(ReduceOp op, float a, float b);
std::uint64_t combineElements(DType type, ReduceOp op, std::uint64_t a, std::uint64_t b);

/// The contract of a collective as a function: what its `ensures` clauses promise, Manifest::promises.
class Reference {
public:
  explicit Reference(const Manifest &manifest) : manifest(manifest) {}

  /// Elements of output `argument` of rank `rank`, in the contract's order: for reductions, from rank 0 up, accumulated
  /// in f32 for narrower floats and rounded once. Empty where the contract says nothing of this rank's output; where it
  /// says something of a part of it, the bytes of the rest are kUntouched.
  std::vector<std::byte> expected(int rank, std::size_t argument, const LaunchSizes &sizes, const Inputs &inputs) const;

  /// What outputs hold before the launches that are verified.
  static constexpr std::byte kUntouched{0xb5};

  /// Whether every rank's outputs are the same, so that one computation serves all.
  bool sameOnAllRanks() const;
  /// For a person: "y == reduce(op, r in ranks: r.x), in ascending order, accumulated in f32".
  std::string describe() const;

private:
  std::vector<Manifest::Promise> promises(const std::map<std::string, Scalar> &scalars) const;
  void fill(const Manifest::Promise &promise, const LaunchSizes &sizes, const Inputs &inputs,
            std::vector<std::byte> &output) const;

  bool isOfEmptyRows(const Manifest::Argument &output, const LaunchSizes &sizes) const;
  std::uint64_t promised(const Manifest::Promise &promise, const LaunchSizes &sizes, const Inputs &inputs) const;
  void compute(const Manifest::Promise &promise, const LaunchSizes &sizes, const Inputs &inputs,
               std::vector<std::byte> &output) const;
  std::pair<std::uint64_t, std::uint64_t> placeOf(const Manifest::Promise::Part &part, const LaunchSizes &sizes) const;

  Manifest manifest;
};

} // namespace coll
