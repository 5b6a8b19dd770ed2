// Which loops over ranks the emitter writes as such: those whose iterations the device headers make side by side.
#pragma once

#include "ir/Program.h"

namespace coll::passes {

/// The first statement of a loop over ranks in a packet loop for which it cannot stay one; null if it can.
const ir::Stmt *withoutRankText(const ir::Program &program, const ir::ForRanks &loop);

} // namespace coll::passes
