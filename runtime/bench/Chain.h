// The operations of a graph, chained: the output of one is the input of the next, so that none can begin early
// unnoticed, with values that stay finite and whose end is known.
#pragma once

#include "coll/Manifest.h"

#include <cstddef>

namespace coll::bench {

/// Where the arguments of a sequence of operations lie, alike for all ranks, as windows must. Of gathers and scatters the
/// smaller argument is row 0 of the larger: what the others wait for comes from rank 0, or goes there.
class Chain {
public:
  /// `bytes[i]` is the size of argument i.
  Chain(const Manifest &manifest, const std::vector<std::uint64_t> &bytes, bool inplace);

  /// Bytes from the start of the rank's memory to each argument of operation number `operation`.
  std::vector<std::uint64_t> offsets(unsigned operation) const;
  /// Memory of a rank that it all takes.
  std::uint64_t bytes() const { return end; }

  /// Whether an input is the output before it. Not so where no two sizes fit.
  bool chained() const { return kind != Kind::None; }
  /// Whether every rank's output is all of its next input.
  bool whole() const { return kind == Kind::Whole; }
  std::size_t output() const { return out; }

  /// Where an argument lies that is not chained.
  std::uint64_t offset(std::size_t argument) const { return fixed[argument]; }

  /// What must hold start values before the first operation.
  struct Start {
    std::uint64_t offset, bytes;
  };
  const std::vector<Start> &starts() const { return filled; }

private:
  enum class Kind { None, Whole, Part };
  void choosePair(const Manifest &manifest, const std::vector<std::uint64_t> &bytes);
  std::uint64_t place(std::uint64_t bytes);

  Kind kind = Kind::None;
  bool inplace;
  std::size_t in = 0, out = 0;         ///< the chained arguments
  std::uint64_t first = 0, second = 0; ///< the two buffers they change between; the same in place
  std::vector<std::uint64_t> fixed;    ///< [argument]: where the others lie
  std::vector<Start> filled;
  std::uint64_t end = 0;
};

/// The values of a chain: element i at its start, and after any number of operations.
class ChainValues {
public:
  ChainValues(const Manifest &manifest, unsigned operations);

  std::uint64_t atStart(std::uint64_t i) const;
  /// Whether the end of a chain of whole all-reduces is known, that is, exact.
  bool endKnown() const { return known; }
  std::uint64_t atEnd(std::uint64_t i) const;

private:
  DType type;
  ReduceOp op;
  int ranks;
  unsigned operations;
  bool zero = false, known = false;
  int exponent = 0, growth = 0; ///< of the floats at the start, and what the operations add to it
};

} // namespace coll::bench
