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

std::string_view name(Link link) {
  return link == Link::SameGpu ? "SameGpu" : link == Link::NvLink ? "NvLink" : "Other";
}

std::span<const Platform> platforms() {
  static constexpr Platform list[] = {
#define COLL_PLATFORM(lowest, where, declared) {lowest, Link::where, declared},
#include "platform/Platforms.def"
  };
  return list;
}

unsigned unsplitBytes(unsigned arch, Link link) {
  unsigned bytes = 8;
  for (const Platform &platform : platforms())
    if (arch >= platform.arch && link == platform.link) bytes = std::max(bytes, platform.bytes);
  return bytes;
}

std::span<const litmus::Test> litmus::tests() {
  static constexpr Test list[] = {
#define COLL_LITMUS(test, claim) {#test, claim},
#include "platform/Platforms.def"
  };
  return list;
}

std::span<const litmus::Measured> litmus::measured() {
  static constexpr Measured list[] = {
#define COLL_MEASURED(lowest, where, test, gpu, rounds, surprises) {lowest, Link::where, #test, gpu, rounds, surprises},
#include "platform/Platforms.def"
      {0, Link::Other, "", "", 0, 0}}; // which ends the list, as there may be nothing in it
  return std::span(list).first(std::size(list) - 1);
}

} // namespace coll
