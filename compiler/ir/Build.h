// From the checked syntax tree to IR: one member, one N, one type and operator.
#pragma once

#include "ir/Program.h"
#include "sema/Sema.h"

namespace coll::ir {

/// What the algorithm says, operation by operation: no packet loops yet, sync modes not yet expanded. Empty after an
/// error.
std::optional<Program> build(const sema::Member &member, int ranks, DType dtype, std::optional<ReduceOp> op,
                             const Sources &sources, DiagnosticEngine &diagnostics);

} // namespace coll::ir
