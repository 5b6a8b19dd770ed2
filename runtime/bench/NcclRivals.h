// NCCL as a rival, twice: with ordinary memory, and with symmetric windows.
#pragma once

#include "bench/Rival.h"

namespace coll::bench {

/// Sets, before NCCL is used for the first time, what the variables of the user leave open: no multicast (which some
/// machines forbid), graphs that need not be mixed with eager launches (quicker), and a log of what it chooses.
class NcclSettings {
public:
  explicit NcclSettings(bool log);
  ~NcclSettings();
  NcclSettings(const NcclSettings &) = delete;
  NcclSettings &operator=(const NcclSettings &) = delete;

  /// All NCCL_* variables as they are now, but for those of the log.
  std::vector<std::pair<std::string, std::string>> variables() const;
  /// What the log has got since the last call; empty where there is none.
  std::string newLog();

private:
  std::string logFile; ///< empty: the user's own settings stand
  std::size_t read = 0;
};

/// The two rivals. `gpus`, `watch` and `settings` outlive them. Error::BadInput if NCCL has no such collective, or not
/// for this type or operator.
Result<std::vector<std::unique_ptr<Rival>>> ncclRivals(const Manifest &manifest, const Gpus &gpus,
                                                       const Stopwatch &watch, Context &context, int root,
                                                       NcclSettings &settings);

} // namespace coll::bench
