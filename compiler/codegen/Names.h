// Names of a generated kernel: the author's wherever C++ and the kernel's own vocabulary allow it.
#pragma once

#include "ir/Program.h"
#include "llvm/ADT/StringSet.h"

namespace coll::codegen {

/// Hands out names that are unique, no keyword of CUDA C++, and not among those the emitter uses itself.
class Names {
public:
  Names();
  /// `wanted`, or with a number behind it where it is taken.
  std::string unique(llvm::StringRef wanted);

private:
  llvm::StringSet<> taken;
};

/// `allreduce_oneshot_ll_n2_bf16_sum`
std::string kernelName(const ir::Program &program);

} // namespace coll::codegen
