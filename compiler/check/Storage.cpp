#include "check/Storage.h"

#include <algorithm>

namespace coll::check {

Storage::Storage(const Expansion &expansion, const Sizes &sizes, const Symbols &symbols, int rank, int alias) {
  const ir::Program &program = *expansion.program;
  const Extents &counts = sizes.counts();
  for (std::size_t b = 0; b < program.buffers.size(); ++b)
    places.push_back({int(b), 0, program.product(program.buffers[b].extents, counts)});
  if (alias != ir::kNone) {
    auto lookup = [&](llvm::StringRef name) { return name == "me" ? std::optional<std::int64_t>(rank) : std::nullopt; };
    const auto &[out, in] = program.aliases[alias];
    const std::uint64_t outBegin = program.begin(out, counts, lookup), inBegin = program.begin(in, counts, lookup);
    // One of the two is a whole argument, which lies inside the other.
    const bool outInside = out.length.kind == ir::Length::Kind::Whole && inBegin >= outBegin;
    Place &inner = places[outInside ? out.buffer : in.buffer];
    inner.area = places[outInside ? in.buffer : out.buffer].area;
    inner.offset = outInside ? inBegin - outBegin : outBegin - inBegin;
  }
  areas.resize(places.size());
  for (std::size_t b = 0; b < places.size(); ++b)
    if (places[b].area == int(b) && places[b].size)
      areas[b].push_back({0, places[b].size, Symbols::kUnwritten, 0, {}});
  for (std::size_t b = 0; b < places.size(); ++b) {
    if (program.buffers[b].direction == Direction::Out || !places[b].size) continue;
    auto [first, last] = cut(areas[places[b].area], places[b].offset, places[b].offset + places[b].size);
    for (std::size_t c = first; c < last; ++c) {
      areas[places[b].area][c].node = symbols.input(rank, ir::BufferId(b));
      areas[places[b].area][c].shift = -std::int64_t(places[b].offset);
    }
  }
}

std::pair<std::size_t, std::size_t> Storage::cut(std::vector<Cell> &area, std::uint64_t begin, std::uint64_t end) {
  auto at = [&](std::uint64_t element) {
    auto it = std::partition_point(area.begin(), area.end(), [&](const Cell &c) { return c.end <= element; });
    const std::size_t index = std::size_t(it - area.begin());
    if (it == area.end() || it->begin == element) return index;
    Cell left = *it;
    left.end = it->begin = element;
    left.loaded = ir::kNone;
    for (int l = it->loaded; l != ir::kNone; l = loads[l].next) noteLoad(left, Access(loads[l].access));
    area.insert(it, left);
    return index + 1;
  };
  const std::size_t first = at(begin);
  return {first, at(end)};
}

void Storage::noteLoad(Cell &cell, const Access &access) {
  int *link = &cell.loaded;
  for (; *link != ir::kNone; link = &loads[*link].next) {
    Access &other = loads[*link].access;
    if (other.base != access.base || other.when.rank != access.when.rank) continue;
    const bool several = other.several || access.several || other.step != access.step;
    other = access;
    other.several = several;
    return;
  }
  *link = int(loads.size());
  loads.push_back({access, ir::kNone});
}

Storage::Conflict Storage::conflict(const Access &earlier, const Access &later, const Accessor &by,
                                    const Cell &cell) const {
  const std::uint64_t offset = places[later.step->buffer].offset;
  return {earlier.step,
          later.step,
          earlier.when.rank,
          by.rank,
          cell.begin - offset,
          cell.end - offset,
          earlier.when.rank == by.rank && earlier.base == later.base,
          earlier.when.rank != by.rank && by.causality.knowsRank(by.rank, by.packets, earlier.when)};
}

Storage::Conflict Storage::load(const Step &step, const Accessor &by, std::uint64_t base, std::uint64_t begin,
                                std::uint64_t end, Content &out, bool byAll) {
  const Place &place = places[step.buffer];
  const std::uint64_t start = base + place.offset;
  std::vector<Cell> &area = areas[place.area];
  const Access access{&step, byAll ? INT64_MIN : std::int64_t(start), by.causality.now(by.rank, by.packets)};
  Conflict result;
  out.clear();
  auto [first, last] = cut(area, start + begin, start + end);
  for (std::size_t c = first; c < last; ++c) {
    Cell &cell = area[c];
    append(out, {cell.begin - start, cell.end - start, cell.node, cell.shift + std::int64_t(start)});
    // An argument read under its own name after it was written is meant; under another name it is an accident.
    if (cell.stored.step && !result.later)
      if (!inOrder(cell.stored, access, by) || cell.stored.step->buffer != step.buffer)
        result = conflict(cell.stored, access, by, cell);
    noteLoad(cell, access);
  }
  return result;
}

Storage::Conflict Storage::store(const Step &step, const Accessor &by, std::uint64_t base, std::uint64_t begin,
                                 std::uint64_t end, const Content &value) {
  const Place &place = places[step.buffer];
  const std::uint64_t start = base + place.offset;
  std::vector<Cell> &area = areas[place.area];
  const Access access{&step, std::int64_t(start), by.causality.now(by.rank, by.packets)};
  Conflict result;
  for (const Segment &segment : value) {
    auto [first, last] = cut(area, start + std::max(begin, segment.begin), start + std::min(end, segment.end));
    for (std::size_t c = first; c < last; ++c) {
      Cell &cell = area[c];
      for (int l = cell.loaded; l != ir::kNone; l = loads[l].next)
        if (!result.later && !inOrder(loads[l].access, access, by) && !isFetched(loads[l].access, access, by))
          result = conflict(loads[l].access, access, by, cell);
      if (cell.stored.step && !inOrder(cell.stored, access, by) && !result.later)
        result = conflict(cell.stored, access, by, cell);
      cell.node = segment.node;
      cell.shift = segment.shift - std::int64_t(start);
      cell.stored = access;
    }
  }
  return result;
}

void Storage::peek(ir::BufferId buffer, std::uint64_t begin, std::uint64_t end, Content &out) const {
  const std::vector<Cell> &area = areas[places[buffer].area];
  const std::uint64_t from = begin + places[buffer].offset, to = end + places[buffer].offset;
  out.clear();
  auto it = std::partition_point(area.begin(), area.end(), [&](const Cell &c) { return c.end <= from; });
  for (; it != area.end() && it->begin < to; ++it)
    append(out,
           {std::max(it->begin, from) - from, std::min(it->end, to) - from, it->node, it->shift + std::int64_t(from)});
}

const Step *Storage::writer(ir::BufferId buffer, std::uint64_t element) const {
  const std::vector<Cell> &area = areas[places[buffer].area];
  const std::uint64_t at = element + places[buffer].offset;
  auto it = std::partition_point(area.begin(), area.end(), [&](const Cell &c) { return c.end <= at; });
  return it == area.end() ? nullptr : it->stored.step;
}

} // namespace coll::check
