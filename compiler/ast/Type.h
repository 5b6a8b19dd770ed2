// Types of expressions, as sema finds them: element, shape with symbolic extents, and the kinds that are no data.
#pragma once

#include "coll/Types.h"

namespace coll::ast {

struct Generic;
struct Expr;

/// How a message's arrival is known.
enum class SyncMode {
#define COLL_SYNC(Enum, Keyword) Enum,
#include "ast/SyncModes.def"
};
std::string_view keyword(SyncMode mode);
std::optional<SyncMode> parseSyncMode(std::string_view keyword);
/// Whether a mailbox of the mode is added to, with `+>`.
inline bool adds(SyncMode mode) {
  return mode == SyncMode::Counter || mode == SyncMode::Counter16 || mode == SyncMode::Counter128;
}

/// How a slot may be written again.
enum class ReuseRule { DoubleBuffer, Ack, Barrier };
std::string_view keyword(ReuseRule rule);
std::optional<ReuseRule> parseReuseRule(std::string_view keyword);

/// A symbolic number of elements.
struct Extent {
  enum class Kind {
    Number,  ///< `number`
    Ranks,   ///< N
    Free,    ///< `name`, bound at launch
    Piece,   ///< of operands[0] split in operands[1] parts: the longest piece; trailing ones may be shorter or empty
    Dynamic, ///< `count` elements, at most operands[0]: `prefix`, and reads of a counted mailbox (then count is null)
    Arith,   ///< operands[0] `op` operands[1]; op is one of + - * /, or `l`: log2 of operands[0] alone
  };
  Kind kind = Kind::Number;
  std::uint64_t number = 0;
  std::string name;
  char op = 0;
  std::vector<Extent> operands;
  const Expr *count = nullptr;

  bool operator==(const Extent &other) const;
  std::string str() const; ///< as in the source: `M`, `N`, `M/N` …
  /// The same with the terms of sums and the factors of products in one order, `N` and numbers first: `N*2*M`. Of equal
  /// extents alike; coll/Extent.h reads it.
  std::string canonical() const;
};

/// An element type: a dtype, or a type parameter; or what reductions over it accumulate in (f32 for narrower floats).
struct Element {
  std::optional<DType> dtype;
  const Generic *param = nullptr;
  bool accumulator = false; ///< the accumulation type of the above; rounds to it when assigned or sent
};

struct Type {
  enum class Kind {
    Error, ///< already reported
    Bool,
    Int,     ///< a plain integer of the program text: `N`, a loop variable, `n[p]` used as an index
    Rank,    ///< an integer modulo N
    Value,   ///< data: `element` with `shape`; a scalar if the shape is empty
    Set,     ///< `ranks`
    Op,      ///< a reduction operator
    Float,   ///< a literal such as `1.5` or an integer literal in arithmetic on data; takes the other side's type
    Scheme,  ///< `per_row`, `per_tensor(s)`, `group(128)`
    Mailbox, ///< a mailbox named without the slot it needs
    DType,   ///< an element type as an argument of `quant`
  };
  Kind kind = Kind::Error;
  Element element;
  std::vector<Extent> shape; ///< outermost first

  bool isValue() const { return kind == Kind::Value; }
  bool isIndex() const { return kind == Kind::Int || kind == Kind::Rank; }
};

/// The type in the source's words: `T[M]`, `f32`, `rank`.
std::string str(const Type &type);
std::string str(const Element &element);

/// What reductions over a type accumulate in.
DType accumulatorOf(DType type);

} // namespace coll::ast
