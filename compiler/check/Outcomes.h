// What conditions and indices of a program come out as for values of its scalars.
#pragma once

#include "check/Periods.h"
#include "check/Scalars.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

namespace coll::check {

struct Expression {
  ir::Index index;
  ir::SourceOffset where;
  bool number; ///< it is computed with, and is neither a condition nor a place
};

class Outcomes {
public:
  /// With all expressions of the program that use a scalar.
  Outcomes(const ir::Program &program, std::vector<Expression> expressions);

  /// Of an integer, one value for each outcome: of those that differ in nothing, the one nearest to 0.
  const std::vector<std::int64_t> &integer(const std::string &scalar) const { return integers.at(scalar); }

  /// Prepares the following for all combinations of values. False, with a refusal, if they are too many.
  bool table(const std::vector<std::vector<std::int64_t>> &values);

  /// What of conditions and indices makes an outcome: all that they come out as, for each rank; or which conditions hold
  /// together on a rank, and which indices are its number, whichever rank that is.
  enum class By { Rank, AnyRank };

  /// A number for the outcome of one combination.
  std::uint64_t of(const std::vector<std::int64_t> &combination, By by) const;

  using Visit = llvm::function_ref<void(const std::vector<std::int64_t> &, std::uint64_t)>;
  void each(const std::vector<std::vector<std::int64_t>> &values, By by, Visit visit) const;

  void refuse(const std::string &scalar, std::optional<ir::Index> at, ir::SourceOffset where, bool isFollowed = true);
  /// Of the combinations of all scalars.
  void refuseAll();

  std::optional<ScalarClasses::Refusal> refusal; ///< values do not stand for all

private:
  /// By rank, what an expression comes out as for the values of its scalars.
  struct Table {
    std::vector<std::size_t> scalars; ///< that it uses
    struct State {
      std::uint64_t all;    ///< for all values of other variables, one after the other
      std::uint8_t of = 0;  ///< any of them: what there is
    };
    std::vector<State> states; ///< by the values of the scalars, the last fastest, then by rank
  };

  const ir::Program &program;
  std::vector<Expression> expressions;
  Ranges ranges;
  std::int64_t most; ///< no slot, rank or row has a higher number
  std::map<std::string, std::vector<std::int64_t>> integers;
  std::vector<std::vector<std::int64_t>> valuesOf; ///< by scalar
  std::vector<Table> tables;

  void findRanges();
  void widen(const std::string &variable, Range range);
  void refuseOverflow(const Expression &e);
  Periods periodsOf(const ir::Scalar &scalar);
  std::vector<std::int64_t> candidates(const ir::Scalar &scalar, const Periods &periods);
  std::vector<std::int64_t> distinct(const ir::Scalar &scalar, const std::vector<std::int64_t> &values);
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> othersIn(const ir::Index &i, llvm::ArrayRef<std::string> but) const;
  bool addTable(const Expression &e);
  std::uint64_t outcome(const std::vector<std::size_t> &positions, By by) const;
  std::uint64_t numberOf(const Expression &e, std::optional<std::int64_t> value) const;
};

} // namespace coll::check
