// What NCCL says it chose, from its log (NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=TUNING).
#pragma once

#include <string>
#include <string_view>

namespace coll::bench {

struct NcclChoice {
  bool found = false;     ///< whether the log has a choice at all
  bool symmetric = false; ///< one of the kernels for symmetric windows
  std::string what;       ///< "AllReduce_AGxLL_R", or "RING LL" of the others
};

/// The last choice in a part of the log.
NcclChoice lastChoice(std::string_view log);

} // namespace coll::bench
