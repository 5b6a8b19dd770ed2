// The functions of the language, operators used as functions, and `reduce`.
#include "sema/Context.h"

#include <algorithm>
#include <bit>

namespace coll::sema {

using namespace ast;

namespace {

using Kind = Type::Kind;

struct FunctionInfo {
  const char *name;
  Function function;
  std::size_t args;
  const char *form;
};

constexpr FunctionInfo functions[] = {
    {"rowmean", Function::RowMean, 1, "rowmean(e)"},
    {"rowmax", Function::RowMax, 1, "rowmax(e)"},
    {"rowsum", Function::RowSum, 1, "rowsum(e)"},
    {"rsqrt", Function::Rsqrt, 1, "rsqrt(e)"},
    {"exp", Function::Exp, 1, "exp(e)"},
    {"abs", Function::Abs, 1, "abs(e)"},
    {"quant", Function::Quant, 3, "quant(e, fp8e4m3, per_row)"},
    {"per_tensor", Function::PerTensor, 1, "per_tensor(scale)"},
    {"group", Function::Group, 1, "group(128)"},
    {"prefix", Function::Prefix, 2, "prefix(v, n)"},
    {"prefix_rows", Function::PrefixRows, 2, "prefix_rows(m, n)"},
    {"chunks", Function::Chunks, 2, "chunks(v, SIZE)"},
    {"split", Function::Split, 2, "split(v, N)"},
    {"split_rows", Function::SplitRows, 2, "split_rows(m, N)"},
    {"pow2", Function::Pow2, 1, "pow2(n)"},
    {"log2", Function::Log2, 1, "log2(n)"},
    {"old", Function::Old, 1, "old(argument)"},
};

const FunctionInfo *functionNamed(std::string_view name) {
  for (const FunctionInfo &info : functions)
    if (info.name == name) return &info;
  return nullptr;
}

Type error() {
  return makeType(Kind::Error);
}
bool isError(const Type &type) {
  return type.kind == Kind::Error;
}

Type wrong(Context &context, Span where, std::string message, std::string help = {}) {
  context.error(DiagnosticKind::WrongArguments, where, std::move(message)).help(std::move(help));
  return error();
}

/// An argument that must be data, with at least one extent if `vector`.
bool checkData(Context &context, Expr &arg, const std::string &callee, bool vector) {
  const Type &type = check(context, arg);
  if (isError(type)) return false;
  if (type.isValue() && (!vector || !type.shape.empty())) return true;
  wrong(context, arg.span,
        "`" + callee + "` takes " + (vector ? "a vector or matrix" : "data") + ", not " + describe(type));
  return false;
}

Element accumulated(Element element) {
  element.accumulator = true;
  return element;
}

// ---- Operators ----

Type checkApply(Context &context, Call &call, Expr &expr) {
  if (std::holds_alternative<Builtin>(call.op) && call.builtinOp == ReduceOp::Avg)
    return wrong(context, expr.span, "`avg` is for `reduce` alone, which divides by the number of ranks", "write `(a + b) * 0.5`");
  if (call.args.size() != 2)
    return wrong(context, expr.span,
                 "`" + call.callee.text + "` combines 2 values, not " + std::to_string(call.args.size()),
                 "all contributions at once are `reduce(" + call.callee.text + ", r in ranks: box[r])`");
  // One side may be a number of the text.
  const auto isTextNumber = [](const Expr &arg) { return std::holds_alternative<IntLit>(arg.node) || std::holds_alternative<FloatLit>(arg.node); };
  const bool first = isTextNumber(*call.args[0]), second = !first && isTextNumber(*call.args[1]);
  if (first || second) check(context, *call.args[first ? 0 : 1]);
  const bool both = first || checkData(context, *call.args[0], call.callee.text, false);
  if ((!second && !checkData(context, *call.args[1], call.callee.text, false)) || !both) return error();
  const Type &a = call.args[first ? 1 : 0]->type, &b = call.args[second ? 0 : 1]->type;
  const bool whole = (!first && !second) || call.args[first ? 0 : 1]->type.kind == Kind::Int;
  auto element = commonElement(context, a.element, b.element);
  const auto shape = commonShape(a.shape, b.shape);
  if (!element || !shape || (!whole && !isFloatElement(context, a.element))) {
    context.error(DiagnosticKind::TypeMismatch, expr.span,
                  "`" + call.callee.text + "` cannot combine " + describe(call.args[0]->type) + " and " +
                      describe(call.args[1]->type));
    return error();
  }
  return valueType(*element, *shape);
}

/// Whether the callee is an operator; then `call` says which.
bool resolveOperator(Context &context, Call &call) {
  if (auto op = parseReduceOp(call.callee.text)) {
    call.op = Builtin::Op;
    call.builtinOp = *op;
    return true;
  }
  const Scope::Entry *entry = context.scope.find(call.callee.text);
  auto *generic = entry ? std::get_if<const Generic *>(&entry->ref) : nullptr;
  if (!generic || (*generic)->kind != GenericKind::Op) return false;
  call.op = *generic;
  return true;
}

// ---- Functions of data ----

/// A piece is no row: where it ends depends on the number of ranks, and the last ones may be short or empty.
bool checkNoPiece(Context &context, const Expr &data, const std::string &what) {
  const std::vector<Extent> &shape = data.type.shape;
  if (shape.empty() || shape.back().kind != Extent::Kind::Piece) return true;
  context.error(DiagnosticKind::Misplaced, data.span, what + " of a piece, which is no row: it ends where the number of ranks says, even within a row")
      .help("give each rank whole rows, by `split_rows(m, N)`");
  return false;
}

Type checkRow(Context &context, Call &call) {
  if (!checkData(context, *call.args[0], call.callee.text, true)) return error();
  if (!checkNoPiece(context, *call.args[0], "`" + call.callee.text + "`")) return error();
  Type type = call.args[0]->type;
  if (call.function == Function::RowMean && !isFloatElement(context, type.element))
    return wrong(context, call.args[0]->span, "`rowmean` is for floats; this is `" + str(type) + "`",
                 "convert it, as in `rowmean(e as f32)`");
  type.element = accumulated(type.element);
  type.shape.back() = numberExtent(1);
  return type;
}

Type checkElementwise(Context &context, Call &call) {
  if (!checkData(context, *call.args[0], call.callee.text, false)) return error();
  Type type = call.args[0]->type;
  if (call.function == Function::Abs) return type;
  if (!isFloatElement(context, type.element))
    return wrong(context, call.args[0]->span, "`" + call.callee.text + "` is for floats; this is `" + str(type) + "`");
  type.element = accumulated(type.element);
  return type;
}

/// `per_row`, `per_tensor(scale)`, `group(128)`.
bool checkScheme(Context &context, Expr &scheme) {
  scheme.type = makeType(Kind::Scheme);
  auto *name = std::get_if<NameRef>(&scheme.node);
  if (name && name->name == "per_row") {
    name->ref = Builtin::Function;
    return true;
  }
  auto *call = std::get_if<Call>(&scheme.node);
  const FunctionInfo *info = call ? functionNamed(call->callee.text) : nullptr;
  bool known = info && (info->function == Function::PerTensor || info->function == Function::Group);
  if (!known || call->args.size() != 1) {
    wrong(context, scheme.span, "the last argument of `quant` says what shares a scale",
          "write `per_row`, `per_tensor(scale)` or `group(128)`");
    return false;
  }
  call->function = info->function;
  if (call->function == Function::PerTensor) return checkData(context, *call->args[0], "per_tensor", false);
  check(context, *call->args[0]);
  auto *size = std::get_if<IntLit>(&call->args[0]->node);
  if (size && size->value >= 16 && size->value <= 1024 && std::has_single_bit(size->value)) return true;
  wrong(context, call->args[0]->span, "a group that shares a scale has a power of two of elements, from 16 to 1024", "write `group(128)`");
  return false;
}

Type checkQuant(Context &context, Call &call) {
  bool data = checkData(context, *call.args[0], "quant", true);
  const Type target = check(context, *call.args[1]);
  if (!isError(target) && target.kind != Kind::DType) {
    wrong(context, call.args[1]->span, "the second argument of `quant` is the type to quantise to", "as `fp8e4m3`");
    data = false;
  }
  const auto quantises = [&](DType parameter) {
    const DType type = instantiate(target.element, parameter);
    return type == DType::F8E4M3 || type == DType::F8E5M2 || type == DType::I8;
  };
  if (data && !isError(target) && !(target.element.dtype ? quantises(DType::F32) : std::all_of(context.dtypes.begin(), context.dtypes.end(), quantises))) {
    wrong(context, call.args[1]->span, "`quant` is to `fp8e4m3`, `fp8e5m2` or `i8`", "any other change of type is `e as TYPE`");
    data = false;
  }
  if (!checkScheme(context, *call.args[2]) || !data || isError(target)) return error();
  const auto *scheme = std::get_if<Call>(&call.args[2]->node);
  if (!(scheme && scheme->function == Function::PerTensor) && !checkNoPiece(context, *call.args[0], "scales of rows or groups")) return error();
  return valueType(target.element, call.args[0]->type.shape);
}

/// The first elements of a vector, or rows of a matrix.
Type checkPrefix(Context &context, Call &call) {
  bool data = checkData(context, *call.args[0], call.callee.text, true);
  if (!checkIndex(context, *call.args[1], "the length of a prefix") || !data) return error();
  Type type = call.args[0]->type;
  if (call.function == Function::PrefixRows && type.shape.size() < 2)
    return wrong(context, call.args[0]->span, "`prefix_rows` takes a matrix, not " + describe(type), "the first elements of a vector are `prefix(v, n)`");
  Extent length;
  length.kind = Extent::Kind::Dynamic;
  length.count = call.args[1].get();
  length.operands = {type.shape[0]};
  type.shape[0] = std::move(length);
  return type;
}

Extent productOf(const std::vector<Extent> &shape) {
  Extent all = shape[0];
  for (std::size_t i = 1; i < shape.size(); ++i) {
    Extent product;
    product.kind = Extent::Kind::Arith, product.op = '*';
    product.operands = {std::move(all), shape[i]};
    all = std::move(product);
  }
  return all;
}

Type checkSplit(Context &context, Call &call) {
  bool data = checkData(context, *call.args[0], "split", true);
  auto parts = extentOf(context, *call.args[1]);
  if (!parts || !data) return error();
  Type type = call.args[0]->type;
  Extent piece;
  piece.kind = Extent::Kind::Piece;
  piece.operands = {productOf(type.shape), *parts}; // a matrix is split by elements
  type.shape = {*parts, std::move(piece)};
  return type;
}

/// Pieces of whole rows, which all but the last extent count.
Type checkSplitRows(Context &context, Call &call) {
  const bool data = checkData(context, *call.args[0], "split_rows", true);
  auto parts = extentOf(context, *call.args[1]);
  if (!parts || !data) return error();
  Type type = call.args[0]->type;
  if (type.shape.size() < 2)
    return wrong(context, call.args[0]->span, "`split_rows` takes a matrix, not " + describe(type), "a vector is split by `split(v, N)`");
  Extent piece;
  piece.kind = Extent::Kind::Piece;
  piece.operands = {productOf({type.shape.begin(), type.shape.end() - 1}), *parts};
  type.shape = {*parts, std::move(piece), type.shape.back()};
  return type;
}

Type checkOld(Context &context, Call &call, Span where) {
  if (context.place != Place::Ensures) {
    context.error(DiagnosticKind::Misplaced, where, "`old` is only for `ensures`");
    return error();
  }
  auto *name = std::get_if<NameRef>(&call.args[0]->node);
  Type type = check(context, *call.args[0]);
  if (isError(type)) return type;
  if (!name || !std::holds_alternative<const Param *>(name->ref))
    return wrong(context, call.args[0]->span, "`old` takes the name of an argument",
                 "write `old(x)[i]` for a part of one's own; what `r.x` says of rank `r` is what it held before the launch already");
  return type;
}

Type checkFunction(Context &context, Call &call, Expr &expr) {
  switch (call.function) {
  case Function::RowMean:
  case Function::RowMax:
  case Function::RowSum: return checkRow(context, call);
  case Function::Rsqrt:
  case Function::Exp:
  case Function::Abs: return checkElementwise(context, call);
  case Function::Quant: return checkQuant(context, call);
  case Function::Prefix:
  case Function::PrefixRows: return checkPrefix(context, call);
  case Function::Split: return checkSplit(context, call);
  case Function::SplitRows: return checkSplitRows(context, call);
  case Function::Old: return checkOld(context, call, expr.span);
  case Function::Pow2:
  case Function::Log2:
    if (!checkIndex(context, *call.args[0], "the argument of `" + call.callee.text + "`")) return error();
    return makeType(call.function == Function::Pow2 ? Kind::Bool : Kind::Int);
  case Function::PerTensor:
  case Function::Group:
    context.error(DiagnosticKind::Misplaced, expr.span,
                  "`" + call.callee.text + "` is only for the last argument of `quant`");
    return error();
  case Function::Chunks:
    context.error(DiagnosticKind::Misplaced, expr.span, "`chunks` is only for the range of a `pipeline`")
        .help("`pipeline c in 0 .. chunks(v, SIZE) { … }`");
    return error();
  case Function::Apply: break;
  }
  return error();
}

Type unknownFunction(Context &context, const Call &call) {
  if (const Scope::Entry *entry = context.scope.find(call.callee.text)) {
    context.error(DiagnosticKind::WrongArguments, call.callee.span, "`" + call.callee.text + "` is not a function")
        .note(entry->span, "declared here");
    return error();
  }
  std::vector<std::string> names = {"reduce"};
  for (const FunctionInfo &info : functions) names.push_back(info.name);
  std::string meant = nearest(call.callee.text, names);
  context.error(DiagnosticKind::UnknownName, call.callee.span, "unknown function `" + call.callee.text + "`")
      .help(meant.empty() ? "" : "did you mean `" + meant + "`?");
  return error();
}

} // namespace

Type checkCall(Context &context, Call &call, Expr &expr) {
  if (resolveOperator(context, call)) {
    call.function = Function::Apply;
    return checkApply(context, call, expr);
  }
  const FunctionInfo *info = functionNamed(call.callee.text);
  if (!info) return unknownFunction(context, call);
  if (call.args.size() != info->args)
    return wrong(context, expr.span,
                 "`" + call.callee.text + "` takes " + std::to_string(info->args) +
                     (info->args == 1 ? " argument, not " : " arguments, not ") + std::to_string(call.args.size()),
                 "the form is `" + std::string(info->form) + "`");
  call.function = info->function;
  return checkFunction(context, call, expr);
}

/// `p in all`: what the network reduces, in the order it likes.
Type checkAll(Context &context, NameRef &set, Span where) {
  set.ref = Builtin::All;
  context.algorithm->usesMulticast = true;
  if (context.algorithm->order != Order::Any)
    context.error(DiagnosticKind::ModeIllegal, where, "a reduction over `all` has no order of its own")
        .help("declare the algorithm with `order any`, or reduce over `ranks`");
  return makeType(Kind::Set);
}

/// The first argument of `reduce`.
Type checkOperator(Context &context, Expr &expr) {
  const std::string help = "use the operator parameter, or one of `sum`, `prod`, `min`, `max`, `avg`";
  const auto *name = std::get_if<NameRef>(&expr.node);
  if (name && !builtinNamed(name->name) && !context.scope.find(name->name)) {
    context.error(DiagnosticKind::UnknownName, expr.span, "unknown operator `" + name->name + "`").help(help);
    return error();
  }
  const Type op = check(context, expr);
  if (!isError(op) && op.kind != Kind::Op)
    wrong(context, expr.span, "the first argument of `reduce` must be an operator", help);
  return op;
}

Type checkReduce(Context &context, Reduce &reduce) {
  const Type op = checkOperator(context, *reduce.op);
  auto *name = std::get_if<NameRef>(&reduce.set->node);
  const bool all = name && name->name == "all" && context.place == Place::Body;
  const Type set = all ? checkAll(context, *name, reduce.set->span) : check(context, *reduce.set);
  reduce.set->type = set;
  if (!isError(set) && set.kind != Kind::Set)
    wrong(context, reduce.set->span, "`reduce` goes over `ranks`, not over " + describe(set));
  context.scope.push();
  reduce.variable.type = makeType(Kind::Rank);
  context.scope.declare(reduce.variable.name, &reduce.variable);
  context.loops.push_back({&reduce.variable, nullptr, nullptr});
  bool data = checkData(context, *reduce.body, "reduce", false);
  context.loops.pop_back();
  context.scope.pop();
  if (!data || op.kind != Kind::Op || set.kind != Kind::Set) return error();
  Type type = reduce.body->type;
  type.element = accumulated(type.element);
  return type;
}

} // namespace coll::sema
