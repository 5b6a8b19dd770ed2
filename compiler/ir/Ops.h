// The IR: one algorithm for one N, type, operator and sync mode, as what rank `me` does in one launch. What the checker
// proves and what the emitter prints are these very operations; nothing about synchronisation is implied by them.
//
// Every value is a vector. Outside a PacketLoop an operation acts on whole vectors; inside one it acts on packet `i` of
// each, for every `i` of the loop's domain whose packet reaches into the vector, and thread map and order are the
// loop's.
#pragma once

#include "coll/Types.h"
#include "ir/Index.h"

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace coll::ir {

/// A place in the source: byte offset of the statement an operation comes from.
using SourceOffset = std::size_t;

/// Positions in the tables of Program.
using ValueId = int;
using BufferId = int;
using MailboxId = int;
constexpr int kNone = -1;

/// How long a vector is. A Whole is the product of its extents. A Row is one of the first extent of a matrix, all of
/// one length. A Piece is part `index` of a split of a Whole into N: see Program::pieceElements.
struct Length {
  enum class Kind { Whole, Row, Piece } kind = Kind::Whole;
  std::vector<std::string> extents; ///< of the Whole, of one Row, or of the Whole that is split
  Index index;                      ///< which Piece; unused otherwise
  bool ofRows = false;              ///< of a Piece: whole rows, of which the last extent is the length

  /// Same length for every value of their indices: both can be gone over by one packet loop.
  bool sameDomain(const Length &other) const;
  bool isPieceOfRows() const { return kind == Kind::Piece && ofRows; }
  /// Whether it is declared as one element, as `f32[1]` is.
  /// Whether it is declared as a number for each row, as `f32[R][1]` is; and of such rows as another length has.
  bool isColumn() const { return extents.size() > 1 && extents.back() == "1" && (kind != Kind::Piece || ofRows); }
  bool isColumnOf(const Length &matrix) const;
  bool isOneElement() const { return kind == Kind::Whole && extents.size() == 1 && extents.front() == "1"; }
  bool operator==(const Length &other) const;
};

/// Part of an argument: all of it, row `index`, or piece `index`. With an owner it is that rank's argument, of which this
/// rank makes a window.
struct Slice {
  BufferId buffer = kNone;
  Length length;
  Index index; ///< row or piece number; unused for a Whole
  std::optional<Index> owner = {};
  unsigned depth = 1;         ///< of a Row: how many of the first extents the number counts together

  bool operator==(const Slice &other) const {
    return buffer == other.buffer && depth == other.depth && length == other.length && index == other.index && owner == other.owner;
  }
};

/// Entry: the point from which memory that earlier kernels wrote may be touched, and the epoch is this launch's.
/// Exit: the epoch moves on and the launch ends. Orders everything of a launch before everything of the next on the
/// same rank, for all GPUs.
struct KernelBoundary {
  enum class Side { Entry, Exit } side;
  SourceOffset where = 0;
};

/// result = the slice of an argument, by ordinary loads, in a peer's memory if it has an owner. With `everyRow` the slice
/// is as long as a row of the result, and every row is it; with `perRow` it has one element for each row of the result,
/// which is constant there.
struct Load {
  ValueId result;
  Slice from;
  SourceOffset where = 0;
  bool everyRow = false, perRow = false;
};

/// The slice of an argument = value, by ordinary stores, in a peer's memory if it has an owner; of a value that is the begin
/// of a vector (Value::count) as many elements as there are. With `perRow` the slice has
/// one element for each row or group of the value, which is constant there (Value::spread).
struct Store {
  Slice to;
  ValueId value;
  SourceOffset where = 0;
  bool perRow = false;
  bool multicast = false; ///< as of a Send
};

/// One element of an argument = how many elements `value` has (Value::count); by the thread of packet 0.
struct StoreCount {
  Slice to;
  ValueId value;
  SourceOffset where = 0;
};

/// Pushes `value` into `slot` of mailbox `box` of rank `peer`, in the wire form of the box's sync mode; adds it to what is
/// there if that is `counter`. With `own` set,
/// nothing is sent where `peer` is `me`: `own` is defined as the value there instead. With `multicast` it is all that a
/// loop over ranks does, the same for each of them: one store to all where the team has multicast, which reaches each at a
/// time of its own, as the sends of the loop do.
struct Send {
  MailboxId box;
  Index peer;
  Index slot;
  ValueId value;
  ValueId own = kNone;
  SourceOffset where = 0;
  bool multicast = false;
};

/// Waits until `slot` of this rank's mailbox holds this launch's data, which becomes `result`. With `own` set, slot
/// `me` is not looked at: `result` is `own` there.
struct Poll {
  ValueId result;
  MailboxId box;
  Index slot;
  ValueId own = kNone;
  SourceOffset where = 0;
};

/// As Poll without the wait: the data must be known to be there.
struct Read {
  ValueId result;
  MailboxId box;
  Index slot;
  ValueId own = kNone;
  SourceOffset where = 0;
};

/// Announces everything that this CTA has sent into `slot` of mailbox `box` of rank `peer` in this launch: releases it
/// to that rank's CTA of the same number. Outside packet loops; every rank launches the same grid.
struct Signal {
  MailboxId box;
  Index peer;
  Index slot;
  SourceOffset where = 0;
};

/// Waits until the writer of `slot` of this rank's mailbox has announced it in this launch, to this CTA; all ranks, if the
/// mailbox is a `counter`. What was announced may be Read afterwards. Outside packet loops.
struct Await {
  MailboxId box;
  Index slot;
  SourceOffset where = 0;
};

/// Makes `slot` of this rank's mailbox empty again (sentinel, counter): the copy of the launch `behind` launches before.
struct Clear {
  MailboxId box;
  Index slot;
  SourceOffset where = 0;
  int behind = 0;
};

/// Tells rank `peer` that this rank has begun the launch, and so is done with all that it has read in earlier ones.
/// Outside packet loops, before anything that waits. Relaxed, unless it `releases`.
struct Credit {
  Index peer;
  bool releases = false;
  SourceOffset where = 0;
};

/// Waits until rank `peer` is done with what the copy of mailbox `box` that this launch uses held before: until it has
/// begun the launch that many launches ago as the box has copies, but one. Inside a packet loop it orders the thread's
/// later stores by dependency; outside, it acquires for the whole CTA.
struct AwaitCredit {
  MailboxId box;
  Index peer;
  SourceOffset where = 0;
};

/// result = a number of the text, or that of ranks and loop variables, or the scalar argument of this name.
struct Constant {
  ValueId result;
  double value;
  SourceOffset where = 0;
  std::optional<Index> number = {}; ///< a whole number, instead of `value`
};
struct Argument {
  ValueId result;
  std::string scalar;
  SourceOffset where = 0;
};

/// What a Map does to each element. Operands and result are of one type that is computed in: f32, f64 or an integer,
/// which wraps; an integer divided by 0 is 0. Convert goes to the type of its result, from f32 or to f32 where one of the
/// two is a narrower float; it rounds to nearest even, integers wrap, and from f32 to i8 it is quant's and saturates.
/// Truncate makes an integer of a float, towards zero; what is too large becomes the largest, NaN 0. Inverse is 1/a, and 0
/// for what is less than the least normal number: quant's.
enum class Function { Negate, Abs, Exp, Rsqrt, Inverse, Convert, Truncate, Add, Sub, Mul, Div, Min, Max };
llvm::StringRef keyword(Function function);

/// result = function(a) or function(a, b), element by element. A value that is constant along a row, or everywhere,
/// stands for as many elements as there are.
struct Map {
  ValueId result;
  Function function;
  ValueId a, b = kNone;
  SourceOffset where = 0;
};

enum class RowOp { Sum, Mean, Max };
llvm::StringRef keyword(RowOp op);

/// result = the elements of each row of `value` combined, or of each `group` of a row, in one order on all ranks and for
/// every grid and mode: that of a balanced binary tree over the row's elements, in the type that they are computed in. Mean
/// multiplies the sum by 1/length.
struct RowReduce {
  ValueId result;
  RowOp op;
  ValueId value;
  unsigned group = 0; ///< 0: the whole row
  SourceOffset where = 0;
};

/// result = op(a, b), element by element, accumulated in the order written.
struct Combine {
  ValueId result;
  ReduceOp op;
  ValueId a, b;
  SourceOffset where = 0;
};

struct Stmt;
using Block = std::vector<Stmt>;

/// result = op over r = 0 .. N-1, in ascending order, of the `yield` of the body at `variable` = r. Narrow floats
/// accumulate in f32; where the result is of the yield's type they are rounded once. With `multicast` the body is a Load
/// from the same place of each rank and the order is free: one load that reduces where the team has multicast, else a loop.
struct Reduce {
  ValueId result;
  ReduceOp op;
  std::string variable;
  Block body;
  ValueId yield;
  SourceOffset where = 0;
  bool multicast = false;
};

/// variable = value, for a value that is declared variable (Value::variable). Its first Assign defines it.
struct Assign {
  ValueId variable;
  ValueId value;
  SourceOffset where = 0;
};

/// The body for every rank: `variable` takes all ranks once, in no promised order.
struct ForRanks {
  std::string variable;
  Block body;
  SourceOffset where = 0;
};

/// The body for variable = first, first + 1, … last, in this order; not at all if last < first. The bounds are constants
/// once N is. With `ofRanks` it was a loop over ranks, and is right in any order.
struct For {
  std::string variable;
  Index first, last;
  Block body;
  SourceOffset where = 0;
  bool ofRanks = false;
};

/// The body where the condition is not 0. It is the same for all threads of a rank and all packets: it uses `me`, loop
/// variables and scalars only. An `else` is a second If with the negated condition.
struct If {
  Index condition;
  Block body;
  SourceOffset where = 0;
};

/// Which thread of the grid of G CTAs of B threads has packet i of P, on every rank alike; thread t is thread t mod B of
/// CTA t / B. Cyclic: thread i mod (G*B). Blocked: thread i / ceil(P / (G*B)).
enum class ThreadMap { Cyclic, Blocked };

/// The body for every packet of a domain; a thread takes its packets in ascending order.
///
/// With `rows` the domain is a matrix and packets are those of its rows: row r belongs to group r mod (G/C) of C CTAs
/// that stand beside each other, packet j of it to thread j mod (C*B) of these, and packet i of a slot is packet j of row
/// r for i = r * ceil(row / packet) + j. A RowReduce waits for all packets of its row.
struct PacketLoop {
  Length domain; ///< for a Piece, the length of a full one: its index is unused
  Block body;
  SourceOffset where = 0;
  bool rows = false;
  ThreadMap map = ThreadMap::Cyclic;
};

/// CTA c of every rank waits for CTA c of all ranks; what any of them did before, all see after.
struct Barrier {
  Index number = {}; ///< among the meetings of a launch: each iteration of an ordered loop has its own. See numberBarriers
  SourceOffset where = 0;
  bool ofLaunch = false; ///< of a launch in chunks: once, before the first or behind the last of them
};

/// Orders every earlier access of a thread before every later one, for all GPUs.
struct Fence {
  SourceOffset where = 0;
};

using AnyOp = std::variant<
#define COLL_IR_FIRST_OP(Struct, Mnemonic) Struct
#define COLL_IR_OP(Struct, Mnemonic) , Struct
#include "ir/Ops.def"
    >;

struct Stmt : AnyOp {
  using AnyOp::AnyOp;
  const AnyOp &op() const { return *this; }
  AnyOp &op() { return *this; }
};

} // namespace coll::ir
