#include "bench/Bench.h"

namespace coll::bench {

std::string memberName(const Manifest &manifest) {
  return manifest.mode.empty() ? manifest.algorithm : manifest.algorithm + "." + manifest.mode;
}

std::vector<std::string> rivalNames(const Request &request) {
  std::vector<std::string> names;
  for (const Kernel &kernel : request.kernels) names.push_back(memberName(kernel.manifest));
  if (request.nccl) names.insert(names.end(), {"nccl", "nccl-symmetric"});
  for (const HandWritten &source : request.handWritten)
    for (const HandKernel &kernel : source.kernels) names.push_back("hand-" + kernel.name);
  return names;
}

} // namespace coll::bench
