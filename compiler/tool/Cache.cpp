// `coll cache`: where compiled kernels are kept, how many there are, and away with them.
#include "jit/KernelCache.h"
#include "tool/Arguments.h"
#include "tool/OrFail.h"
#include "tool/Output.h"

using namespace coll;
using namespace coll::tool;

static Exit cache(const Arguments &arguments) {
  const KernelCache kernels = KernelCache::standard();
  if (kernels.path().empty()) {
    print("no cache: COLL_CACHE_DIR is off, or there is no home folder\n");
    return Exit::Good;
  }
  const std::string folder = kernels.path().string();
  if (arguments.has("--clear")) {
    print(folder + ": " + std::to_string(orFail(kernels.clear())) + " kernels removed\n");
    return Exit::Good;
  }
  const KernelCache::Contents contents = kernels.contents();
  print(folder + ": " + std::to_string(contents.entries) + " kernels, " +
        std::to_string((contents.bytes + 1023) / 1024) + " KiB\n");
  return Exit::Good;
}

namespace coll::tool {
extern const Verb cacheVerb;
const Verb cacheVerb{
    "cache", "", "the cache of compiled kernels", {{"--clear", "", "remove them all"}}, "coll cache --clear\n", cache};
} // namespace coll::tool
