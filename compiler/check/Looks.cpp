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

} // namespace

// Where something else has the program's type by name, it is replaced with it and then differs from program to program:
// that is on the safe side.
std::string looks(const ir::Program &program) {
  std::string text;
  llvm::raw_string_ostream os(text);
  ir::print(program, os);
  text = replaceWords(os.str(), keyword(program.dtype), "T");
  if (program.op) text = replaceWords(text, keyword(*program.op), "op");
  // Which sums are the same whatever their order: Ensures, Expansion.
  const bool anyOrder = !isFloat(program.dtype) || program.op == ReduceOp::Min || program.op == ReduceOp::Max;
  if (program.op) text += anyOrder ? "any order\n" : program.order + "\n";
  // To an f32 nothing is rounded.
  if (showsRoundings(program)) text += program.dtype == DType::F32 ? "f32\n" : isFloat(program.dtype) ? "rounded\n" : "whole\n";
  return text;
}

} // namespace coll::check
