#include "ir/Arithmetic.h"

#include "llvm/Support/ErrorHandling.h"

namespace coll::ir {

using ast::BinaryOp;

namespace {

bool isRowFunction(ast::Function f) {
  return f == ast::Function::RowMean || f == ast::Function::RowMax || f == ast::Function::RowSum;
}

/// The largest finite value of a type that quant makes.
double largest(DType type) { return type == DType::F8E4M3 ? 448 : type == DType::F8E5M2 ? 57344 : 127; }

bool isLiteral(const ast::Expr &expr) {
  return expr.type.kind == ast::Type::Kind::Int || expr.type.kind == ast::Type::Kind::Float;
}

} // namespace

bool isArithmetic(const ast::Expr &expr) {
  if (isLiteral(expr)) return true;
  if (!expr.type.isValue()) return false;
  if (std::holds_alternative<ast::Binary>(expr.node) || std::holds_alternative<ast::Unary>(expr.node) ||
      std::holds_alternative<ast::Cast>(expr.node))
    return true;
  if (const auto *name = std::get_if<ast::NameRef>(&expr.node))
    if (const auto *param = std::get_if<const ast::Param *>(&name->ref)) return (*param)->isScalar();
  if (const auto *member = std::get_if<ast::Member>(&expr.node)) {
    const auto *builtin = std::get_if<ast::Builtin>(&member->ref);
    return builtin && *builtin == ast::Builtin::Scale;
  }
  const auto *call = std::get_if<ast::Call>(&expr.node);
  if (!call) return false;
  if (call->function == ast::Function::Apply) // of what is rounded to the vector's type, an operator is no arithmetic
    return call->args[0]->type.shape != call->args[1]->type.shape ||
           llvm::any_of(call->args, [](const ast::ExprPtr &arg) { return isArithmetic(*arg); });
  return isRowFunction(call->function) || call->function == ast::Function::Rsqrt ||
         call->function == ast::Function::Exp || call->function == ast::Function::Abs ||
         call->function == ast::Function::Quant;
}

DType Arithmetic::typeOf(const ast::Expr &expr) const {
  return expr.type.isValue() ? sema::instantiate(expr.type.element, parameter) : ast::accumulatorOf(parameter);
}

int Arithmetic::value(const ast::Expr &expr) {
  if (const auto *c = std::get_if<ast::Cast>(&expr.node)) return cast(expr, *c);
  if (const auto *c = std::get_if<ast::Call>(&expr.node); c && c->function == ast::Function::Quant)
    return quantise(*c, expr.span).value;
  if (!isArithmetic(expr)) return sink.operand(expr);
  const DType type = typeOf(expr);
  return convert(compute(expr, ast::accumulatorOf(type)), type, expr.span);
}

/// The last rounding is that of the cast. A number of the text is one of the type that it is cast to.
int Arithmetic::cast(const ast::Expr &expr, const ast::Cast &cast) {
  const DType type = typeOf(expr);
  const bool text = !cast.operand->type.isValue();
  const int v = !text                                            ? value(*cast.operand)
                : isFloat(type) || cast.operand->type.isIndex() ? compute(*cast.operand, ast::accumulatorOf(type))
                                                                 : compute(*cast.operand, DType::F64);
  return convert(v, type, expr.span);
}

int Arithmetic::convert(int v, DType type, ast::Span where) {
  const auto isNarrow = [](DType t) { return ast::accumulatorOf(t) != t; };
  const DType from = sink.typeOf(v);
  if (from == type) return v;
  if (from != DType::F32 && type != DType::F32 && (isNarrow(from) || isNarrow(type)))
    return convert(convert(v, DType::F32, where), type, where);
  const bool truncates = isFloat(from) && !isFloat(type);
  return sink.map(truncates ? Function::Truncate : Function::Convert, v, kNone, type, where);
}

/// In a type that is computed in.
int Arithmetic::number(const ast::Expr &expr, DType type) {
  return expr.type.isValue() ? convert(value(expr), type, expr.span) : compute(expr, type);
}

/// An operation whose operands are numbers.
int Arithmetic::compute(const ast::Expr &expr, DType type) {
  if (expr.type.isIndex()) return sink.index(expr, type);
  if (const auto *f = std::get_if<ast::FloatLit>(&expr.node)) return sink.constant(f->value, type, expr.span);
  if (const auto *name = std::get_if<ast::NameRef>(&expr.node))
    if (const auto *param = std::get_if<const ast::Param *>(&name->ref))
      return sink.argument((*param)->name.text, typeOf(expr), expr.span);
  if (const auto *name = std::get_if<ast::NameRef>(&expr.node)) // a number of the text has the type of what it meets
    if (const auto *let = std::get_if<const ast::Let *>(&name->ref)) return compute(*(*let)->value, type);
  if (const auto *member = std::get_if<ast::Member>(&expr.node)) return scaleOf(*member, expr.span);
  if (const auto *u = std::get_if<ast::Unary>(&expr.node))
    return sink.map(Function::Negate, number(*u->operand, type), kNone, type, expr.span);
  if (const auto *b = std::get_if<ast::Binary>(&expr.node)) return binary(expr, *b, type);
  if (const auto *c = std::get_if<ast::Call>(&expr.node)) return call(expr, *c, type);
  llvm_unreachable("isArithmetic");
}

int Arithmetic::binary(const ast::Expr &expr, const ast::Binary &b, DType type) {
  Function function = Function::Add;
  switch (b.op) {
  case BinaryOp::Add: function = Function::Add; break;
  case BinaryOp::Sub: function = Function::Sub; break;
  case BinaryOp::Mul: function = Function::Mul; break;
  case BinaryOp::Div: function = Function::Div; break;
  default: llvm_unreachable("sema refuses it on data");
  }
  const int x = number(*b.lhs, type), y = number(*b.rhs, type);
  return sink.map(function, x, y, type, expr.span);
}

/// Of `avg` the sum: `mean` is what is left to do.
static Function functionOf(ReduceOp op) {
  switch (op) {
  case ReduceOp::Sum:
  case ReduceOp::Avg: return Function::Add;
  case ReduceOp::Prod: return Function::Mul;
  case ReduceOp::Min: return Function::Min;
  case ReduceOp::Max: return Function::Max;
  }
  llvm_unreachable("an operator");
}

int Arithmetic::combine(ReduceOp op, int a, int b, ast::Span where) {
  return sink.map(functionOf(op), a, b, sink.typeOf(a), where);
}

int Arithmetic::mean(ReduceOp op, int sum, int ranks, ast::Span where) {
  if (op != ReduceOp::Avg) return sum;
  const DType type = sink.typeOf(sum);
  return sink.map(Function::Mul, sum, sink.constant(1.0 / ranks, type, where), type, where);
}

int Arithmetic::call(const ast::Expr &expr, const ast::Call &c, DType type) {
  const auto operand = [&] { return number(*c.args.front(), type); };
  switch (c.function) {
  case ast::Function::Rsqrt: return sink.map(Function::Rsqrt, operand(), kNone, type, expr.span);
  case ast::Function::Exp: return sink.map(Function::Exp, operand(), kNone, type, expr.span);
  case ast::Function::Abs: return sink.map(Function::Abs, operand(), kNone, type, expr.span);
  case ast::Function::RowSum: return sink.rowReduce(RowOp::Sum, operand(), 0, expr.span);
  case ast::Function::RowMean: return sink.rowReduce(RowOp::Mean, operand(), 0, expr.span);
  case ast::Function::RowMax: return sink.rowReduce(RowOp::Max, operand(), 0, expr.span);
  case ast::Function::Apply: {
    const int x = operand(), y = number(*c.args[1], type);
    return combine(std::holds_alternative<const ast::Generic *>(c.op) ? *op : c.builtinOp, x, y, expr.span);
  }
  default: break;
  }
  llvm_unreachable("isArithmetic");
}

int Arithmetic::scaleOf(const ast::Member &member, ast::Span where) {
  const auto *call = std::get_if<ast::Call>(&member.base->node);
  if (!call) return sink.scaleOf(*std::get<const ast::Let *>(std::get<ast::NameRef>(member.base->node).ref), where);
  const DType type = quantType(*call);
  return scale(*call, number(*call->args[0], DType::F32), type, where);
}

/// What `quant` converts to.
DType Arithmetic::quantType(const ast::Call &call) {
  return sema::instantiate(call.args[1]->type.element, parameter);
}

int Arithmetic::scale(const ast::Call &call, int data, DType type, ast::Span where) {
  const auto *scheme = std::get_if<ast::Call>(&call.args[2]->node);
  if (scheme && scheme->function == ast::Function::PerTensor) return number(*scheme->args.front(), DType::F32);
  unsigned group = 0;
  if (scheme) group = unsigned(std::get<ast::IntLit>(scheme->args.front()->node).value);
  const int most = sink.rowReduce(RowOp::Max, sink.map(Function::Abs, data, kNone, DType::F32, where), group, where);
  return sink.map(Function::Div, most, sink.constant(largest(type), DType::F32, where), DType::F32, where);
}

Arithmetic::Quantised Arithmetic::quantise(const ast::Call &call, ast::Span where) {
  const DType type = quantType(call);
  const int data = number(*call.args[0], DType::F32), by = scale(call, data, type, where);
  const int inverse = sink.map(Function::Inverse, by, kNone, DType::F32, where);
  const int scaled = sink.map(Function::Mul, data, inverse, DType::F32, where);
  return {sink.map(Function::Convert, scaled, kNone, type, where), by};
}

} // namespace coll::ir
