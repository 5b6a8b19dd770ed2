#include "codegen/Names.h"

namespace coll::codegen {

Names::Names() {
  static constexpr const char *reserved[] = {
      // the kernel's own vocabulary
      "N", "T", "Op", "Packet", "Shape", "Args", "a", "i", "me", "hop", "launch", "pieces", "team", "coll", "part",
      "Credits", "credits",
      // keywords and names that a user may well choose for data
      "alignas", "alignof", "and", "asm", "auto", "bool", "break", "case", "catch", "char", "class", "const", "constexpr",
      "continue", "default", "delete", "do", "double", "else", "enum", "explicit", "export", "extern", "false", "float",
      "for", "friend", "goto", "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "nullptr",
      "operator", "or", "private", "protected", "public", "register", "return", "short", "signed", "sizeof", "static",
      "struct", "switch", "template", "this", "throw", "true", "try", "typedef", "typeid", "typename", "union",
      "unsigned", "using", "virtual", "void", "volatile", "while", "xor", "compl", "bitand", "bitor", "not_eq", "or_eq",
      "and_eq", "xor_eq", "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "min", "max", "abs", "exp",
      "alignof", "char16_t", "char32_t", "char8_t", "co_await", "co_return", "co_yield", "concept", "consteval",
      "constinit", "const_cast", "decltype", "dynamic_cast", "reinterpret_cast", "requires", "static_assert",
      "static_cast", "thread_local", "wchar_t", "__CUDA_ARCH__"};
  for (const char *name : reserved) taken.insert(name);
}

std::string Names::unique(llvm::StringRef wanted) {
  std::string name = wanted.str();
  for (int n = 2; !taken.insert(name).second; ++n) name = wanted.str() + "_" + std::to_string(n);
  return name;
}

std::string kernelName(const ir::Program &program) {
  std::string name = program.member + "_n" + std::to_string(program.ranks) + "_" + std::string(keyword(program.dtype));
  if (program.op) name += "_" + std::string(keyword(*program.op));
  for (char &c : name)
    if (c == '.') c = '_';
  return name;
}

} // namespace coll::codegen
