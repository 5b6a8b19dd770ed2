// Times members of a collective, interleaved with NCCL, on a GPU for each rank. What `coll bench` calls.
#pragma once

#include "bench/HandWritten.h"
#include "bench/Report.h"
#include "context/Runner.h"

namespace coll::bench {

struct Request {
  std::vector<Kernel> kernels; ///< members of one collective, for the same ranks, type, operator
  std::vector<std::pair<std::uint64_t, Extents>> sizes; ///< (bytes of the largest argument, all extents), ascending
  Extents fixed = {};                                   ///< those that are the same at all sizes
  std::map<std::string, std::string> scalars;           ///< by name, as written; a missing one is 0
  bool graph = true;                                    ///< else launched one by one
  bool inplace = false;
  Shape shape = {}; ///< of the launches of members and hand-written kernels, as far as it fits; by the rule if not given
  Counted counts = Counted::Most; ///< what arguments of counts hold
  std::vector<Kernel> traced = {}; ///< the members with stamps: each is traced at each size after the timings
  std::vector<HandWritten> handWritten = {}; ///< rivals that are CUDA of somebody's own
  /// What selection would take for a size on a machine: the name of a rival.
  std::function<std::string(std::uint64_t bytes, const std::string &machine)> select = {};
  bool nccl = false;        ///< measure NCCL, too: with ordinary buffers, and with symmetric windows
  unsigned operations = 50; ///< back to back, timed together; fewer where one takes long
  unsigned replays = 40, warmUp = 5;
  double timeoutSeconds = 15; ///< for whatever is waited for

  std::function<void(const Report &)> onStart; ///< with floors, without rows
  std::function<void(const Row &)> onRow;      ///< as soon as there is one
  std::function<void(const std::string &)> progress;
};

/// The algorithm and mode of a member, `oneshot.ll`: its Row::rival.
std::string memberName(const Manifest &manifest);
/// The names that Row::rival can have, in order.
std::vector<std::string> rivalNames(const Request &request);

/// `report` gets what is found; what it holds is of use after an error, too. Error::MachineLacks where there are not as
/// many GPUs as ranks.
Result<void> run(const Request &request, Report &report);

} // namespace coll::bench
