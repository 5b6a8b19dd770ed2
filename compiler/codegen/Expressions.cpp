#include "codegen/Expressions.h"

#include "llvm/Support/Format.h"

namespace coll::codegen {

using namespace ir;

namespace {

/// A number as a C++ float.
std::string literal(double value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::format("%.9g", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text + "f";
}

bool isWrapped(llvm::StringRef text) {
  if (!text.startswith("(") || !text.endswith(")")) return false;
  int depth = 0;
  for (char c : text.drop_back()) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (depth == 0) return false;
  }
  return true;
}

} // namespace

std::string withoutParentheses(llvm::StringRef text) {
  return (isWrapped(text) ? text.drop_front().drop_back() : text).str();
}

std::string Expressions::packet(ValueId value) const {
  const Known &k = known.at(value);
  return k.form == Form::Packet ? k.text : "coll::narrow<T, Packet>(" + withoutParentheses(k.text) + ")";
}

std::string Expressions::floats(ValueId value) const {
  const Known &k = known.at(value);
  return k.form == Form::Floats ? k.text : "coll::widen<T>(" + k.text + ")";
}

bool Expressions::defines(const Stmt &stmt) {
  return std::holds_alternative<Map>(stmt.op()) || std::holds_alternative<Constant>(stmt.op()) ||
         std::holds_alternative<Argument>(stmt.op());
}

void Expressions::define(const Stmt &stmt) {
  if (const auto *constant = std::get_if<Constant>(&stmt.op()))
    return set(constant->result, "coll::Number{" + literal(constant->value) + "}", Form::Floats);
  if (const auto *argument = std::get_if<Argument>(&stmt.op()))
    return set(argument->result, "coll::Number{a." + names.scalars.at(argument->scalar) + "}", Form::Floats);
  const Map &map = std::get<Map>(stmt.op());
  if (map.function != Function::Convert) return set(map.result, mapText(map), Form::Floats);
  const DType to = program.values[map.result].dtype;
  // Rounded to another type than the packets', it goes to a store, which rounds.
  if (to == program.dtype && to != DType::F32) set(map.result, packet(map.a), Form::Packet);
  else set(map.result, floats(map.a), Form::Floats);
}

std::string Expressions::mapText(const Map &map) const {
  const std::string x = floats(map.a), y = map.b == kNone ? "" : floats(map.b);
  switch (map.function) {
  case Function::Negate: return "(-" + x + ")";
  case Function::Abs: return "coll::abs(" + withoutParentheses(x) + ")";
  case Function::Exp: return "coll::exp(" + withoutParentheses(x) + ")";
  case Function::Rsqrt: return "coll::rsqrt(" + withoutParentheses(x) + ")";
  case Function::Inverse: return "coll::inverse(" + withoutParentheses(x) + ")";
  case Function::Min: return "coll::min(" + withoutParentheses(x) + ", " + withoutParentheses(y) + ")";
  case Function::Max: return "coll::max(" + withoutParentheses(x) + ", " + withoutParentheses(y) + ")";
  case Function::Add: return "(" + withoutParentheses(x) + " + " + y + ")";
  case Function::Sub: return "(" + withoutParentheses(x) + " - " + y + ")";
  case Function::Mul: return "(" + x + " * " + y + ")";
  case Function::Div: return "(" + x + " / " + y + ")";
  case Function::Convert: break;
  }
  return x;
}

} // namespace coll::codegen
