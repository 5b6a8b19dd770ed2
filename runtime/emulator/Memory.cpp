// Address space and pages of the emulated memory.
#include "emulator/Memory.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <sys/mman.h>
#include <utility>

using namespace coll::emu;

/// Of zero, and only what is touched takes memory; null where there is not so much room.
static void *mapPages(std::size_t bytes) {
  void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  constexpr std::size_t kSmall = 2 << 20; // small runs must not pay for a large page
  madvise(static_cast<char *>(p) + kSmall, bytes - kSmall, MADV_HUGEPAGE);
  return p;
}

PendingPool &PendingPool::ofThisThread() {
  static thread_local PendingPool pool;
  pool.taken = 1;
  pool.unused.clear();
  return pool;
}

PendingPool::PendingPool() {
  // More than a run has ever had; only what is touched takes memory.
  for (room = 1 << 24; room >= 1 << 16; room >>= 1) {
    stores = static_cast<Pending *>(mapPages(room * sizeof(Pending)));
    if (stores) return;
  }
  throw std::bad_alloc();
}

PendingPool::~PendingPool() {
  munmap(stores, room * sizeof(Pending));
}

std::uint32_t PendingPool::fresh() {
  if (taken == room) throw std::bad_alloc();
  return taken++;
}

/// What a thread keeps for its next machine.
struct LinePool::Spare {
  Mapping map;
  ~Spare() { unmap(map); }
};

LinePool::Spare &LinePool::spareOfThisThread() {
  static thread_local Spare spare;
  return spare;
}

LinePool::LinePool() : map(std::exchange(spareOfThisThread().map, {})) {
  if (!map.lines) map = fresh();
}

LinePool::~LinePool() {
  constexpr std::size_t kMostKept = (64 << 20) / sizeof(Line);
  Mapping &spare = spareOfThisThread().map;
  if (!spare.lines && map.touched <= kMostKept) spare = map;
  else unmap(map);
}

LinePool::Mapping LinePool::fresh() {
  for (std::size_t room = 1ull << 32; room >= 1 << 20; room >>= 1)
    if (void *p = mapPages(room * sizeof(Line))) return {static_cast<Line *>(p), room, 0};
  throw std::bad_alloc();
}

void LinePool::unmap(Mapping &map) {
  if (map.lines) munmap(map.lines, map.room * sizeof(Line));
  map = {};
}

std::uint32_t LinePool::takePage() {
  if (taken + kPage > map.room) throw std::bad_alloc();
  const std::size_t first = taken;
  taken += kPage;
  if (first < map.touched) std::memset(static_cast<void *>(map.lines + first), 0, kPage * sizeof(Line));
  map.touched = std::max(map.touched, taken);
  return std::uint32_t(first);
}

Memory::Memory() {
  // Never readable, so a plain dereference in a kernel is a signal and not a silent success.
  for (std::uint64_t size = 1ull << 40; size >= 1ull << 32; size >>= 2) {
    void *p = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) continue;
    base = reinterpret_cast<std::uint64_t>(p), reservedBytes = size;
    return;
  }
  throw std::bad_alloc();
}

Memory::~Memory() {
  munmap(reinterpret_cast<void *>(base), reservedBytes);
}

Segment &Memory::allocate(std::string label, int rank, const Member *member, std::uint64_t bytes,
                          unsigned misalignment) {
  assert(misalignment < 256);
  auto segment = std::make_unique<Segment>();
  segment->label = std::move(label);
  segment->rank = rank, segment->member = member, segment->bytes = bytes;
  segment->address = base + granules.size() * kGranule + kRedZone + misalignment;
  segment->pages.resize((misalignment + bytes + Segment::kPageBytes - 1) / Segment::kPageBytes);
  const std::uint64_t end = kRedZone + misalignment + bytes + kRedZone;
  granules.insert(granules.end(), (end + kGranule - 1) / kGranule, segment.get());
  if (granules.size() * kGranule > reservedBytes) throw std::bad_alloc();
  segments.push_back(std::move(segment));
  return *segments.back();
}

Segment &Memory::allocateOfAll(std::string label, std::vector<std::uint64_t> parts, std::uint64_t bytes) {
  Segment &segment = allocate(std::move(label), -1, nullptr, bytes, unsigned(parts.front() % 256));
  segment.parts = std::move(parts);
  return segment;
}

Line *Memory::freshPage(const Segment &segment, std::uint64_t page) {
  Line *fresh = &lines[lines.takePage()];
  owners.push_back({&segment, lineBase(segment) + page * Segment::kPageBytes});
  const auto fill = [&](std::uint64_t at, const std::uint32_t *words) {
    Line &line = fresh[at % Segment::kPageBytes / 16];
    std::memcpy(line.value, words, 16), std::memcpy(line.before, words, 16);
  };
  const std::uint64_t begin = page * Segment::kPageBytes, end = begin + Segment::kPageBytes;
  const std::uint32_t poison[4] = {kPoison, kPoison, kPoison, kPoison};
  if (!segment.member)
    for (std::uint64_t at = begin; at < end; at += 16) fill(at, poison);
  else
    for (const auto &range : segment.member->fills)
      for (std::uint64_t at = std::max(begin, range.begin); at < std::min(end, range.end); at += 16)
        fill(at, range.words.data() + (at - range.begin) / 4 % range.words.size());
  return fresh;
}

void Memory::write(std::uint64_t address, const void *bytes, std::uint64_t count) {
  const auto *from = static_cast<const char *>(bytes);
  while (count > 0) {
    Segment *segment = near(address);
    assert(segment && address >= segment->address && address + count <= segment->address + segment->bytes);
    auto &to = line(*segment, address);
    const std::uint64_t offset = address % 16, part = std::min<std::uint64_t>(count, 16 - offset);
    std::memcpy(to.value + offset, from, part), std::memcpy(to.before + offset, from, part);
    address += part, from += part, count -= part;
  }
}

void Memory::read(std::uint64_t address, void *bytes, std::uint64_t count) {
  auto *to = static_cast<char *>(bytes);
  while (count > 0) {
    Segment *segment = near(address);
    assert(segment && address >= segment->address && address + count <= segment->address + segment->bytes);
    const std::uint64_t offset = address % 16, part = std::min<std::uint64_t>(count, 16 - offset);
    std::memcpy(to, line(*segment, address).value + offset, part);
    address += part, to += part, count -= part;
  }
}
