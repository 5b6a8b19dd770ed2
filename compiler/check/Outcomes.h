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

  /// A number for the outcome of one combination: which conditions hold together on a rank, on whichever.
  std::uint64_t of(const std::vector<std::int64_t> &combination) const;

  using Visit = llvm::function_ref<void(const std::vector<std::int64_t> &, std::uint64_t)>;
  void each(const std::vector<std::vector<std::int64_t>> &values, Visit visit) const;

  std::optional<ScalarClasses::Refusal> refusal; ///< values do not stand for all

private:
  /// By rank, what an expression comes out as for the values of its scalars.
  struct Table {
    std::vector<std::size_t> scalars; ///< that it uses
    std::vector<std::uint8_t> states; ///< by their values, the last fastest, then by rank
  };

  const ir::Program &program;
  std::vector<Expression> expressions;
  Ranges ranges;
  std::int64_t most; ///< no slot, rank or row has a higher number
  std::map<std::string, std::vector<std::int64_t>> integers;
  std::vector<std::vector<std::int64_t>> valuesOf; ///< by scalar
  std::vector<Table> tables;

  void findRanges();
  void refuse(const std::string &scalar, std::optional<ir::Index> at, ir::SourceOffset where);
  std::vector<std::int64_t> candidates(const ir::Scalar &scalar);
  std::vector<std::int64_t> distinct(const ir::Scalar &scalar, const std::vector<std::int64_t> &values);
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> othersIn(const ir::Index &i, llvm::ArrayRef<std::string> but) const;
  bool addTable(const ir::Index &i, ir::SourceOffset where);
  std::uint64_t outcome(const std::vector<std::size_t> &positions) const;
};

} // namespace coll::check
