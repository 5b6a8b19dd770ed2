// Names, literals and arithmetic.
#include "sema/Context.h"

#include <utility>

namespace coll::sema {

using namespace ast;

namespace {

using Kind = Type::Kind;

Type error() {
  return makeType(Kind::Error);
}
bool isError(const Type &type) {
  return type.kind == Kind::Error;
}

/// An integer argument or element, such as `n[p]`, may be used where the text needs an integer.
bool isIntegerLike(const Context &context, const Type &type) {
  return type.isIndex() || (type.isValue() && type.shape.empty() && isIntElement(context, type.element));
}

Type misplaced(Context &context, Span where, std::string message, std::string help = {}) {
  context.error(DiagnosticKind::Misplaced, where, std::move(message)).help(std::move(help));
  return error();
}

Type checkBuiltin(Context &context, Builtin builtin, const NameRef &ref, Span where) {
  switch (builtin) {
  case Builtin::N: return makeType(Kind::Int);
  case Builtin::Me:
    if (context.place == Place::When)
      return misplaced(context, where, "`when` is decided by the host and alike on all ranks; it cannot use `me`");
    return makeType(Kind::Rank);
  case Builtin::Ranks: return makeType(Kind::Set);
  case Builtin::All:
    return misplaced(context, where, "`all` can only be sent to, or reduced over",
                     "a multicast is written `e -> all.box[i]`, or `reduce(op, p in all: p.x)`");
  case Builtin::Bytes:
    if (context.place != Place::When) return misplaced(context, where, "`bytes` is only known in `when`");
    return makeType(Kind::Int);
  case Builtin::True:
  case Builtin::False: return makeType(Kind::Bool);
  case Builtin::DType: {
    Type type = makeType(Kind::DType);
    type.element.dtype = ref.dtype;
    return type;
  }
  case Builtin::Op: return makeType(Kind::Op);
  default:
    return misplaced(context, where, "`" + ref.name + "` is a type, not a value",
                     ref.name == "rank" ? "the set of all ranks is `ranks`" : "");
  }
}

Type checkArgument(Context &context, const Param &param, Span where) {
  bool unassigned = context.place == Place::Body && param.direction == ParamDirection::Out && !context.typeOnly &&
                    !context.assigned.contains(&param) && !context.windows.contains(&param);
  if (unassigned) {
    context.error(DiagnosticKind::Unassigned, where, "`" + param.name.text + "` is read before it is assigned")
        .note(param.name.span, "`out` arguments hold nothing at entry");
    context.assigned.insert(&param);
  }
  if (context.place == Place::When && !param.type.isIndex())
    return misplaced(context, where, "`when` is decided before the launch; it cannot read `" + param.name.text + "`");
  return param.type;
}

Type checkView(Context &context, const View &view, Span where) {
  if (isSplit(view) && !context.wholeSplit) {
    context
        .error(DiagnosticKind::TypeMismatch, where,
               "`" + view.name.text + "` has a piece for each rank and cannot be used whole")
        .note(view.name.span, "split here")
        .help("choose a piece: `" + view.name.text + "[me]`");
    return error();
  }
  if (const Param *param = argumentOf(*view.value)) checkArgument(context, *param, where);
  return view.value->type;
}

Type checkName(Context &context, NameRef &ref, Span where) {
  if (auto builtin = builtinNamed(ref.name, &ref.dtype, &ref.op)) {
    ref.ref = *builtin;
    return checkBuiltin(context, *builtin, ref, where);
  }
  const Scope::Entry *entry = context.scope.find(ref.name);
  if (!entry) {
    context.scope.reportUnknown(ref.name, where);
    return error();
  }
  ref.ref = entry->ref;
  if (auto *param = std::get_if<const Param *>(&ref.ref)) return checkArgument(context, **param, where);
  if (auto *generic = std::get_if<const Generic *>(&ref.ref)) {
    if ((*generic)->kind == GenericKind::Op) return makeType(Kind::Op);
    if ((*generic)->kind == GenericKind::Mode)
      return misplaced(context, where, "`" + ref.name + "` is a sync mode; it can only follow `sync`");
    Type type = makeType(Kind::DType);
    type.element.param = *generic;
    return type;
  }
  if (auto *mailbox = std::get_if<const Mailbox *>(&ref.ref)) return readMailbox(context, **mailbox, nullptr, where);
  if (auto *view = std::get_if<const View *>(&ref.ref)) return checkView(context, **view, where);
  if (auto *let = std::get_if<const Let *>(&ref.ref)) return (*let)->type;
  if (auto *variable = std::get_if<const Variable *>(&ref.ref)) {
    if (*variable != context.chunk) return (*variable)->type;
    context.error(DiagnosticKind::Misplaced, where, "`" + ref.name + "` is the number of a chunk, and every chunk does the same")
        .help("the body sees of each vector its chunk, without a number");
    return error();
  }
  return makeType(Kind::Int); // an extent
}

// ---- Operators ----

Type mismatch(Context &context, const Expr &lhs, const Expr &rhs, Span where, std::string_view op, std::string why, std::string_view because = "") {
  context
      .error(DiagnosticKind::TypeMismatch, where,
             "`" + std::string(op) + "` cannot combine " + describe(lhs.type) + " and " + describe(rhs.type) + std::string(because))
      .help(std::move(why));
  return error();
}

/// Arithmetic where at least one side is data; literals and integers take the other side's type.
Type combineValues(Context &context, Binary &binary, Span where) {
  const Expr &lhs = *binary.lhs, &rhs = *binary.rhs;
  const Type &a = lhs.type, &b = rhs.type;
  std::string_view op = spelling(binary.op);
  const auto *divisor = std::get_if<IntLit>(&rhs.node);
  if (divisor && divisor->value == 0 && binary.op == BinaryOp::Div && !isFloatElement(context, a.element)) {
    context.error(DiagnosticKind::OutOfRange, rhs.span, "an integer is divided by zero");
    return error();
  }
  if (!a.isValue() || !b.isValue()) {
    const Type &value = a.isValue() ? a : b, &other = a.isValue() ? b : a;
    if (other.kind == Kind::Rank) return mismatch(context, lhs, rhs, where, op, "a rank is not data");
    if (other.kind == Kind::Int) return value;
    if (other.kind != Kind::Float) return mismatch(context, lhs, rhs, where, op, "");
    if (isFloatElement(context, value.element)) return value;
    return mismatch(context, lhs, rhs, where, op, "the data may be of an integer type");
  }
  auto element = commonElement(context, a.element, b.element);
  if (!element) return mismatch(context, lhs, rhs, where, op, "convert one side with `as`");
  auto shape = commonShape(a.shape, b.shape);
  const auto isPiece = [](const Type &type) { return !type.shape.empty() && type.shape.back().kind == Extent::Kind::Piece; };
  if (!shape)
    return mismatch(context, lhs, rhs, where, op,
                    isPiece(a) || isPiece(b) ? "a piece may end within a row, so a row cannot stand beside it, but beside those of `split_rows(m, N)`"
                                             : "use vectors of one length; beside a matrix `T[R][H]` also one row for all, `T[H]`, or a number for each, `f32[R][1]`",
                    ": their extents differ");
  return valueType(*element, std::move(*shape));
}

bool isBitwise(BinaryOp op) {
  return op == BinaryOp::Shl || op == BinaryOp::Shr || op == BinaryOp::Xor || op == BinaryOp::Mod;
}

/// `/`, `%` and `>>` take a rank apart and give plain integers; everything else stays a rank.
bool staysRank(BinaryOp op) {
  return op != BinaryOp::Div && op != BinaryOp::Mod && op != BinaryOp::Shr;
}

Type checkArithmetic(Context &context, Binary &binary, Span where) {
  const Type &a = binary.lhs->type, &b = binary.rhs->type;
  if (a.isIndex() && b.isIndex()) {
    const auto *divisor = std::get_if<IntLit>(&binary.rhs->node);
    if (divisor && divisor->value == 0 && (binary.op == BinaryOp::Div || binary.op == BinaryOp::Mod)) {
      context.error(DiagnosticKind::OutOfRange, binary.rhs->span, "an integer is divided by zero");
      return error();
    }
    binary.moduloN = (a.kind == Kind::Rank || b.kind == Kind::Rank) && staysRank(binary.op);
    return makeType(binary.moduloN ? Kind::Rank : Kind::Int);
  }
  if (isBitwise(binary.op)) {
    if (isIntegerLike(context, a) && isIntegerLike(context, b)) return makeType(Kind::Int);
    return mismatch(context, *binary.lhs, *binary.rhs, where, spelling(binary.op), "it is for integers and ranks");
  }
  auto isNumber = [](const Type &type) { return type.kind == Kind::Float || type.kind == Kind::Int; };
  if (isNumber(a) && isNumber(b)) return makeType(Kind::Float);
  if (a.isValue() || b.isValue()) return combineValues(context, binary, where);
  return mismatch(context, *binary.lhs, *binary.rhs, where, spelling(binary.op), "");
}

bool isN(const Expr &expr) {
  const auto *name = std::get_if<NameRef>(&expr.node);
  const auto *builtin = name ? std::get_if<Builtin>(&name->ref) : nullptr;
  return builtin && *builtin == Builtin::N;
}

/// Sums with a rank are modulo N, so each is less than N.
void warnOfModulo(Context &context, const Binary &binary, Span where) {
  const bool left = binary.lhs->type.kind == Kind::Rank && isN(*binary.rhs);
  const bool right = binary.rhs->type.kind == Kind::Rank && isN(*binary.lhs);
  if (!left && !right) return;
  const BinaryOp less = left ? BinaryOp::Lt : BinaryOp::Gt, notLess = left ? BinaryOp::Ge : BinaryOp::Le;
  const bool always = binary.op == less || binary.op == BinaryOp::Ne, never = binary.op == notLess || binary.op == BinaryOp::Eq;
  if (!always && !never) return;
  context.diagnostics
      .warning(DiagnosticKind::OutOfRange, where, always ? "this is always true: a rank is less than `N`, and a sum with one is modulo `N`"
                                                         : "this is never true: a rank is less than `N`, and a sum with one is modulo `N`")
      .help("`% N` makes a plain integer of a rank: `(me - root) % N + k < N`");
}

Type checkComparison(Context &context, Binary &binary, Span where) {
  const Type &a = binary.lhs->type, &b = binary.rhs->type;
  warnOfModulo(context, binary, where);
  bool integers = isIntegerLike(context, a) && isIntegerLike(context, b);
  bool conditions = a.kind == Kind::Bool && b.kind == Kind::Bool;
  if (!integers && !conditions) {
    if (!a.isValue() && !b.isValue())
      return mismatch(context, *binary.lhs, *binary.rhs, where, spelling(binary.op), "");
    bool whole = context.place != Place::Ensures && (!a.shape.empty() || !b.shape.empty());
    if (whole)
      return mismatch(context, *binary.lhs, *binary.rhs, where, spelling(binary.op), "a condition compares scalars");
    if (isError(combineValues(context, binary, where))) return error();
  }
  return makeType(Kind::Bool);
}

Type checkLogic(Context &context, const Expr &operand, std::string_view op) {
  if (operand.type.kind == Kind::Bool) return operand.type;
  context.error(DiagnosticKind::TypeMismatch, operand.span,
                "`" + std::string(op) + "` needs a condition, not " + describe(operand.type));
  return error();
}

Type checkBinary(Context &context, Binary &binary, Span where) {
  const Type a = check(context, *binary.lhs), b = check(context, *binary.rhs);
  if (isError(a) || isError(b)) return error();
  switch (binary.op) {
  case BinaryOp::And:
  case BinaryOp::Or: {
    Type lhs = checkLogic(context, *binary.lhs, spelling(binary.op));
    Type rhs = checkLogic(context, *binary.rhs, spelling(binary.op));
    return isError(lhs) ? lhs : rhs;
  }
  case BinaryOp::Lt:
  case BinaryOp::Le:
  case BinaryOp::Gt:
  case BinaryOp::Ge:
  case BinaryOp::Eq:
  case BinaryOp::Ne: return checkComparison(context, binary, where);
  default: return checkArithmetic(context, binary, where);
  }
}

Type checkUnary(Context &context, Unary &unary) {
  const Type operand = check(context, *unary.operand);
  if (isError(operand)) return operand;
  if (unary.op == UnaryOp::Not) return checkLogic(context, *unary.operand, "not");
  unary.moduloN = operand.kind == Kind::Rank;
  if (operand.isIndex() || operand.isValue() || operand.kind == Kind::Float) return operand;
  context.error(DiagnosticKind::TypeMismatch, unary.operand->span, "`-` cannot negate " + describe(operand));
  return error();
}

Type checkCast(Context &context, Cast &cast) {
  const Type operand = check(context, *cast.operand);
  Expr to;
  to.span = cast.to.span;
  to.node = NameRef{cast.to.text, {}};
  if (cast.to.text == "rank") {
    cast.target = makeType(Kind::Rank);
    if (isError(operand) || isIntegerLike(context, operand)) return isError(operand) ? operand : cast.target;
    context.error(DiagnosticKind::TypeMismatch, cast.operand->span, "only an integer can be made a rank");
    return error();
  }
  const Type target = check(context, to);
  if (isError(target) || isError(operand)) return error();
  if (target.kind != Kind::DType) {
    context.error(DiagnosticKind::TypeMismatch, cast.to.span, "`" + cast.to.text + "` is not an element type");
    return error();
  }
  cast.target = valueType(target.element);
  if (operand.isValue()) return valueType(target.element, operand.shape);
  if (operand.isIndex() || operand.kind == Kind::Float) return cast.target;
  context.error(DiagnosticKind::TypeMismatch, cast.operand->span, "`as` cannot convert " + describe(operand));
  return error();
}

} // namespace

const Type &check(Context &context, Expr &expr) {
  // A piece is chosen directly at the view's name, or not at all.
  bool wholeSplit = context.wholeSplit && std::holds_alternative<NameRef>(expr.node);
  bool before = std::exchange(context.wholeSplit, wholeSplit);
  if (std::holds_alternative<IntLit>(expr.node))
    expr.type = makeType(Kind::Int);
  else if (std::holds_alternative<FloatLit>(expr.node))
    expr.type = makeType(Kind::Float);
  else if (auto *name = std::get_if<NameRef>(&expr.node))
    expr.type = checkName(context, *name, expr.span);
  else if (auto *member = std::get_if<ast::Member>(&expr.node))
    expr.type = checkMember(context, *member, expr);
  else if (auto *index = std::get_if<Index>(&expr.node))
    expr.type = checkSubscript(context, *index, expr);
  else if (auto *call = std::get_if<Call>(&expr.node))
    expr.type = checkCall(context, *call, expr);
  else if (auto *reduce = std::get_if<Reduce>(&expr.node))
    expr.type = checkReduce(context, *reduce);
  else if (auto *unary = std::get_if<Unary>(&expr.node))
    expr.type = checkUnary(context, *unary);
  else if (auto *binary = std::get_if<Binary>(&expr.node))
    expr.type = checkBinary(context, *binary, expr.span);
  else
    expr.type = checkCast(context, std::get<Cast>(expr.node));
  context.wholeSplit = before;
  return expr.type;
}

bool checkIndex(Context &context, Expr &expr, std::string_view what) {
  const Type &type = check(context, expr);
  if (isError(type)) return false;
  if (isIntegerLike(context, type)) return true;
  context.error(DiagnosticKind::TypeMismatch, expr.span,
                std::string(what) + " must be an integer or a rank, not " + describe(type));
  return false;
}

} // namespace coll::sema
