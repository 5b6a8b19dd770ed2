// Where results go: standard output, or a file that appears whole or not at all. Messages go to standard error.
#pragma once

#include "tool/Failure.h"

#include <string_view>

namespace coll::tool {

/// To be called first thing: a closed pipe then ends the tool quietly, and a closed descriptor is not reused.
void prepareStreams();

/// Writes to standard output. Throws Failure if that fails; with an empty message if nobody is reading any more.
void print(std::string_view text);
/// Writes to standard error; what cannot be written is lost.
void printMessage(std::string_view text);

/// Writes to standard error what a failure says, if anything.
void printFailure(const Failure &failure);

/// Puts `content` into the file, or on standard output if `file` is empty. The file is replaced in one step, and is
/// left as it was if that fails.
void writeResult(const std::string &file, std::string_view content);

bool outputIsTerminal();

/// What long work has got to: one line on a terminal that overwrites itself, nothing elsewhere.
class Progress {
public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// Cheap enough to be called at every step.
  void show(std::string_view text);
  /// Takes the line away, so that a result can be printed.
  void clear();

private:
  bool terminal;
  bool shown = false;
  long long last = 0; ///< when it was written, in milliseconds
};

} // namespace coll::tool
