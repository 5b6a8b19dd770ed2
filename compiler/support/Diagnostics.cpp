#include "support/Diagnostics.h"

#include <llvm/Support/ConvertUTF.h>

#include <algorithm>
#include <tuple>

namespace coll {

namespace {

// A line may be as long as the whole text; a person wants to see the part around the caret.
constexpr std::size_t snippetBytes = 160;

bool isContinuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

bool isUtf8(std::string_view text) {
  auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.data());
  return llvm::isLegalUTF8String(&begin, begin + text.size());
}

/// The byte as it may go to a terminal.
char printable(char c, bool utf8) {
  auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7F || (byte >= 0x80 && !utf8) ? '?' : c;
}

} // namespace

std::string_view name(DiagnosticKind kind) {
  static constexpr std::string_view names[] = {
#define COLL_DIAGNOSTIC(Enum, Name) Name,
#include "support/Diagnostics.def"
  };
  return names[static_cast<unsigned>(kind)];
}

const Sources::File &Sources::add(std::string text, std::string fileName) {
  std::uint32_t base = files.empty() ? 0 : files.back()->base + files.back()->text.size() + 1;
  auto file = std::make_unique<File>(File{std::move(text), std::move(fileName), base, {0}});
  for (std::uint32_t i = 0; i < file->text.size(); ++i)
    if (file->text[i] == '\n') file->lineStarts.push_back(i + 1);
  files.push_back(std::move(file));
  return *files.back();
}

const Sources::File &Sources::fileOf(std::uint32_t offset) const {
  auto after = std::upper_bound(files.begin(), files.end(), offset,
                                [](std::uint32_t value, const auto &file) { return value < file->base; });
  return **std::prev(after);
}

Sources::Position Sources::position(std::uint32_t offset) const {
  const File &file = fileOf(offset);
  std::uint32_t local = offset - file.base;
  auto next = std::upper_bound(file.lineStarts.begin(), file.lineStarts.end(), local);
  return {&file, static_cast<unsigned>(next - file.lineStarts.begin()), local - *std::prev(next) + 1};
}

std::string_view Sources::lineAt(std::uint32_t offset) const {
  Position place = position(offset);
  std::string_view line = std::string_view(place.file->text).substr(place.file->lineStarts[place.line - 1]);
  line = line.substr(0, line.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string Sources::snippet(SourceRange range) const {
  std::string_view line = lineAt(range.begin);
  if (line.find_first_not_of(" \t") == line.npos) return {};
  std::size_t column = std::min<std::size_t>(position(range.begin).column - 1, line.size());
  std::size_t end = std::min(line.size(), column + std::max<std::size_t>(range.end - range.begin, 1));
  if (line.size() > snippetBytes) {
    std::size_t from = column > snippetBytes / 2 ? column - snippetBytes / 2 : 0;
    while (from < column && isContinuation(line[from])) ++from;
    line = line.substr(from, snippetBytes);
    while (!line.empty() && isContinuation(line.back())) line.remove_suffix(1);
    column -= from;
    end = std::min(end - from, line.size());
  }
  // A character takes one column however many bytes it has; a tab must stay one in the caret's line.
  bool utf8 = isUtf8(line);
  std::string shown, caret;
  for (std::size_t i = 0; i < line.size(); ++i) {
    shown += line[i] == '\t' ? '\t' : printable(line[i], utf8);
    if ((utf8 && isContinuation(line[i])) || i >= std::max(end, column + 1)) continue;
    caret += i < column ? (line[i] == '\t' ? '\t' : ' ') : i == column ? '^' : '~';
  }
  if (column >= line.size()) caret += '^';
  return shown + "\n" + caret;
}

DiagnosticEngine::Report DiagnosticEngine::report(Severity severity, DiagnosticKind kind, SourceRange where,
                                                  std::string message) {
  if (full()) {
    errorCount += severity == Severity::Error;
    return Report(*this, sink.list.size());
  }
  Sources::Position place = sources.position(where.begin);
  Diagnostic diagnostic;
  diagnostic.severity = severity;
  diagnostic.kind = name(kind);
  diagnostic.file = place.file->name;
  diagnostic.line = place.line;
  diagnostic.column = place.column;
  diagnostic.message = std::move(message);
  diagnostic.snippet = sources.snippet(where);
  // What is true of several things at one place, such as of all mailboxes of a mode, is said once.
  const bool isKnown = std::any_of(sink.list.begin(), sink.list.end(), [&](const Diagnostic &other) {
    return std::tie(other.line, other.column, other.severity, other.message, other.file, other.kind) ==
           std::tie(diagnostic.line, diagnostic.column, diagnostic.severity, diagnostic.message, diagnostic.file, diagnostic.kind);
  });
  if (!isKnown) sink.list.push_back(std::move(diagnostic));
  if (severity == Severity::Error && ++errorCount == maxErrors)
    sink.list.back().help = "this is error number " + std::to_string(maxErrors) + "; any more are left out";
  return Report(*this, isKnown ? sink.list.size() : sink.list.size() - 1);
}

DiagnosticEngine::Report DiagnosticEngine::error(DiagnosticKind kind, SourceRange where, std::string message) {
  return report(Severity::Error, kind, where, std::move(message));
}

DiagnosticEngine::Report DiagnosticEngine::warning(DiagnosticKind kind, SourceRange where, std::string message) {
  return report(Severity::Warning, kind, where, std::move(message));
}

DiagnosticEngine::Report DiagnosticEngine::remark(DiagnosticKind kind, SourceRange where, std::string message) {
  return report(Severity::Remark, kind, where, std::move(message));
}

DiagnosticEngine::Report &DiagnosticEngine::Report::note(SourceRange where, std::string message) {
  if (index >= engine.sink.list.size()) return *this;
  Sources::Position place = engine.sources.position(where.begin);
  Diagnostic diagnostic;
  diagnostic.severity = Severity::Note;
  diagnostic.file = place.file->name;
  diagnostic.line = place.line;
  diagnostic.column = place.column;
  diagnostic.message = std::move(message);
  diagnostic.snippet = engine.sources.snippet(where);
  engine.sink.list[index].notes.push_back(std::move(diagnostic));
  return *this;
}

DiagnosticEngine::Report &DiagnosticEngine::Report::help(std::string text) {
  if (index < engine.sink.list.size() && !text.empty() && !engine.full())
    engine.sink.list[index].help = std::move(text);
  return *this;
}

} // namespace coll
