// Which member, or NCCL, is to carry out a call: a total function of size, type, ranks and placement, from measurements
// that are data. Answers without a GPU.
#pragma once

#include "coll/Compiler.h"
#include "coll/Result.h"

namespace coll {

namespace selection {
class Candidates;
}

/// What a choice depends on; equal on all ranks of a call.
struct Call {
  std::uint64_t bytes = 0; ///< of the largest argument, as in nccl-tests
  DType dtype = DType::F32;
  int ranks = 2;
  bool inplace = false;        ///< inputs and outputs in the same memory
  ReduceOp op = ReduceOp::Sum; ///< ignored where the collective has none
};

/// What selection may choose from.
struct SelectionOptions {
  std::string table = {};     ///< JSON of `coll tune`, before the defaults; empty: what COLL_TABLE names, if anything
  std::string gpu = {};       ///< name of the GPUs, as CUDA has it; empty: the context's, or an H200
  std::string order = {};     ///< hold to one order class, `ascending` or `fixed`: the same bits at every size; empty: any
  std::string algorithm = {}; ///< hold to `oneshot` or `oneshot.ll`; NCCL is then no choice
  unsigned maxCtas = 0;       ///< the most CTAs of a launch; 0: no bound. NCCL is then no choice
  bool nccl = true;           ///< NCCL, where it has the collective
  bool multicast = false;     ///< members that use multicast: where the team has none, others do the same with less to read
  unsigned unsplitBytes = 128; ///< aligned stores of so many bytes arrive whole here: members that need more are left out
  bool symmetric = false;     ///< the buffers of every call lie in symmetric memory: members with windows are choices
  bool ncclSymmetric = false; ///< and in windows of NCCL's that it may use symmetrically: so are its symmetric kernels
};

/// One way to carry out a call.
struct Choice {
  std::string name;                ///< `oneshot.ll`, `nccl`, `nccl-symmetric`; empty: there is no way
  unsigned ctas = 0, threads = 0;  ///< of a launch; 0: by the shape rule
  std::uint64_t nanoseconds = 0;   ///< what it should take
  bool predicted = false;          ///< by the latency model; else measured, on this or a comparable machine

  bool isNccl() const { return name.rfind("nccl", 0) == 0; }
  explicit operator bool() const { return !name.empty(); }
};

/// The choices of one collective. Immutable: copies mean the same, any thread may ask, and what is returned by reference
/// lives as long as one of them. Two selectors made from the
/// same program, options and table choose alike on every machine: only integers decide.
class Selector {
public:
  /// `program` outlives it. Error::BadInput for a table that cannot be read, or a limit that leaves nothing.
  static Result<Selector> create(const Program &program, const std::string &collective,
                                 const SelectionOptions &options = {});

  /// The quickest way. The same for all sizes between two entries of steps().
  Choice choose(const Call &call) const { return ranked(call).front(); }
  /// All ways, the quickest first; never empty, but the first may be no way.
  const std::vector<Choice> &ranked(const Call &call) const;
  /// Whether a member of the program is quicker than NCCL; false where there is no such member.
  bool shouldUse(std::uint64_t bytes, DType dtype, int ranks) const;

  struct Step {
    std::uint64_t upTo; ///< bytes; the last one stands for all sizes above, too
    std::vector<Choice> choices;
  };
  /// All that can ever be chosen for a type, a number of ranks and a placement. `call.bytes` does not matter.
  const std::vector<Step> &steps(const Call &call) const;

  /// Of the table, the limits and the collective: equal on ranks that choose alike.
  std::uint64_t hash() const;

private:
  friend const selection::Candidates &candidatesOf(const Selector &selector);
  struct State;
  explicit Selector(std::shared_ptr<const State> state) : state(std::move(state)) {}
  std::shared_ptr<const State> state;
};

} // namespace coll
