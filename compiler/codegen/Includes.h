// Which device headers a kernel's text needs.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <vector>

namespace coll::codegen {

/// The device headers that declare what `text` names as `coll::...`, in the order in which they use each other. A header
/// costs every kernel that includes it compile time: all of them 9 ms of NVRTC's.
std::vector<llvm::StringRef> includesFor(llvm::StringRef text);

} // namespace coll::codegen
