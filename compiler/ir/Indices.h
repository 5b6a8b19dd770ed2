// The integer expressions of a program: what is sent where, and when.
#pragma once

#include "ir/Program.h"

namespace coll::ir {

/// An expression, where it stands, and whether it is a number that is computed with, and neither a condition nor a place.
using VisitIndex = llvm::function_ref<void(const Index &, SourceOffset, bool)>;

/// Calls `visit` for every expression in a program and its contract.
void forEachIndex(const Program &program, VisitIndex visit);

/// Whether any of them uses a scalar: others are data, and may be any number.
bool steers(const Program &program, const Scalar &scalar);

} // namespace coll::ir
