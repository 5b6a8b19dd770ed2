// Rank and slot expressions as CUDA text. Internal to codegen/.
#pragma once

#include "ir/Index.h"

namespace coll::codegen {

/// An expression of type u32; sums modulo N of a rank and a constant become coll::rankAt.
std::string indexText(const ir::Index &index, int ranks);

/// How many places after `me` a peer lies that is `me` plus a constant, modulo N.
std::string hopText(const ir::Index &peer, int ranks);

} // namespace coll::codegen
