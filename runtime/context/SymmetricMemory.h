// The symmetric buffers of a context: which one an argument lies in, and where the other ranks have theirs.
#pragma once

#include "coll/Result.h"
#include "fabric/SymmetricRegion.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace coll {

class SymmetricMemory {
public:
  struct Part {
    std::unique_ptr<SymmetricRegion> region;
    std::uint64_t bytes;
    /// [rank][hop]: the buffer of the rank `hop` places after `rank`, as `rank` addresses it.
    std::vector<std::vector<char *>> peers;
    /// [rank]: those of all ranks at once, as `rank` addresses them; null where there is no multicast.
    std::vector<char *> ofAll;
  };

  explicit SymmetricMemory(int ranks) : ranges(ranks) {}

  Part *add(std::unique_ptr<SymmetricRegion> region, std::uint64_t bytes);
  void remove(Part *part);
  void clear();

  /// The buffer that holds `bytes` bytes from `pointer` on, an address of the rank's own; null if none does. No
  /// allocation: for the launch path.
  const Part *find(int rank, const void *pointer, std::uint64_t bytes) const;

private:
  struct Range {
    char *begin;
    Part *part;
  };
  std::vector<std::unique_ptr<Part>> parts;
  std::vector<std::vector<Range>> ranges; ///< [rank], by address
};

} // namespace coll
