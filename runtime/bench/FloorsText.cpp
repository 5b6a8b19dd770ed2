#include "bench/FloorsText.h"

#include "embed/Embedded.h"

namespace coll {

namespace embedded {
std::span<const EmbeddedFile> benchKernels();
}

std::vector<std::string> bench::floorsNames() {
  return {"gate", "emptyNode", "pingPong", "copyUnits"};
}

Kernel bench::floorsText() {
  Kernel kernel;
  for (const EmbeddedFile &file : embedded::benchKernels())
    if (file.name == "floors.cu") kernel.cuda = file.text;
  kernel.manifest.member = kernel.manifest.sourceFile = "floors";
  kernel.manifest.ranks = 1;
  return kernel;
}

} // namespace coll
