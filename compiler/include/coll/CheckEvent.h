// One of the events of a counterexample, for programs rather than for people.
#pragma once

#include <cstdint>
#include <string>

namespace coll {

/// A point of an execution in which something goes wrong.
struct CheckEvent {
  std::string what; ///< `send`, `wait`, `read`, `clear`, `announce`, `load`, `store` or `barrier`
  int launch = 0;   ///< counted from that of the first event
  int rank = 0;     ///< who does it
  int owner = 0;    ///< whose mailbox it touches; `rank` itself for anything else
  std::string name; ///< of the mailbox or argument; empty for a barrier
  int slot = 0;
  std::uint64_t begin = 0, end = 0; ///< elements of the slot or argument
  std::string file;
  unsigned line = 0, column = 0;
};

} // namespace coll
