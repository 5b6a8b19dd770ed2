// What values an integer of the program text can take for a given number of ranks: enough to find an index that is
// past the end, never so much as to refuse one that is not.
#pragma once

#include "ast/Ast.h"

#include <map>

namespace coll::sema {

struct Interval {
  std::int64_t lo = 0, hi = 0;
  bool exact = true; ///< both ends do occur
  bool dense = true; ///< and so does everything between
};

/// A loop around a place. Null bounds: over all ranks.
struct Loop {
  const ast::Variable *variable;
  const ast::Expr *first, *last;
};

/// What the loops' variables range over for N ranks.
class Ranges {
public:
  Ranges(int ranks, const std::vector<Loop> &loops);

  /// Whether the place inside the loops is never reached.
  bool empty() const { return isEmpty; }
  /// Nothing where the value depends on a launch.
  std::optional<Interval> of(const ast::Expr &expr) const;

private:
  std::optional<Interval> ofName(const ast::NameRef &ref) const;
  std::optional<Interval> ofBinary(const ast::Binary &binary) const;
  Interval wrapped(Interval value) const;

  int ranks;
  std::map<const ast::Variable *, Interval> variables;
  bool isEmpty = false;
};

/// Whether a condition holds for N ranks; nothing where that depends on a launch.
std::optional<bool> holds(const ast::Expr &condition, int ranks);

} // namespace coll::sema
