// What a statement goes over and takes, for passes that move statements.
#pragma once

#include "ir/Program.h"

namespace coll::passes {

/// Puts another value in the place of one that a statement and its body take.
void replaceUses(ir::Stmt &stmt, ir::ValueId from, ir::ValueId to);

/// Gives a copy of a load or of what makes a number a value of its own, and returns that.
ir::ValueId makeAnew(ir::Program &program, ir::Stmt &copy);

/// Whether a statement may write an argument: by that name, or as one that may be the same memory.
bool mayWrite(const ir::Program &program, const ir::Stmt &stmt, ir::BufferId buffer);

/// The length of the vectors that a statement goes over; nothing if there are none.
std::optional<ir::Length> domainOf(const ir::Program &program, const ir::Stmt &stmt);

} // namespace coll::passes
