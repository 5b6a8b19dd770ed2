// Collects what is wrong with source texts: turns byte offsets into lines and columns, cuts out the snippet with its
// caret, and appends to a Diagnostics. Never prints.
#pragma once

#include "coll/Types.h"

#include <memory>

namespace coll {

/// Every kind of diagnostic.
enum class DiagnosticKind {
#define COLL_DIAGNOSTIC(Enum, Name) Enum,
#include "support/Diagnostics.def"
};
std::string_view name(DiagnosticKind kind);

/// Bytes [begin, end) of the text a place refers to.
struct SourceRange {
  std::uint32_t begin = 0, end = 0;
};

/// The texts of one compilation, laid end to end: an offset says both the file and the place in it. Lines and columns
/// count from 1; columns are bytes. Const members are safe to use from several threads.
class Sources {
public:
  struct File {
    std::string text, name;
    std::uint32_t base = 0; ///< offset of the text's first byte; that of its end is a valid place too
    std::vector<std::uint32_t> lineStarts;
  };
  struct Position {
    const File *file;
    unsigned line, column;
  };

  /// The reference stays valid.
  const File &add(std::string text, std::string fileName);
  Position position(std::uint32_t offset) const;
  /// The line that holds the offset, without its end.
  std::string_view lineAt(std::uint32_t offset) const;
  /// Two lines: the source line, and a caret under the offset with `~` to the end of the range on that line.
  /// Empty for a blank line.
  std::string snippet(SourceRange range) const;

private:
  const File &fileOf(std::uint32_t offset) const;
  std::vector<std::unique_ptr<File>> files;
};

/// Reports into a Diagnostics that the caller owns.
class DiagnosticEngine {
public:
  DiagnosticEngine(const Sources &sources, Diagnostics &sink) : sources(sources), sink(sink) {}

  /// Adds notes and help to the diagnostic just reported. Valid until the next report.
  class Report {
  public:
    Report &note(SourceRange where, std::string message);
    Report &help(std::string text);

  private:
    friend class DiagnosticEngine;
    Report(DiagnosticEngine &engine, std::size_t index) : engine(engine), index(index) {}
    DiagnosticEngine &engine;
    std::size_t index; ///< past the end where the report was left out
  };

  Report error(DiagnosticKind kind, SourceRange where, std::string message);
  Report warning(DiagnosticKind kind, SourceRange where, std::string message);
  Report remark(DiagnosticKind kind, SourceRange where, std::string message);

  unsigned errors() const { return errorCount; }
  /// Whether so many errors are reported that nobody reads on; more are counted and left out.
  bool full() const { return errorCount >= maxErrors; }

private:
  static constexpr unsigned maxErrors = 100;
  Report report(Severity severity, DiagnosticKind kind, SourceRange where, std::string message);
  const Sources &sources;
  Diagnostics &sink;
  unsigned errorCount = 0;
};

} // namespace coll
