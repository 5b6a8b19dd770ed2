#include "check/Knowledge.h"

namespace coll::check {

namespace {

/// Sets of ranks, in as many words each.
class Sets {
public:
  Sets(std::size_t count, std::size_t ranks) : words((ranks + 63) / 64), bits(count * words) {}

  std::uint64_t *operator[](std::size_t set) { return bits.data() + set * words; }
  void add(std::uint64_t *to, const std::uint64_t *from) const {
    for (std::size_t w = 0; w < words; ++w) to[w] |= from[w];
  }

private:
  std::size_t words;
  std::vector<std::uint64_t> bits;
};

} // namespace

Knowledge::Knowledge(const Schedule &schedule, const Expansion &expansion) {
  const std::size_t ranks = std::size_t(expansion.program->ranks), classes = std::size_t(schedule.groups());
  const std::size_t strands = classes * std::size_t(expansion.maps);
  Sets known(ranks * strands, ranks), words(expansion.slots.size() * strands, ranks);
  for (std::size_t i = 0; i < ranks * strands; ++i) known[i][i / strands / 64] |= std::uint64_t(1) << (i / strands % 64);
  for (const ScheduledEvent &e : schedule.events) {
    const bool all = e.packets == ir::kNone;
    const std::size_t begin = all ? 0 : std::size_t(e.map) * classes + std::size_t(e.packets), end = all ? strands : begin + 1;
    for (std::size_t s = begin; s < end; ++s) {
      const auto at = [&](std::size_t rank) { return known[rank * strands + s]; };
      const std::size_t word = std::size_t(e.slot) * strands + s;
      if (e.kind == Step::Kind::Send || e.kind == Step::Kind::Signal) known.add(words[word], at(std::size_t(e.rank)));
      else if (e.kind == Step::Kind::Poll || e.kind == Step::Kind::Await) known.add(at(std::size_t(e.rank)), words[word]);
      else if (e.kind == Step::Kind::Barrier) {
        Sets sum(1, ranks);
        for (std::size_t r = 0; r < ranks; ++r) known.add(sum[0], at(r));
        for (std::size_t r = 0; r < ranks; ++r) known.add(at(r), sum[0]);
      }
    }
  }
  of.assign(ranks, llvm::BitVector(unsigned(ranks), false));
  for (std::size_t i = 0; i < ranks * strands; ++i)
    for (std::size_t r = 0; r < ranks; ++r)
      if (known[i][r / 64] >> (r % 64) & 1) of[i / strands].set(unsigned(r));
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
