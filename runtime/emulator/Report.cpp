// What a failed run says: addresses and threads in the words of the manifest.
#include "emulator/Engine.h"

#include "emulator/Region.h"

#include <algorithm>
#include <cstdio>
#include <map>

using namespace coll::emu;

namespace region = coll::region;

template <class... Args>
static std::string format(const char *text, Args... args) {
  char buffer[512];
  std::snprintf(buffer, sizeof buffer, text, args...);
  return buffer;
}

static unsigned long long wide(std::uint64_t v) {
  return v;
}

/// Of one that has no other's copies between its own.
static std::uint64_t endOf(const coll::Manifest::Mailbox &box) {
  return box.offset + box.copies * box.slots * box.lines * box.lineBytes;
}

/// What a fresh 128 bytes of a mailbox hold: 0 where an epoch is.
static std::array<std::uint32_t, 32> freshWords(const coll::Manifest::Mailbox &box) {
  constexpr std::uint32_t poison = Memory::kPoison;
  std::array<std::uint32_t, 32> words;
  for (unsigned w = 0; w < words.size(); ++w)
    if (box.sync == "ll") words[w] = w % 2 ? 0 : poison; // data and epoch by turns
    else if (box.sync == "ll16") words[w] = w % 4 == 3 ? 0 : poison;
    else if (box.sync == "ll128") words[w] = w < 30 ? poison : 0; // the epoch is last
    else words[w] = box.sync == "barrier" || box.sync == "flag" ? poison : std::uint32_t(w % 2 ? box.fill >> 32 : box.fill);
  return words;
}

std::vector<FillRange> coll::emu::fillsOf(const Manifest &manifest) {
  std::vector<FillRange> ranges;
  // Whoever shares the region has mailboxes of the same form elsewhere in it.
  if (manifest.workspace && !manifest.mailboxes.empty())
    return {{manifest.workspace->begin, manifest.workspace->end, freshWords(manifest.mailboxes.front())}};
  for (const auto &box : manifest.mailboxes) ranges.push_back({box.offset, endOf(box), freshWords(box)});
  return ranges;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> coll::emu::flagRanges(const Manifest &manifest) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges = {{0, headerBytes(manifest)}};
  if (manifest.workspace) return ranges; // all words of its members are there
  for (const auto &box : manifest.mailboxes)
    if (box.sync == "flag" || box.sync == "counter")
      ranges.push_back({endOf(box), endOf(box) + box.slots * kMaxCtas * (box.sync == "flag" ? 4 : 8)});
  return ranges;
}

std::uint64_t coll::emu::headerBytes(const Manifest &manifest) {
  if (manifest.workspace) return manifest.workspace->begin;
  const std::uint64_t credits = std::uint64_t(manifest.ranks) * (manifest.chunkPackets ? kMaxCtas : 1);
  if (manifest.credits) return (manifest.credits + credits * 4 + 127) / 128 * 128;
  return region::headerBytes(manifest.ranks, manifest.barriers);
}

Member::Member(const Manifest &m) : manifest(m), fills(fillsOf(m)), flags(flagRanges(m)) {}

bool Member::isFlag(std::uint64_t inRegion) const {
  return std::any_of(flags.begin(), flags.end(),
                     [&](const auto &range) { return inRegion >= range.first && inRegion < range.second; });
}

/// The mailbox of a member that a place of a region is in, and which packet of its slot; null if in none.
const coll::Manifest::Mailbox *Engine::mailboxAt(const Manifest &manifest, std::uint64_t inRegion, std::uint64_t &line) {
  for (const auto &box : manifest.mailboxes) {
    const std::uint64_t bytes = box.slots * box.lines * box.lineBytes, stride = box.stride ? box.stride : bytes;
    if (inRegion < box.offset || bytes == 0) continue;
    const std::uint64_t copy = (inRegion - box.offset) / stride, inCopy = (inRegion - box.offset) % stride;
    if (copy >= box.copies || inCopy >= bytes) continue;
    line = inCopy / box.lineBytes % box.lines;
    return &box;
  }
  return nullptr;
}

std::string Engine::describeInRegion(const Manifest &manifest, std::uint64_t offset) const {
  const std::uint64_t n = ranks.size();
  if (offset < region::kEpochs) return "word of the last launch's grid";
  if (offset < region::kWrapCounters) return format("epoch word %llu", wide((offset - region::kEpochs) / 4));
  if (offset < region::kBarrierWords) return "count of CTAs that have met at the wrap of the epoch";
  if (manifest.credits && offset >= manifest.credits && offset < headerBytes(manifest))
    return format("credit of rank %llu", wide((offset - manifest.credits) / 4 % n));
  if (manifest.workspace && offset >= region::headerBytes(manifest.ranks, manifest.barriers) && offset < manifest.workspace->begin)
    return format("word %llu of workspace `%s`", wide(offset / 4), manifest.workspace->name.c_str());
  if (offset < headerBytes(manifest)) {
    const std::uint64_t word = (offset - region::kBarrierWords) / 4;
    return format("word of rank %llu, CTA %llu, in barrier %llu", wide(word % n), wide(word / n % kMaxCtas),
                  wide(word / n / kMaxCtas));
  }
  if (manifest.workspace && offset >= manifest.workspace->begin)
    return format("workspace `%s` at byte %llu of its copies", manifest.workspace->name.c_str(),
                  wide(offset - manifest.workspace->begin));
  for (const auto &box : manifest.mailboxes) {
    if (box.sync == "flag" && offset >= endOf(box) && offset < endOf(box) + box.slots * kMaxCtas * 4) {
      const std::uint64_t word = (offset - endOf(box)) / 4;
      return format("flag of mailbox `%s`, slot %llu, CTA %llu", box.name.c_str(), wide(word % box.slots),
                    wide(word / box.slots));
    }
    if (offset < box.offset || offset >= endOf(box)) continue;
    const std::uint64_t line = (offset - box.offset) / box.lineBytes;
    return format("mailbox `%s` copy %llu slot %llu line %llu", box.name.c_str(), wide(line / box.lines / box.slots),
                  wide(line / box.lines % box.slots), wide(line % box.lines));
  }
  return format("no mailbox, region + 0x%llx", wide(offset));
}

std::string Engine::describe(std::uint64_t address) const {
  const Segment *segment = memory.near(address);
  if (!segment) return format("address 0x%llx, which is in no buffer", wide(address));
  const auto offset = std::int64_t(address - segment->address);
  const bool inside = offset >= 0 && std::uint64_t(offset) < segment->bytes;
  if (!segment->parts.empty())
    return format("`%s` at byte %lld (it has %llu bytes)", segment->label.c_str(), (long long)offset, wide(segment->bytes));
  if (segment->member && inside) {
    const Manifest &manifest = segment->member->manifest;
    return format("rank %d's ", segment->rank) + describeInRegion(manifest, offset) +
           (members.size() > 1 ? " of `" + manifest.member + "`" : "");
  }
  const std::string whose = segment->member ? "the scratch region" : "`" + segment->label + "`";
  return format("%s of rank %d at byte %lld (it has %llu bytes)", whose.c_str(), segment->rank, (long long)offset,
                wide(segment->bytes));
}

std::string Engine::describeThread(const Thread &thread) const {
  const Cta &cta = *thread.cta;
  const QueuedLaunch &launch = *cta.grid->launch;
  return format("rank %d, launch %d (%s), CTA %d, thread %u", cta.rank, launch.number, launch.entry.c_str(), cta.index,
                thread.at.thread.x);
}

std::string Engine::describeFault(std::uint64_t address, unsigned bytes, const char *verb) const {
  std::string text;
  if (bytes == 0)
    text = format("%s, which no primitive of the device headers makes: ", verb) + describe(address);
  else if (address % bytes != 0)
    text = format("misaligned %s of %u bytes: ", verb, bytes) + describe(address);
  else
    text = format("%s of %u bytes outside: ", verb, bytes) + describe(address);
  return text + "\n  by " + describeThread(*running) + "\n";
}

/// An address of one rank where all are meant, or the other way round.
std::string Engine::describeOfAll(std::uint64_t address, const char *verb) const {
  const bool ofAll = !memory.near(address)->parts.empty();
  return format(ofAll ? "ordinary %s by an address of all ranks: " : "%s on all ranks by the address of one: ", verb) +
         describe(address) + "\n  by " + describeThread(*running) + "\n";
}

/// One line for each kind of wait of each CTA, with one of its threads as the example.
std::string Engine::describeWaits() {
  struct Group {
    unsigned threads = 0;
    std::string example;
  };
  constexpr std::size_t kLines = 24;
  std::map<std::tuple<int, int, int, int>, Group> groups;
  for (const Cta *cta : all) {
    const QueuedLaunch *launch = cta->grid->launch;
    if (!launch || cta->index >= int(launch->grid)) continue;
    const std::vector<unsigned> &absent = cta->grid->absent;
    if (std::find(absent.begin(), absent.end(), unsigned(cta->index) / launch->cluster) != absent.end()) {
      auto &group = groups[{cta->rank, launch->number, cta->index, -1}];
      group.threads = 1;
      group.example = format("rank %d, launch %d, CTA %d: not there yet, as %u at a time have a place", cta->rank,
                             launch->number, cta->index, policy.residentCtas);
      continue;
    }
    for (const Thread &thread : cta->threads) {
      if (thread.state == Thread::Done) continue;
      auto &group = groups[{cta->rank, launch->number, cta->index, thread.state}];
      if (group.threads++ > 0) continue;
      group.example = describeThread(thread);
      if (thread.state == Thread::AtBarrier) {
        group.example += ": waits at a CTA barrier";
      } else if (thread.state == Thread::AtCluster) {
        group.example += ": waits at a barrier of its cluster";
      } else if (thread.state == Thread::AtCounter) {
        group.example += ": waits for what the CTAs of its cluster tell it";
      } else if (thread.state == Thread::AtWarp) {
        group.example += ": waits for the other lanes of its warp";
      } else if (thread.state == Thread::AtDependency) {
        group.example += ": waits for the launch before its own to end";
      } else if (thread.state == Thread::Polling) {
        Segment *segment = memory.near(thread.polled);
        std::uint32_t words[4];
        std::memcpy(words, memory.line(*segment, thread.polled).value, 16);
        group.example += ": waits for " + describe(thread.polled);
        group.example += format(", whose 16 bytes hold %08x %08x %08x %08x", words[0], words[1], words[2], words[3]);
      } else {
        group.example += ": can run";
      }
    }
  }
  std::string text;
  std::size_t lines = 0;
  bool lacksPlaces = false;
  for (const auto &[key, group] : groups) {
    lacksPlaces |= std::get<3>(key) < 0;
    if (lines++ == kLines) {
      text += format("  and %zu more groups of threads\n", groups.size() - kLines);
      break;
    }
    text += "  " + group.example;
    if (group.threads > 1) text += format(" (and %u more threads of the CTA)", group.threads - 1);
    text += "\n";
  }
  for (std::size_t r = 0; r < ranks.size(); ++r)
    for (const Stream &stream : ranks[r].streams) {
      if (stream.next == stream.launches.size()) continue;
      const QueuedLaunch &next = *stream.launches[stream.next];
      for (const unsigned earlier : next.after)
        if (ranks[r].launches[earlier].state != QueuedLaunch::Ended)
          text += format("  rank %zu, launch %d: not begun, as it waits for launch %u\n", r, next.number, earlier);
    }
  for (std::size_t r = 0; r < ranks.size(); ++r)
    if (ranks[r].finished()) text += format("  rank %zu has finished all its launches\n", r);
  if (lacksPlaces)
    text += "  all CTAs of a launch need places at once: any may wait for one of another rank, and at the wrap of the epoch\n"
            "  each does for all; contexts launch only what fits\n";
  return text;
}

std::string Engine::describeAbort() {
  std::string text;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    Status word;
    memory.read(ranks[r].status, &word, sizeof word);
    if (word.abort == 0) continue;
    const unsigned rank = word.where & 0xffff, box = word.where >> 16 & 0xffff, slot = word.where >> 32 & 0xffff;
    const unsigned cta = word.where >> 48, wanted = std::uint32_t(word.epochs), seen = word.epochs >> 32;
    if (box == kCount) {
      text += format("rank %u, CTA %u: count %u is %u, more than the %u that a message can have\n", rank, cta, slot,
                     seen, wanted);
      continue;
    }
    const std::string what = box == kBarrier                   ? "a barrier"
                             : box == kWrap                    ? "the meeting at the wrap of the epoch"
                             : box == kCredit                  ? "a credit"
                             : members.size() == 1 && box < members[0].manifest.mailboxes.size()
                                 ? "mailbox `" + members[0].manifest.mailboxes[box].name + "`"
                                                               : format("mailbox %u", box);
    text += format("rank %u, CTA %u gave up waiting for %s, slot %u: epoch %u wanted, %u found\n", rank, cta,
                   what.c_str(), slot, wanted, seen);
  }
  return text;
}

/// Of scratch alone: buffers are nobody else's business.
void Engine::trace(const Thread &thread, const char *verb, std::uint64_t address, unsigned bytes, const void *value) {
  const Segment *segment = memory.near(address);
  if (!segment || !segment->member) return;
  std::string bits;
  for (unsigned b = bytes; b-- > 0;) bits += format("%02x", static_cast<const std::uint8_t *>(value)[b]);
  events.push_back(describeThread(thread) + ": " + verb + " 0x" + bits + " at " + describe(address));
  if (events.size() > policy.trace) events.pop_front();
}

std::string Engine::describeEvent(const RaceDetector::Event &event) const {
  const Grid &grid = *std::find_if(grids.rbegin(), grids.rend(), [&](const Grid &g) { return g.firstThread < event.thread; });
  const QueuedLaunch &launch = ranks[grid.rank].launches[event.launch];
  const std::size_t thread = event.thread - 1 - grid.firstThread;
  return format("rank %d, launch %u (%s), CTA %zu, thread %zu", grid.rank, event.launch, launch.entry.c_str(),
                thread / launch.block, thread % launch.block);
}

std::string Engine::describeRace(const RaceDetector::Race &race) const {
  const char *story = race.kind == RaceDetector::Race::OverwritesRead ? "overwrites what the first may have yet to read"
                      : race.kind == RaceDetector::Race::OverwritesStore ? "stores too"
                                                                         : "reads what may not have arrived";
  std::string text = "race on " + describe(memory.address(RaceDetector::placeOf(race.location))) + ": nothing orders\n";
  const bool readFirst = race.kind == RaceDetector::Race::OverwritesRead;
  text += "  " + describeEvent(race.first) + (readFirst ? ", which reads it,\n" : ", which stores it,\n");
  return text + "  before " + describeEvent(race.second) + ", which " + story + "\n";
}
