// The syntax tree: plain structs, names as written, spans as byte offsets into the source text. The parser builds it;
// sema fills in the members marked "sema" and changes nothing else. Not to be moved or edited after sema: declarations
// are referred to by pointer.
#pragma once

#include "ast/Type.h"
#include "support/Diagnostics.h"

#include <memory>
#include <variant>

namespace coll::ast {

/// Bytes [begin, end), as offsets into the Sources of the compilation.
using Span = SourceRange;

struct Name {
  std::string text;
  Span span;
};

struct Collective;
struct Param;
struct Generic;
struct Mailbox;
struct View;
struct Let;
struct Variable;
struct Expr;
struct Stmt;
using ExprPtr = std::unique_ptr<Expr>;
using Block = std::vector<Stmt>;

/// A name that the language itself defines.
enum class Builtin {
  N,     ///< number of ranks, an integer
  Me,    ///< this rank
  Ranks, ///< the set of all ranks
  All,   ///< `all.box[i]`: every rank at once
  Bytes, ///< `bytes` in `when`: size of the message as nccl-tests count it
  True,
  False,
  Function, ///< see Call::function
  DType,    ///< an element type; NameRef::dtype
  Op,       ///< a reduction operator; NameRef::op
  Rank,     ///< `rank` as a type
  Count,    ///< `box[r].count`: elements of a counted message
  Scale,    ///< `q.scale`: the scales that `quant` chose
};

/// A free extent (`M`, `H`): declared by its first use in the contract's parameters.
struct ExtentRef {
  std::string name;
};

/// What a name stands for. `monostate` before sema.
using Ref = std::variant<std::monostate, const Param *, const Generic *, const Mailbox *, const View *, const Let *,
                         const Variable *, ExtentRef, Builtin>;

// ---- Expressions ----

/// `17`, or `256Ki` with the unit already multiplied in.
struct IntLit {
  std::uint64_t value = 0;
  std::string text;
};

struct FloatLit {
  double value = 0;
  std::string text;
};

struct NameRef {
  std::string name;
  Ref ref;             ///< sema
  coll::DType dtype{}; ///< sema: of Builtin::DType
  coll::ReduceOp op{}; ///< sema: of Builtin::Op
};

/// `p.box`, `r.x`: something that rank p owns (base has type Rank, or is `all`); `box[r].count`, `q.scale`.
struct Member {
  ExprPtr base;
  Name name;
  Ref ref; ///< sema: Mailbox, Param or View of that rank; Builtin::Count; Builtin::Scale
};

struct Index {
  ExprPtr base, index;
};

/// The functions of the language; `Apply` is an operator used as one: `op(a, b)`, `max(a, b)`.
enum class Function {
  Apply,
  RowMean,
  RowMax,
  RowSum,
  Rsqrt,
  Exp,
  Abs,
  Quant,
  PerTensor,
  Group,
  Prefix,
  PrefixRows,
  Chunks,
  Split,
  SplitRows,
  Pow2,
  Log2,
  Old
};

struct Call {
  Name callee;
  std::vector<ExprPtr> args;
  Function function{}; ///< sema
  Ref op;              ///< sema: of Apply: Generic, or Builtin::Op with `builtinOp`
  coll::ReduceOp builtinOp{};
};

/// A variable that a loop, a quantifier or `reduce` binds: a rank over `ranks`, an integer over a range.
struct Variable {
  Name name;
  Type type; ///< sema
};

/// `reduce(op, r in ranks: body)`: in ascending order of r; over `all`, in any.
struct Reduce {
  ExprPtr op; ///< a NameRef: a Generic or Builtin::Op
  Variable variable;
  ExprPtr set; ///< a NameRef: Builtin::Ranks, or Builtin::All in an algorithm
  ExprPtr body;
};

enum class UnaryOp { Negate, Not };
enum class BinaryOp { Mul, Div, Mod, Add, Sub, Shl, Shr, Xor, Lt, Le, Gt, Ge, Eq, Ne, And, Or };
std::string_view spelling(BinaryOp op);

struct Unary {
  UnaryOp op{};
  ExprPtr operand;
  bool moduloN = false; ///< sema: arithmetic on ranks
};

struct Binary {
  BinaryOp op{};
  ExprPtr lhs, rhs;
  bool moduloN = false; ///< sema: arithmetic on ranks
};

/// `e as f32`, `e as T`, `k as rank`.
struct Cast {
  ExprPtr operand;
  Name to;
  Type target; ///< sema: the element type, without a shape
};

struct Expr {
  Span span;
  std::variant<IntLit, FloatLit, NameRef, Member, Index, Call, Reduce, Unary, Binary, Cast> node;
  Type type; ///< sema
};

// ---- Statements ----

/// A landing zone in every rank's region.
struct Mailbox {
  Name name;
  ExprPtr slots;   ///< null: one slot, used without an index
  ExprPtr element; ///< a type (`T[M]`) or a value whose type is meant (`X[0]`: a piece of a split view)
  bool counted = false;
  Name sync;                          ///< a mode, or a mode parameter of the algorithm
  std::optional<Name> reuse;          ///< `double_buffer`, `ack` or `barrier`
  ExprPtr depth;                      ///< null: the least that is safe
  Extent slotCount;                   ///< sema: 1 without `slots`
  Type type;                          ///< sema: of one slot
  const Generic *syncParam = nullptr; ///< sema: the mode parameter; null if `sync` is a mode
  std::optional<SyncMode> syncMode;   ///< sema: the mode, if it is not a parameter
  std::optional<ReuseRule> reuseRule; ///< sema
  std::optional<unsigned> depthCount; ///< sema
};

/// Peers touch the caller's buffer directly.
struct Window {
  Name param;
  std::optional<Name> sync;
  const Param *ref = nullptr;         ///< sema
  std::optional<SyncMode> syncMode;   ///< sema; empty if a mode parameter or absent
  const Generic *syncParam = nullptr; ///< sema
};

/// Another way to see a value; costs nothing. `split(x, N)` has one piece for each rank.
struct View {
  Name name;
  ExprPtr value;
};

struct ViewStmt {
  std::vector<View> views;
};

struct Let {
  bool mutableVar = false; ///< `var`
  Name name;
  ExprPtr declaredType; ///< null: that of the value
  ExprPtr value;
  Type type; ///< sema
};

struct Assign {
  ExprPtr target, value;
};

struct Send {
  ExprPtr value, target;
  bool add = false;         ///< `+>`: remote atomic add
  bool keywordForm = false; ///< written `send e to target`
  // sema: the target taken apart.
  const Expr *rank = nullptr;        ///< the receiver; null for `all`
  const Mailbox *mailbox = nullptr;  ///< or
  const Param *window = nullptr;     ///< the peer's buffer
  std::vector<const Expr *> indices; ///< slot of a mailbox, or the indices into a window
};

struct Await {
  ExprPtr place; ///< a place in a window
};

enum class BarrierKind { Plain, Entry, Exit };
struct Barrier {
  BarrierKind kind{};
};

/// Iterations are independent; `from` says where each rank starts, to spread the load.
struct Forall {
  Variable variable;
  ExprPtr set; ///< a NameRef: Builtin::Ranks
  ExprPtr from;
  Block body;
};

/// In order, both ends included, empty when last < first.
struct For {
  Variable variable;
  ExprPtr first, last;
  Block body;
};

/// `pipeline c in 0 .. chunks(v, SIZE)`: the body sees chunk c of everything that is as long as v.
struct Pipeline {
  Variable variable;
  ExprPtr first, last;
  Block body;
  const Expr *vector = nullptr; ///< sema: v
  std::uint64_t chunkBytes = 0; ///< sema: SIZE
};

struct If {
  ExprPtr condition;
  Block then, otherwise;
  bool hasElse = false;
};

struct TuneAxis {
  Name name; ///< `ctas` or `threads`
  std::vector<std::uint64_t> values;
  Span span;
};

struct Tune {
  std::vector<TuneAxis> axes;
};

struct Stmt {
  Span span;
  std::variant<Mailbox, Window, ViewStmt, Let, Assign, Send, Await, Barrier, Forall, For, Pipeline, If, Tune> node;
};

// ---- Declarations ----

enum class ParamDirection { In, Out, InOut };

struct Param {
  ParamDirection direction{};
  Name name;
  ExprPtr typeExpr;
  Type type; ///< sema; a Value with a shape is a buffer, without one a scalar; Rank is a scalar
  bool replicated = false; ///< sema: a buffer that holds the same on all ranks at entry
  bool isScalar() const { return type.shape.empty(); }
};

enum class GenericKind { Type, Op, Mode };

/// `T in numeric`, `op in {sum, max}`, `S in {ll, flag}`: a parameter in angle brackets.
struct Generic {
  Name name;
  std::vector<Name> set; ///< as written: elements of a set, or the one name of a class of types
  bool braces = false;
  Span span;
  GenericKind kind{};              ///< sema
  std::vector<coll::DType> dtypes; ///< sema: of Type
  std::vector<coll::ReduceOp> ops; ///< sema: of Op
  std::vector<SyncMode> modes;     ///< sema: of Mode
};

/// `inplace(y = x)`: the caller may pass the same memory for both; one side may be a part (`y[me]`).
struct InPlace {
  ExprPtr lhs, rhs;
  Span span;
};

/// `ensures forall r in ranks: y[r] == r.x`
struct Ensures {
  std::vector<Variable> variables; ///< the `forall`s, outermost first
  std::vector<ExprPtr> sets;       ///< what each ranges over: a NameRef, Builtin::Ranks
  ExprPtr condition;
  Span span;
};

struct Collective {
  Name name;
  std::vector<Generic> generics;
  std::vector<Param> params;
  std::vector<InPlace> inplace;
  std::vector<Name> replicated; ///< arguments that hold the same on all ranks at entry
  std::vector<Ensures> ensures;
  Span span;
};

struct TeamLevel {
  Name kind;           ///< `lsa`
  ExprPtr first, last; ///< last is null for a single number
};

struct Algorithm {
  Name name;
  std::vector<Generic> modes;
  Name collective;
  std::vector<Generic> restriction; ///< after the collective's name; narrows its sets
  std::vector<TeamLevel> team;      ///< outermost first; more than one is reserved
  ExprPtr when;                     ///< null: always
  std::optional<Name> order;
  bool outOfPlace = false;
  Block body;
  Span span;
};

struct Use {
  Name collective;
};

struct Workspace {
  Name name;
  std::vector<Name> members; ///< `allreduce.oneshot.ll`, the whole dotted name
};

using Item = std::variant<std::unique_ptr<Use>, std::unique_ptr<Collective>, std::unique_ptr<Algorithm>,
                          std::unique_ptr<Workspace>>;

/// One .coll file.
struct File {
  std::vector<Item> items;
};

/// The file as text in the usual layout. It parses to the same tree; comments are lost.
std::string print(const File &file);
std::string print(const Expr &expr);
std::string print(const Stmt &stmt);

} // namespace coll::ast
