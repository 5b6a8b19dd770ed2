#include "check/Dependence.h"

#include <algorithm>
#include <iterator>

namespace coll::check {

using Kind = Step::Kind;

void Dependence::begin() {
  reads = loads = 0;
  fromReads.assign(program.values.size(), kUnknown);
  fromLoads.assign(program.values.size(), kUnknown);
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
  if (step.kind == Kind::Read) step.mark = reads++;
  if (step.kind == Kind::Load) step.mark = loads++;
  follow(step, rank, Of::Reads, fromReads);
  follow(step, rank, Of::Loads, fromLoads);
}

void Dependence::follow(Step &step, int rank, Of leaves, std::vector<int> &from) {
  const auto of = [&](int value) { return value == ir::kNone ? kUnknown : from[std::size_t(value)]; };
  const auto leaf = [&](Of kind) { return entryOf(kind == leaves ? std::vector<int>{step.mark} : std::vector<int>()); };
  const bool own = step.a != ir::kNone && step.index == rank;
  int result = kUnknown;
  switch (step.kind) {
  case Kind::Load: result = step.counts == ir::kNone && !step.everyRow && !step.perRow ? leaf(Of::Loads) : kUnknown; break;
  case Kind::Read: result = own ? of(step.a) : leaf(Of::Reads); break;
  case Kind::Poll: result = own ? of(step.a) : entryOf({}); break;
  case Kind::Send:
    result = of(step.a);
    if (result != kUnknown && !Expansion::isOfOneThread(program.mailboxes[std::size_t(step.box)])) (leaves == Of::Reads ? step.mark : step.loads) = result;
    break;
  case Kind::Fold: result = step.first ? of(step.a) : both(of(step.value), of(step.a)); break;
  case Kind::Combine: result = both(of(step.a), of(step.b)); break;
  case Kind::Mean:
  case Kind::Round: result = of(step.a); break;
  case Kind::Map: result = step.function == ir::Function::Convert ? of(step.a) : kUnknown; break;
  default: break;
  }
  // Of a Send, only what is kept.
  if (step.value != ir::kNone && (step.kind != Kind::Send || step.peer == rank)) from[std::size_t(step.value)] = result;
}

} // namespace coll::check
