// Where the buffers of many launches lie in one stretch of memory per rank, and what they hold before the launches.
#pragma once

#include "context/LaunchPlan.h"
#include "context/Reference.h"
#include "context/Runner.h"
#include "context/ScalarDraw.h"

namespace coll {

/// One launch of a run.
struct PlannedLaunch {
  std::uint64_t number = 0; ///< in the run; decides its inputs
  LaunchSizes sizes;
  std::vector<std::uint64_t> extents;              ///< in the manifest's order
  std::vector<Scalar> scalars;                     ///< likewise
  std::vector<std::vector<std::uint64_t>> offsets; ///< [rank][argument]: bytes from the start of the memory
  std::vector<std::uint64_t> bytes;                ///< [argument]
};

/// What an argument of counts holds, of elements that are `most` at most.
std::uint64_t chooseCount(Counted counts, std::uint64_t most, std::uint64_t random);

/// Plans launches one after the other into memory of growing size; alike on all ranks but for parts of a buffer that
/// stand for another in place.
class RunLayout {
public:
  /// Error::BadInput if extents are missing, unknown or beyond the capacity; random ones stay within it.
  /// `draw` gives scalars that are left open their values; null: ranks change, all else is 0.
  static Result<RunLayout> create(const Manifest &manifest, const RunRequest &request, std::uint64_t maxElements,
                                  std::shared_ptr<const ScalarDraw> draw = nullptr);

  /// The next launch of number `number`, its buffers placed behind all others'.
  PlannedLaunch next(std::uint64_t number);
  /// Bytes of memory that the launches planned since the last reset take.
  std::uint64_t bytes() const { return end; }
  void reset() { end = 0; }

  /// The input `argument` of rank `rank` in a launch.
  std::vector<std::byte> input(const PlannedLaunch &launch, int rank, std::size_t argument) const;

  /// What a rank's memory holds before the launches: inputs, and kFill everywhere else.
  void fill(std::span<const PlannedLaunch> launches, int rank, std::span<std::byte> memory) const;

  static constexpr std::byte kFill = Reference::kUntouched;

private:
  RunLayout(const Manifest &manifest, const RunRequest &request) : manifest(manifest), request(request) {}
  std::vector<std::byte> counts(const PlannedLaunch &launch, int rank, std::size_t argument) const;
  Result<void> checkSize(std::span<const std::uint64_t> extents) const;
  double roomFor(std::size_t extent, const Extents &chosen) const;
  std::uint64_t keyOf(const PlannedLaunch &launch, int rank, std::size_t argument) const;
  void makeFit(Extents &extents) const;
  Extents chooseExtents(std::uint64_t number) const;
  void place(PlannedLaunch &launch);

  const Manifest &manifest;
  const RunRequest &request;
  std::vector<std::string> open; ///< free extents that the request leaves to chance
  std::shared_ptr<const ScalarDraw> draw;
  std::uint64_t maxElements = 0, end = 0;
};

} // namespace coll
