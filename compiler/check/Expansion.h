// A program written out for every rank: loops over ranks unrolled, every index a number, packets gathered into classes
// that take part in the same operations. What remains open are the counts of a launch, see Sizes.
#pragma once

#include "check/Check.h"

#include <cstdint>

namespace coll::check {

/// One operation of one rank, or a mark of the loops around it. The fields that a kind does not name are unused.
struct Step {
  enum class Kind : std::uint8_t {
    Load,    ///< value = buffer slice of `peer`
    Store,   ///< buffer slice of `peer` = a
    StoreCount, ///< element `number` of the buffer = how long a is
    Send,    ///< a to slot; keeps it in `value` instead if `peer` is this rank and `value` is not kNone
    Poll,    ///< value = slot, or a if that is not kNone and `index` (of the slot) is this rank
    Read,    ///< the same without waiting
    Clear,   ///< slot
    Signal,  ///< announces what was sent to slot, for all packets
    Await,   ///< waits for that
    Credit,  ///< tells `peer` that this rank has begun the launch
    AwaitCredit, ///< waits until `peer` is done with what the copy of `box` held before
    Combine, ///< value = a op b
    Fold,    ///< value = value op a; the first time, value = a
    Mean,    ///< value times 1/ranks: the end of an `avg`, whose folds are sums
    Round,   ///< value, as the program's type has it
    AnyOrder, ///< value, its operations `op` in an order that is this rank's and step's alone
    Map,     ///< value = function(a, b), of type `type`
    Number,  ///< value = `code` and `detail`, as Symbols has them, everywhere
    RowReduce, ///< value = what `code` makes of the rows of a, or of groups of `detail`
    Packets, ///< begin of a loop over the packet classes of `length`, up to `partner`; thread map `number`
    PacketsEnd,
    Branches, ///< begin of a loop over ranks whose iterations both send and receive: no order between them
    Branch,   ///< iteration `index` begins
    BranchesEnd,
    Barrier,
    Fence,
  } kind;
  ReduceOp op = ReduceOp::Sum;
  bool first = false;   ///< of a Fold
  bool releases = false; ///< of a Credit
  bool ofLaunch = false; ///< of a Barrier
  bool everyRow = false; ///< of a Load: the slice, of length `rows`, is every row
  bool perRow = false;   ///< of a Store: one element, of `rows`, for each row or group of a; of a Load: the same the other way
  bool settles = false;  ///< of a Load per row: the row's threads wait for each other before it and behind it
  bool isSlice = false; ///< begins at row `number` or piece `number` of the buffer
  int value = ir::kNone, a = ir::kNone, b = ir::kNone;
  int box = ir::kNone, peer = 0, index = 0;
  int slot = ir::kNone; ///< number of (box, owner, index) among all slots that the program touches
  int buffer = ir::kNone;
  int length = 0; ///< in Expansion::lengths; of the value that is made, stored or sent
  int piece = 0;  ///< which, if that length is a Piece
  int number = 0; ///< of a row or piece; of a Clear, how many launches behind
  int rows = 0;    ///< in Expansion::lengths
  int counts = ir::kNone; ///< of a Load: the buffer whose element `detail` says how much of the slice is loaded,
  bool countsRows = false; ///< or how many of its rows
  ir::Function function{}; ///< of a Map
  DType type{}, from{}; ///< of its result and its operands
  int code = 0;
  std::int64_t detail = 0;
  int room = 0;    ///< of a Send: the length that the slot was declared for, in Expansion::lengths
  int partner = 0; ///< of Packets and PacketsEnd: the position of the other
  int mark = ir::kNone; ///< of a Read or a Load: its number on its rank; of a Send: its reads in Expansion::computedFrom, or kNone
  int loads = ir::kNone; ///< of a Send: the same of loads
  int loop = 0, iteration = 0; ///< the outermost loop over ranks around it, from 1 up, and which of its iterations
  ir::SourceOffset where = 0;
};

struct SlotName {
  int box, owner, index;
};

/// What one launch does for one value of each scalar.
struct Variant {
  std::vector<std::int64_t> scalars;
  std::vector<std::vector<Step>> steps; ///< per rank
};

struct Expansion {
  const ir::Program *program;
  std::vector<Variant> variants;
  std::vector<ir::Length> lengths; ///< without the index of a Piece
  std::vector<SlotName> slots;
  /// Reads of a rank, or loads, by number in ascending order, without which it cannot know what it sends.
  std::vector<std::vector<int>> computedFrom;
  bool branches = false; ///< there is a Branches
  bool weak = false;     ///< there are accesses that only release and acquire order: Read, unflagged mailboxes
  bool clears = false;   ///< there is a Clear
  bool deferred = false; ///< there is a Clear of an earlier launch's copy
  int maps = 1;          ///< thread maps that loops have
  bool polls = false;    ///< there is a Poll
  bool credits = false;  ///< there is a Credit
  bool reaches = false;  ///< there are accesses of other ranks' arguments

  /// Whether a store that waits for a Poll may be all that orders it behind a plain access of another rank.
  bool relies() const { return clears || (weak && polls); }

  /// Set if an index leaves its range on some rank; the rest is then unusable.
  std::optional<Refutation> refutation;

  int boxOf(int slot) const { return slots[slot].box; }
  /// Whether what is sent to a slot shows by itself that it has arrived.
  bool shows(int slot) const {
    const ir::Sync sync = program->mailboxes[boxOf(slot)].sync;
    return sync != ir::Sync::Barrier && sync != ir::Sync::Flag && sync != ir::Sync::Counter;
  }
  /// Whether many threads wait for a line that is another's: the length of a message, the number of a row or group.
  static bool isOfOneThread(const ir::Mailbox &box) { return box.counted || box.spread != ir::Spread::Element; }
  bool isOfOneThread(int slot) const { return isOfOneThread(program->mailboxes[std::size_t(boxOf(slot))]); }
  /// Whether what is sent to a slot is added to what is there.
  bool adds(int slot) const { return ir::adds(program->mailboxes[boxOf(slot)].sync); }
};

/// Whether it matters where values are rounded to a type narrower than what they are computed in.
bool showsRoundings(const ir::Program &program);

/// With one variant for each entry of `scalars`, which has a value for each of Program::scalars.
Expansion expand(const ir::Program &program, const std::vector<std::vector<std::int64_t>> &scalars);

/// The lengths of a program for the counts of one launch.
class Sizes {
public:
  Sizes(const Expansion &expansion, Extents counts);

  const Extents &counts() const { return given; }
  /// Elements of a vector of this length; of the whole where `piece` is beyond its end, none.
  std::uint64_t elements(int length, int piece) const {
    const Entry &e = entries[length];
    if (!e.isPiece) return e.whole;
    const std::uint64_t first = std::min(e.whole, std::uint64_t(piece) * e.piece);
    return std::min(e.piece, e.whole - first);
  }
  /// Elements of the longest vector of this length: the domain of a packet loop.
  std::uint64_t longest(int length) const {
    return entries[length].isPiece ? entries[length].piece : entries[length].whole;
  }
  std::uint64_t begin(const Step &step) const {
    return step.isSlice ? begin(step.perRow ? step.rows : step.length, step.number) : 0;
  }
  /// Where a row or piece begins.
  std::uint64_t begin(int length, int number) const {
    const Entry &e = entries[length];
    return e.isPiece ? std::min(e.whole, std::uint64_t(number) * e.piece) : std::uint64_t(number) * e.whole;
  }
  /// Where a value of this length begins in the matrix that it is a piece of, if it is one.
  std::uint64_t pieceBegin(int length, int piece) const { return entries[length].isPiece ? begin(length, piece) : 0; }

  /// All the lengths, in packets, that vectors have for these counts.
  void packetCounts(std::vector<std::uint64_t> &out, std::uint64_t packetElements) const;

private:
  struct Entry {
    bool isPiece;
    std::uint64_t whole, piece;
  };
  Extents given;
  std::vector<Entry> entries;
};

/// Classes of packets of like fate for all counts of one check: class c is the packets from the end of c-1 up to
/// `ends[c]`. A vector reaches into all classes from 0 up to some class, whose last packet may be short in it.
struct Classes {
  std::uint64_t packetElements;
  std::vector<std::uint64_t> ends; ///< in elements

  int count() const { return int(ends.size()); }
  std::uint64_t begin(int c) const { return c ? ends[c - 1] : 0; }
  /// How many classes a vector of so many elements reaches into.
  int reach(std::uint64_t elements) const {
    int c = 0;
    while (c < count() && begin(c) < elements) ++c;
    return c;
  }
};

/// The elements that have one fate, as far as the proof is concerned.
std::uint64_t packetElements(const ir::Program &program);

Classes classify(const Expansion &expansion, const std::vector<Sizes> &sizes);

} // namespace coll::check
