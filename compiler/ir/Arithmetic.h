// Arithmetic on data, from the syntax tree to operations. What an algorithm computes and what `ensures` says it computes
// go through the same code, so that equal texts have equal operations.
#pragma once

#include "ir/Ops.h"
#include "ir/Program.h"
#include "sema/Sema.h"

namespace coll::ir {

/// Where the operations go, and where the operands come from that are no arithmetic. Values are numbers of its own.
class ArithmeticSink {
public:
  virtual ~ArithmeticSink() = default;

  /// What an expression that is no arithmetic stands for; of a reduction, before it is rounded.
  virtual int operand(const ast::Expr &expr) = 0;
  /// What `q.scale` stands for.
  virtual int scaleOf(const ast::Let &quantised, ast::Span where) = 0;
  /// Numbers of the text, of ranks and loop variables, and scalar arguments.
  virtual int constant(double value, DType type, ast::Span where) = 0;
  virtual int index(const ast::Expr &expr, DType type) = 0;
  virtual int argument(const std::string &scalar, DType type, ast::Span where) = 0;
  virtual int map(Function function, int a, int b, DType type, ast::Span where) = 0;
  virtual int rowReduce(RowOp op, int value, unsigned group, ast::Span where) = 0;

  virtual DType typeOf(int value) const = 0;
};

/// Whether an expression is what Arithmetic takes apart.
bool isArithmetic(const ast::Expr &expr);

class Arithmetic {
public:
  Arithmetic(ArithmeticSink &s, DType parameter, std::optional<ReduceOp> op) : sink(s), parameter(parameter), op(op) {}

  /// The value in its own type: narrow floats are computed in f32 and rounded at each operation that has a narrow type.
  int value(const ast::Expr &expr);
  /// A value in another type, as `as` has it.
  int convert(int value, DType type, ast::Span where);
  /// `op(a, b)` of values of one type, not rounded.
  int combine(ReduceOp op, int a, int b, ast::Span where);
  /// What is left to do behind a reduction over so many ranks: of `avg`, 1/ranks times the sum.
  int mean(ReduceOp op, int sum, int ranks, ast::Span where);

  struct Quantised {
    int value, scale;
  };
  /// `quant(e, TYPE, scheme)`: e times the inverse of the scale, converted.
  Quantised quantise(const ast::Call &call, ast::Span where);

private:
  ArithmeticSink &sink;
  DType parameter;            ///< what the contract's type parameter is
  std::optional<ReduceOp> op; ///< what its operator is

  int cast(const ast::Expr &expr, const ast::Cast &cast);
  int number(const ast::Expr &expr, DType type);
  int compute(const ast::Expr &expr, DType type);
  int binary(const ast::Expr &expr, const ast::Binary &b, DType type);
  int call(const ast::Expr &expr, const ast::Call &c, DType type);
  int scale(const ast::Call &call, int data, DType type, ast::Span where);
  int scaleOf(const ast::Member &member, ast::Span where);
  DType quantType(const ast::Call &call);
  DType typeOf(const ast::Expr &expr) const;
};

} // namespace coll::ir
