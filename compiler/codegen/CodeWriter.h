// Lines of CUDA text with indentation, and the lines of the source they come from. The only place that knows layout.
#pragma once

#include "llvm/ADT/Twine.h"

#include <string>
#include <utility>
#include <vector>

namespace coll::codegen {

class CodeWriter {
public:
  void line(const llvm::Twine &text);
  void blank();
  /// `// text`, broken at 118 columns; later lines are indented by `hang` spaces after the slashes.
  void comment(llvm::StringRef text, unsigned hang = 0);
  void open(const llvm::Twine &text) { line(text), depth += 2; }
  void close(const llvm::Twine &text) { depth -= 2, line(text); }
  /// Moves the margin, for what is broken over several lines.
  void indent(int columns) { depth = unsigned(int(depth) + columns); }
  /// A line at the left margin, for preprocessor directives.
  void directive(const llvm::Twine &text);

  /// All that another has written.
  void append(const CodeWriter &other);

  /// Lines written from now on come from this line of the source; 0: from none.
  void from(unsigned sourceLine) { source = sourceLine; }

  const std::string &text() const { return out; }
  const std::vector<std::pair<unsigned, unsigned>> &sourceMap() const { return map; }

private:
  std::string out;
  unsigned depth = 0, lines = 0, source = 0;
  std::vector<std::pair<unsigned, unsigned>> map;

  void count();
};

} // namespace coll::codegen
