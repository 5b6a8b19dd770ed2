#include "parse/Prescan.h"

#include "parse/Parser.h"

#include <llvm/Support/ConvertUTF.h>

#include <cstdio>

namespace coll {

namespace {

/// Length of the character that starts the text; 0 if it is not UTF-8.
unsigned characterBytes(std::string_view text) {
  auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.data());
  unsigned bytes = llvm::getNumBytesForUTF8(*begin);
  return bytes <= text.size() && llvm::isLegalUTF8Sequence(begin, begin + bytes) ? bytes : 0;
}

/// `U+200B`, of a character that is legal UTF-8.
std::string codePoint(std::string_view character) {
  std::uint32_t value = static_cast<unsigned char>(character[0]) & (0xFFu >> (character.size() + 1));
  for (char c : character.substr(1)) value = value << 6 | (static_cast<unsigned char>(c) & 0x3F);
  char text[16];
  std::snprintf(text, sizeof text, "U+%04X", unsigned(value));
  return text;
}

bool isTokenCharacter(char c) {
  constexpr std::string_view punctuation = "(){}[]<>.,:=+-*/%^!_ \t\r\n";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         punctuation.find(c) != std::string_view::npos;
}

/// What the author of a character that Coll does not have may have meant; empty if there is no telling.
std::string helpFor(char c) {
  switch (c) {
  case ';': return "statements need nothing between them";
  case '#': return "a comment begins with `//`";
  case '&': return "write `and`";
  case '|': return "write `or`";
  case '"':
  case '\'': return "there are no strings in Coll";
  default: return static_cast<unsigned char>(c) < 0x80 ? "" : "outside comments a program is ASCII";
  }
}

class Prescanner {
public:
  Prescanner(const Sources::File &source, DiagnosticEngine &diagnostics)
      : text(source.text), base(source.base), diagnostics(diagnostics) {}

  bool run() {
    if (text.size() > maxSourceBytes)
      return fail(DiagnosticKind::Input, 0, 1,
                  "the file has " + std::to_string(text.size()) + " bytes; the limit is " +
                      std::to_string(maxSourceBytes) + " (1 MiB)");
    while (at < text.size())
      if (!step()) return false;
    return true;
  }

private:
  bool step() {
    char c = text[at];
    if (c == '\0') return fail(DiagnosticKind::Input, at, 1, "the file holds a NUL byte; is it a text file?");
    unsigned bytes = characterBytes(text.substr(at));
    if (!bytes) return fail(DiagnosticKind::Input, at, 1, "the file is not valid UTF-8");
    if (text.substr(at, 2) == "//") comment = true;
    if (c == '\n') comment = false;
    if (!comment && text.substr(at, 2) == "/*")
      return fail(DiagnosticKind::Syntax, at, 2, "unexpected `/*`", "a comment begins with `//` and ends with its line");
    if (!comment && !token(c, bytes)) return false;
    at += bytes;
    return true;
  }

  bool token(char c, unsigned bytes) {
    if (!isTokenCharacter(c)) {
      std::string character(text.substr(at, bytes));
      if (at == 0 && character == "\xEF\xBB\xBF")
        return fail(DiagnosticKind::Input, at, bytes, "the file begins with a byte order mark",
                    "save it as plain UTF-8");
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
        return fail(DiagnosticKind::Input, at, 1, "the file holds a control character");
      // Of some characters there is nothing to see.
      const std::string code = bytes > 1 ? " (" + codePoint(character) + ")" : "";
      return fail(DiagnosticKind::Syntax, at, bytes, "unexpected character `" + character + "`" + code, helpFor(c));
    }
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && depth > 0) --depth;
    if (depth > maxNesting)
      return fail(DiagnosticKind::Input, at, 1,
                  "brackets are nested more than " + std::to_string(maxNesting) + " deep");
    return true;
  }

  bool fail(DiagnosticKind kind, std::size_t where, std::size_t bytes, std::string message, std::string help = {}) {
    std::uint32_t begin = base + static_cast<std::uint32_t>(where);
    diagnostics.error(kind, {begin, begin + static_cast<std::uint32_t>(bytes)}, std::move(message))
        .help(std::move(help));
    return false;
  }

  std::string_view text;
  std::uint32_t base;
  DiagnosticEngine &diagnostics;
  std::size_t at = 0;
  unsigned depth = 0;
  bool comment = false;
};

} // namespace

bool prescan(const Sources::File &source, DiagnosticEngine &diagnostics) {
  return Prescanner(source, diagnostics).run();
}

} // namespace coll
