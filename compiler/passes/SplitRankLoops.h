// Loops over ranks in which whole CTAs wait. Part of `expandSyncModes`.
#pragma once

#include "ir/Program.h"

namespace coll::passes {

/// Makes of the loops over ranks of a block such as wait, or read what others fill, and such as do not. What lies before and
/// behind a wait are loops of their own where that can be: `forall p in ranks { x[p] -> p.box[me]  y[p] = box[p] }`. Else the
/// iterations are made one after the other.
void splitRankLoops(ir::Program &program, ir::Block &block);

} // namespace coll::passes
