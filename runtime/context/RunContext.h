// What runs share: the context that a request asks for, and memory of all its ranks.
#pragma once

#include "context/Runner.h"

namespace coll {

/// Memory for inputs and outputs of launches between two synchronisations, over all ranks.
constexpr std::uint64_t kBatchBytes = 4ull << 30;
/// The most elements of a random count on emulated ranks: what they show, they show with few.
constexpr std::uint64_t kEmulatedElements = 2048;

Result<Context> contextFor(const RunRequest &request, int ranks);

/// Memory of every rank, of the same size.
class RunMemory {
public:
  /// Symmetric where peers are to touch it.
  static Result<RunMemory> allocate(Context &context, std::uint64_t bytes, bool isSymmetric);
  void release(Context &context) const;

  char *operator[](int rank) const { return static_cast<char *>(parts[rank]); }

private:
  std::vector<void *> parts;
  std::optional<SymmetricBuffer> symmetric;
};

} // namespace coll
