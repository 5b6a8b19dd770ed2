#include "check/Expansion.h"

#include "check/Dependence.h"
#include "check/Symbols.h"

#include "llvm/ADT/DenseMap.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace coll::check {
namespace {

class Expander {
public:
  explicit Expander(const ir::Program &p) : program(p), rounds(showsRoundings(p)) {
    out.program = &p;
  }

  Expansion run(const std::vector<std::vector<std::int64_t>> &scalars) {
    std::size_t total = 0;
    for (const ir::Mailbox &m : program.mailboxes) {
      const std::int64_t slots = m.slots.evaluate([](llvm::StringRef) { return std::nullopt; }).value_or(0);
      boxes.push_back({total, slots});
      total += std::size_t(slots) * program.ranks;
      out.weak |= m.sync == ir::Sync::Barrier || m.sync == ir::Sync::Flag || m.sync == ir::Sync::Counter;
    }
    for (const std::vector<std::int64_t> &values : scalars) {
      out.variants.push_back({values, {}});
      for (rank = 0; rank < program.ranks; ++rank) {
        out.variants.back().steps.emplace_back();
        flow.begin();
        loops = loop = 0;
        scope.assign(1, {"me", rank});
        for (std::size_t i = 0; i < values.size(); ++i) scope.emplace_back(program.scalars[i].name, values[i]);
        block(program.body);
      }
      if (out.refutation && !values.empty()) out.refutation->scalars = {values};
      if (out.refutation) break;
    }
    return std::move(out);
  }

private:
  struct Box {
    std::size_t base;
    std::int64_t slots;
  };

  const ir::Program &program;
  const bool rounds;
  Expansion out;
  std::vector<Box> boxes;
  llvm::DenseMap<std::size_t, int> slotNumbers; ///< of (box, owner, index), those that are used
  std::vector<std::pair<llvm::StringRef, std::int64_t>> scope;
  int rank = 0;
  Dependence flow{program, out};
  ir::SourceOffset current = 0; ///< of the statement
  bool inPackets = false;
  int loops = 0; ///< over ranks, on this rank
  int loop = 0, iteration = 0; ///< of the step in hand
  std::vector<std::pair<ir::ThreadMap, std::string>> maps; ///< that loops have, by number
  int loopLength = 0; ///< of the packet loop

  std::vector<Step> &steps() { return out.variants.back().steps.back(); }

  /// Of what has bounds where it is built: a `for`, the number of a barrier.
  int evaluate(const ir::Index &index) { return int(wholeNumber(index)); }

  /// Of what the author may have go anywhere. Beyond all that a step can name, it names no rank, slot or row there is.
  static constexpr std::int64_t kBeyond = std::numeric_limits<int>::max();
  static int clamped(std::int64_t number) { return int(std::clamp<std::int64_t>(number, -1, kBeyond)); }

  std::int64_t wholeNumber(const ir::Index &index) {
    if (index.kind() == ir::Index::Kind::Constant) return index.value();
    bool known = true; // every variable
    auto lookup = [&](llvm::StringRef name) -> std::optional<std::int64_t> {
      for (const auto &[bound, value] : llvm::reverse(scope))
        if (bound == name) return value;
      known = false;
      return std::nullopt;
    };
    const auto number = index.evaluate(lookup);
    if (!number && known) {
      Step step{};
      step.where = current, step.peer = rank;
      refuse(Refutation::Kind::WrongResult, Event::What::None, step,
             "a number here has no value on rank " + std::to_string(rank) +
                 ": it divides by 0, shifts by less than 0 or more than 62, is the logarithm of less than 1, or goes beyond 2^62",
             "write a condition that leaves this rank out, as in `if k > 0`");
    }
    return number.value_or(-1);
  }

  void refuse(Refutation::Kind kind, Event::What what, const Step &step, std::string explanation, std::string fix) {
    if (out.refutation) return;
    Refutation r;
    r.kind = kind;
    r.first = {what, 0, rank, step.peer, step.box, step.index, step.buffer, 0, 0, step.where};
    r.explanation = std::move(explanation);
    r.fix = std::move(fix);
    r.ranks = program.ranks;
    out.refutation = std::move(r);
  }

  int lengthNumber(const ir::Length &length) {
    for (std::size_t i = 0; i < out.lengths.size(); ++i)
      if (out.lengths[i].sameDomain(length)) return int(i);
    out.lengths.push_back({length.kind, length.extents, {}, length.ofRows});
    return int(out.lengths.size()) - 1;
  }

  void setLength(Step &step, const ir::Length &length) {
    step.length = lengthNumber(length);
    if (length.kind != ir::Length::Kind::Piece) return;
    const std::int64_t piece = wholeNumber(length.index);
    step.piece = clamped(piece);
    if (piece < 0 || piece >= kBeyond)
      refuse(Refutation::Kind::WrongResult, Event::What::None, step,
             "there is no piece " + length.index.str() + " on rank " + std::to_string(rank), "");
  }

  void setSlice(Step &step, const ir::Slice &slice) {
    step.buffer = slice.buffer;
    const std::int64_t owner = slice.owner ? wholeNumber(*slice.owner) : rank;
    step.peer = clamped(owner);
    if (owner < 0 || owner >= program.ranks)
      refuse(Refutation::Kind::WrongResult, Event::What::None, step,
             "there is no rank " + std::to_string(owner) + " that has a `" + program.buffers[slice.buffer].name +
                 "`, only " + std::to_string(program.ranks) + " ranks from 0 up",
             "");
    out.reaches |= step.peer != rank;
    setLength(step, slice.length);
    step.isSlice = slice.length.kind != ir::Length::Kind::Whole;
    if (!step.isSlice) return;
    const std::int64_t number = wholeNumber(slice.index);
    step.number = clamped(number);
    if (number < 0 || number >= kBeyond)
      refuse(Refutation::Kind::WrongResult, Event::What::None, step,
             "`" + program.buffers[slice.buffer].name + "[" + slice.index.str() + "]` is " +
                 (number < 0 ? "before its begin" : "past its end") + " on rank " + std::to_string(rank),
             "");
  }

  void setSlot(Step &step, int box, std::int64_t owner, const ir::Index &index) {
    const ir::Mailbox &m = program.mailboxes[box];
    step.box = box;
    step.peer = clamped(owner);
    const std::int64_t slot = wholeNumber(index);
    step.index = clamped(slot);
    const bool sends = step.kind == Step::Kind::Send || step.kind == Step::Kind::Signal;
    const auto what = sends ? Event::What::Send : Event::What::Poll;
    if (owner < 0 || owner >= program.ranks)
      return refuse(Refutation::Kind::WrongResult, what, step,
                    "there is no rank " + std::to_string(owner) + " to send to, only " + std::to_string(program.ranks) +
                        " ranks from 0 up",
                    "");
    if (slot < 0 || slot >= boxes[box].slots || slot >= kBeyond)
      return refuse(Refutation::Kind::MailboxTooSmall, what, step,
                    "slot " + std::to_string(slot) + " of `" + m.name + "` is used, which has " +
                        std::to_string(boxes[box].slots) + " (from 0 up)",
                    "declare `" + m.name + "` with more slots");
    step.room = lengthNumber(m.length);
    const std::size_t place = boxes[box].base + std::size_t(owner) * std::size_t(boxes[box].slots) + std::size_t(slot);
    const auto [number, isNew] = slotNumbers.try_emplace(place, int(out.slots.size()));
    if (isNew) out.slots.push_back({box, step.peer, step.index});
    step.slot = number->second;
  }

  /// Outside packet loops an operation goes over the packets of its vector by itself.
  void emit(Step step) {
    step.loop = loop, step.iteration = iteration;
    flow.follow(step, rank);
    if (inPackets) return steps().push_back(std::move(step));
    const int begin = int(steps().size());
    Step loop{Step::Kind::Packets};
    loop.length = step.length;
    loop.partner = begin + 2;
    loop.where = step.where;
    steps().push_back(loop);
    steps().push_back(std::move(step));
    loop.kind = Step::Kind::PacketsEnd;
    loop.partner = begin;
    steps().push_back(loop);
  }

  void mark(Step::Kind kind, ir::SourceOffset where, int index = 0) {
    Step step{kind};
    step.index = index;
    step.where = where;
    steps().push_back(step);
  }

  void block(const ir::Block &stmts) {
    for (const ir::Stmt &stmt : stmts) {
      if (out.refutation) return;
      current = ir::match(stmt, [](const auto &s) -> ir::SourceOffset { return s.where; });
      statement(stmt);
    }
  }

  void receive(Step::Kind kind, int value, int box, const ir::Index &slot, int own, ir::SourceOffset where,
               int behind = 0) {
    Step step{kind};
    step.where = where;
    step.number = behind;
    step.value = value;
    step.a = own;
    setSlot(step, box, rank, slot);
    if (value != ir::kNone)
      setLength(step, program.values[value].length);
    else
      scope.emplace_back("slot", step.index), setLength(step, program.mailboxes[box].length), scope.pop_back();
    emit(step);
  }

  void statement(const ir::Stmt &stmt) {
    ir::match(
        stmt, [&](const ir::KernelBoundary &) {},
        [&](const ir::Load &s) {
          Step step{Step::Kind::Load};
          step.where = s.where, step.value = s.result;
          setSlice(step, s.from);
          step.everyRow = s.everyRow, step.perRow = s.perRow, step.settles = program.settles(s);
          if (s.everyRow || s.perRow) step.rows = step.length, setLength(step, program.values[s.result].length);
          if (const auto &count = program.values[s.result].count)
            step.counts = count->element.buffer, step.detail = wholeNumber(count->element.index), step.countsRows = count->rows;
          emit(step);
        },
        [&](const ir::StoreCount &s) {
          Step step{Step::Kind::StoreCount};
          step.where = s.where, step.a = s.value;
          setSlice(step, s.to);
          step.rows = step.length, setLength(step, program.values[s.value].length);
          emit(step);
        },
        [&](const ir::Store &s) {
          Step step{Step::Kind::Store};
          step.where = s.where, step.a = s.value;
          setSlice(step, s.to);
          if ((step.perRow = s.perRow)) step.rows = step.length, setLength(step, program.values[s.value].length);
          emit(step);
        },
        [&](const ir::Send &s) {
          Step step{Step::Kind::Send};
          step.where = s.where, step.a = s.value, step.value = s.own;
          setSlot(step, s.box, wholeNumber(s.peer), s.slot);
          setLength(step, program.values[s.value].length);
          emit(step);
        },
        [&](const ir::Poll &s) {
          // Data without a mark of its own does not show that it has arrived.
          const ir::Sync sync = program.mailboxes[s.box].sync;
          const bool flagged = sync != ir::Sync::Barrier && sync != ir::Sync::Flag && sync != ir::Sync::Counter;
          out.polls |= flagged;
          receive(flagged ? Step::Kind::Poll : Step::Kind::Read, s.result, s.box, s.slot, s.own, s.where);
        },
        [&](const ir::Read &s) {
          out.weak = true;
          receive(Step::Kind::Read, s.result, s.box, s.slot, s.own, s.where);
        },
        [&](const ir::Clear &s) {
          out.clears = true;
          out.deferred |= s.behind > 0;
          receive(Step::Kind::Clear, ir::kNone, s.box, s.slot, ir::kNone, s.where, s.behind);
        },
        [&](const ir::Constant &s) {
          if (s.number) number(s.result, Symbols::kWhole, wholeNumber(*s.number), s.where);
          else number(s.result, Symbols::kConstant, std::bit_cast<std::int64_t>(s.value), s.where);
        },
        [&](const ir::Argument &s) {
          std::size_t index = 0;
          while (program.scalars[index].name != s.scalar) ++index;
          number(s.result, Symbols::kArgument, std::int64_t(index), s.where);
        },
        [&](const ir::Map &s) {
          Step step{Step::Kind::Map};
          step.where = s.where, step.value = s.result, step.a = s.a, step.b = s.b;
          step.function = s.function, step.type = program.values[s.result].dtype, step.from = program.values[s.a].dtype;
          setValueLength(step, s.result);
          emit(step);
        },
        [&](const ir::RowReduce &s) {
          Step step{Step::Kind::RowReduce};
          step.where = s.where, step.value = s.result, step.a = s.value;
          step.code = Symbols::kRows + int(s.op), step.detail = s.group;
          setValueLength(step, s.result);
          emit(step);
        },
        [&](const ir::Combine &s) {
          Step step{Step::Kind::Combine};
          step.where = s.where, step.op = s.op, step.value = s.result, step.a = s.a, step.b = s.b;
          setLength(step, program.values[s.result].length);
          emit(step);
          if (s.op != ReduceOp::Min && s.op != ReduceOp::Max) round(s.result, s.where);
        },
        [&](const ir::Reduce &s) { reduce(s); }, [&](const ir::ForRanks &s) { forRanks(s); },
        [&](const ir::Assign &s) {
          Step step{Step::Kind::Fold};
          step.where = s.where, step.value = s.variable, step.a = s.value, step.first = true;
          setLength(step, program.values[s.value].length);
          emit(step);
        },
        [&](const ir::For &s) { forLoop(s); },
        [&](const ir::If &s) {
          if (wholeNumber(s.condition)) block(s.body);
        },
        [&](const ir::PacketLoop &s) { packetLoop(s); },
        [&](const ir::Signal &s) { announcement(Step::Kind::Signal, s.box, wholeNumber(s.peer), s.slot, s.where); },
        [&](const ir::Await &s) { announcement(Step::Kind::Await, s.box, rank, s.slot, s.where); },
        [&](const ir::Credit &s) { credit(Step::Kind::Credit, ir::kNone, wholeNumber(s.peer), s.where, s.releases); },
        [&](const ir::AwaitCredit &s) { credit(Step::Kind::AwaitCredit, s.box, wholeNumber(s.peer), s.where); },
        [&](const ir::Barrier &s) {
          mark(Step::Kind::Barrier, s.where, evaluate(s.number));
          steps().back().ofLaunch = s.ofLaunch;
        },
        [&](const ir::Fence &s) { mark(Step::Kind::Fence, s.where); });
  }

  void number(int value, int code, std::int64_t detail, ir::SourceOffset where) {
    Step step{Step::Kind::Number};
    step.where = where, step.value = value, step.code = code, step.detail = detail;
    setValueLength(step, value);
    emit(step);
  }

  /// What is constant everywhere is as long as the loop's vectors.
  void setValueLength(Step &step, int value) {
    if (program.values[value].spread == ir::Spread::Everywhere) step.length = loopLength;
    else setLength(step, program.values[value].length);
  }

  void reduce(const ir::Reduce &s) {
    for (int r = 0; r < program.ranks; ++r) {
      scope.emplace_back(s.variable, r);
      block(s.body);
      scope.pop_back();
      Step step{Step::Kind::Fold};
      step.where = s.where, step.op = Symbols::folded(s.op), step.value = s.result, step.a = s.yield, step.first = r == 0;
      setLength(step, program.values[s.result].length);
      emit(step);
    }
    if (s.multicast) anyOrder(s);
    if (s.op == ReduceOp::Avg) {
      Step step{Step::Kind::Mean};
      step.where = s.where, step.value = step.a = s.result;
      setLength(step, program.values[s.result].length);
      emit(step);
    }
    round(s.result, s.where);
  }

  /// What an operation has computed in f32 is rounded where its type is narrower.
  void round(ir::ValueId value, ir::SourceOffset where) {
    const DType type = program.values[value].dtype;
    if (!rounds || type == DType::F32 || !isFloat(type)) return;
    Step step{Step::Kind::Round};
    step.where = where, step.value = step.a = value, step.type = type;
    setLength(step, program.values[value].length);
    emit(step);
  }

  /// The network reduces in the order it likes, another time in another, where that shows.
  void anyOrder(const ir::Reduce &s) {
    if (!isFloat(program.dtype) || s.op == ReduceOp::Min || s.op == ReduceOp::Max) return;
    Step step{Step::Kind::AnyOrder};
    step.where = s.where, step.op = Symbols::folded(s.op), step.value = step.a = s.result;
    step.number = -1 - int(steps().size()) * program.ranks - rank; // slots that are added to have numbers from 0 up
    setLength(step, program.values[s.result].length);
    emit(step);
  }

  /// Whether iterations that have no order could wait for each other.
  static bool isOfBranches(const ir::Block &body) {
    bool sends = false, receives = false;
    ir::walk(body, [&](const ir::Stmt &inner) {
      const ir::AnyOp &op = inner.op();
      sends |= std::holds_alternative<ir::Send>(op) || std::holds_alternative<ir::Signal>(op);
      receives |= std::holds_alternative<ir::Poll>(op) || std::holds_alternative<ir::Read>(op) ||
                  std::holds_alternative<ir::Await>(op);
    });
    return sends && receives;
  }

  void forRanks(const ir::ForRanks &s) {
    const bool branches = isOfBranches(s.body);
    if (branches) out.branches = true, mark(Step::Kind::Branches, s.where);
    const bool outer = beginLoop();
    for (int r = 0; r < program.ranks; ++r) {
      if (branches) mark(Step::Kind::Branch, s.where, r);
      if (outer) iteration = r;
      scope.emplace_back(s.variable, r);
      block(s.body);
      scope.pop_back();
    }
    if (outer) loop = 0;
    if (branches) mark(Step::Kind::BranchesEnd, s.where);
  }

  /// Whether there is none over ranks around it.
  bool beginLoop() {
    if (loop) return false;
    loop = ++loops;
    return true;
  }

  void forLoop(const ir::For &s) {
    const int last = evaluate(s.last);
    const bool branches = s.ofRanks && isOfBranches(s.body);
    if (branches) out.branches = true, mark(Step::Kind::Branches, s.where);
    const bool outer = s.ofRanks && beginLoop();
    for (int i = evaluate(s.first); i <= last; ++i) {
      if (branches) mark(Step::Kind::Branch, s.where, i);
      if (outer) iteration = i;
      scope.emplace_back(s.variable, i);
      block(s.body);
      scope.pop_back();
    }
    if (outer) loop = 0;
    if (branches) mark(Step::Kind::BranchesEnd, s.where);
  }

  /// A rank owes itself none.
  void credit(Step::Kind kind, int box, std::int64_t peer, ir::SourceOffset where, bool releases = false) {
    out.credits = true;
    if (peer == rank || peer < 0 || peer >= program.ranks) return; // a send that goes nowhere is refused as such
    Step step{kind};
    step.where = where;
    step.box = box;
    step.peer = int(peer);
    step.index = inPackets;
    step.releases = releases;
    steps().push_back(step);
  }

  /// A whole CTA makes or awaits it, so no packets take part one by one.
  void announcement(Step::Kind kind, int box, std::int64_t owner, const ir::Index &slot, ir::SourceOffset where) {
    Step step{kind};
    step.where = where;
    out.weak = true;
    setSlot(step, box, owner, slot);
    steps().push_back(step);
  }

  /// Which thread has a packet: by rows that follows from how long they are.
  int mapNumber(const ir::PacketLoop &s) {
    const std::pair way(s.map, s.rows ? s.domain.extents.back() : std::string());
    const auto known = llvm::find(maps, way);
    if (known != maps.end()) return int(known - maps.begin());
    maps.push_back(way);
    return int(maps.size()) - 1;
  }

  void packetLoop(const ir::PacketLoop &s) {
    const int begin = int(steps().size());
    Step loop{Step::Kind::Packets};
    loop.where = s.where;
    loop.length = loopLength = lengthNumber(s.domain);
    loop.number = mapNumber(s);
    out.maps = std::max(out.maps, loop.number + 1);
    steps().push_back(loop);
    inPackets = true;
    block(s.body);
    inPackets = false;
    loop.kind = Step::Kind::PacketsEnd;
    loop.partner = begin;
    steps()[begin].partner = int(steps().size());
    steps().push_back(loop);
  }
};

} // namespace

bool showsRoundings(const ir::Program &program) {
  if (llvm::any_of(program.ensures, [](const ir::Ensures &e) { return e.kind == ir::Ensures::Kind::Formula; })) return true;
  bool combines = false; // what one `reduce` combines is rounded once, at the end
  ir::walk(program.body, [&](const ir::Stmt &s) {
    const auto *combine = std::get_if<ir::Combine>(&s.op());
    combines |= combine && combine->op != ReduceOp::Min && combine->op != ReduceOp::Max;
  });
  return combines && program.order == "ascending";
}

Expansion expand(const ir::Program &program, const std::vector<std::vector<std::int64_t>> &scalars) {
  return Expander(program).run(scalars);
}

Sizes::Sizes(const Expansion &expansion, Extents counts) : given(std::move(counts)) {
  const ir::Program &program = *expansion.program;
  for (const ir::Length &length : expansion.lengths)
    entries.push_back({length.kind == ir::Length::Kind::Piece, program.product(length.extents, given),
                       program.pieceElements(length, given)});
}

void Sizes::packetCounts(std::vector<std::uint64_t> &out, std::uint64_t packetElements) const {
  auto add = [&](std::uint64_t elements) { out.push_back((elements + packetElements - 1) / packetElements); };
  for (const Entry &e : entries) {
    if (!e.isPiece)
      add(e.whole);
    else if (e.piece)
      add(std::min(e.piece, e.whole)), add(e.whole % e.piece);
  }
}

std::uint64_t packetElements(const ir::Program &program) {
  // Where a packet ends does not matter as long as pieces are whole numbers of them: 16 bytes, as pieces are. Those that
  // come in groups share their fate, and the group counts as one.
  const ir::Wire wire = program.wire();
  if (wire.together > 1) return std::max(1u, wire.payloadBytes * wire.together / sizeOf(program.packetType()));
  return std::max(1u, 16 / sizeOf(program.dtype));
}

Classes classify(const Expansion &expansion, const std::vector<Sizes> &sizes) {
  Classes classes{packetElements(*expansion.program), {}};
  std::vector<std::uint64_t> packets;
  for (const Sizes &s : sizes) s.packetCounts(packets, classes.packetElements);
  std::sort(packets.begin(), packets.end());
  packets.erase(std::unique(packets.begin(), packets.end()), packets.end());
  for (std::uint64_t p : packets)
    if (p) classes.ends.push_back(p * classes.packetElements);
  if (classes.ends.empty()) classes.ends.push_back(classes.packetElements); // barriers alone
  return classes;
}

} // namespace coll::check
