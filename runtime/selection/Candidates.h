// The ways to carry out a collective under some limits, and what each should take.
#pragma once

#include "coll/Selection.h"
#include "selection/Model.h"
#include "selection/Table.h"

#include <map>
#include <mutex>
#include <optional>
#include <set>

namespace coll::selection {

/// What is expected of one way, and where from.
struct Estimate {
  std::uint64_t nanoseconds = 0;
  unsigned ctas = 0, threads = 0;
  bool predicted = false;        ///< by the model
  const Section *from = nullptr; ///< the measurement it rests on; null if on the model alone
};

class Candidates {
public:
  /// `program` outlives it. `own` goes before the tables of the library.
  Candidates(const Program &program, const std::string &collective, const SelectionOptions &options, Table own);

  bool any() const { return !members.empty() || nccl; }
  /// Those that apply to the call, the quickest first; names decide between equals.
  std::vector<Choice> ranked(const Call &call) const;
  /// Bounds and measured sizes that decisions for such calls depend on.
  void addSizes(const Call &call, std::set<std::uint64_t> &sizes) const;
  std::uint64_t hash() const;

  /// Whether the limits leave a member.
  bool includes(const Member &member) const;
  /// Why a member is no choice for a call; empty if it is one.
  std::string reasonAgainst(const Member &member, const Call &call) const;
  /// For `oneshot.ll`, `nccl`, `nccl-symmetric`. Empty where there is nothing to go by.
  std::optional<Estimate> estimate(const std::string &name, const Call &call) const;
  /// What the model says, from these floors. Empty for what cannot be compiled for so many ranks.
  std::optional<Terms> termsOf(const std::string &name, const Call &call, int ranks, const bench::Floors &floors) const;
  /// The floors that predictions rest on.
  const bench::Floors &floorsFor(const Call &call) const;
  /// Those that anything was measured on.
  std::set<std::string> gpus() const;

private:
  double unexplained(const Call &call) const;
  bool hasWindows(const Member &member, const Call &call) const;
  const Section *sectionFor(const std::string &name, const Call &call, bool anyRanks) const;
  const Manifest *manifestOf(const Member &member, int ranks, DType dtype, ReduceOp op) const;
  const Member *memberOf(const std::string &name) const;

  const Program &program;
  const std::string collective;
  const SelectionOptions options;
  Table tables; ///< the caller's, then the library's
  std::size_t ownSections; ///< how many are the caller's
  std::vector<const Member *> members;
  bool nccl = false;

  mutable std::mutex mutex;
  mutable std::map<std::tuple<std::string, int, DType, ReduceOp>, std::optional<Manifest>> manifests;
};

} // namespace coll::selection

namespace coll {
/// What a selector weighs up: for `coll explain`.
const selection::Candidates &candidatesOf(const Selector &selector);
} // namespace coll
