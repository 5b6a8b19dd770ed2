// Rank and slot expressions as CUDA text. Internal to codegen/.
#pragma once

#include "ir/Index.h"

namespace coll::codegen {

/// An expression of type u32; sums modulo N of a rank and a constant become coll::rankAt.
std::string indexText(const ir::Index &index, int ranks);

/// How many places after `me` a peer lies: a number where it is `me` plus a constant, modulo N, else coll::hopTo.
std::string hopText(const ir::Index &peer, int ranks);

/// A condition, as an `if` takes it.
std::string conditionText(const ir::Index &condition, int ranks);

} // namespace coll::codegen
