// The syntax tree of one member's algorithm to IR. The class is one walk; what it does with each part of the language stands
// in a file of its own. Internal to ir/.
#pragma once

#include "ir/Arithmetic.h"
#include "ir/Program.h"
#include "ir/SlotPieces.h"
#include "sema/Sema.h"

#include <set>
#include <utility>

namespace coll::ir {

/// Whether a place has one element for each row or group of a value that is constant there.
bool isPerRow(const Value &value, const Length &to);

constexpr const char *kAll = "all"; ///< the variable of a multicast's loop: no name of the author's

/// Of which matrices columns `T[R][1]` are the numbers, by the extents that their rows are numbered in: how long a row is.
using ColumnsOfRows = std::map<std::vector<std::string>, std::string>;

class Builder final : public ArithmeticSink {
public:
  /// Columns go over vectors of their own, but those that `columns` has, which go by the rows of a matrix.
  Builder(const sema::Member &m, Program &p, DiagnosticEngine &d, const ColumnsOfRows &c)
      : member(m), program(p), diagnostics(d), columns(c), slotPieces(p) {}

  bool run();
  /// Adds the columns that have to go by rows, as what a run has come to says; false if there are none.
  bool learn(ColumnsOfRows &known) const;

private:
  const sema::Member &member;
  Program &program;
  DiagnosticEngine &diagnostics;
  const ColumnsOfRows &columns;
  ColumnsOfRows learnt; ///< what `columns` lacks
  std::map<const ast::Mailbox *, MailboxId> boxes;
  std::map<const ast::Let *, ValueId> lets;
  SlotPieces slotPieces;
  std::vector<bool> sentTo; ///< by mailbox: whether a send has been seen, and so what kind of vector a slot holds
  std::vector<std::optional<bool>> inRows; ///< by `counted` mailbox: whether messages count rows, once that is known
  std::map<ValueId, std::pair<std::string, ast::Span>> reductions; ///< of pieces: the variable
  std::vector<std::pair<std::string, Block *>> loops; ///< bound variable, and the block the loop stands in
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> loopRanges; ///< of the ordered loops around
  std::string firstOf; ///< the variable of a reduction, where it stands for rank 0
  std::size_t sure = 0; ///< the loops from this one on are sure to run where the statement does
  bool inChunks = false; ///< within a `pipeline`
  bool ok = true;
  std::map<const ast::Let *, ValueId> scales; ///< of what `quant` made
  std::set<const ast::Let *> computedWith;    ///< named in arithmetic somewhere
  /// Loads of one row, or of a number for each row, and what is computed of such alone, by what it is computed of: where they
  /// meet a matrix they are as long, unless they have been used as they are.
  std::map<ValueId, std::pair<ValueId, ValueId>> stretchable;
  Block *block = nullptr; ///< where arithmetic goes

  // Build.cpp
  /// Says that something means nothing, and what can be written instead.
  void slip(DiagnosticKind kind, ast::Span where, const std::string &what, const std::string &help);
  /// Of an expression that names no vector.
  void slipOfPart(const ast::Expr &expr);
  /// Of a value that is not as long as what takes it.
  void slipOfLength(ast::Span where);
  /// Of a `var` that is a message with a length of its own.
  void slipOfVariable(ast::Span where);
  /// Of a `var` that is one number.
  void slipOfNumber(ast::Span where);
  void checkBesidePipeline(const ast::Stmt &stmt, std::size_t before);
  /// What meets once a launch, beside a `pipeline`, does so before all else or behind it.
  void checkLaunchBarriers();
  void statement(const ast::Stmt &stmt, Block &out);
  /// All vectors are as long as the one that the chunks are of, so that they have the same chunks.
  void checkChunks();

  // BuildStatements.cpp
  void let(const ast::Let &s, ast::Span span, Block &out);
  void assign(const ast::Assign &s, SourceOffset where, Block &out);
  /// The store of a value of the place's type.
  void storeTo(const Slice &to, ValueId v, ast::Span span, SourceOffset where, Block &out);
  void forall(const ast::Forall &s, ast::Span span, Block &out);
  void forLoop(const ast::For &s, ast::Span span, Block &out);
  bool areFew(ast::Span span);
  void unbounded(ast::Span span, const std::string &what, const std::string &help);
  void boundedFor(For loop, const ast::For &s, ast::Span span, Block &out);
  bool eachValue(const Index &index, int most, llvm::function_ref<bool(std::int64_t)> visit) const;
  std::optional<std::pair<std::int64_t, std::int64_t>> range(const Index &index) const;
  void conditional(const ast::If &s, ast::Span span, Block &out);
  /// The outcome of a condition that is the same on all ranks and in all iterations, such as whether N is a power of two.
  std::optional<bool> sameEverywhere(const Index &condition) const;
  void pipeline(const ast::Pipeline &s, ast::Span span, Block &out);

  // BuildMailboxes.cpp
  void chooseMailedType(const sema::Algorithm &algorithm);
  void mailbox(const ast::Mailbox &decl, SourceOffset where);
  void send(const ast::Send &s, ast::Span span, Block &out);
  /// Makes the mailbox of a send one of numbers; false if it cannot be.
  bool numbersIn(const Send &send, const ast::Send &s);
  /// A send into a window is a store in the peer's memory.
  void push(const ast::Send &s, ast::Span span, Block &out);
  void await(const ast::Await &s, ast::Span span, Block &out);
  void barrier(ast::Span span, Block &out);
  ValueId poll(const ast::Mailbox &decl, Index slot, const ast::Expr &expr, Block &out);
  Length received(MailboxId box, const Index &slot);
  /// Once all sends are known: which piece each slot holds, so that all of a reduction can be seen to be one piece.
  void resolvePieces();
  /// Mailboxes that nothing is sent to for this N take no memory.
  void dropUnused();

  // BuildValues.cpp
  /// The vector an expression stands for. Loads that no loop variable enters are made outside the loops. A reduction is
  /// rounded to the element type, unless it is `wide`.
  ValueId value(const ast::Expr &expr, Block &out, bool wide = false);
  /// What arithmetic has loaded before it need not load again.
  ValueId load(const Slice &from, const ast::Expr &expr, Block &out, bool arithmetic);
  ValueId combine(const ast::Call &c, const ast::Expr &expr, Block &out);
  /// The same of values that are not of the vectors' type, or of what is to be rounded later.
  ValueId combineWide(const ast::Call &c, const ast::Expr &expr, DType type, Block &out);
  ValueId combineNumbers(ReduceOp op, ValueId x, ValueId y, DType type, const ast::Expr &expr, Block &out);
  ValueId reduce(const ast::Reduce &r, const ast::Expr &expr, Block &out, bool wide);
  void slipOfAll(const ast::Reduce &r);
  /// A reduction of what is computed of each slot, or of what is this rank's: one rank after the other.
  ValueId reduceInOrder(const ast::Reduce &r, ReduceOp op, const ast::Expr &expr, Block &out, bool wide);
  /// The part of an argument that an expression names; empty if it names none.
  std::optional<Slice> slice(const ast::Expr &expr);
  Index index(const ast::Expr &expr);

  // BuildColumns.cpp
  /// The length of a column's values that go by the rows of a matrix; nothing of any other.
  std::optional<Length> rowsOf(const Length &column) const;
  /// A column meets a matrix whose rows are so long, or is stored by such rows.
  void meets(const Length &column, const std::string &row);
  /// Columns that are stored by rows here and gone over as vectors there.
  void findStored();

  // BuildArithmetic.cpp
  int operand(const ast::Expr &expr) override;
  int scaleOf(const ast::Let &quantised, ast::Span where) override;
  int constant(double value, DType type, ast::Span where) override;
  int index(const ast::Expr &expr, DType type) override;
  int argument(const std::string &scalar, DType type, ast::Span where) override;
  int map(Function function, int a, int b, DType type, ast::Span where) override;
  int rowReduce(RowOp op, int value, unsigned group, ast::Span where) override;
  DType typeOf(int value) const override;
  Arithmetic arithmetic() { return Arithmetic(*this, program.dtype, program.op); }
  ValueId quantise(const ast::Let &let, const ast::Call &call, Block &out);
  /// A value as a place takes it: what was accumulated in f32 rounds when it is stored.
  ValueId converted(ValueId v, DType type, ast::Span where, Block &out);
  /// Two operands go element by element: a row beside a matrix stands for all its rows, a number for each row for all of it.
  void align(ValueId &a, ValueId &b, ast::Span where);
  void refuseOneNumber(ast::Span where);
  /// The value as one of this length.
  ValueId stretched(ValueId v, const Length &to, ast::Span where);
  /// The same value made again, by a load or of loads; kNone if it is made of anything else.
  ValueId madeAgain(ValueId v);
  bool makesNumbers(ValueId v, const Length &to, ast::Span where);
  bool sendAsNumbers(MailboxId number, const Length &to, ast::Span where);
  /// All that there are so far, outer before inner.
  std::vector<Block *> blocks();
  /// Calls `visit` for the statement that makes a value.
  void findMaker(ValueId v, llvm::function_ref<void(Stmt &)> visit);
  /// It is used with the length that it has.
  void asItself(ValueId v);
  /// The names that arithmetic computes with: what they stand for is not rounded before.
  bool roundsAName(const ast::Expr &expr) const;
  bool isOfOtherType(const ast::Type &type) const;
  void findComputedWith(const ast::Block &stmts);

  // BuildCounts.cpp
  std::optional<Slice> element(const ast::Expr &expr);
  /// `got[r] = box[r].count`
  void storeCount(const ast::Expr &target, const ast::Member &count, SourceOffset where, Block &out);
  /// `prefix(y[r], got[r]) = e`: as many elements or rows as e has.
  void assignPrefix(const ast::Call &target, const ast::Assign &s, SourceOffset where, Block &out);
  /// `prefix(x[p], n[p])`: the begin of a part of an input, as long as a number of an input says.
  ValueId prefix(const ast::Call &call, const ast::Expr &expr, Block &out);
  void countsIn(const Count &count, bool rows, ast::Span where);
  std::optional<Count> commonCount(ValueId a, ValueId b, ast::Span where);
  void resolveCounts();
};

} // namespace coll::ir
