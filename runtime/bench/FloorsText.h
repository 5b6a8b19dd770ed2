// The text of floors.cu as a kernel that Jit compiles. Needs no CUDA header, so that every build can test it.
#pragma once

#include "coll/Compiler.h"

namespace coll::bench {

Kernel floorsText();
/// Its kernels.
std::vector<std::string> floorsNames();

} // namespace coll::bench
