#include "platform/Platform.h"

#include <algorithm>

namespace coll {

std::string_view describe(Link link) {
  switch (link) {
  case Link::SameGpu: return "on one GPU";
  case Link::NvLink: return "over NVLink";
  case Link::Other: return "without NVLink";
  }
  return "";
}

unsigned unsplitBytes(unsigned arch, Link link) {
  unsigned bytes = 8;
#define COLL_PLATFORM(lowest, where, declared)                                                                         \
  if (arch >= lowest && link == Link::where) bytes = std::max(bytes, unsigned(declared));
#include "platform/Platforms.def"
  return bytes;
}

} // namespace coll
