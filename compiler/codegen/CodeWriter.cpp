#include "codegen/CodeWriter.h"

#include "llvm/ADT/StringRef.h"

namespace coll::codegen {

namespace {
constexpr std::size_t kColumns = 118;
}

void CodeWriter::count() {
  ++lines;
  if (source) map.emplace_back(lines, source);
}

void CodeWriter::line(const llvm::Twine &text) {
  out.append(depth, ' ');
  out += text.str();
  out += '\n';
  count();
}

void CodeWriter::blank() {
  out += '\n';
  count();
}

void CodeWriter::directive(const llvm::Twine &text) {
  out += text.str();
  out += '\n';
  count();
}

void CodeWriter::append(const CodeWriter &other) {
  for (const auto &[line, from] : other.map) map.emplace_back(lines + line, from);
  out += other.out;
  lines += other.lines;
}

void CodeWriter::comment(llvm::StringRef text, unsigned hang) {
  std::string current = "//";
  bool first = true;
  auto flush = [&] {
    line(current);
    current = "//" + std::string(hang, ' ');
    first = true;
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const llvm::StringRef word = text.take_front(end);
    text = text.drop_front(std::min(end + 1, text.size()));
    if (!first && depth + current.size() + 1 + word.size() > kColumns) flush();
    current += " " + word.str(); // runs of spaces survive as empty words
    first = false;
  }
  flush();
}

} // namespace coll::codegen
