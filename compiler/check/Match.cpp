#include "check/Match.h"

#include <algorithm>

namespace coll::check {

bool Match::same(const Segment &is, const Segment &promised, std::vector<Tree> &trees) {
  const auto begin = std::int64_t(is.begin);
  found.clear(), differ.clear();
  if (!same(value(is.node, begin + is.shift), value(promised.node, begin + promised.shift))) return false;
  for (const auto &[tree, reduction] : found)
    trees.push_back({reduction.first, reduction.second, reduction.second + std::int64_t(is.end - is.begin), tree.first,
                     tree.second - reduction.second});
  return true;
}

bool Match::same(const Value &is, const Value &promised) {
  if (is == promised) return true;
  const Symbols::Operation *should = symbols.operation(promised.first);
  if (!should) return false;
  const std::pair both(is, promised);
  if (differ.count(both)) return false;
  const bool folds = should->op >= Symbols::kFolds && should->op < Symbols::kConstant;
  const std::size_t before = found.size();
  const bool as = folds ? combines(is, promised) : sameOperands(is, promised);
  if (as && folds) found.emplace_back(is, promised);
  if (!as) found.resize(before), differ.insert(both);
  return as;
}

bool Match::sameOperands(const Value &is, const Value &promised) {
  const Symbols::Operation *has = symbols.operation(is.first), &should = *symbols.operation(promised.first);
  if (!has || has->op != should.op || has->left == ir::kNone || should.left == ir::kNone) return false;
  const bool two = has->right != ir::kNone && !Symbols::isPrefix(has->op);
  if (two != (should.right != ir::kNone && !Symbols::isPrefix(should.op))) return false;
  if (!two) return has->delta == should.delta && has->right == should.right && same(left(is), left(promised));
  if (same(left(is), left(promised)) && same(right(is), right(promised))) return true;
  const bool either = has->op < Symbols::kMaps; // a op b is b op a
  return either && same(left(is), right(promised)) && same(right(is), left(promised));
}

/// Whether a value is all contributions of a reduction, each once, combined by its operator in any way.
bool Match::combines(const Value &is, const Value &promised) {
  const int fold = symbols.operation(promised.first)->op;
  std::vector<Value> contributions;
  Value next = promised;
  for (const Symbols::Operation *o; (o = symbols.operation(next.first)) && o->op == fold; next = left(next))
    contributions.push_back(right(next));
  contributions.push_back(next);
  // Values of the type are not changed by a rounding to it, nor is their minimum.
  const bool rounds = hopsRound || std::all_of(contributions.begin(), contributions.end(),
                                               [&](const Value &v) { return symbols.isA(v.first, type); });
  std::vector<Value> todo{is};
  while (!todo.empty()) {
    const Value part = todo.back();
    todo.pop_back();
    if (const auto it = std::find(contributions.begin(), contributions.end(), part); it != contributions.end()) {
      contributions.erase(it);
      continue;
    }
    if (todo.size() >= contributions.size()) return false; // each takes one at least
    const Symbols::Operation *o = symbols.operation(part.first);
    if (const Node inner = rounds ? symbols.unrounded(part.first) : part.first; inner != part.first) {
      todo.push_back(value(inner, part.second));
    } else if (o && o->op == fold - Symbols::kFolds) {
      if (o->right != ir::kNone) todo.push_back(right(part));
      todo.push_back(left(part));
    } else { // a contribution may have reductions itself
      const auto it = std::find_if(contributions.begin(), contributions.end(), [&](const Value &v) { return same(part, v); });
      if (it == contributions.end()) return false;
      contributions.erase(it);
    }
  }
  return contributions.empty();
}

} // namespace coll::check
