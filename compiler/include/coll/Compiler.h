// The compiler as a library: text of a .coll file to CUDA text and manifest. Needs no GPU and no CUDA library.
#pragma once

#include "coll/CheckEvent.h"
#include "coll/Manifest.h"

#include <memory>

namespace coll {

namespace ir {
struct Program;
}

/// One kernel an algorithm can give: `collective.algorithm.mode`.
struct Member {
  std::string name;      ///< as written on the command line and in messages
  std::string algorithm; ///< `oneshot.ll`: the name within its collective
  std::string collective;
  int minRanks = 0, maxRanks = 0; ///< the team's range
  std::vector<DType> dtypes;      ///< types it is offered for
  std::vector<ReduceOp> ops;      ///< empty where the collective has no operator
  std::uint64_t maxBytes = 0;     ///< the bound of `when bytes <= …`; 0 if there is none
  std::string order;              ///< of operations: `ascending`, `fixed`, `any`
  /// What `tune` declares: (`ctas`, its values), …; empty where it declares nothing.
  std::vector<std::pair<std::string, std::vector<std::uint64_t>>> tune;
  bool outOfPlace = false;          ///< not for callers that use the contract's `inplace`
  bool usesMulticast = false;       ///< where the team has it; elsewhere its loops do the same
  unsigned unsplitBytes = 8;        ///< aligned stores of so many bytes must arrive whole; up to 8, PTX promises it
};

/// What to make of a program.
struct Instance {
  std::string member;
  int ranks = 0;
  DType dtype = DType::F32;
  ReduceOp op = ReduceOp::Sum; ///< ignored where the collective has none
};

/// An instance, and those whose programs look the same to the checker: types and operators that differ in name alone, or
/// in the size of their elements; or that cannot be emitted, for the same reason.
struct Likeness {
  Instance instance;
  std::vector<Instance> others;
  bool emitted = true;
};

struct CompileOptions {
  bool unchecked = false;             ///< emit although the checker refutes it, or without asking it
  bool trace = false;                 ///< a kernel that also writes down when it gets where: `coll/trace.h`
  bool strict = false;                ///< rely on the PTX memory model alone: more fences, or an error where none helps
  std::vector<std::string> dumpAfter; ///< passes (or "all") whose result to keep in Kernel::dumps
};

/// CUDA text that includes device headers, "coll/...", and how to launch it.
struct Kernel {
  std::string cuda;
  Manifest manifest;
  std::string ir;                                           ///< after all passes
  std::shared_ptr<const ir::Program> program;               ///< the same, for the interpreter; not beyond the Program's life
  std::vector<std::pair<std::string, std::string>> dumps;   ///< (pass, IR after it)
};

/// What the checker says of one instance.
struct CheckResult {
  std::string member;
  int ranks = 0;
  DType dtype = DType::F32;
  bool proved = false;
  bool untried = false; ///< not proved, though nothing is known to go wrong: not all values of scalars can be tried
  std::map<std::string, int> depth; ///< mailbox to the smallest number of copies that is safe
  std::string summary;              ///< the rule that proves it, or the counterexample's first line
  std::string strength;             ///< what the proof rests on, for a person; empty if refuted
  std::vector<std::string> assumptions; ///< of hardware beyond the PTX memory model; empty: it rests on that alone
  std::vector<CheckEvent> events; ///< if refuted: what must come first, and what may overtake it; one or two, or none
  std::vector<Extents> counts;    ///< the same: of each launch from that of the first event on
  bool fullDependence = false; ///< in every launch, every rank waits for every other
  std::vector<unsigned> removableBarriers; ///< lines of `barrier` statements without which it is proved as well
  std::string diagram;                     ///< an SVG, if asked for: ranks as lanes, messages as arrows
  double milliseconds = 0;
};

/// Members that share scratch and epochs: what is compiled of one lies in memory as all of them need it, and contexts give
/// them one region (Manifest::Workspace).
struct Workspace {
  std::string name;
  std::vector<std::string> members; ///< whole names
};

struct CheckOptions {
  bool strict = false;  ///< as CompileOptions has it
  bool diagram = false; ///< draw it
};

/// A parsed and type-checked .coll file. Immutable; safe to use from several threads.
class Program {
public:
  /// Null if the text has errors, which `diagnostics` then holds. `fileName` is only used in messages.
  static std::unique_ptr<Program> parse(std::string text, std::string fileName, Diagnostics &diagnostics);
  ~Program();

  const std::vector<Member> &members() const;
  /// `allreduce.oneshot.ll`, `oneshot.ll` if only one collective has it, `oneshot` if it has one mode. Null if there
  /// is none or more than one.
  const Member *find(std::string_view name) const;
  /// Those of a member's `dtypes` that this compiler can emit. Found when first asked for, by any thread.
  const std::vector<DType> &emittable(const Member &member) const;

  /// The syntax tree as text that parses again.
  std::string printAst() const;

  /// Checks, lowers and emits one instance. Empty with errors in `diagnostics`.
  std::optional<Kernel> compile(const Instance &instance, const CompileOptions &options,
                                Diagnostics &diagnostics) const;

  /// Proves or refutes one instance; counterexamples are errors in `diagnostics`. Empty if it cannot be checked at all.
  std::optional<CheckResult> check(const Instance &instance, Diagnostics &diagnostics,
                                   const CheckOptions &options = {}) const;

  /// All instances of a member for one number of ranks, `first` first, by what they look like to the checker.
  std::vector<Likeness> likenesses(const Member &member, const Instance &first) const;

  const std::vector<Workspace> &workspaces() const;
  /// Proves that the members of a workspace may follow each other in any order, or says at its declaration why not.
  /// Empty if a member cannot be checked at all.
  std::optional<CheckResult> checkWorkspace(const Workspace &workspace, const Instance &instance,
                                            Diagnostics &diagnostics, const CheckOptions &options = {}) const;

private:
  Program();
  struct State;
  std::unique_ptr<State> state;
};

/// The collectives of the standard library, and the text of one's file; empty if there is none of that name.
std::vector<std::string> standardLibrary();
std::optional<std::string> standardLibraryText(std::string_view collective);

/// The passes in order with one line on each, for --help and for --dump-after.
std::vector<std::pair<std::string, std::string>> listPasses();

} // namespace coll
