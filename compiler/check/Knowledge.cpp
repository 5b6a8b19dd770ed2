#include "check/Knowledge.h"

#include "llvm/ADT/DenseMap.h"

namespace coll::check {

Knowledge::Knowledge(const Schedule &schedule, const Expansion &expansion, int classes) {
  const std::size_t ranks = std::size_t(expansion.program->ranks), strands = std::size_t(classes * expansion.maps);
  const llvm::BitVector nobody(unsigned(ranks), false);
  std::vector<llvm::BitVector> known(ranks * strands, nobody);
  llvm::DenseMap<std::uint64_t, llvm::BitVector> words; // by slot and strand
  for (std::size_t i = 0; i < known.size(); ++i) known[i].set(unsigned(i / strands));
  for (const ScheduledEvent &e : schedule.events) {
    const bool all = e.packets == ir::kNone;
    const std::size_t begin = all ? 0 : std::size_t(e.map * classes + e.packets), end = all ? strands : begin + 1;
    for (std::size_t s = begin; s < end; ++s) {
      const auto at = [&](std::size_t rank) -> llvm::BitVector & { return known[rank * strands + s]; };
      const std::uint64_t word = std::uint64_t(e.slot) * strands + s;
      if (e.kind == Step::Kind::Send || e.kind == Step::Kind::Signal) words[word] |= at(std::size_t(e.rank));
      else if (e.kind == Step::Kind::Poll || e.kind == Step::Kind::Await) at(std::size_t(e.rank)) |= words[word];
      else if (e.kind == Step::Kind::Barrier) {
        llvm::BitVector sum = nobody;
        for (std::size_t r = 0; r < ranks; ++r) sum |= at(r);
        for (std::size_t r = 0; r < ranks; ++r) at(r) = sum;
      }
    }
  }
  of.assign(ranks, nobody);
  for (std::size_t i = 0; i < known.size(); ++i) of[i / strands] |= known[i];
  told = count();
  std::vector<llvm::BitVector> once = of;
  for (std::size_t through = 0; through < ranks; ++through)
    for (std::size_t r = 0; r < ranks; ++r)
      if (of[r].test(unsigned(through))) of[r] |= of[through];
  toldByMany = count();
  of = std::move(once);
}

unsigned Knowledge::count() const {
  unsigned all = 0;
  for (const llvm::BitVector &ranks : of) all += ranks.count();
  return all;
}

bool Knowledge::isWithin(const Knowledge &other) const {
  for (std::size_t r = 0; r < of.size(); ++r)
    if (of[r].test(other.of[r])) return false;
  return true;
}

} // namespace coll::check
