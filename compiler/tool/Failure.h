// How a verb ends: its exit code, and the one way out of it where it cannot go on.
#pragma once

#include <optional>
#include <string>

namespace coll::tool {

enum class Exit {
  Good = 0,
  Refuted = 1,  ///< the checker refutes it, or a result is wrong
  BadInput = 2, ///< bad usage, bad source text, a file that cannot be read or written
  Internal = 2, ///< a mistake of Coll's own; the message says so and asks to report it
  Lacking = 3,  ///< this machine lacks what was asked for
};

/// Thrown by a verb, caught once in Main.cpp, which prints it and exits with the code.
struct Failure {
  Exit code;
  std::string message;   ///< lower case, no full stop, code in backticks; empty where everything has been said
  std::string help = {}; ///< what to do about it; may be empty
};

} // namespace coll::tool
