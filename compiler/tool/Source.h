// WHAT of the command line: a .coll file or a collective of the standard library, parsed.
#pragma once

#include "coll/Compiler.h"

#include <memory>
#include <string>
#include <vector>

namespace coll::tool {

/// Reads and parses `what`. Throws Failure where there is no such text or it has errors, which it has printed then.
std::unique_ptr<Program> loadProgram(const std::string &what);

/// The names of the standard library's files without `.coll`, in order.
std::vector<std::string> standardLibrary();

} // namespace coll::tool
