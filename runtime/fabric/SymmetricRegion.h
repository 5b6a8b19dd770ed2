// Memory that all ranks of a context reach.
#pragma once

namespace coll {

/// Memory of the same size on every rank, zeroed: scratch of kernels, or the caller's. Freed with this object.
class SymmetricRegion {
public:
  virtual ~SymmetricRegion() = default;
  /// The region of rank `of` as kernels of rank `seenBy` address it. A rank has one address for a location, whoever
  /// the location belongs to.
  virtual void *address(int seenBy, int of) const = 0;
  /// An address of rank `seenBy` that stands for this place of all ranks at once; null where there is no multicast.
  virtual void *multicast(int seenBy) const { return static_cast<void>(seenBy), nullptr; }
};

} // namespace coll
