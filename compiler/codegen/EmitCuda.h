// From IR to CUDA text: a walk that changes nothing.
#pragma once

#include "coll/Manifest.h"
#include "ir/Program.h"

namespace coll::codegen {

struct Emitted {
  std::string cuda;
  std::vector<std::pair<unsigned, unsigned>> sourceMap; ///< (line of CUDA text, line of the source)
};

/// The whole text of a kernel with its entry point, with clock stamps if `trace`. The program has been through all
/// passes.
Emitted emitCuda(const ir::Program &program, bool trace = false);

/// What the host must know to launch it; all but the source map, which emitCuda gives.
Manifest buildManifest(const ir::Program &program);

/// A clause of the contract as the author wrote it, without the keyword.
std::string ensuresText(const ir::Program &program, const ir::Ensures &clause);

} // namespace coll::codegen
