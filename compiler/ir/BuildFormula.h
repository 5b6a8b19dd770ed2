// The part of building IR that concerns `ensures` clauses with arithmetic. Internal to ir/.
#pragma once

#include "ir/Program.h"
#include "sema/Sema.h"

namespace coll::ir {

/// Sets formula and domain of a clause whose target is known, from the right side of its `==`. Calls `refuse` for what
/// cannot be lowered, with what can be written instead if anything can.
void buildFormula(const Program &program, Ensures &clause, const ast::Expr &expr,
                  llvm::function_ref<void(ast::Span, const std::string &, const std::string &)> refuse);

} // namespace coll::ir
