// Integer expressions over `me`, loop variables and free extents: which rank, which slot, how long. Immutable values
// that share their nodes; built simplified, compared by structure.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace coll::ir {

class Index {
public:
  enum class Kind { Constant, Variable, Add, Sub, Mul, Div, CeilDiv, Mod, Min, Max, Xor, Shl, Log2, Pow2, Eq, Ne, Lt, Le, And, Or };

  /// What operations take and give lies between this and its negative: kernels reckon in 64 bits, and there nothing
  /// between such numbers overflows on the way to such a result.
  static constexpr std::int64_t kMost = std::int64_t(1) << 62;

  /// Zero.
  Index();
  static Index constant(std::int64_t value);
  /// `me`, a loop variable or an extent; names are unique within a program.
  static Index variable(llvm::StringRef name);

  static Index add(Index a, Index b);
  static Index sub(Index a, Index b);
  static Index mul(Index a, Index b);
  static Index div(Index a, Index b);
  static Index ceilDiv(Index a, Index b);
  /// Result in 0 .. b-1 also for negative a.
  static Index mod(Index a, Index b);
  static Index min(Index a, Index b);
  static Index max(Index a, Index b);
  static Index exclusiveOr(Index a, Index b);
  static Index shiftLeft(Index a, Index b);
  /// Of a positive number, rounded down; and whether a number is a power of two.
  static Index log2(Index a);
  static Index isPowerOf2(Index a);
  /// Any operation. Eq to Or are conditions: 1 where they hold, else 0.
  static Index make(Kind kind, Index a, Index b);
  /// 1 where a condition does not hold.
  static Index negate(Index condition);

  Kind kind() const;
  std::int64_t value() const;          ///< of a Constant
  const std::string &name() const;     ///< of a Variable
  Index left() const, right() const;   ///< of an operation

  bool isConstant(std::int64_t v) const { return kind() == Kind::Constant && value() == v; }
  bool isVariable(llvm::StringRef n) const { return kind() == Kind::Variable && name() == n; }
  bool uses(llvm::StringRef variable) const;
  bool operator==(const Index &other) const;

  /// With every use of a variable replaced.
  Index substitute(llvm::StringRef variable, const Index &by) const;

  /// The value, where `lookup` gives each variable's; empty if one has none, on a division by zero, a shift by
  /// less than 0 or more than 62, a logarithm of less than 1, and beyond kMost.
  using Lookup = std::function<std::optional<std::int64_t>(llvm::StringRef)>;
  std::optional<std::int64_t> evaluate(const Lookup &lookup) const;

  std::string str() const;

private:
  struct Node;
  explicit Index(std::shared_ptr<const Node> n);
  std::shared_ptr<const Node> node;
};

inline llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const Index &index) { return os << index.str(); }

} // namespace coll::ir
