// Element types, reduction operators and diagnostics: the vocabulary that compiler, runtime and tool share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coll {

enum class DType {
#define COLL_DTYPE(Enum, Keyword, Bytes, Class, Cuda) Enum,
#include "coll/Types.def"
};

enum class ReduceOp {
#define COLL_OP(Enum, Keyword, Cuda) Enum,
#include "coll/Types.def"
};

/// The keyword of a type or operator in the language ("bf16", "sum"), its spelling in generated CUDA, and its size.
std::string_view keyword(DType type);
std::string_view keyword(ReduceOp op);
std::string_view cudaName(DType type);
std::string_view cudaName(ReduceOp op);
unsigned sizeOf(DType type);
bool isFloat(DType type);
std::optional<DType> parseDType(std::string_view keyword);
std::optional<ReduceOp> parseReduceOp(std::string_view keyword);

enum class Severity { Error, Warning, Remark, Note };

/// One message about a source text. `line` and `column` count from 1, columns in bytes; 0 where there is no place.
struct Diagnostic {
  Severity severity = Severity::Error;
  std::string kind; ///< stable name of the kind, e.g. "unknown-name"; see compiler/support/Diagnostics.def
  std::string file;
  unsigned line = 0;
  unsigned column = 0;
  std::string message; ///< lower case, no full stop, code in backticks
  std::string help;    ///< what to do about it; may be empty
  std::string snippet; ///< the source line and a caret under it, as two lines; may be empty
  std::vector<Diagnostic> notes;
};

/// Diagnostics in the order they arose. Functions that take one append to it and never print.
struct Diagnostics {
  std::vector<Diagnostic> list;

  bool hasErrors() const;
  /// The usual text: `file:line:column: error: message`, the snippet, notes, help; one after the other.
  std::string render() const;
};

} // namespace coll
