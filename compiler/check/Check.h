// The checker: proves that one instance of an algorithm (fixed N, type and sync mode) computes what its contract
// `ensures` and may be launched back to back on any skew between ranks, or names the two events that conflict. Reads
// the IR and changes nothing. README.md says why one execution decides.
#pragma once

#include "coll/CheckEvent.h"
#include "ir/Program.h"

#include <optional>
#include <string>
#include <vector>

namespace coll::check {

struct Options {
  /// Values of the free extents to check with, instead of the classes {1, N-1, N, large, large with short and empty
  /// trailing pieces}. Changes from any of them to any other are checked too.
  std::vector<Extents> counts;
  /// Launches over which a change of counts is followed; 0: copies + 2.
  int window = 0;
  /// The most copies of a mailbox that are tried where the author declares none; 0: N + 1.
  int maxCopies = 0;
  /// Rely on what the PTX memory model promises alone; else also on what shipping hardware does.
  bool strict = false;
  /// Go on where the values of scalars that are tried do not stand for all: it is no proof then.
  bool someScalars = false;
  /// The most bytes of an aligned store that a peer may rely on to see at once. PTX promises 8.
  unsigned atomicBytes = 128;
  /// All ranks launch the same grid in every launch of a sequence.
  bool sameGrid = true;
};

/// How many bytes of a mailbox's line have to take effect at once.
unsigned atomicBytes(ir::Sync sync);

/// A point of the execution in a counterexample.
struct Event {
  enum class What { None, Load, Store, Send, Poll, Read, Clear, Signal, Await, Barrier } what = What::None;
  int launch = 0; ///< counted from the earlier of a counterexample's two events
  int rank = 0;   ///< who does it
  int owner = 0;  ///< whose mailbox or argument it touches; `rank` but for a Send, a Signal and what a window opens
  ir::MailboxId box = ir::kNone;
  int slot = 0;
  ir::BufferId buffer = ir::kNone;  ///< of a Load or Store
  std::uint64_t begin = 0, end = 0; ///< elements: of the buffer for a Load or Store, else of the slot
  ir::SourceOffset where = 0;
};

struct Refutation {
  enum class Kind {
    WrongResult,
    RankDivergentOrder,
    ReadWithoutArrival,
    OverwriteBeforeRead,
    StaleSentinel,
    Deadlock,
    OrphanSend,
    InplaceHazard,
    MailboxTooSmall,
    MissingBarrier,
    NoSpareValue,
    AtomicityNotDeclared,
    Unbounded, ///< nothing is known to go wrong, but not all values of scalars, or not all launches in a row, can be tried
  } kind = Kind::WrongResult;
  Event first, second; ///< what must come first, and what may overtake it; `second.what` is None if there is but one
  std::string explanation; ///< what is wrong and which order is missing; lower case, no full stop, code in backticks
  std::string fix;         ///< what to do about it, in the same style; may be empty
  int ranks = 0;
  std::vector<Extents> counts;                    ///< of the launches from that of `first` on
  std::vector<std::vector<std::int64_t>> scalars; ///< of the same launches, a value for each of Program::scalars
  std::vector<int> copies;                 ///< of every mailbox in this execution; empty where they do not matter
  std::optional<ir::SourceOffset> promise; ///< the `ensures` clause that is broken
  bool noDepthHelps = false;               ///< no number of copies of the mailbox of `first` would be enough
  std::string inplace;                     ///< `y = x` if it only happens when these are the same memory
};

struct Verdict {
  bool proved = false;
  /// Per mailbox: as declared, or the smallest number that is proved. Empty if refuted.
  std::vector<int> copies;
  /// Per mailbox, the smallest number that is proved also where the author declares more. Empty if refuted.
  std::vector<int> smallest;
  /// The rule that proves it, a sentence or two for the header of the generated kernel; the explanation if refuted.
  std::string summary;
  /// What the proof rests on: the PTX memory model, and what it assumes beyond.
  std::string strength;
  /// What it assumes of hardware beyond the PTX memory model, each in a few words. Empty: it rests on the model alone.
  std::vector<std::string> assumptions;
  /// Every rank waits, directly or through others, for every other in every launch (rule T1's premise).
  bool fullDependence = false;
  std::optional<Refutation> refutation;
};

/// Proves or refutes `program`, which ir::verify() must accept. Deterministic; safe to call from several threads.
Verdict check(const ir::Program &program, const Options &options = {});

/// What the checker sees of a program before copies are chosen, but for the size of its elements: one text for programs
/// that are alike in all that it looks at.
std::string looks(const ir::Program &program);

/// The barriers of a proved program, with copies chosen, that it is proved without as well, each for itself.
std::vector<ir::SourceOffset> removableBarriers(const ir::Program &program, const Options &options = {});

/// The name of a kind in support/Diagnostics.def, e.g. "overwrite-before-read".
llvm::StringRef name(Refutation::Kind kind);

/// Its events with their places in the source; those that there are.
std::vector<CheckEvent> eventsOf(const ir::Program &program, const Refutation &refutation);

/// The counterexample as an error at the later event's source line, with the other event, the launches of the two ranks
/// side by side and what was assumed as notes, and the fix as help.
Diagnostic toDiagnostic(const ir::Program &program, const Refutation &refutation);

} // namespace coll::check
