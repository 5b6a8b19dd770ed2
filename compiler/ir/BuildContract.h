// The part of building IR that concerns the contract: arguments, what `ensures` promises, and expressions that both
// contract and algorithm use. Internal to ir/.
#pragma once

#include "ir/Program.h"
#include "sema/Sema.h"

namespace coll::ir {

/// Fills in buffers, extents, in-place pairs and ensures. False after an error.
bool buildContract(const sema::Algorithm &algorithm, Program &program, DiagnosticEngine &diagnostics);

/// The argument, row of an argument, or piece of a split view that `expr` names; empty if it names none of them. Whose it
/// is stands in BuildWindow.h.
std::optional<Slice> contractSlice(const Program &program, const ast::Expr &expr,
                                   llvm::function_ref<Index(const ast::Expr &)> index);

/// The number that `n[p]` or `r.n[p]` names: one element of an argument with one extent; empty if it names none. Whose it
/// is stands in BuildWindow.h.
std::optional<Slice> contractElement(const Program &program, const ast::Expr &expr,
                                     llvm::function_ref<Index(const ast::Expr &)> index);

/// The argument of a parameter, kNone if it is no vector.
BufferId bufferOf(const Program &program, const ast::Param &param);
/// All of an argument, and row `number` of its first extent, or of so many of them together.
Slice whole(const Program &program, BufferId buffer);
Slice row(const Program &program, BufferId buffer, Index number, unsigned depth = 1);

/// What `x[i][j]` names: all of an argument without indices; empty if it is one element, or a row of a row of which there
/// may be any number.
std::optional<Slice> contractRow(const Program &program, BufferId buffer, const std::vector<const ast::Expr *> &indices,
                                 llvm::function_ref<Index(const ast::Expr &)> index);

/// Why contractSlice finds nothing, and what can be written instead.
std::pair<std::string, std::string> whyNoPart(const Program &program, const ast::Expr &expr);

/// An integer or rank expression of N, `me`, scalars, loop variables and literals; empty if it is anything else.
std::optional<Index> integer(const ast::Expr &expr, int ranks);

} // namespace coll::ir
