// Rank and slot expressions as CUDA text. Internal to codegen/.
#pragma once

#include "ir/Index.h"

#include <map>

namespace coll::codegen {

/// What the variables of an expression stand for: those of ordered loops take these values, all others are ranks.
struct IndexScope {
  int ranks = 0;
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> loops; ///< first and last value
};

/// An expression of a type that converts to u32. A rank plus something, modulo N, becomes coll::rankAt.
std::string indexText(const ir::Index &index, const IndexScope &scope);

/// A whole number that data is computed with, signed.
std::string numberText(const ir::Index &number, const IndexScope &scope);

/// How many places after `me` a peer lies: a number or a sum where it is `me` plus that, modulo N, else coll::hopTo.
std::string hopText(const ir::Index &peer, const IndexScope &scope);

/// A condition, as an `if` takes it.
std::string conditionText(const ir::Index &condition, const IndexScope &scope);

} // namespace coll::codegen
