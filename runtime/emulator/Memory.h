// The memory of all ranks: an address space that cannot be dereferenced, and behind it the values with their history.
// Knows nothing of threads' order; Engine decides what takes effect when and which version a load may see.
#pragma once

#include "coll/Manifest.h"
#include "coll/emulated.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace coll::emu {

struct Cta;
struct Thread;

/// A store, or a part of one, that has been issued and is yet to take effect: up to four units of one size, each of which
/// does so at once and in its own time. Lies within one line. A run has many and picks them at random, so each is half a
/// cache line of the host.
struct alignas(32) Pending {
  static constexpr unsigned kUnits = 4;
  static constexpr std::uint32_t kMostPhase = (1 << 24) - 1;

  std::uint8_t bytes[16];
  std::uint32_t line;         ///< number
  std::uint32_t next;         ///< the one issued after it to the same line; 0: none
  std::uint32_t thread : 24;  ///< number
  std::uint32_t unitLog2 : 3; ///< of the bytes of a unit
  std::uint32_t multicast : 1; ///< by an address of all ranks: no order with, and not seen by, ordinary accesses of its CTA
  std::uint32_t isAdd : 1;     ///< adds to what is there, as PendingDetail says, instead of replacing it
  std::uint32_t hasNeighbours : 1; ///< is part of a line of 128 bytes, as PendingDetail says; one unit
  std::uint32_t phase : 24;        ///< how many CTA barriers its thread had passed, as far as that fits
  std::uint32_t first : 4;         ///< byte of the line
  std::uint32_t left : kUnits;     ///< a bit for each unit that is yet to take effect; 0: only waits to leave the queue

  unsigned unitBytes() const { return 1u << unitLog2; }
  unsigned offset(unsigned unit) const { return first + (unit << unitLog2); }
  const std::uint8_t *value(unsigned unit) const { return bytes + (unit << unitLog2); }
  bool overlaps(unsigned unit, unsigned from, unsigned count) const {
    return offset(unit) < from + count && from < offset(unit) + unitBytes();
  }
};
static_assert(sizeof(Pending) == 32);

/// What few pending stores have.
struct PendingDetail {
  emulated::Combine add; ///< how to add an element
  unsigned each;         ///< bytes of such an element
  std::uint32_t below, above; ///< neighbours in a line of 128 bytes that are yet to take effect; 0: none
};

/// Pending stores by number. Those that are let go are used again, the last first. One for each host thread, as its pages
/// are worth keeping from run to run.
class PendingPool {
public:
  /// With nothing taken.
  static PendingPool &ofThisThread();
  PendingPool(const PendingPool &) = delete;
  PendingPool &operator=(const PendingPool &) = delete;
  ~PendingPool();

  Pending &operator[](std::uint32_t number) { return stores[number]; }
  PendingDetail &detail(std::uint32_t number) {
    if (details.size() <= number) details.resize(number + 1);
    return details[number];
  }
  std::uint32_t take() {
    if (unused.empty()) return fresh();
    const std::uint32_t number = unused.back();
    unused.pop_back();
    return number;
  }
  void release(std::uint32_t number) { unused.push_back(number); }

private:
  PendingPool();
  std::uint32_t fresh();

  Pending *stores = nullptr;
  std::size_t room = 0;    ///< stores
  std::uint32_t taken = 1; ///< numbers below were in use in this run
  std::vector<PendingDetail> details;
  std::vector<std::uint32_t> unused;
};

/// 16 bytes: per word the value, the one before it, and the time at which the value took effect (0: from the
/// beginning). A cache line of the host, as a run has hundreds of thousands of these.
struct alignas(64) Line {
  std::uint8_t value[16], before[16];
  std::uint32_t time[4];
  std::uint16_t writer[4];        ///< per word, number of the CTA whose store took effect last; 0: the host
  // Heads of lists, as numbers of Pending (in the order of issue) and Thread; 0: none.
  std::uint32_t pending;
  std::uint32_t waiters : 24;
  std::uint32_t pendingOf : 8; ///< a bit for each CTA that may have pending stores here, by its number mod 8

  std::uint32_t newest() const {
    const std::uint32_t a = time[0] > time[1] ? time[0] : time[1], b = time[2] > time[3] ? time[2] : time[3];
    return a > b ? a : b;
  }
};

/// The lines of a machine, in one mapping and so by number. Of one that is not large the pages are kept for the next machine
/// of the host thread, as the system takes long to make them.
class LinePool {
public:
  static constexpr std::size_t kPage = 64; ///< lines that are taken together

  LinePool();
  ~LinePool();
  LinePool(const LinePool &) = delete;
  LinePool &operator=(const LinePool &) = delete;

  /// The first line of a page, all of which are zero.
  std::uint32_t takePage();
  Line &operator[](std::uint32_t number) const { return map.lines[number]; }
  std::uint32_t number(const Line &line) const { return std::uint32_t(&line - map.lines); }

private:
  struct Mapping {
    Line *lines = nullptr;
    std::size_t room = 0, touched = 0; ///< lines; those from `touched` on are as the system made them
  };
  struct Spare;
  static Spare &spareOfThisThread();
  static Mapping fresh();
  static void unmap(Mapping &map);

  Mapping map;
  std::size_t taken = 0;
};

/// What a fresh region holds in a stretch that begins at a multiple of 16 bytes: `words`, again and again. All other
/// bytes are zero, which is how the runtime leaves them.
struct FillRange {
  std::uint64_t begin, end;
  std::array<std::uint32_t, 32> words;
};

/// A member whose kernels run: every rank has a scratch region of it.
struct Member {
  explicit Member(const Manifest &manifest);
  bool isFlag(std::uint64_t inRegion) const; ///< a word that only ever grows

  const Manifest manifest;
  const std::vector<FillRange> fills;
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> flags;
};

/// A buffer or a scratch region. What is left of its granules is red zone.
struct Segment {
  static constexpr std::uint64_t kPageBytes = LinePool::kPage * 16;

  std::string label;
  int rank;
  const Member *member; ///< whose scratch region it is; null for a buffer
  std::uint64_t address, bytes;
  std::vector<Line *> pages;        ///< the first line of each; null until touched
  unsigned elementBytes = 0;        ///< of a window, whose elements other ranks access too; else 0
  std::vector<std::uint64_t> parts; ///< by rank, where it stands for a place of each; empty: it is memory itself
  /// Launches of its rank that have it for an argument: all, those before which all of their stream have ended or which
  /// have ended themselves, and those that have yet to end.
  unsigned launches = 0, opened = 0, unended = 0;
};

class Memory {
public:
  /// A NaN of every float type, in memory that nobody has written.
  static constexpr std::uint32_t kPoison = 0x7fa77fa7;

  Memory();
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  Segment &allocate(std::string label, int rank, const Member *member, std::uint64_t bytes, unsigned misalignment);
  /// Addresses that each stand for one of every part.
  Segment &allocateOfAll(std::string label, std::vector<std::uint64_t> parts, std::uint64_t bytes);

  /// The segment that owns this address or whose red zone it is in; null if nothing lies near.
  Segment *near(std::uint64_t address) const {
    const std::uint64_t granule = (address - base) / kGranule;
    return address >= base && granule < granules.size() ? granules[granule] : nullptr;
  }
  /// The same for the same allocations in every run, unlike addresses.
  std::uint64_t location(std::uint64_t address) const { return address - base; }
  std::uint64_t address(std::uint64_t location) const { return base + location; }

  /// The line of a byte that lies inside `segment`.
  Line &line(Segment &segment, std::uint64_t address) {
    const std::uint64_t at = address - lineBase(segment), page = at / Segment::kPageBytes;
    Line *&slot = segment.pages[page];
    if (!slot) slot = freshPage(segment, page);
    return slot[at % Segment::kPageBytes / 16];
  }
  Line &line(std::uint32_t number) const { return lines[number]; }
  std::uint32_t number(const Line &line) const { return lines.number(line); }
  const Segment &segmentOf(std::uint32_t line) const { return *owners[line / LinePool::kPage].segment; }
  std::uint64_t addressOf(std::uint32_t line) const {
    return owners[line / LinePool::kPage].address + line % LinePool::kPage * 16;
  }

  /// Host access: changes the initial value, or reads the latest.
  void write(std::uint64_t address, const void *bytes, std::uint64_t count);
  void read(std::uint64_t address, void *bytes, std::uint64_t count);

private:
  // Large enough that segments share none, so that finding the segment of an address is one look into a table.
  static constexpr std::uint64_t kGranule = 1 << 20;
  static constexpr std::uint64_t kRedZone = 64 << 10;

  static std::uint64_t lineBase(const Segment &segment) { return segment.address / 256 * 256; }
  Line *freshPage(const Segment &segment, std::uint64_t page);

  std::uint64_t base = 0, reservedBytes = 0;
  std::vector<Segment *> granules;
  std::vector<std::unique_ptr<Segment>> segments;

  LinePool lines;
  /// Of a page of lines: whose it is, and where it begins.
  struct Owner {
    const Segment *segment;
    std::uint64_t address;
  };
  std::vector<Owner> owners;
};

} // namespace coll::emu
