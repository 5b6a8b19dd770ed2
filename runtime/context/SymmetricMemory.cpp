#include "context/SymmetricMemory.h"

#include <algorithm>

namespace coll {

SymmetricMemory::Part *SymmetricMemory::add(std::unique_ptr<SymmetricRegion> region, std::uint64_t bytes) {
  auto part = std::make_unique<Part>(Part{std::move(region), bytes, {}, {}});
  const int count = int(ranges.size());
  for (int rank = 0; rank < count; ++rank) {
    std::vector<char *> &peers = part->peers.emplace_back();
    for (int hop = 0; hop < count; ++hop)
      peers.push_back(static_cast<char *>(part->region->address(rank, (rank + hop) % count)));
    part->ofAll.push_back(static_cast<char *>(part->region->multicast(rank)));
    ranges[rank].push_back({peers.front(), part.get()});
    std::sort(ranges[rank].begin(), ranges[rank].end(),
              [](const Range &a, const Range &b) { return a.begin < b.begin; });
  }
  parts.push_back(std::move(part));
  return parts.back().get();
}

void SymmetricMemory::remove(Part *part) {
  for (auto &ofRank : ranges) std::erase_if(ofRank, [&](const Range &range) { return range.part == part; });
  std::erase_if(parts, [&](const auto &each) { return each.get() == part; });
}

void SymmetricMemory::clear() {
  for (auto &ofRank : ranges) ofRank.clear();
  parts.clear();
}

const SymmetricMemory::Part *SymmetricMemory::find(int rank, const void *pointer, std::uint64_t bytes) const {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const auto &list = ranges[rank];
  auto after = std::upper_bound(list.begin(), list.end(), address, [](std::uintptr_t value, const Range &range) {
    return value < reinterpret_cast<std::uintptr_t>(range.begin);
  });
  if (after == list.begin()) return nullptr;
  const Range &range = *(after - 1);
  const std::uint64_t offset = address - reinterpret_cast<std::uintptr_t>(range.begin);
  return offset <= range.part->bytes && bytes <= range.part->bytes - offset ? range.part : nullptr;
}

} // namespace coll
