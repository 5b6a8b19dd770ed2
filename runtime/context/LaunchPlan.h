// What the host decides at each launch, from counts and alignment alone, so that all ranks decide alike: how many CTAs
// and threads, and whether the kernel may take its quick path. Allocates nothing once it is made.
#pragma once

#include "coll/Extent.h"
#include "coll/coll.h"

#include <array>
#include <bit>
#include <span>

namespace coll {

struct LaunchShape {
  unsigned grid = 1, block = 32;
  unsigned cluster = 1; ///< CTAs that share a row; divides the grid
};

/// What bounds a shape.
struct ShapeLimits {
  unsigned maxThreads = 512; ///< a multiple of 32
  unsigned maxCtas = 256;
  /// [w]: the CTAs of w warps, w = 1 .. 16, that may be in a launch so that two launches of every rank on a GPU are
  /// resident together: kernels that wait for each other must all run.
  std::array<unsigned, 17> resident = {};
  unsigned maxCluster = 1;
  /// [c][w]: the same for clusters of 2^c such CTAs, counted in CTAs: a cluster is on one part of the GPU, where it may
  /// leave room that no other fits into.
  std::array<std::array<unsigned, 17>, 4> clustered = {};

  unsigned residentCtas(unsigned threads, unsigned cluster) const {
    return cluster == 1 ? resident[threads / 32] : clustered[std::size_t(std::countr_zero(cluster))][threads / 32];
  }
};

/// The CTAs that one of `grids` on a GPU may have, where `fit` fit if there are no others, so that all run whatever their shapes are. CTAs of one shape leave no
/// gaps, and one rank's launch waits for nothing but its predecessor. Grids of several ranks, which wait for each other,
/// may have CTAs too large for the gaps that others leave; so half of the multiprocessors stay empty: one for any CTA,
/// and in some GPC, of which there are eight or so with 16 or more, eight for a cluster.
unsigned shareOfGpu(unsigned fit, unsigned multiprocessors, unsigned grids);

/// The shape for a number of packets, as near to `wanted` as the limits allow. The same on all ranks, as every argument
/// is. `usualCtas`: the most where `wanted` says nothing.
LaunchShape chooseShape(std::uint64_t packets, const ShapeLimits &limits, const Shape &wanted = {},
                        unsigned usualCtas = ~0u);

/// The shape for so many rows of so many packets. The same on all ranks.
LaunchShape chooseRowShape(std::uint64_t rows, std::uint64_t packetsOfRow, const ShapeLimits &limits);

/// That elements, of which `what` says how many, are more than the mailboxes of a member are made for.
Error beyondCapacity(const Manifest &manifest, const std::string &what, std::uint64_t capacity);

/// A manifest, prepared for launches: what it has as text is read here, once; later it is only for messages.
class LaunchPlan {
public:
  explicit LaunchPlan(const Manifest &manifest);

  /// The most elements that a row may have, if the domain is one of rows: all of it is in registers.
  std::uint64_t mostRowElements() const;
  /// `extents` in the manifest's order, all of them.
  std::uint64_t domainElements(std::span<const std::uint64_t> extents) const { return product(domain, extents); }
  /// Of the longest vector that the kernel goes over.
  std::uint64_t mostElements(std::span<const std::uint64_t> extents) const;
  /// Whether ranks have anything to do: kernels are not launched for no elements, unless the elements are theirs to count.
  bool launches(std::span<const std::uint64_t> extents) const {
    return manifest.domain.counted || mostElements(extents) != 0;
  }
  /// Of the longest loop.
  std::uint64_t packets(std::span<const std::uint64_t> extents) const;
  /// How many of them a thread may meet at a time: those of a chunk, where a launch goes in chunks.
  std::uint64_t packetsAtOnce(std::span<const std::uint64_t> extents) const;
  /// The largest epoch that a launch leaves as it is; one that comes to more starts the epochs anew at its end.
  std::uint32_t lastEpoch() const { return 0xffffffffu - std::uint32_t(manifest.chunkPackets ? Manifest::kMostChunks : 1); }
  LaunchShape shape(std::span<const std::uint64_t> extents, const ShapeLimits &limits, const Shape &wanted = {}) const;
  std::uint64_t argumentElements(std::size_t argument, std::span<const std::uint64_t> extents) const {
    return product(arguments[argument], extents);
  }

  /// Whether the capacity allows the extents.
  Result<void> checkCapacity(std::span<const std::uint64_t> extents) const;
  /// The same, and whether there may be so many packets, and rows of such a length.
  Result<void> checkExtents(std::span<const std::uint64_t> extents) const;
  /// Whether the arguments are such as the contract and the capacity allow. `extents` and `pointers` must have the
  /// right number of elements.
  Result<void> check(int rank, std::span<void *const> pointers, std::span<const std::uint64_t> extents) const;

  /// Whether all packets are whole and aligned and, where the kernel is not `bulk`, every thread has at most one: the last
  /// word of the kernel's parameter. Ranks may differ in it, as it follows from their own pointers.
  bool onePacket(std::span<void *const> pointers, std::span<const std::uint64_t> extents, LaunchShape shape) const;

  /// Of the longest row, where the domain goes by rows.
  std::uint64_t packetsOfRow(std::span<const std::uint64_t> extents) const;

private:
  /// A product of free extents (by their place) and of a constant; what does not fit into 64 bits is the largest number.
  struct Size {
    std::uint64_t constant = 1;
    std::vector<unsigned> extents;
    std::vector<ExtentSteps> computed; ///< others, which are worked out
  };
  std::uint64_t groupElements() const; ///< of as many packets as come together
  std::uint64_t packetsIn(std::uint64_t elements) const;
  std::uint64_t packetsOf(std::uint64_t elements, bool split) const;
  bool isWhole(std::uint64_t elements) const { return elements % std::max<std::uint64_t>(1, manifest.wholeUnit) == 0; }
  bool aligned(std::span<void *const> pointers) const;
  Result<void> checkComputed(std::span<const std::uint64_t> extents) const;
  /// Vectors that go by rows.
  struct Rows {
    Size all, row;
    bool split;
    std::uint64_t capacity;
    unsigned unit; ///< of a row's elements
    std::string length; ///< the name of what a row's elements are
  };
  Rows rowsOf(const std::vector<std::string> &names, bool split, std::uint64_t capacity, unsigned unit) const;
  std::uint64_t rowsIn(const Rows &matrix, std::span<const std::uint64_t> extents) const; ///< that a loop goes over
  Result<void> checkRows(const Rows &matrix, std::span<const std::uint64_t> extents) const;
  Size sizeOfExtents(const std::vector<std::string> &names) const;
  std::uint64_t product(const Size &size, std::span<const std::uint64_t> extents) const;
  Result<void> checkOverlap(int rank, std::size_t i, std::size_t j, std::span<void *const> pointers,
                            std::span<const std::uint64_t> extents) const;

  /// A pair of arguments that may share memory, as Manifest::inplace says.
  struct InPlace {
    std::size_t left, right;
    bool leftIsRow, rightIsRow; ///< of the rank's own row, `y[me]`
  };
  std::size_t argumentOf(std::string_view side) const;

  const Manifest &manifest;
  std::vector<InPlace> inplace;
  Size domain;
  std::vector<Rows> matrices; ///< of the domains that go by rows
  std::vector<Size> arguments, others; ///< `others`: of Manifest::otherDomains
};

} // namespace coll
