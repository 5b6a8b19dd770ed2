// Numbers that stand for all values of an integer scalar.
#pragma once

#include "ir/IndexRange.h"

namespace coll::check {

using ir::Range, ir::Ranges;

/// What expressions over one integer may be, seen as functions of it: each is a multiple of the integer and something that
/// repeats with a period. Where a comparison of such a thing may change is a span of numbers, and outside of all spans
/// all conditions repeat. So the numbers in spans, and a period of those between two of them, have every outcome that
/// any number has.
class Periods {
public:
  /// `ranges` are those of all other variables.
  Periods(llvm::StringRef scalar, const Ranges &ranges) : scalar(scalar.str()), ranges(ranges) {}

  /// Notes an expression. It is false if the numbers at which it changes are not known: then `reason` is what in it. A
  /// number that is no condition, and does not repeat, is looked at from 0 up to `most` and else only for its side.
  bool note(const ir::Index &i, std::optional<std::int64_t> most);

  /// Between two bounds, in ascending order; empty if there are too many.
  std::optional<std::vector<std::int64_t>> numbers(std::int64_t low, std::int64_t high) const;

  std::optional<ir::Index> reason;

private:
  /// scalar * up / down + something between `low` and `high`, equal for numbers that are `period` apart.
  struct Form {
    std::int64_t up = 0, down = 1, period = 1;
    double low = 0, high = 0;
  };

  const std::string scalar;
  const Ranges &ranges;
  std::int64_t period = 1;
  std::vector<Range> spans;

  std::optional<Form> formOf(const ir::Index &i);
  std::optional<Form> operation(const ir::Index &i, const Form &a, const Form &b);
  std::optional<Form> scaled(Form a, std::int64_t by) const;
  std::optional<Form> truth(const Form &difference);
  std::optional<Form> divided(const Form &a, std::int64_t by, ir::Index::Kind kind) const;
  bool mark(const Form &form, double from, double to);
};

} // namespace coll::check
