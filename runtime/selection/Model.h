// The latency model: what an operation should take, from a few measured numbers and what the compiler knows of it.
// runtime/README.md states it.
#pragma once

#include "bench/Limit.h"
#include "coll/Manifest.h"

namespace coll::selection {

/// Microseconds.
struct Terms {
  double launch = 0; ///< a node of a graph, and finding the epoch
  double hops = 0;   ///< messages that must follow each other, with the fences that their mode needs
  double bytes = 0;  ///< what a rank receives, over its link
  double polls = 0;  ///< sending to and looking at more than one peer

  double total() const { return launch + hops + bytes + polls; }
};

/// A member at a size. `memberBytes`: the bound of its `when`, which its manifest's mailboxes are made for; 0 if none.
Terms memberTerms(const Manifest &manifest, std::uint64_t memberBytes, std::uint64_t bytes, const bench::Floors &floors);

/// NCCL, as if it took the better of one exchange and two.
Terms ncclTerms(const std::string &collective, int ranks, std::uint64_t bytes, const bench::Floors &floors);

/// Whether NCCL has a collective of that name.
bool ncclHas(const std::string &collective);

} // namespace coll::selection
