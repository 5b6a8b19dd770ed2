// Whether a value is what a contract promises, where that has reductions whose order is free: combined of each
// contribution once, in any order, and rounded between where hops round.
#pragma once

#include "check/Symbols.h"

#include <set>

namespace coll::check {

class Match {
public:
  /// What was found where a reduction is promised: elements [begin, end) of `promised` are those of `node` at k + shift.
  struct Tree {
    Node promised;
    std::int64_t begin, end;
    Node node;
    std::int64_t shift;
  };

  /// `hopsRound`: what was combined may be rounded to the program's type before it is combined with more.
  Match(const Symbols &symbols, DType type, bool hopsRound) : symbols(symbols), type(type), hopsRound(hopsRound) {}

  /// Whether a segment is as promised, which Symbols::fold has made the reductions of. Adds to `trees`, if it is.
  bool same(const Segment &is, const Segment &promised, std::vector<Tree> &trees);

private:
  /// Element `at` of a node; 0 where the node has no place.
  using Value = std::pair<Node, std::int64_t>;

  const Symbols &symbols;
  const DType type;
  const bool hopsRound;
  std::set<std::pair<Value, Value>> differ;   ///< as operands may be shared
  std::vector<std::pair<Value, Value>> found; ///< where reductions are promised

  Value value(Node node, std::int64_t at) const { return {node, symbols.hasNoPlace(node) ? 0 : at}; }
  Value left(const Value &of) const { return value(symbols.operation(of.first)->left, of.second); }
  Value right(const Value &of) const {
    const Symbols::Operation &o = *symbols.operation(of.first);
    return value(o.right, of.second + o.delta);
  }
  bool same(const Value &is, const Value &promised);
  bool sameOperands(const Value &is, const Value &promised);
  bool combines(const Value &is, const Value &promised);
};

} // namespace coll::check
