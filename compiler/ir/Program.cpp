#include "ir/Program.h"

#include "coll/Extent.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace coll::ir {

llvm::StringRef keyword(Sync sync) {
  switch (sync) {
  case Sync::LL: return "ll";
  case Sync::LL16: return "ll16";
  case Sync::LL128: return "ll128";
  case Sync::Sentinel: return "sentinel";
  case Sync::Flag: return "flag";
  case Sync::Barrier: return "barrier";
  case Sync::Counter: return "counter";
  case Sync::Counter16: return "counter16";
  case Sync::Counter128: return "counter128";
  }
  return {};
}

std::optional<Sync> syncOf(llvm::StringRef word) {
  for (int sync = 0; sync <= int(Sync::Counter128); ++sync)
    if (keyword(Sync(sync)) == word) return Sync(sync);
  return std::nullopt;
}

std::int64_t Scalar::least() const {
  if (rank) return 0;
  switch (type) {
  case DType::I8: return std::numeric_limits<std::int8_t>::min();
  case DType::I32: return std::numeric_limits<std::int32_t>::min();
  case DType::I64: return -kMost;
  default: return 0;
  }
}

std::int64_t Scalar::greatest(int ranks) const {
  if (rank) return ranks - 1;
  switch (type) {
  case DType::I8: return std::numeric_limits<std::int8_t>::max();
  case DType::U8: return std::numeric_limits<std::uint8_t>::max();
  case DType::I32: return std::numeric_limits<std::int32_t>::max();
  case DType::U32: return std::numeric_limits<std::uint32_t>::max();
  default: return kMost;
  }
}

Wire wireOf(Sync sync) {
  switch (sync) {
  case Sync::LL: return {8, 16, 1, 8, 70, 8};
  case Sync::LL16: return {12, 16, 1, 16, 70, 4};
  case Sync::LL128: return {30, 32, 32, 128, 90};
  case Sync::Sentinel:
  case Sync::Flag:
  case Sync::Barrier: return {16, 16};
  case Sync::Counter: return {16, 16, 1, 8, 90};
  case Sync::Counter16: return {12, 16, 1, 16, 90, 4};
  case Sync::Counter128: return {30, 32, 32, 128, 90};
  }
  return {};
}


/// Sums of rows go by a tree, of which a packet is a branch: as many elements as fill three lines of 12 bytes best.
static unsigned rowPacket(DType type) { return std::min(16u, 32 / sizeOf(type)); }

Wire Program::wire() const {
  if (const unsigned units = bulkUnits()) return {16 * units, 16};
  Wire wire{16, 16};
  unsigned elements = 0, together = 1; // of a packet or piece: whole lines of every mailbox, and whole words of an argument
  for (const Mailbox &box : mailboxes) {
    if (!holdsPackets(box)) continue;
    const Wire own = wireOf(box.sync);
    if (elements == 0) wire = own;
    elements = std::lcm(std::max(1u, elements), own.pieceBytes() / sizeOf(box.dtype));
    together = std::max(together, own.together);
  }
  if (together > 1) elements = std::lcm(elements, std::max(1u, 8 / sizeOf(packetType()))); // bytes of whole words of 8
  if (elements && !std::has_single_bit(elements) && goesByRows()) elements = rowPacket(packetType());
  if (mailed && sizeOf(dtype) < 4 && elements * sizeOf(dtype) % 2) elements = std::lcm(elements, 4 / sizeOf(dtype));
  const unsigned bytes = elements * sizeOf(packetType());
  if (elements == 0 || (bytes == wire.pieceBytes() && together == wire.together)) return wire;
  return {together > 1 ? bytes * 30 / 16 : bytes, 0, together, 8, 70, std::min(16u, bytes & -bytes)};
}

unsigned Program::linesOf(const Mailbox &box) const {
  if (box.spread != Spread::Element) return 1;
  const Wire own = wireOf(box.sync), all = wire();
  const unsigned bytes = pieceElements() * sizeOf(box.dtype) * (all.together > own.together ? 2 : 1);
  return (bytes + own.pieceBytes() - 1) / own.pieceBytes();
}

bool Program::mailsAlike() const {
  return llvm::all_of(mailboxes, [&](const Mailbox &box) { return !holdsPackets(box) || (box.dtype == packetType() && linesOf(box) == 1); });
}

bool Program::goesByRows() const {
  bool rows = false;
  walk(body, [&](const Stmt &s) {
    rows |= std::holds_alternative<RowReduce>(s.op());
    if (const auto *load = std::get_if<Load>(&s.op())) rows |= load->everyRow || load->perRow;
    if (const auto *store = std::get_if<Store>(&s.op())) rows |= store->perRow;
  });
  rows |= llvm::any_of(values, [](const Value &v) { return v.length.isPieceOfRows() || (v.count && v.count->rows); });
  return rows;
}

std::vector<Length> Program::domains() const {
  std::vector<Length> found;
  walk(body, [&](const Stmt &s) {
    const auto *loop = std::get_if<PacketLoop>(&s.op());
    if (!loop) return;
    auto known = llvm::find_if(found, [&](const Length &l) { return l.extents == loop->domain.extents; });
    if (known == found.end()) found.push_back(loop->domain);
    else if (known->kind == Length::Kind::Piece) *known = loop->domain;
  });
  return found;
}

unsigned Program::bulkUnits() const {
  const bool mailed = llvm::any_of(mailboxes, [](const Mailbox &box) { return box.payload; });
  if (mailed || !hasWindows() || goesByRows()) return 0;
  // A thread holds a packet of each of a few ranks in registers, and accumulates in 4 bytes or more.
  constexpr unsigned kPackets = 16, kMostWords = 96;
  const unsigned accumulated = op ? std::max(4u, 16 / sizeOf(dtype)) : 0;
  for (const unsigned units : {4u, 2u})
    if (ranks * units <= kPackets && ranks * units * 4 + units * accumulated <= kMostWords) return units;
  return 1;
}

bool Program::isKept(ValueId v) const {
  bool kept = false;
  walk(body, [&](const Stmt &s) {
    if (const auto *poll = std::get_if<Poll>(&s.op())) kept |= poll->own == v;
    if (const auto *read = std::get_if<Read>(&s.op())) kept |= read->own == v;
  });
  return kept;
}

bool Program::multicastsMail() const {
  bool found = false;
  walk(body, [&](const Stmt &s) {
    if (const auto *send = std::get_if<Send>(&s.op())) found |= send->multicast;
  });
  return found;
}

bool Program::multicastsBuffer(BufferId buffer) const {
  bool found = false;
  walk(body, [&](const Stmt &s) {
    if (const auto *store = std::get_if<Store>(&s.op())) found |= store->multicast && store->to.buffer == buffer;
    const auto *reduce = std::get_if<Reduce>(&s.op());
    if (!reduce || !reduce->multicast) return;
    if (const auto *load = std::get_if<Load>(&reduce->body.front().op())) found |= load->from.buffer == buffer;
  });
  return found;
}

bool Program::usesMulticast() const {
  bool found = multicastsMail();
  for (std::size_t b = 0; b < buffers.size(); ++b) found |= multicastsBuffer(BufferId(b));
  return found;
}

std::uint64_t Program::chunkPackets() const {
  return chunks ? chunks->elements * sizeOf(packetType()) / wire().payloadBytes : 0;
}

bool Length::sameDomain(const Length &other) const {
  return (kind == Kind::Piece) == (other.kind == Kind::Piece) && ofRows == other.ofRows && extents == other.extents;
}

bool Program::settles(const Load &load) const {
  const auto isSame = [&](BufferId a, BufferId b) {
    return a == b || llvm::any_of(aliases, [&](const auto &pair) { return pair.first.buffer == a && pair.second.buffer == b; });
  };
  bool stored = false;
  if (load.perRow)
    walk(body, [&](const Stmt &s) {
      const auto *store = std::get_if<Store>(&s.op());
      stored |= store && isSame(store->to.buffer, load.from.buffer);
    });
  return stored;
}

bool Length::isColumnOf(const Length &matrix) const {
  Length same = matrix;
  if (!isColumn() || matrix.extents.empty()) return false;
  same.extents.back() = "1";
  return sameDomain(same) && !sameDomain(matrix);
}

bool Length::operator==(const Length &other) const {
  return sameDomain(other) && (kind != Kind::Piece || index == other.index);
}

llvm::StringRef keyword(Function function) {
  static constexpr const char *names[] = {"neg", "abs", "exp", "rsqrt", "inverse", "convert", "truncate",
                                          "add", "sub", "mul", "div", "min", "max"};
  return names[int(function)];
}

llvm::StringRef keyword(RowOp op) {
  static constexpr const char *names[] = {"rowsum", "rowmean", "rowmax"};
  return names[int(op)];
}

ValueId Program::addValue(std::string name, Length length) {
  return addValue(std::move(name), std::move(length), packetType(), Spread::Element);
}

ValueId Program::addValue(std::string name, Length length, DType type, Spread spread) {
  values.push_back({std::move(name), std::move(length), false, type, spread});
  return ValueId(values.size()) - 1;
}

std::uint64_t Program::product(const std::vector<std::string> &names, const Extents &given) const {
  std::uint64_t elements = 1;
  for (const std::string &name : names) {
    if (name == "N") {
      elements *= std::uint64_t(ranks);
    } else if (auto it = given.find(name); it != given.end()) {
      elements *= it->second;
    } else if (isComputed(name)) {
      elements *= extentValue(name, [&](std::string_view of) { return product({std::string(of)}, given); });
    } else if (!name.empty() && name[0] >= '0' && name[0] <= '9') {
      elements *= std::stoull(name);
    }
  }
  return elements;
}

std::uint64_t Program::pieceElements(const Length &length, const Extents &given) const {
  const std::uint64_t unit = 16 / std::min(16u, sizeOf(dtype)), n = std::uint64_t(ranks);
  if (length.isPieceOfRows()) {
    const std::vector<std::string> rows(length.extents.begin(), length.extents.end() - 1);
    return (product(rows, given) + n - 1) / n * product({length.extents.back()}, given);
  }
  const std::uint64_t share = (product(length.extents, given) + n - 1) / n;
  return (share + unit - 1) / unit * unit;
}

std::uint64_t Program::elements(const Length &length, const Extents &given, const Index::Lookup &variables) const {
  const std::uint64_t whole = product(length.extents, given);
  if (length.kind != Length::Kind::Piece) return whole;
  const std::uint64_t piece = pieceElements(length, given);
  const std::uint64_t first = std::min(whole, std::uint64_t(length.index.evaluate(variables).value_or(0)) * piece);
  return std::min(piece, whole - first);
}

std::optional<std::uint64_t> Program::fixedElements(const Length &length) const {
  const auto isNumber = [](const std::string &extent) { return llvm::all_of(extent, llvm::isDigit); };
  bool byRows = length.isPieceOfRows();
  walk(body, [&](const Stmt &s) {
    const auto *loop = std::get_if<PacketLoop>(&s.op());
    byRows |= loop && loop->rows && loop->domain.extents == length.extents;
  });
  if (byRows || !llvm::all_of(length.extents, isNumber)) return std::nullopt; // rows are whole packets each
  return length.kind == Length::Kind::Piece ? pieceElements(length, {}) : product(length.extents, {});
}

std::uint64_t Program::begin(const Slice &slice, const Extents &given, const Index::Lookup &variables) const {
  // What is outside stays outside, whatever it is multiplied by.
  constexpr std::int64_t kOutside = std::numeric_limits<std::int32_t>::max();
  const auto number = std::uint64_t(std::clamp(slice.index.evaluate(variables).value_or(0), -kOutside, kOutside));
  switch (slice.length.kind) {
  case Length::Kind::Whole: return 0;
  case Length::Kind::Row: return number * product(slice.length.extents, given);
  case Length::Kind::Piece:
    return std::min(product(slice.length.extents, given), number * pieceElements(slice.length, given));
  }
  return 0;
}

const Block *bodyOf(const Stmt &stmt) {
  if (const auto *s = std::get_if<Reduce>(&stmt.op())) return &s->body;
  if (const auto *s = std::get_if<ForRanks>(&stmt.op())) return &s->body;
  if (const auto *s = std::get_if<For>(&stmt.op())) return &s->body;
  if (const auto *s = std::get_if<If>(&stmt.op())) return &s->body;
  if (const auto *s = std::get_if<PacketLoop>(&stmt.op())) return &s->body;
  return nullptr;
}

Block *bodyOf(Stmt &stmt) { return const_cast<Block *>(bodyOf(std::as_const(stmt))); }

void walk(const Block &block, llvm::function_ref<void(const Stmt &)> visit) {
  for (const Stmt &stmt : block) {
    visit(stmt);
    if (const Block *body = bodyOf(stmt)) walk(*body, visit);
  }
}

void walk(Block &block, llvm::function_ref<void(Stmt &)> visit) {
  for (Stmt &stmt : block) {
    visit(stmt);
    if (Block *body = bodyOf(stmt)) walk(*body, visit);
  }
}

namespace {

/// How often a launch may come to a barrier of the block.
std::int64_t meetings(const Block &block) {
  std::int64_t count = 0;
  for (const Stmt &stmt : block) {
    if (std::holds_alternative<Barrier>(stmt.op())) ++count;
    const auto *loop = std::get_if<For>(&stmt.op());
    const std::int64_t times = loop ? loop->last.value() - loop->first.value() + 1 : 1;
    if (const Block *body = bodyOf(stmt)) count += times * meetings(*body);
  }
  return count;
}

/// Numbers those of a block from `first` on.
void numberFrom(Index first, Block &block) {
  std::int64_t before = 0;
  for (Stmt &stmt : block) {
    const Index next = Index::add(first, Index::constant(before));
    if (auto *barrier = std::get_if<Barrier>(&stmt.op())) barrier->number = next, ++before;
    Block *body = bodyOf(stmt);
    const std::int64_t each = body ? meetings(*body) : 0;
    if (each == 0) continue;
    const auto *loop = std::get_if<For>(&stmt.op());
    if (!loop) {
      numberFrom(next, *body), before += each;
      continue;
    }
    const Index iteration = Index::sub(Index::variable(loop->variable), loop->first);
    numberFrom(Index::add(next, Index::mul(iteration, Index::constant(each))), *body);
    before += each * (loop->last.value() - loop->first.value() + 1);
  }
}

} // namespace

void numberBarriers(Program &program) {
  numberFrom(Index(), program.body);
  program.barriers = unsigned(meetings(program.body));
}

ValueId resultOf(const Stmt &stmt) {
  return match(
      stmt, [](const Send &s) { return s.own; }, [](const Load &s) { return s.result; },
      [](const Poll &s) { return s.result; }, [](const Read &s) { return s.result; },
      [](const Constant &s) { return s.result; }, [](const Argument &s) { return s.result; },
      [](const Map &s) { return s.result; }, [](const RowReduce &s) { return s.result; },
      [](const Combine &s) { return s.result; }, [](const Reduce &s) { return s.result; },
      [](const Assign &s) { return s.variable; }, [](const auto &) { return kNone; });
}

const Index *slotOf(const Stmt &stmt) {
  if (const auto *poll = std::get_if<Poll>(&stmt.op())) return &poll->slot;
  if (const auto *read = std::get_if<Read>(&stmt.op())) return &read->slot;
  return nullptr;
}

void usesOf(const Stmt &stmt, llvm::function_ref<void(ValueId)> visit) {
  auto look = [&](const Stmt &s) {
    match(
        s, [&](const Store &op) { visit(op.value); }, [&](const StoreCount &op) { visit(op.value); },
        [&](const Send &op) { visit(op.value); }, [&](const Poll &op) { visit(op.own); },
        [&](const Read &op) { visit(op.own); }, [&](const Assign &op) { visit(op.value); },
        [&](const Combine &op) { visit(op.a), visit(op.b); }, [&](const Map &op) { visit(op.a), visit(op.b); },
        [&](const RowReduce &op) { visit(op.value); }, [&](const Reduce &op) { visit(op.yield); }, [](const auto &) {});
  };
  look(stmt);
  if (const Block *body = bodyOf(stmt)) walk(*body, look);
}

} // namespace coll::ir
