#include "interpreter/Interpreter.h"

#include "check/Expansion.h"
#include "context/Values.h"
#include "emulator/Random.h"

#include <algorithm>
#include <bit>
#include <deque>

namespace coll::interpreter {
namespace {

using check::Step;
using Kind = check::Step::Kind;
using Packet = std::vector<std::uint64_t>; ///< the bits of each element

/// A packet's place in a copy of a slot.
struct Cell {
  Packet data;
  std::uint32_t epoch = 0; ///< of the data, where the mode says it
  bool empty = true;       ///< holds the value that means so, or nothing yet
};

/// A store on its way to a cell.
struct Pending {
  Cell *to;
  Cell value;
  int rank, cta;
};

struct Value {
  Packet bits;
  std::vector<float> wide; ///< what a reduction has so far, before it is rounded
  int summands = 1;        ///< that it has
};

struct Thread {
  int rank = 0, cta = 0, number = 0; ///< number in the grid
  std::size_t at = 0;                ///< in the steps of its rank
  std::uint64_t packet = 0;          ///< in the loop it is in
  bool done = true, arrived = false; ///< arrived: counted at the CTA's meeting that it is at
  std::map<std::pair<int, std::uint64_t>, Value> values; ///< by value and packet
};

struct Rank {
  int launch = -1;
  std::uint32_t credited = 0; ///< the last launch that it has said it has begun
  int ctas = 1, threadsPerCta = 1;
  std::vector<Thread> threads;
  std::map<std::pair<int, std::size_t>, int> met;               ///< threads at the meeting of a CTA at a step
  std::map<std::pair<int, int>, std::uint32_t> flags;           ///< by slot and CTA
  std::map<std::pair<std::size_t, int>, std::uint32_t> passed;  ///< barriers by number and CTA
};

class Machine {
public:
  Machine(const ir::Program &p, std::span<const PlannedLaunch> l, std::span<std::vector<std::byte>> m,
          std::uint64_t seed)
      : program(p), launches(l), memory(m), random(seed), expansion(check::expand(p, scalarsOf(p, l))),
        packetElements(check::packetElements(p)) {
    constexpr double rates[] = {0.9, 0.3, 0.05};
    commitRate = rates[random.below(3)];
    victim = int(random.below(std::uint32_t(p.ranks)));
    frozen = seed % 2;
    for (const PlannedLaunch &launch : l) sizes.emplace_back(expansion, launch.sizes.extents);
    // The same grid on all ranks in each launch.
    for (std::size_t i = 0; i < l.size(); ++i) grids.push_back({1 + int(random.below(2)), 1 + int(random.below(3))});
    ranks.resize(p.ranks);
  }

  std::string run() {
    if (expansion.refutation) return expansion.refutation->explanation;
    for (int r = 0; r < program.ranks; ++r) begin(r);
    while (ended < program.ranks) {
      if (!pending.empty() && random.chance(commitRate)) commit(random.below(std::uint32_t(pending.size())));
      else if (!anyMoves() && !pending.empty()) commit(random.below(std::uint32_t(pending.size())));
      else if (!moved && pending.empty()) return stuck();
    }
    return {};
  }

private:
  struct Grid {
    int ctas, threads;
  };
  const ir::Program &program;
  const std::span<const PlannedLaunch> launches;
  const std::span<std::vector<std::byte>> memory;
  emu::Random random;
  const check::Expansion expansion;
  const std::uint64_t packetElements;
  std::vector<check::Sizes> sizes;
  std::vector<Grid> grids;
  std::vector<Rank> ranks;
  std::map<std::tuple<int, int, std::uint64_t>, Cell> cells; ///< by slot, copy and packet
  std::deque<Pending> pending;
  double commitRate = 0.5;
  int victim = 0, ended = 0;
  bool frozen = false, moved = false;

  static std::vector<std::vector<std::int64_t>> scalarsOf(const ir::Program &program,
                                                         std::span<const PlannedLaunch> launches) {
    std::vector<std::vector<std::int64_t>> all;
    for (const PlannedLaunch &launch : launches) {
      auto &values = all.emplace_back();
      for (const ir::Scalar &s : program.scalars) values.push_back(launch.sizes.scalars.at(s.name).integer);
    }
    return all;
  }

  const std::vector<Step> &stepsOf(const Thread &t) const {
    return expansion.variants[std::size_t(ranks[t.rank].launch)].steps[t.rank];
  }
  const check::Sizes &sizeOfLaunch(const Thread &t) const { return sizes[std::size_t(ranks[t.rank].launch)]; }
  std::uint32_t epochOf(const Thread &t) const { return std::uint32_t(ranks[t.rank].launch) + 1; }

  // ---- Schedule ----

  void begin(int r) {
    Rank &rank = ranks[r];
    if (++rank.launch >= int(launches.size())) {
      ++ended;
      return;
    }
    const Grid grid = grids[std::size_t(rank.launch)];
    rank.ctas = grid.ctas, rank.threadsPerCta = grid.threads;
    rank.threads.assign(std::size_t(grid.ctas) * grid.threads, {});
    rank.met.clear();
    for (std::size_t t = 0; t < rank.threads.size(); ++t) {
      rank.threads[t].rank = r, rank.threads[t].number = int(t), rank.threads[t].cta = int(t) / grid.threads;
      rank.threads[t].done = false;
    }
  }

  /// Lets some thread that can make a step make it: a random one, the frozen rank's when no other can.
  bool anyMoves() {
    moved = false;
    const int first = int(random.below(std::uint32_t(program.ranks)));
    for (const bool last : {false, true})
      for (int k = 0; k < program.ranks && !moved; ++k) {
        const int r = (first + k) % program.ranks;
        if (frozen && (r == victim) != last && random.below(200) != 0) continue;
        moved |= rankMoves(r);
      }
    return moved;
  }

  bool rankMoves(int r) {
    Rank &rank = ranks[r];
    if (rank.launch >= int(launches.size())) return false;
    const auto count = std::uint32_t(rank.threads.size()), first = random.below(count);
    bool live = false;
    for (std::uint32_t k = 0; k < count; ++k) {
      Thread &t = rank.threads[(first + k) % count];
      live |= !t.done;
      if (!t.done && step(t)) return true;
    }
    if (live || std::any_of(pending.begin(), pending.end(), [&](const Pending &p) { return p.rank == r; })) return false;
    begin(r);
    return true;
  }

  void commit(std::size_t chosen) {
    // Stores of a CTA to one place keep their order.
    for (std::size_t i = 0; i < chosen; ++i)
      if (pending[i].to == pending[chosen].to && pending[i].rank == pending[chosen].rank &&
          pending[i].cta == pending[chosen].cta) {
        chosen = i;
        break;
      }
    *pending[chosen].to = std::move(pending[chosen].value);
    pending.erase(pending.begin() + std::ptrdiff_t(chosen));
  }

  void flush(const Thread &t) {
    for (std::size_t i = 0; i < pending.size();)
      if (pending[i].rank == t.rank && pending[i].cta == t.cta) commit(i);
      else ++i;
  }

  std::string stuck() const {
    std::string text = "deadlock in the interpreter: no thread can go on and no store is on its way\n";
    for (const Rank &rank : ranks)
      for (const Thread &t : rank.threads)
        if (!t.done && rank.launch < int(launches.size())) {
          const Step &s = stepsOf(t)[t.at];
          text += "rank " + std::to_string(t.rank) + ", launch " + std::to_string(rank.launch) + ", CTA " +
                  std::to_string(t.cta) + ": waits" +
                  (s.box == ir::kNone ? std::string(" at a barrier")
                                      : " for mailbox `" + program.mailboxes[s.box].name + "` slot " +
                                            std::to_string(s.index) + " packet " + std::to_string(t.packet)) +
                  "\n";
          break;
        }
    return text;
  }

  // ---- Steps ----

  /// False if it has to wait.
  bool step(Thread &t) {
    const std::vector<Step> &steps = stepsOf(t);
    if (t.at == steps.size()) return t.done = true;
    const Step &s = steps[t.at];
    switch (s.kind) {
    case Kind::Packets: packets(t, s, true); return true;
    case Kind::PacketsEnd: packets(t, steps[std::size_t(s.partner)], false); return true;
    case Kind::Signal:
    case Kind::Barrier:
      if (!meet(t, s)) return false;
      break;
    case Kind::Await:
      if (flagOf(t, s) < epochOf(t)) return false;
      break;
    case Kind::Fence: flush(t); break;
    case Kind::Credit: ranks[t.rank].credited = epochOf(t); break;
    case Kind::AwaitCredit: // of the launch that many ago as the box has copies, but one
      if (ranks[s.peer].credited + std::max(1, program.mailboxes[s.box].copies) <= epochOf(t)) return false;
      break;
    case Kind::Branches:
    case Kind::Branch:
    case Kind::BranchesEnd: break;
    default:
      if (!perform(t, s)) return false;
    }
    ++t.at;
    return true;
  }

  /// A thread's next packet of the loop that begins with `loop`.
  void packets(Thread &t, const Step &loop, bool entering) {
    const Rank &rank = ranks[t.rank];
    const std::uint64_t elements = sizeOfLaunch(t).longest(loop.length), threads = rank.threads.size();
    const std::uint64_t count = (elements + packetElements - 1) / packetElements;
    const bool blocked = ir::ThreadMap(loop.number) == ir::ThreadMap::Blocked;
    const std::uint64_t share = (count + threads - 1) / threads;
    if (entering) t.packet = blocked ? t.number * share : std::uint64_t(t.number);
    else t.packet += blocked ? 1 : threads;
    const std::uint64_t end = blocked ? std::min(count, (t.number + 1) * share) : count;
    const std::size_t begins = std::size_t(&loop - stepsOf(t).data());
    t.at = t.packet < end ? begins + 1 : std::size_t(loop.partner) + 1;
  }

  std::uint32_t flagOf(const Thread &t, const Step &s) {
    return ranks[expansion.slots[s.slot].owner].flags[{s.slot, t.cta}];
  }

  /// A signal or barrier: when all threads of the CTA have come, it tells; who waits for other CTAs does so then.
  bool meet(Thread &t, const Step &s) {
    Rank &rank = ranks[t.rank];
    int &met = rank.met[{t.cta, t.at}];
    // That it has come, and that its CTA has stored what it had, may be what others wait for.
    if (!t.arrived) t.arrived = moved = true, ++met;
    if (met < rank.threadsPerCta) return false;
    flush(t);
    if (s.kind == Kind::Signal) {
      std::uint32_t &flag = ranks[expansion.slots[s.slot].owner].flags[{s.slot, t.cta}];
      flag = std::max(flag, epochOf(t));
    } else {
      const std::pair<std::size_t, int> here{std::size_t(s.index), t.cta};
      rank.passed[here] = std::max(rank.passed[here], epochOf(t));
      for (Rank &other : ranks)
        if (other.passed[here] < epochOf(t)) return false;
    }
    t.arrived = false;
    return true;
  }

  bool perform(Thread &t, const Step &s) {
    const std::uint64_t all = sizeOfLaunch(t).elements(s.length, s.piece), begin = t.packet * packetElements;
    if (begin >= all) return true;
    const std::uint64_t count = std::min(packetElements, all - begin);
    auto value = [&](int v) -> Value & { return t.values[{v, t.packet}]; };
    switch (s.kind) {
    case Kind::Load:
    case Kind::Store: transfer(t, s, begin, count, value(s.kind == Kind::Load ? s.value : s.a).bits); return true;
    case Kind::Send:
      if (s.value != ir::kNone && s.peer == t.rank) value(s.value).bits = sent(s.box, value(s.a).bits);
      else send(t, s, {sent(s.box, value(s.a).bits), epochOf(t), looksEmpty(s.box, value(s.a).bits)}, 0);
      return true;
    case Kind::Clear: send(t, s, {{}, 0, true}, s.number); return true;
    case Kind::Poll:
    case Kind::Read:
      if (s.a != ir::kNone && s.index == t.rank) return value(s.value).bits = sent(s.box, value(s.a).bits), true;
      return receive(t, s, count, value(s.value).bits);
    case Kind::Combine: combine(s, value(s.a), value(s.b), value(s.value), true); return true;
    default:
      if (s.first) value(s.value) = {value(s.a).bits, {}};
      else combine(s, value(s.value), value(s.a), value(s.value), false);
      return true;
    }
  }

  void transfer(const Thread &t, const Step &s, std::uint64_t begin, std::uint64_t count, Packet &bits) {
    const PlannedLaunch &launch = launches[std::size_t(ranks[t.rank].launch)];
    const unsigned size = sizeOf(program.dtype);
    std::byte *from = memory[std::size_t(t.rank)].data() + launch.offsets[std::size_t(t.rank)][std::size_t(s.buffer)] +
                      (sizeOfLaunch(t).begin(s) + begin) * size;
    if (s.kind == Kind::Load) bits.assign(count, 0);
    for (std::uint64_t i = 0; i < count && i < bits.size(); ++i)
      if (s.kind == Kind::Load) bits[i] = readElement(program.dtype, from + i * size);
      else writeElement(program.dtype, from + i * size, bits[i]);
  }

  /// What arrives of a packet: in a mailbox whose senders make it so, -0.0 is +0.0.
  Packet sent(int box, Packet bits) const {
    if (program.mailboxes[box].canonical)
      for (std::uint64_t &b : bits)
        if (b == std::uint64_t(1) << (8 * sizeOf(program.dtype) - 1)) b = 0;
    return bits;
  }

  /// Whether a word of the packet is the value that means that nothing has come.
  bool looksEmpty(int box, const Packet &bits) const {
    const ir::Mailbox &m = program.mailboxes[box];
    if (m.sync != ir::Sync::Sentinel || m.canonical) return false;
    const std::size_t elements = std::max<std::size_t>(1, 4 / sizeOf(program.dtype)); // in a word
    const std::uint64_t spare = std::uint64_t(1) << (8 * sizeOf(program.dtype) - 1);
    for (std::size_t i = 0; i < bits.size(); i += elements)
      if (std::all_of(bits.begin() + std::ptrdiff_t(i), bits.begin() + std::ptrdiff_t(std::min(bits.size(), i + elements)),
                      [&](std::uint64_t b) { return b == spare; }))
        return true;
    return false;
  }

  Cell &cell(const Thread &t, const Step &s, int behind) {
    const int copies = std::max(1, program.mailboxes[s.box].copies);
    const int copy = (ranks[t.rank].launch + copies - behind % copies) % copies;
    return cells[{s.slot, copy, t.packet}];
  }

  void send(const Thread &t, const Step &s, Cell value, int behind) {
    pending.push_back({&cell(t, s, behind), std::move(value), t.rank, t.cta});
  }

  bool receive(const Thread &t, const Step &s, std::uint64_t count, Packet &bits) {
    const Cell &c = cell(t, s, 0);
    const ir::Sync sync = program.mailboxes[s.box].sync;
    const bool there = s.kind == Kind::Read || (sync == ir::Sync::LL || sync == ir::Sync::LL16 || sync == ir::Sync::LL128 ? c.epoch == epochOf(t) : !c.empty);
    if (!there) return false;
    bits = c.data;
    bits.resize(count, ~std::uint64_t(0)); // of what nobody sent
    return true;
  }

  /// In f32 for narrower floats: `rounds` at each operation, or only what is read of a reduction.
  void combine(const Step &s, Value &a, const Value &b, Value &out, bool rounds) {
    const DType type = program.dtype;
    const bool floats = isFloat(type) && sizeOf(type) <= 4, averages = s.op == ReduceOp::Avg;
    const ReduceOp op = averages ? ReduceOp::Sum : s.op;
    const std::size_t count = std::min(a.bits.size(), b.bits.size());
    Value result;
    result.summands = a.summands + 1;
    const bool last = averages && result.summands == program.ranks;
    for (std::size_t i = 0; i < count; ++i) {
      if (!floats) {
        result.bits.push_back(combineElements(type, op, a.bits[i], b.bits[i]));
        if (last) result.bits[i] = std::bit_cast<std::uint64_t>(std::bit_cast<double>(result.bits[i]) * (1.0 / program.ranks));
        continue;
      }
      const float left = rounds || a.wide.empty() ? widen(type, a.bits[i]) : a.wide[i];
      float sum = combineFloats(op, left, widen(type, b.bits[i]));
      if (last) sum *= 1.0f / float(program.ranks);
      result.wide.push_back(sum);
      result.bits.push_back(narrow(type, sum));
    }
    if (rounds) result.wide.clear(), result.summands = 1;
    out = std::move(result);
  }
};

} // namespace

std::string unknown(const ir::Program &program) {
  if (program.hasWindows()) return "windows";
  if (program.chunks) return "a `pipeline`";
  if (program.hasCounts()) return "`counted` mailboxes";
  for (const ir::Mailbox &m : program.mailboxes)
    if (m.payload && m.dtype != program.dtype) return "mailboxes of another type than `T`";
    else if (ir::adds(m.sync)) return "`" + ir::keyword(m.sync).str() + "` mailboxes";
  for (const ir::Buffer &buffer : program.buffers)
    if (buffer.dtype != program.dtype) return "vectors of another type than `T`";
  bool arithmetic = false;
  ir::walk(program.body, [&](const ir::Stmt &stmt) {
    const auto &op = stmt.op();
    arithmetic |= std::holds_alternative<ir::Map>(op) || std::holds_alternative<ir::RowReduce>(op) ||
                  std::holds_alternative<ir::Constant>(op) || std::holds_alternative<ir::Argument>(op);
  });
  if (arithmetic) return "arithmetic on vectors";
  return {};
}

std::string run(const ir::Program &program, std::span<const PlannedLaunch> launches,
                std::span<std::vector<std::byte>> memory, std::uint64_t seed) {
  return Machine(program, launches, memory, seed).run();
}

} // namespace coll::interpreter
