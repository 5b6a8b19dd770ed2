// WHAT of the command line, a .coll file or a collective of the standard library, and the kernels made of it.
#pragma once

#include "coll/Compiler.h"

#include <memory>
#include <string>
#include <vector>

namespace coll::tool {

/// Reads and parses `what`. Throws Failure where there is no such text or it has errors, which it has printed then.
/// Remarks about a user's file are printed too if asked for.
std::unique_ptr<Program> loadProgram(const std::string &what, bool remarks = false);

/// The same, but that what there is to say goes to `diagnostics`: null where the text has errors.
std::unique_ptr<Program> parseProgram(const std::string &what, Diagnostics &diagnostics);

/// Compiles one instance and prints what there is to say about it. Throws Failure where there is no kernel then:
/// Refuted if it is the checker that refuses it, BadInput otherwise. Where there is one, `quiet` prints nothing.
Kernel compileInstance(const Program &program, const Instance &instance, const CompileOptions &options,
                       bool quiet = false);

} // namespace coll::tool
