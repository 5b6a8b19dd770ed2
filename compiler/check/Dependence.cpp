#include "check/Dependence.h"

#include <algorithm>
#include <iterator>

namespace coll::check {

using Kind = Step::Kind;

void Dependence::begin() {
  reads = 0;
  from.assign(program.values.size(), kUnknown);
}

int Dependence::entryOf(std::vector<int> list) {
  const auto [at, fresh] = entries.emplace(std::move(list), int(out.computedFrom.size()));
  if (fresh) out.computedFrom.push_back(at->first);
  return at->second;
}

int Dependence::both(int a, int b) {
  if (a == kUnknown || b == kUnknown) return kUnknown;
  const std::vector<int> &left = out.computedFrom[std::size_t(a)], &right = out.computedFrom[std::size_t(b)];
  std::vector<int> all;
  std::set_union(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(all));
  return all.size() == left.size() + right.size() ? entryOf(std::move(all)) : kUnknown;
}

void Dependence::follow(Step &step, int rank) {
  const auto of = [&](int value) { return value == ir::kNone ? kUnknown : from[std::size_t(value)]; };
  const bool own = step.a != ir::kNone && step.index == rank;
  int result = kUnknown;
  switch (step.kind) {
  case Kind::Load: result = step.counts == ir::kNone && !step.everyRow && !step.perRow ? entryOf({}) : kUnknown; break;
  case Kind::Read:
    step.mark = reads++;
    result = own ? of(step.a) : entryOf({step.mark});
    break;
  case Kind::Poll: result = own ? of(step.a) : entryOf({}); break;
  case Kind::Send:
    result = of(step.a);
    if (result != kUnknown && !program.mailboxes[std::size_t(step.box)].counted) step.mark = result;
    break;
  case Kind::Fold: result = step.first ? of(step.a) : both(of(step.value), of(step.a)); break;
  case Kind::Combine: result = both(of(step.a), of(step.b)); break;
  case Kind::Round: result = of(step.a); break;
  case Kind::Map: result = step.function == ir::Function::Convert ? of(step.a) : kUnknown; break;
  default: break;
  }
  // Of a Send, only what is kept.
  if (step.value != ir::kNone && (step.kind != Kind::Send || step.peer == rank)) from[std::size_t(step.value)] = result;
}

} // namespace coll::check
