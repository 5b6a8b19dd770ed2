// When the checker need not look again: two programs that differ in the names of their type and operator alone.
#include "check/Check.h"

#include "check/Expansion.h"

#include "llvm/ADT/StringExtras.h"

namespace coll::check {
namespace {

/// All whole words that are `word` become `by`.
std::string replaceWords(llvm::StringRef text, llvm::StringRef word, llvm::StringRef by) {
  auto inWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  std::string out;
  while (!text.empty()) {
    const llvm::StringRef name = text.take_while(inWord);
    out += name == word ? by : name;
    const llvm::StringRef rest = text.drop_front(name.size()).take_until(inWord);
    out += rest;
    text = text.drop_front(name.size() + rest.size());
  }
  return out;
}

/// Whether a value is computed by anything but moving it and the program's own operator.
bool hasArithmetic(const ir::Program &program) {
  bool found = false;
  ir::walk(program.body, [&](const ir::Stmt &s) {
    const ir::AnyOp &op = s.op();
    const auto *combine = std::get_if<ir::Combine>(&op);
    const auto *reduce = std::get_if<ir::Reduce>(&op);
    found |= std::holds_alternative<ir::Map>(op) || std::holds_alternative<ir::RowReduce>(op) ||
             (combine && combine->op != program.op) || (reduce && reduce->op != program.op);
  });
  return found;
}

/// What is promised in other ways for one operator or type than for another, though the text is one: `avg` ends with a product.
bool printFormulas(const ir::Program &program, llvm::raw_ostream &os) {
  bool any = false;
  for (const ir::Ensures &e : program.ensures)
    for (const ir::FormulaNode &node : e.formula) {
      os << int(node.kind) << ' ' << keyword(node.dtype) << ' ' << keyword(node.op) << ' ' << ir::keyword(node.function) << ' ' << node.a
         << ' ' << node.b << ' ' << node.value << '\n';
      any = true;
    }
  return any;
}

/// What arithmetic does to a type by nature: conversions from narrow floats to f32 change nothing, and so on.
llvm::StringRef arithmeticOf(DType type) {
  if (!isFloat(type)) return "whole";
  return sizeOf(type) >= 4 ? llvm::StringRef(keyword(type)) : "narrow";
}

} // namespace

// Where something else has the program's type by name, it is replaced with it and then differs from program to program:
// that is on the safe side.
std::string looks(const ir::Program &program) {
  std::string text;
  llvm::raw_string_ostream os(text);
  ir::print(program, os);
  const bool computes = printFormulas(program, os) || hasArithmetic(program);
  text = replaceWords(os.str(), keyword(program.dtype), "T");
  if (program.op) text = replaceWords(text, keyword(*program.op), "op");
  // Which sums are the same whatever their order: Ensures, Expansion.
  const bool anyOrder = !isFloat(program.dtype) || program.op == ReduceOp::Min || program.op == ReduceOp::Max;
  if (program.op) text += anyOrder ? "any order\n" : program.order + "\n";
  if (showsRoundings(program) || computes) text += arithmeticOf(program.dtype).str() + "\n";
  return text;
}

} // namespace coll::check
