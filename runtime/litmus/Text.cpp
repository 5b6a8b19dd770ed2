#include "litmus/Litmus.h"

#include "embed/Embedded.h"

namespace coll {

namespace embedded {
std::span<const EmbeddedFile> litmusKernels();
}

std::vector<std::string> litmus::names() {
  return {"stores", "answers", "sums"};
}

Kernel litmus::text() {
  Kernel kernel;
  kernel.cuda = embedded::litmusKernels().front().text;
  kernel.manifest.member = kernel.manifest.sourceFile = "litmus";
  kernel.manifest.ranks = 1;
  return kernel;
}

} // namespace coll
