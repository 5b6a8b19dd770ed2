// COLL_DUMP_DIR and COLL_OVERRIDE_DIR: kernels as files that a person reads and edits.
#pragma once

#include "coll/Compiler.h"
#include "coll/Result.h"

namespace coll {

/// `allreduce.oneshot.ll.n8.bf16.sum`: the name of an instance's files, without suffix.
std::string kernelFileStem(const Manifest &manifest);

/// The text to compile: that of COLL_OVERRIDE_DIR if it has one for this kernel, else the generated one.
Result<std::string> textToCompile(const Kernel &kernel);

/// Writes the stages that come before NVRTC into COLL_DUMP_DIR, if it is set. `text` is what will be compiled.
Result<void> dumpSources(const Kernel &kernel, const std::string &text);

/// Writes what NVRTC made; `suffix` is e.g. "sm_90.cubin".
Result<void> dumpBinary(const Manifest &manifest, const std::string &suffix, const std::string &bytes);

} // namespace coll
