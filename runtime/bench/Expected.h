// What ranks' memory holds before and after some operations at one size: computed once, compared with every rival's.
#pragma once

#include "context/RunLayout.h"

namespace coll::bench {

class Expected {
public:
  /// `extents` all of them. `operations` with inputs of their own, and buffers of their own.
  static Result<std::unique_ptr<Expected>> create(const Manifest &manifest, const RunRequest &request,
                                                  unsigned operations);
  Expected(const Expected &) = delete;
  Expected &operator=(const Expected &) = delete;

  /// Bytes of a rank's memory.
  std::uint64_t bytes() const { return layout->bytes(); }
  const std::vector<PlannedLaunch> &operations() const { return planned; }
  const std::vector<std::byte> &before(int rank) const { return contents[std::size_t(rank)]; }
  const std::string &reference() const { return referenceText; }

  struct Difference {
    std::uint64_t wrong = 0;
    std::string first; ///< empty if none
  };
  /// Compares a rank's memory after the operations, bit for bit but for NaNs, whose bits may differ. `rounded`: sums of
  /// floats may differ as much as their order makes them, for rivals that do not promise one.
  Difference compare(int rank, const std::vector<std::byte> &memory, bool rounded) const;

private:
  Expected(const Manifest &manifest, const RunRequest &request) : manifest(manifest), request(request) {}
  void compute(const Reference &reference);
  bool same(DType type, std::uint64_t is, std::uint64_t should, bool rounded) const;
  std::pair<std::uint64_t, std::uint64_t> differing(DType type, const std::byte *is, const std::byte *should,
                                                    std::uint64_t first, std::uint64_t last, bool rounded) const;

  const Manifest manifest;
  const RunRequest request; ///< `layout` refers to both
  std::optional<RunLayout> layout;
  std::vector<PlannedLaunch> planned;
  std::vector<std::vector<std::byte>> contents, wanted; ///< [rank]: before and after
  std::vector<std::vector<std::vector<bool>>> promised; ///< [rank][operation][argument]: whether it is compared
  std::string referenceText;
};

} // namespace coll::bench
