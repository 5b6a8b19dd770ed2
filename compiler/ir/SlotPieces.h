// Which piece of a split each slot of a mailbox holds. A send says it from the writer's side, `X[p] -> p.rs[me]`, and
// may pass on what it has itself received; a read needs it from the owner's side, as a formula over `me` and `slot`.
#pragma once

#include "ir/Program.h"

namespace coll::ir {

class SlotPieces {
public:
  explicit SlotPieces(Program &p) : program(p) {}

  /// The length of what `slot` of a mailbox of pieces holds, with a stand-in for the number of the piece: all that is
  /// known before the last send has been seen.
  Length standIn(MailboxId box, const Index &slot);

  struct Failure {
    SourceOffset where;
    std::string what, help;
  };
  /// Sets the lengths of mailboxes of pieces, over `me` (the owner) and `slot`, from the sends of the whole program,
  /// and replaces the stand-ins in all values. Fails if two sends fill a slot with different pieces, or if no formula
  /// says which piece is where.
  std::optional<Failure> resolve();

private:
  struct StandIn {
    MailboxId box;
    Index slot;
  };
  /// One send, to one slot of one rank: with a piece known by number, or with what another slot holds.
  struct Filling {
    int entry, piece, from;
    SourceOffset where;
  };
  using Scope = std::vector<std::pair<llvm::StringRef, std::int64_t>>;

  Program &program;
  std::vector<StandIn> standIns;
  std::vector<int> bases;  ///< the first entry of each mailbox in `pieces`, kNone if it has none
  std::vector<int> pieces; ///< by (mailbox, owner, slot); kNone where nothing is known to be sent
  std::vector<Filling> fillings;
  Scope scope;

  const StandIn *standInOf(const Index &index) const;
  std::optional<std::int64_t> evaluate(const Index &index) const;
  int entryOf(MailboxId box, std::int64_t owner, std::optional<std::int64_t> slot) const;
  void collect(const Block &block, int me);
  void repeat(const std::string &variable, std::int64_t first, std::int64_t last, const Block &body, int me);
  void send(const Send &send, int me);
  std::optional<Failure> propagate();
  std::optional<Index> formula(MailboxId box) const;
  std::optional<Index> anySum(MailboxId box) const;
  bool fits(MailboxId box, const Index &candidate) const;
};

} // namespace coll::ir
