#include "codegen/Expressions.h"

#include "ast/Type.h"

#include "llvm/Support/Format.h"

#include <cstdlib>

namespace coll::codegen {

using namespace ir;

namespace {

bool isNarrow(DType type) { return ast::accumulatorOf(type) != type; }

/// As few digits as give the double again.
std::string shortest(double value) {
  std::string text;
  for (int digits = 15; digits <= 17; ++digits) {
    text.clear();
    llvm::raw_string_ostream(text) << llvm::format("%.*g", digits, value);
    if (std::strtod(text.c_str(), nullptr) == value) break;
  }
  return text;
}

/// A number as a C++ float or double.
std::string literal(DType type, double value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (type == DType::F64) os << shortest(value);
  else os << llvm::format("%.9g", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return type == DType::F64 ? text : text + "f";
}

/// A whole number as one of a type.
std::string whole(DType type, const std::string &text) {
  const std::string name(cudaName(type));
  return name.find(' ') == std::string::npos ? name + "(" + text + ")" : "static_cast<" + name + ">(" + text + ")";
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

Expressions::Expressions(const Program &p, const BodyNames &n, std::function<std::string(const Index &)> i)
    : program(p), names(n), numberText(std::move(i)) {
  walk(program.body, [&](const Stmt &stmt) {
    if (const auto *map = std::get_if<Map>(&stmt.op())) computedWith.insert({map->a, map->b});
    if (const auto *reduce = std::get_if<RowReduce>(&stmt.op())) computedWith.insert(reduce->value);
    if (const auto *assign = std::get_if<Assign>(&stmt.op())) computedWith.insert(assign->value);
    const auto *send = std::get_if<Send>(&stmt.op()); // what a rank keeps of it may be computed with
    if (send && (program.mailboxes[send->box].dtype == DType::I8 || send->own != kNone)) computedWith.insert(send->value);
  });
  walk(program.body, [&](const Stmt &stmt) {
    const auto *map = std::get_if<Map>(&stmt.op());
    if (map && staysWide(*map)) unrounded.insert(map->result);
  });
}

std::string Expressions::packet(ValueId value) const {
  const Known &k = known.at(value);
  return k.form == Form::Packet ? k.text : "coll::narrow<T, Packet>(" + withoutParentheses(k.text) + ")";
}

std::string Expressions::elements(ValueId value) const {
  const Known &k = known.at(value);
  return k.form == Form::Elements ? k.text : "coll::widen<T>(" + k.text + ")";
}

std::string Expressions::typeOf(ValueId value, llvm::StringRef count) const {
  const DType type = ast::accumulatorOf(program.values[value].dtype);
  if (type == DType::F32 || unrounded.count(value)) return "coll::Floats<" + count.str() + ">";
  return "coll::Elements<" + std::string(cudaName(type)) + ", " + count.str() + ">";
}

std::string Expressions::storeOf(ValueId value) const {
  return ast::accumulatorOf(program.values[value].dtype) == DType::F32 || unrounded.count(value) ? "storeFloats" : "storeElements";
}

bool Expressions::defines(const Stmt &stmt) {
  return std::holds_alternative<Map>(stmt.op()) || std::holds_alternative<Constant>(stmt.op()) ||
         std::holds_alternative<Argument>(stmt.op());
}

bool Expressions::makesPacket(const Program &program, const Map &map) {
  const Value &value = program.values[map.result];
  return map.function == Function::Convert && value.spread == Spread::Element && value.dtype == program.packetType() && isNarrow(value.dtype);
}

std::string Expressions::number(DType type, const std::string &text) const {
  const DType in = ast::accumulatorOf(type);
  return (in == DType::F32 ? "coll::Number{" : "coll::NumberOf<" + std::string(cudaName(in)) + ">{") + text + "}";
}

void Expressions::define(const Stmt &stmt) {
  const DType type = program.values[resultOf(stmt)].dtype;
  if (const auto *constant = std::get_if<Constant>(&stmt.op())) {
    const std::int64_t value = constant->number && constant->number->kind() == Index::Kind::Constant ? constant->number->value() : -1;
    std::string text;
    if (!constant->number) text = literal(type, constant->value);
    else if (value >= 0 && isFloat(type)) text = literal(type, double(value));
    else if (value >= 0 && value < 128) text = std::to_string(value);
    else text = whole(type, numberText(*constant->number));
    return set(constant->result, number(type, text), Form::Elements);
  }
  if (const auto *argument = std::get_if<Argument>(&stmt.op()))
    return set(argument->result,
               isNarrow(type) ? "coll::numberOf(a." + names.scalars.at(argument->scalar) + ")"
                              : number(type, "a." + names.scalars.at(argument->scalar)),
               Form::Elements);
  const Map &map = std::get<Map>(stmt.op());
  if (map.function == Function::Convert) return convert(map);
  set(map.result, mapText(map), Form::Elements);
}

/// What nothing is computed with goes to a store or a mailbox of floats, which rounds by itself.
bool Expressions::staysWide(const Map &map) const {
  const DType to = program.values[map.result].dtype;
  const bool rounds = map.function == Function::Convert && program.values[map.a].dtype == DType::F32 && (isNarrow(to) || to == DType::I8);
  return rounds && !makesPacket(program, map) && !computedWith.count(map.result) && to != program.packetType() && !program.values[map.result].kept;
}

void Expressions::convert(const Map &map) {
  const DType to = program.values[map.result].dtype, from = program.values[map.a].dtype;
  if (makesPacket(program, map)) return set(map.result, packet(map.a), Form::Packet);
  std::string text = elements(map.a);
  const bool rounds = from == DType::F32 && (isNarrow(to) || to == DType::I8);
  const auto call = [&](const char *function) {
    text = function + std::string(cudaName(to)) + ">(" + withoutParentheses(text) + ")";
  };
  if (!rounds && ast::accumulatorOf(from) != to) call("coll::as<");
  else if (rounds && !staysWide(map)) call("coll::nearest<");
  set(map.result, text, Form::Elements);
}

std::string Expressions::mapText(const Map &map) const {
  const std::string x = elements(map.a), y = map.b == kNone ? "" : elements(map.b);
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
  case Function::Truncate:
    return "coll::as<" + std::string(cudaName(program.values[map.result].dtype)) + ">(" + withoutParentheses(x) + ")";
  case Function::Convert: break;
  }
  return x;
}

} // namespace coll::codegen
