// What vectors hold, as expressions over the inputs of the launch: which element of which argument of which rank went
// in, combined in which order.
#pragma once

#include "ir/Program.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <map>

namespace coll::check {

/// Position in Symbols. Nodes of equal structure are one node.
using Node = int;

/// Elements [begin, end) of a vector: element k is `node` at k + shift. For an input that is element k + shift of the
/// argument; an operation takes its left operand there and its right one at k + shift + Symbols::delta. What is constant
/// along rows is the same function of the element as of any other of its row; no shift takes a row apart.
struct Segment {
  std::uint64_t begin, end;
  Node node;
  std::int64_t shift;
};

/// In ascending order, without gaps.
using Content = llvm::SmallVector<Segment, 1>;

class Symbols {
public:
  /// No value: memory that nothing of this launch was written to.
  static constexpr Node kUnwritten = 0;

  explicit Symbols(const ir::Program &program);

  /// What an argument holds at entry: on all ranks the same where it is replicated.
  Node input(int rank, ir::BufferId buffer) const {
    return 1 + (program.buffers[buffer].replicated ? 0 : rank) * buffers + buffer;
  }

  /// a op b, for vectors of the same elements. Both orders of the two are the same node; how operations nest is not.
  void combine(ReduceOp op, const Content &a, const Content &b, Content &out);
  Segment combine(ReduceOp op, const Segment &a, const Segment &b);

  /// A step of a reduction that is promised and whose order is free: `a` op the next contribution. Of promises alone;
  /// Match says what fulfils it.
  void fold(ReduceOp op, const Content &a, const Content &b, Content &out);
  Segment fold(ReduceOp op, const Segment &a, const Segment &b) { return pair(kFolds + int(op), a, b); }

  /// The same with all operations in an order that is not known, and another one for each `number`.
  void anyOrder(Content &content, ReduceOp op, int number);
  /// What the nodes of arithmetic do; reductions and operators are of their ReduceOp, and so is the arithmetic that
  /// computes the same.
  enum Code : int {
    kMaps = 16,       ///< + Function
    kConverts = 64,   ///< + DType
    kRows = 128,      ///< + RowOp; of groups of `delta` elements if that is not 0
    kPrefix = 144,    ///< the operand as far as element `delta` of the right one, a number, says
    kPrefixRows,      ///< the same in rows
    kEveryRow = 160,  ///< element e is element e mod row + `delta` of the operand
    kOfRow,           ///< element r is that of row r, `delta` further
    kSpread,          ///< element e is that of its row's number, `delta` further
    kFolds = 176,     ///< + ReduceOp; see fold()
    kConstant = 192,  ///< its bits are `delta`
    kWhole,           ///< the whole number `delta`
    kArgument,        ///< number `delta` of Program::scalars
  };

  static bool isPrefix(int op) { return op == kPrefix || op == kPrefixRows; }

  /// An operation of one operand; `detail` is what Code says of `delta`.
  Segment apply(int code, const Segment &of, std::int64_t detail = 0);
  void apply(int code, const Content &of, Content &out, std::int64_t detail = 0);
  /// A Map, of one or two operands of type `from`; `type` is that of its result.
  void map(ir::Function function, const Content &a, const Content *b, DType from, DType type, Content &out);
  /// By what the steps of a reduction combine, and of one of all ranks by `avg` its end: the sum times 1/ranks.
  static ReduceOp folded(ReduceOp op) { return op == ReduceOp::Avg ? ReduceOp::Sum : op; }
  void mean(const Content &sum, Content &out);
  /// What has element r of a node that is constant along rows for row r, `shift` elements further: a column where the rows are
  /// its numbers.
  Segment ofRows(Node node, std::int64_t shift);
  /// The other way: what has along row r the element r of a column, `shift` elements further.
  Segment alongRows(Node column, std::int64_t shift);
  /// The begin of a vector, as long as an element of an input says, or of as many rows; and what says how long a node is, if it
  /// is such. What is computed of such vectors, element by element or row by row, is one itself.
  Content prefix(const Content &of, Node counts, std::int64_t element, bool rows);
  std::optional<Segment> countOf(Node node) const;
  /// What is the same everywhere, for vectors of any length.
  Content everywhere(Code code, std::int64_t detail);

  /// The expression in the text's terms, cut short where it is long, and what two of them differ in: the first places
  /// where they do.
  std::string text(Node node, std::int64_t at, unsigned depth = 4) const;
  void descend(Node &a, std::int64_t &atA, Node &b, std::int64_t &atB) const;

  struct Leaf {
    int rank;
    ir::BufferId buffer;
    std::int64_t element;
    bool operator<(const Leaf &o) const {
      return std::tie(rank, buffer, element) < std::tie(o.rank, o.buffer, o.element);
    }
    bool operator==(const Leaf &) const = default;
  };
  /// What is rounded last of all to the program's type, where that is narrower than what it accumulates in.
  Node unrounded(Node node) const;
  /// The inputs that element `at` of a node is made of, and whether all operations are `op`.
  /// Memory without a value counts as a leaf of rank -1.
  /// No more than `most` of them: operands may be shared, and so be inputs very often.
  bool leaves(Node node, std::int64_t at, std::optional<ReduceOp> op, std::size_t most, std::vector<Leaf> &out) const;

  struct Operation {
    int op; ///< a ReduceOp or a Code
    Node left, right; ///< kNone where there is none
    std::int64_t delta;
    bool operator==(const Operation &) const = default;
  };
  /// Null of an input and of memory without a value. Until the next operation is made.
  const Operation *operation(Node node) const {
    return node < firstOperation ? nullptr : &operations[std::size_t(node - firstOperation)];
  }
  /// Whether a node is one number, whatever the element: made of constants and scalar arguments alone.
  bool isEverywhere(Node node) const { return node >= firstOperation && everywhereToo[std::size_t(node - firstOperation)]; }
  /// Whether a node is the same at all shifts that vectors have, which are whole rows: one number, or a row for every row.
  bool hasNoPlace(Node node) const { return node >= firstOperation && placeless[std::size_t(node - firstOperation)]; }
  /// Whether all that a node can be is of a type, so that rounding to it changes nothing.
  bool isA(Node node, DType type) const;
  /// The same without any rounding to the program's type.
  Segment withoutRoundings(const Segment &segment);

private:
  /// What a mean is the mean of, and its element instead of the mean's; kNone if it is none.
  Node sumOf(Node node, std::int64_t &at) const;

  const ir::Program &program;
  int buffers;
  Node firstOperation;
  std::vector<Operation> operations;
  std::vector<bool> everywhereToo, placeless; ///< by operation
  std::map<Node, bool> ofRowsToo;                               ///< see isOfRows
  std::map<std::pair<Node, std::int64_t>, Segment> numbersOf; ///< what ofRows has made of such
  std::map<std::pair<Node, std::int64_t>, Segment> spread;    ///< what alongRows has made
  std::vector<Node> table; ///< open addressing by hash; 0 where empty

  /// What says how long a node is; null if nothing does, or not of what `code` makes of it.
  const Operation *prefixOf(Node node, int code) const;
  bool isNumber(const Operation &operation) const;
  bool isOfRows(Node node);
  bool isPlaceless(const Operation &operation) const;
  Segment exact(Node node, std::map<Node, Segment> &done);
  Segment pair(int code, Segment a, Segment b);
  Node intern(const Operation &operation);
  void grow();
};

/// Adds a segment, as part of the one before if it goes on in the same way.
void append(Content &content, Segment segment);

} // namespace coll::check
