// Which plain reads, and which loads, a rank must have done before it can know what it sends. That orders them where nothing else does: no
// store holds a value before the loads that it is computed from have ended.
//
// Only what surely needs all of its operands counts, element by element: what is moved, converted, or combined from
// different reads by an operator. Of a constant, of anything else that is computed, and of what meets itself, an
// optimiser may find that an operand does not matter.
#pragma once

#include "check/Expansion.h"

#include <map>

namespace coll::check {

class Dependence {
public:
  Dependence(const ir::Program &program, Expansion &out) : program(program), out(out) {}

  /// The steps of another rank follow.
  void begin();
  /// The next step of `rank`. Sets its mark.
  void follow(Step &step, int rank);

private:
  const ir::Program &program;
  Expansion &out;
  int reads = 0, loads = 0;
  std::vector<int> fromReads, fromLoads; ///< by value: its entry in Expansion::computedFrom; kUnknown
  std::map<std::vector<int>, int> entries;
  static constexpr int kUnknown = -2;

  enum class Of { Reads, Loads };
  void follow(Step &step, int rank, Of leaves, std::vector<int> &from);
  int entryOf(std::vector<int> list);
  int both(int a, int b);
};

} // namespace coll::check
