#include "bench/Limit.h"

#include <algorithm>
#include <array>

namespace coll::bench {
namespace {

enum class Kind { AllReduce, ReduceScatter, AllGather, AllToAll, OneRoot, Other };

/// By the beginning of the name, so that fused forms (`allreduce_rmsnorm`) count as what they are fused with.
Kind kindOf(std::string collective) {
  std::erase(collective, '_');
  struct Name {
    const char *begin;
    Kind kind;
  };
  static constexpr std::array kNames = {Name{"allreduce", Kind::AllReduce}, Name{"reducescatter", Kind::ReduceScatter},
                                        Name{"allgather", Kind::AllGather}, Name{"alltoall", Kind::AllToAll},
                                        Name{"broadcast", Kind::OneRoot},   Name{"reduce", Kind::OneRoot}};
  for (const Name &name : kNames)
    if (collective.rfind(name.begin, 0) == 0) return name.kind;
  return Kind::Other;
}

} // namespace

Traffic trafficOf(const std::string &algorithm) {
  if (algorithm.find("oneshot") != std::string::npos) return Traffic::OneShot;
  if (algorithm.find("twoshot") != std::string::npos) return Traffic::TwoShot;
  return Traffic::Least;
}

double leastBytes(const std::string &collective, Traffic traffic, int ranks, std::uint64_t bytes) {
  const double others = ranks - 1, all = double(bytes);
  const double oneShot = others * all, twoShot = 2 * others / ranks * all;
  switch (kindOf(collective)) {
  case Kind::AllReduce:
    if (traffic == Traffic::OneShot) return oneShot;
    return traffic == Traffic::TwoShot ? twoShot : std::min(oneShot, twoShot);
  case Kind::ReduceScatter:
  case Kind::AllGather:
  case Kind::AllToAll: return others / ranks * all;
  case Kind::OneRoot: return ranks > 1 ? all : 0;
  case Kind::Other: break;
  }
  return 0;
}

double limitOf(const Floors &floors, const std::string &collective, Traffic traffic, int ranks, std::uint64_t bytes) {
  const double moving =
      floors.bytesPerMicrosecond > 0 ? leastBytes(collective, traffic, ranks, bytes) / floors.bytesPerMicrosecond : 0;
  return floors.emptyNode + (ranks > 1 ? floors.oneWay : 0) + moving;
}

double busFactor(const std::string &collective, int ranks) {
  const double share = double(ranks - 1) / ranks;
  switch (kindOf(collective)) {
  case Kind::AllReduce: return 2 * share;
  case Kind::ReduceScatter:
  case Kind::AllGather:
  case Kind::AllToAll: return share;
  default: return 1;
  }
}

} // namespace coll::bench
