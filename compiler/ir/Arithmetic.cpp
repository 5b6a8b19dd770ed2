#include "ir/Arithmetic.h"

namespace coll::ir {

using ast::BinaryOp;

namespace {

bool isRowFunction(ast::Function f) {
  return f == ast::Function::RowMean || f == ast::Function::RowMax || f == ast::Function::RowSum;
}

/// The largest finite value of a type that quant makes.
double largest(DType type) { return type == DType::F8E4M3 ? 448 : 127; }

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
    return !std::holds_alternative<const ast::Generic *>(call->op) &&
           llvm::any_of(call->args, [](const ast::ExprPtr &arg) { return isArithmetic(*arg); });
  return isRowFunction(call->function) || call->function == ast::Function::Rsqrt ||
         call->function == ast::Function::Exp || call->function == ast::Function::Abs ||
         call->function == ast::Function::Quant;
}

DType Arithmetic::typeOf(const ast::Expr &expr) const {
  return expr.type.isValue() ? sema::instantiate(expr.type.element, parameter) : DType::F32;
}

int Arithmetic::value(const ast::Expr &expr) {
  if (const auto *cast = std::get_if<ast::Cast>(&expr.node)) { // the last rounding is that of the cast
    const DType type = typeOf(expr);
    if (sizeOf(type) < 2 || !isFloat(type) || type == DType::F64) return sink.refuse(expr.span, "a conversion to `" + std::string(keyword(type)) + "` without `quant`"), 0;
    const int operand = value(*cast->operand);
    if (sink.typeOf(operand) == type) return operand; // it is rounded to that already
    const int v = number(operand, cast->operand->span);
    return type == DType::F32 ? v : sink.map(Function::Convert, v, kNone, type, expr.span);
  }
  if (const auto *c = std::get_if<ast::Call>(&expr.node); c && c->function == ast::Function::Quant)
    return quantise(*c, expr.span).value;
  if (!isArithmetic(expr)) return sink.operand(expr);
  const int v = compute(expr);
  const DType type = typeOf(expr);
  return sink.typeOf(v) == type ? v : sink.map(Function::Convert, v, kNone, type, expr.span);
}

/// In f32.
int Arithmetic::number(const ast::Expr &expr) { return number(value(expr), expr.span); }

int Arithmetic::number(int v, ast::Span where) {
  const DType type = sink.typeOf(v);
  if (type == DType::F32) return v;
  if (!isFloat(type) || type == DType::F64)
    return sink.refuse(where, "arithmetic on `" + std::string(keyword(type)) + "`",
                       isFloat(type) ? "" : "combine such values by an operator, as in `sum(a, b)`"), v;
  return sink.map(Function::Convert, v, kNone, DType::F32, where);
}

/// In f32, an operation whose operands are numbers.
int Arithmetic::compute(const ast::Expr &expr) {
  if (const auto *i = std::get_if<ast::IntLit>(&expr.node)) return sink.constant(double(i->value), expr.span);
  if (const auto *f = std::get_if<ast::FloatLit>(&expr.node)) return sink.constant(f->value, expr.span);
  if (const auto *name = std::get_if<ast::NameRef>(&expr.node))
    if (const auto *param = std::get_if<const ast::Param *>(&name->ref)) {
      if (typeOf(expr) != DType::F32) return sink.refuse(expr.span, "a scalar that is not `f32`", "declare it as `in " + (*param)->name.text + ": f32`"), 0;
      return sink.argument((*param)->name.text, expr.span);
    }
  if (const auto *member = std::get_if<ast::Member>(&expr.node)) return scaleOf(*member, expr.span);
  if (const auto *u = std::get_if<ast::Unary>(&expr.node))
    return sink.map(Function::Negate, number(*u->operand), kNone, DType::F32, expr.span);
  if (const auto *b = std::get_if<ast::Binary>(&expr.node)) return binary(expr, *b);
  if (const auto *c = std::get_if<ast::Call>(&expr.node)) return call(expr, *c);
  sink.refuse(expr.span, "the expression `" + ast::print(expr) + "` in arithmetic");
  return 0;
}

int Arithmetic::binary(const ast::Expr &expr, const ast::Binary &b) {
  Function function = Function::Add;
  switch (b.op) {
  case BinaryOp::Add: function = Function::Add; break;
  case BinaryOp::Sub: function = Function::Sub; break;
  case BinaryOp::Mul: function = Function::Mul; break;
  case BinaryOp::Div: function = Function::Div; break;
  default: return sink.refuse(expr.span, "`" + std::string(spelling(b.op)) + "` on data"), 0;
  }
  const int x = number(*b.lhs), y = number(*b.rhs);
  return sink.map(function, x, y, DType::F32, expr.span);
}

int Arithmetic::combine(const ast::Expr &expr, const ast::Call &c) {
  const Function function = c.builtinOp == ReduceOp::Sum    ? Function::Add
                            : c.builtinOp == ReduceOp::Prod ? Function::Mul
                            : c.builtinOp == ReduceOp::Min  ? Function::Min
                                                            : Function::Max;
  const int x = number(*c.args[0]), y = number(*c.args[1]);
  return sink.map(function, x, y, DType::F32, expr.span);
}

int Arithmetic::call(const ast::Expr &expr, const ast::Call &c) {
  switch (c.function) {
  case ast::Function::Rsqrt:
  case ast::Function::Exp:
  case ast::Function::Abs: {
    const Function f = c.function == ast::Function::Rsqrt ? Function::Rsqrt
                       : c.function == ast::Function::Exp ? Function::Exp
                                                          : Function::Abs;
    return sink.map(f, number(*c.args.front()), kNone, DType::F32, expr.span);
  }
  case ast::Function::RowSum: return sink.rowReduce(RowOp::Sum, number(*c.args.front()), 0, expr.span);
  case ast::Function::RowMean: return sink.rowReduce(RowOp::Mean, number(*c.args.front()), 0, expr.span);
  case ast::Function::RowMax: return sink.rowReduce(RowOp::Max, number(*c.args.front()), 0, expr.span);
  case ast::Function::Apply:
    if (c.builtinOp == ReduceOp::Avg) break;
    return combine(expr, c);
  default: break;
  }
  sink.refuse(expr.span, "`" + c.callee.text + "` in arithmetic");
  return 0;
}

int Arithmetic::scaleOf(const ast::Member &member, ast::Span where) {
  const auto *call = std::get_if<ast::Call>(&member.base->node);
  if (!call) return sink.scaleOf(*std::get<const ast::Let *>(std::get<ast::NameRef>(member.base->node).ref), where);
  const DType type = quantType(*call);
  return scale(*call, number(*call->args[0]), type, where);
}

/// What `quant` converts to.
DType Arithmetic::quantType(const ast::Call &call) {
  const DType type = sema::instantiate(call.args[1]->type.element, parameter);
  if (type != DType::F8E4M3 && type != DType::I8)
    sink.refuse(call.args[1]->span, "`quant` to other than `fp8e4m3` and `i8`");
  return type;
}

int Arithmetic::scale(const ast::Call &call, int data, DType type, ast::Span where) {
  const auto *scheme = std::get_if<ast::Call>(&call.args[2]->node);
  if (scheme && scheme->function == ast::Function::PerTensor) return number(*scheme->args.front());
  unsigned group = 0;
  if (scheme) {
    group = unsigned(std::get<ast::IntLit>(scheme->args.front()->node).value);
    if (group != 128) return sink.refuse(call.args[2]->span, "a group of other than 128 elements", "write `group(128)`"), 0;
  }
  const int most = sink.rowReduce(RowOp::Max, sink.map(Function::Abs, data, kNone, DType::F32, where), group, where);
  return sink.map(Function::Div, most, sink.constant(largest(type), where), DType::F32, where);
}

Arithmetic::Quantised Arithmetic::quantise(const ast::Call &call, ast::Span where) {
  const DType type = quantType(call);
  const int data = number(*call.args[0]), by = scale(call, data, type, where);
  const int inverse = sink.map(Function::Inverse, by, kNone, DType::F32, where);
  const int scaled = sink.map(Function::Mul, data, inverse, DType::F32, where);
  return {sink.map(Function::Convert, scaled, kNone, type, where), by};
}

} // namespace coll::ir
