// What a verb does with each of several members.
#pragma once

#include "tool/Output.h"

#include "coll/Compiler.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <vector>

namespace coll::tool {

/// Whether `passes` holds of all; one that fails does not hide the others. Of several, what fails is printed, the same
/// words once, and the exit code is that of the worst: a wrong result before bad input, and that before what this machine
/// lacks. Of a single one the failure is thrown on.
Exit eachMember(const std::vector<const Member *> &members, llvm::function_ref<bool(const Member &)> passes);

} // namespace coll::tool
