// Numbers that stand for all values of an integer scalar.
#pragma once

#include "ir/IndexRange.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

namespace coll::check {

using ir::Range, ir::Ranges;

/// What expressions over one integer may be, seen as functions of it: each is a multiple of the integer and something that
/// repeats with a period. Where a comparison of such a thing may change is a span of numbers, and outside of all spans
/// all conditions repeat. So the numbers in spans, and a period of those between two of them, have every outcome that
/// any number has. What compares two integers with each other does not change with both of them far from all spans, as long
/// as they stay as far apart, or so far that the rest of the comparison cannot tell.
class Periods {
public:
  /// `ranges` are those of all other variables, of which `integers` are scalars.
  Periods(llvm::StringRef scalar, const Ranges &ranges, llvm::ArrayRef<std::string> integers)
      : scalar(scalar.str()), ranges(ranges), integers(integers.begin(), integers.end()) {}

  /// Notes an expression. It is false if the numbers at which it changes are not known: then `reason` is what in it. A
  /// number that is no condition, and does not repeat, is looked at from 0 up to `most` and else only for its side.
  bool note(const ir::Index &i, std::optional<std::int64_t> most);

  /// Between two bounds, in ascending order; empty if there are too many.
  std::optional<std::vector<std::int64_t>> numbers(std::int64_t low, std::int64_t high) const;

  /// Of all scalars, when everything has been noted: those that are compared with each other have numbers in common.
  static void relate(std::vector<Periods> &all);

  std::optional<ir::Index> reason;
  bool isFollowed = false; ///< what `reason` is, but there are too many numbers

private:
  /// scalar * up / down + other * times + something between `low` and `high`, equal for numbers that are `period` apart.
  struct Form {
    std::int64_t up = 0, down = 1, period = 1;
    double low = 0, high = 0;
    std::string other = {}; ///< another scalar
    std::int64_t times = 0;
  };

  std::string scalar;
  const Ranges &ranges;
  std::vector<std::string> integers;
  std::int64_t period = 1;
  std::vector<Range> spans;
  bool related = false;  ///< it is compared with another scalar,
  std::int64_t near = 0; ///< and where they are more than so much apart, the order of the two decides
  std::int64_t reach = 0; ///< how far from spans related scalars are looked at

  void fill(std::int64_t low, std::int64_t high, std::vector<std::int64_t> &all) const;
  Form alone(Form form) const;
  std::optional<Form> formOf(const ir::Index &i);
  std::optional<Form> operation(const ir::Index &i, Form a, Form b);
  std::optional<Form> scaled(Form a, std::int64_t by) const;
  std::optional<Form> truth(const Form &difference);
  std::optional<Form> divided(const Form &a, std::int64_t by, ir::Index::Kind kind);
  bool mark(const Form &form, double from, double to);
};

} // namespace coll::check
