#include "bench/FloorsText.h"

#include "embed/Embedded.h"

namespace coll {

namespace embedded {
std::span<const EmbeddedFile> benchKernels();
}

Kernel bench::floorsText() {
  Kernel kernel;
  kernel.cuda = embedded::benchKernels().front().text;
  kernel.manifest.member = kernel.manifest.sourceFile = "floors";
  kernel.manifest.ranks = 1;
  return kernel;
}

} // namespace coll
