// NVRTC's messages, with the lines of the .coll file that the CUDA text came from.
#pragma once

#include "coll/Manifest.h"

namespace coll {

/// `log` with a line "  from ring.coll:12" after each message about `fileName` that the source map explains.
std::string withSourceLines(const std::string &log, const std::string &fileName, const Manifest &manifest);

/// The line of the .coll file that line `cudaLine` of the CUDA text came from; 0 if none did.
unsigned sourceLine(const Manifest &manifest, unsigned cudaLine);

} // namespace coll
