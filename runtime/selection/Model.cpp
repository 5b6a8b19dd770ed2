#include "selection/Model.h"

#include <algorithm>
#include <array>

namespace coll::selection {
namespace {

// Measured on two H200s (runtime/README.md), microseconds.
constexpr double kEpoch = 0.10; ///< the epoch's word, on the way of all that needs it
constexpr double kFence = 0.98; ///< a release at system scope after stores to a peer: a round trip
/// One peer more to send to and to look at: a store and a 16-byte load that wait for nothing, and their addresses.
constexpr double kPeer = 0.02;
/// What the quickest of NCCL's kernels take on top of a node and a hop.
constexpr double kNccl = 1.2;

bool fences(const std::string &sync) {
  return sync == "flag" || sync == "barrier";
}

bool counts(const std::string &sync) {
  return sync.rfind("counter", 0) == 0;
}

} // namespace

Terms memberTerms(const Manifest &manifest, std::uint64_t memberBytes, std::uint64_t bytes,
                  const bench::Floors &floors) {
  Terms terms;
  const double others = manifest.ranks - 1;
  terms.launch = floors.emptyNode + kEpoch;
  if (manifest.ranks < 2) return terms;
  unsigned fenced = 0;
  double received = 0;
  for (const Manifest::Mailbox &box : manifest.mailboxes) {
    fenced += fences(box.sync);
    // Of the slots, a rank's own is not sent, but where the others all add to one; of the room, this call uses its share.
    const double senders = counts(box.sync) ? others : others / manifest.ranks;
    received += double(box.slots) * double(box.lines) * double(box.lineBytes) * senders;
  }
  const unsigned hops = std::max(1u, manifest.hops);
  const std::size_t boxes = std::max<std::size_t>(1, manifest.mailboxes.size());
  terms.hops = hops * floors.oneWay + kFence * std::max(double(fenced), double(fenced) / double(boxes) * hops);
  const double share = memberBytes ? std::min(1.0, double(bytes) / double(memberBytes)) : 0;
  // What goes over windows the manifest does not tell: a share of the largest argument from each other rank, unless the
  // collective says more.
  const double overWindows = manifest.hasWindows() ? double(bytes) * others / manifest.ranks : 0;
  const double onWire =
      memberBytes && received > 0
          ? received * share + overWindows
          : std::max(overWindows, double(bench::leastBytes(manifest.collective, bench::trafficOf(manifest.algorithm),
                                                           manifest.ranks, bytes)));
  if (floors.bytesPerMicrosecond > 0) terms.bytes = onWire / floors.bytesPerMicrosecond;
  terms.polls = kPeer * (others - 1) * double(boxes);
  return terms;
}

Terms ncclTerms(const std::string &collective, int ranks, std::uint64_t bytes, const bench::Floors &floors) {
  Terms terms;
  terms.launch = floors.emptyNode + kNccl;
  if (ranks < 2) return terms;
  const auto exchange = [&](bench::Traffic traffic, unsigned exchanges) {
    Terms one = terms;
    one.hops = exchanges * floors.oneWay;
    if (floors.bytesPerMicrosecond > 0)
      one.bytes = bench::leastBytes(collective, traffic, ranks, bytes) / floors.bytesPerMicrosecond;
    one.polls = exchanges * kPeer * (ranks - 2);
    return one;
  };
  const Terms once = exchange(bench::Traffic::OneShot, 1), twice = exchange(bench::Traffic::TwoShot, 2);
  return twice.total() < once.total() ? twice : once;
}

bool ncclHas(const std::string &collective) {
  static constexpr std::array kNames = {"allreduce", "reduce_scatter", "reduce", "allgather", "broadcast", "alltoall"};
  return std::find(kNames.begin(), kNames.end(), collective) != kNames.end();
}

} // namespace coll::selection
