#include "check/Fetches.h"

#include <algorithm>

namespace coll::check {

Fetches::Fetches(const Expansion &expansion, const Variant &variant, int classes, bool follows)
    : expansion(expansion), follows(follows), classes(classes) {
  if (!follows) return;
  int loads = 0;
  for (const std::vector<Step> &steps : variant.steps) {
    first.push_back(loads);
    loads += int(std::count_if(steps.begin(), steps.end(), [](const Step &s) { return s.kind == Step::Kind::Load; }));
  }
  const Set none(unsigned(loads), false);
  known.assign(variant.steps.size() * std::size_t(expansion.maps * classes), {none, none, none});
}

Fetches::Known &Fetches::comeTo(const Thread &thread, const Step &step) {
  Known &k = at(thread);
  if (step.loop == k.loop && step.iteration == k.iteration) return k;
  k.others |= k.own, k.own.reset();
  if (step.loop != k.loop) k.before |= k.others, k.others.reset();
  k.loop = step.loop, k.iteration = step.iteration;
  return k;
}

Fetches::Set Fetches::toldBy(const Thread &by, const Step &send) {
  if (!follows || expansion.program->mailboxes[std::size_t(send.box)].counted || expansion.adds(send.slot)) return {};
  const Known &k = comeTo(by, send);
  Set told = k.before;
  told |= k.own;
  if (send.loads != ir::kNone)
    for (const int load : expansion.computedFrom[std::size_t(send.loads)]) told.set(unsigned(first[std::size_t(by.rank)] + load));
  return told;
}

void Fetches::learn(const Thread &by, const Step &poll, const Set &told) {
  if (follows && !told.empty()) comeTo(by, poll).own |= told;
}

bool Fetches::knows(const Thread &by, const Step &store, int loader, const Step &load) {
  if (!follows) return false;
  const Known &k = comeTo(by, store);
  const unsigned number = unsigned(numberOf(loader, load));
  if (!k.before[number] && !k.own[number]) return false;
  return isUsed = true;
}

} // namespace coll::check
