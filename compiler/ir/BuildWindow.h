// The part of building IR that concerns windows: arguments that peers touch where they lie. Internal to ir/.
#pragma once

#include "ir/Program.h"
#include "sema/Sema.h"

namespace coll::ir {

/// Notes that an argument lies in symmetric memory. False after an error.
bool openWindow(const ast::Window &window, const sema::Member &member, Program &program, DiagnosticEngine &diagnostics);

/// The rank before the dot in `r.x`, `r.x[i]`; null where an expression names something of this rank.
const ast::Expr *ownerOf(const ast::Expr &expr);

} // namespace coll::ir
