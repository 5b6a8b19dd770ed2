// Loops over ranks: which the emitter writes as such, those whose iterations the device headers make side by side; and
// ordered ones instead.
#pragma once

#include "ir/Program.h"

namespace coll::passes {

/// Makes an ordered loop (For::ofRanks) of a ForRanks somewhere in the program: it begins with this rank.
void inOrder(ir::Program &program, ir::Stmt &stmt);

/// The first statement of a loop over ranks in a packet loop for which it cannot stay one; null if it can.
const ir::Stmt *withoutRankText(const ir::Program &program, const ir::ForRanks &loop);

} // namespace coll::passes
