// Tables of coll/Types.h, and the text of diagnostics.
#include "coll/Types.h"

namespace coll {

namespace {

enum class TypeClass { Float, Int };

struct DTypeInfo {
  std::string_view keyword, cuda;
  unsigned bytes;
  TypeClass typeClass;
};

constexpr DTypeInfo dtypes[] = {
#define COLL_DTYPE(Enum, Keyword, Bytes, Class, Cuda) {Keyword, Cuda, Bytes, TypeClass::Class},
#include "coll/Types.def"
};

struct OpInfo {
  std::string_view keyword, cuda;
};

constexpr OpInfo ops[] = {
#define COLL_OP(Enum, Keyword, Cuda) {Keyword, Cuda},
#include "coll/Types.def"
};

const DTypeInfo &info(DType type) {
  return dtypes[static_cast<unsigned>(type)];
}
const OpInfo &info(ReduceOp op) {
  return ops[static_cast<unsigned>(op)];
}

std::string_view word(Severity severity) {
  switch (severity) {
  case Severity::Error: return "error";
  case Severity::Warning: return "warning";
  case Severity::Remark: return "remark";
  case Severity::Note: return "note";
  }
  return "";
}

void append(std::string &out, const Diagnostic &diagnostic) {
  if (!diagnostic.file.empty()) {
    out += diagnostic.file + ":";
    if (diagnostic.line) out += std::to_string(diagnostic.line) + ":" + std::to_string(diagnostic.column) + ":";
    out += " ";
  }
  out.append(word(diagnostic.severity)).append(": ").append(diagnostic.message);
  if (diagnostic.severity != Severity::Note && !diagnostic.kind.empty()) out += " [" + diagnostic.kind + "]";
  out += "\n";
  if (!diagnostic.snippet.empty()) {
    out += diagnostic.snippet;
    if (out.back() != '\n') out += "\n";
  }
  for (const Diagnostic &note : diagnostic.notes) append(out, note);
  if (!diagnostic.help.empty()) out += "help: " + diagnostic.help + "\n";
}

} // namespace

std::string_view keyword(DType type) {
  return info(type).keyword;
}
std::string_view keyword(ReduceOp op) {
  return info(op).keyword;
}
std::string_view cudaName(DType type) {
  return info(type).cuda;
}
std::string_view cudaName(ReduceOp op) {
  return info(op).cuda;
}
unsigned sizeOf(DType type) {
  return info(type).bytes;
}
bool isFloat(DType type) {
  return info(type).typeClass == TypeClass::Float;
}

std::optional<DType> parseDType(std::string_view keyword) {
  for (unsigned i = 0; i < std::size(dtypes); ++i)
    if (dtypes[i].keyword == keyword) return static_cast<DType>(i);
  return std::nullopt;
}

std::optional<ReduceOp> parseReduceOp(std::string_view keyword) {
  for (unsigned i = 0; i < std::size(ops); ++i)
    if (ops[i].keyword == keyword) return static_cast<ReduceOp>(i);
  return std::nullopt;
}

bool Diagnostics::hasErrors() const {
  for (const Diagnostic &diagnostic : list)
    if (diagnostic.severity == Severity::Error) return true;
  return false;
}

std::string Diagnostics::render() const {
  std::string out;
  for (const Diagnostic &diagnostic : list) append(out, diagnostic);
  return out;
}

} // namespace coll
