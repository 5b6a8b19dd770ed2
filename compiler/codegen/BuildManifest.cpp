#include "codegen/EmitCuda.h"
#include "codegen/Names.h"

#include "coll/Extent.h"
#include "ir/Indices.h"
#include "llvm/ADT/StringExtras.h"

#include <numeric>

namespace coll::codegen {

using namespace ir;

namespace {

constexpr unsigned kRowUnits = 2112;

bool hasPieces(const Program &program) {
  return llvm::any_of(program.values, [](const Value &v) { return v.length.kind == Length::Kind::Piece && !v.length.ofRows; });
}

/// The most elements of a domain's vector; 0: no bound.
std::uint64_t capacityOf(const Program &program, const Length &domain) {
  if (!program.maxBytes) return 0;
  if (const auto fixed = program.fixedElements(domain)) return *fixed;
  std::uint64_t elements = program.maxBytes / sizeOf(program.dtype);
  for (const Buffer &b : program.buffers)
    if (llvm::any_of(b.extents, hasFactorN) && !llvm::any_of(domain.extents, hasFactorN))
      return elements / std::uint64_t(program.ranks);
  return elements;
}

Manifest::Promise::Part part(const Slice &slice, unsigned rank, const Index::Lookup &variables) {
  const bool row = slice.length.kind == Length::Kind::Row;
  return {rank, unsigned(slice.buffer), row ? int(slice.index.evaluate(variables).value_or(0)) : Manifest::kWhole, slice.depth};
}

using Scalars = std::map<std::string, std::int64_t>;
void addSteps(const Ensures &e, int ranks, int me, const Index::Lookup &lookup, Manifest::Promise &promise) {
  using Kind = FormulaNode::Kind;
  promise.rowExtents = {e.domain.extents.back()};
  for (const FormulaNode &node : e.formula) {
    Manifest::Promise::Step step;
    step.kind = Manifest::Promise::Step::Kind(int(node.kind));
    step.dtype = node.dtype, step.op = node.op, step.value = node.value, step.scalar = node.scalar;
    step.group = node.group, step.perRow = node.perRow, step.a = node.a, step.b = node.b;
    if (node.number) step.whole = node.number->evaluate(lookup);
    if (node.kind == Kind::Map) step.function = keyword(node.function).str();
    if (node.kind == Kind::RowReduce) step.function = keyword(node.rowOp).str();
    if (node.kind == Kind::Input) step.sources = {part(node.source, unsigned(node.from.evaluate(lookup).value_or(0)), lookup)};
    if (node.kind == Kind::Exit) step.sources = {part(node.source, unsigned(me), lookup)};
    for (int r = 0; node.kind == Kind::Reduction && r < ranks; ++r) {
      const auto here = [&](llvm::StringRef name) { return name == node.variable ? std::optional<std::int64_t>(r) : lookup(name); };
      step.sources.push_back(part(node.source, unsigned(r), here));
    }
    promise.steps.push_back(std::move(step));
  }
}

/// What a clause promises to each rank, for each value of its variable.
void addPromises(const Ensures &e, int n, const Scalars &scalars, std::vector<Manifest::Promise> &promises) {
  for (int me = 0; me < n; ++me)
    for (int bound = 0; bound < (e.variable.empty() ? 1 : n); ++bound) {
      const auto lookup = [&](llvm::StringRef name) -> std::optional<std::int64_t> {
        if (name == "me") return me;
        const auto scalar = scalars.find(name.str());
        return scalar == scalars.end() ? bound : scalar->second; // a clause has no other variable
      };
      if (e.on && !e.on->evaluate(lookup).value_or(0)) continue;
      Manifest::Promise promise{part(e.target, unsigned(me), lookup), e.kind == Ensures::Kind::Reduction, {}, {}, {}, {}};
      if (e.kind == Ensures::Kind::Formula)
        addSteps(e, n, me, lookup, promise);
      else if (promise.reduces)
        for (int r = 0; r < n; ++r) promise.sources.push_back(part(e.source, unsigned(r), lookup));
      else
        promise.sources.push_back(part(e.source, unsigned(e.from.evaluate(lookup).value_or(0)), lookup));
      promise.countsRows = e.countsRows;
      if (e.count) promise.count = part(*e.count, unsigned(e.countFrom.evaluate(lookup).value_or(0)), lookup);
      promises.push_back(std::move(promise));
    }
}

/// How far the longest chain of messages has got: what is sent leaves after all that was received before it.
struct MessageChain {
  std::vector<unsigned> boxes; ///< [mailbox]: where the latest message into it stands in its chain
  unsigned received = 0;

  void follow(const Block &block) {
    for (const Stmt &stmt : block) {
      if (const auto *send = std::get_if<Send>(&stmt.op())) at(send->box) = std::max(at(send->box), received + 1);
      if (const auto *poll = std::get_if<Poll>(&stmt.op())) received = std::max(received, at(poll->box));
      if (const auto *read = std::get_if<Read>(&stmt.op())) received = std::max(received, at(read->box));
      if (std::holds_alternative<Barrier>(stmt.op()) && boxes.empty()) ++received;
      const auto *loop = std::get_if<For>(&stmt.op());
      const auto first = loop ? loop->first.evaluate(unknown) : 0, last = loop ? loop->last.evaluate(unknown) : 0;
      for (std::int64_t times = first && last ? *last - *first + 1 : 1; times > 0; --times)
        if (const Block *body = bodyOf(stmt)) follow(*body);
    }
  }

private:
  static std::optional<std::int64_t> unknown(llvm::StringRef) { return std::nullopt; }
  unsigned &at(MailboxId box) { return boxes[std::size_t(box)]; }
};

/// Eight bytes of -0.0, which coll::sentinel::Spare takes for an empty slot.
std::uint64_t negativeZeros(DType type) {
  std::uint64_t bits = 0;
  for (unsigned at = sizeOf(type); at <= 8; at += sizeOf(type)) bits |= std::uint64_t(0x80) << (8 * (at - 1));
  return bits;
}

std::vector<Manifest::Promise> promisesOf(const std::vector<Ensures> &clauses, int ranks, const Scalars &scalars) {
  std::vector<Manifest::Promise> promises;
  for (const Ensures &e : clauses) addPromises(e, ranks, scalars, promises);
  return promises;
}

/// A scalar of data, which is no index, changes no promise that can be written today.
bool namesScalars(const Program &program) {
  return llvm::any_of(program.scalars, [](const Scalar &s) { return s.isIndex(); });
}

/// Whether the packet loops over vectors of this length, and over pieces of it, go by rows.
bool goesByRows(const Program &program, const Length &domain) {
  bool rows = false;
  walk(program.body, [&](const Stmt &s) {
    const auto *loop = std::get_if<PacketLoop>(&s.op());
    rows |= loop && loop->rows && loop->domain.extents == domain.extents;
  });
  return rows;
}

/// The elements that a row is a multiple of.
unsigned rowUnitOf(const Program &program, const Length &domain) {
  unsigned unit = 1;
  walk(program.body, [&](const Stmt &s) {
    const auto *reduce = std::get_if<RowReduce>(&s.op());
    if (reduce && program.values[reduce->value].length.extents == domain.extents) unit = std::max(unit, reduce->group); // powers of two
  });
  return unit;
}

/// What the addresses of arguments are multiples of where packets are whole: what is of a wider type than the packets' takes
/// more of them.
unsigned alignmentOf(const Program &program) {
  unsigned alignment = program.wire().alignment;
  const auto wants = [&](const Buffer &buffer) {
    const unsigned bytes = program.pieceElements() * sizeOf(buffer.dtype);
    if (sizeOf(buffer.dtype) > sizeOf(program.packetType())) alignment = std::max(alignment, std::min(16u, bytes & -bytes));
  };
  walk(program.body, [&](const Stmt &s) {
    if (const auto *load = std::get_if<Load>(&s.op())) wants(program.buffers[load->from.buffer]);
    if (const auto *store = std::get_if<Store>(&s.op()); store && !store->perRow) wants(program.buffers[store->to.buffer]);
  });
  return alignment;
}

} // namespace

std::string ensuresText(const Program &program, const Ensures &e) {
  const std::string_view line = program.sources->lineAt(std::uint32_t(e.where));
  llvm::StringRef text = llvm::StringRef(line.data(), line.size()).split("//").first.trim();
  text.consume_front("ensures");
  return text.trim().str();
}

Manifest buildManifest(const Program &program) {
  Manifest m;
  m.member = program.member;
  m.collective = program.collective;
  m.algorithm = program.algorithm;
  m.mode = program.mode;
  m.sourceFile = program.sourceFile;
  m.ranks = program.ranks;
  m.dtype = program.dtype;
  m.op = program.op;
  m.order = program.order;
  for (const Buffer &b : program.buffers)
    m.arguments.push_back({b.name, b.direction, b.dtype, b.extents, b.window, b.bound,
                           program.multicastsBuffer(BufferId(&b - program.buffers.data())), b.replicated});
  m.multicastsMail = program.multicastsMail();
  if (program.usesMulticast()) m.uses.push_back("multicast");
  m.extents = program.extents;
  m.inplace = program.inplace;
  for (const Scalar &s : program.scalars) {
    m.scalars.push_back({s.name, s.rank ? "rank" : std::string(keyword(s.type))});
    if (s.rank || (s.isIndex() && steers(program, s))) m.scalars.back().least = s.least(), m.scalars.back().greatest = s.greatest(program.ranks);
  }
  for (std::size_t i = 0; i < program.ensures.size(); ++i) // what `and` joins is one
    if (i == 0 || program.ensures[i].where != program.ensures[i - 1].where) m.ensures.push_back(ensuresText(program, program.ensures[i]));
  if (namesScalars(program))
    m.promisesWith = [clauses = program.ensures, ranks = m.ranks](const Scalars &scalars) {
      return promisesOf(clauses, ranks, scalars);
    };
  else
    m.promises = promisesOf(program.ensures, m.ranks, {});
  for (const Mailbox &box : program.mailboxes) {
    m.mailboxes.push_back({box.name, keyword(box.sync).str(), std::uint64_t(box.slots.value()), box.lines,
                           std::uint64_t(box.copies), wireOf(box.sync).lineBytes, wireOf(box.sync).payloadBytes,
                           box.offset});
    m.minArch = std::max(m.minArch, wireOf(box.sync).minArch);
    m.unsplitBytes = std::max(m.unsplitBytes, wireOf(box.sync).unsplitBytes);
    if (box.sync == Sync::Sentinel) m.mailboxes.back().fill = negativeZeros(box.dtype);
    m.mailboxes.back().stride = box.stride;
    m.mailboxes.back().linesOfPacket = box.payload ? program.linesOf(box) : 1;
  }
  if (program.shared) {
    // Slots that are empty in another way are no place for each other.
    const std::string fill = m.mailboxes.empty() || !m.mailboxes.front().fill ? "" : "-" + llvm::utohexstr(m.mailboxes.front().fill);
    m.workspace = {program.shared->workspace, program.shared->key + fill, program.shared->begin, program.regionBytes};
  }
  m.entry = kernelName(program);
  m.regionBytes = program.regionBytes;
  m.barriers = program.barriers;
  MessageChain chain{std::vector<unsigned>(program.mailboxes.size())};
  chain.follow(program.body);
  m.hops = chain.received;
  m.credits = program.creditOffset.value_or(0);
  const Wire wire = program.wire();
  m.packetBytes = wire.payloadBytes * sizeOf(program.dtype) / sizeOf(program.packetType()); // as the arguments have them
  m.packetsTogether = wire.together;
  m.bulk = program.bulkUnits() > 0;
  m.alignment = alignmentOf(program);
  const std::uint64_t size = sizeOf(program.dtype);
  m.chunkPackets = program.chunkPackets();
  const std::uint64_t whole = program.bulkUnits() ? 16 : program.pieceElements() * size; // bytes
  m.wholeUnit = std::max<std::uint64_t>(1, whole / size);
  if (hasPieces(program) && !program.goesByRows()) // which are whole units of 16 bytes
    m.wholeUnit = std::uint64_t(program.ranks) * std::max<std::uint64_t>(1, std::lcm(whole, std::uint64_t(16)) / size);
  std::vector<Length> domains = program.domains();
  llvm::stable_sort(domains, [&](const Length &a, const Length &b) { return goesByRows(program, a) > goesByRows(program, b); });
  for (const Length &domain : domains) {
    const bool split = domain.kind == Length::Kind::Piece, rows = goesByRows(program, domain);
    const std::uint64_t capacity = capacityOf(program, domain);
    if (m.domain.extents.empty())
      m.domain = {domain.extents, split, rows, program.hasCounts()}, m.capacity = capacity, m.rowUnit = rowUnitOf(program, domain);
    else
      m.otherDomains.push_back({domain.extents, split, capacity, rows, rowUnitOf(program, domain)});
  }
  const auto counts = [](const Mailbox &box) { return adds(box.sync); };
  if (llvm::any_of(program.mailboxes, counts)) m.needs.push_back("p2p-atomics");
  m.proof = program.proof;
  m.strength = program.strength;
  m.assumptions = program.assumptions;
  m.strict = program.strict;
  m.cyclicThreads = true;
  walk(program.body, [&](const Stmt &s) {
    if (const auto *loop = std::get_if<PacketLoop>(&s.op())) m.cyclicThreads &= loop->map == ThreadMap::Cyclic && !loop->rows;
  });
  m.removableBarriers = program.removableBarriers;
  if (!m.domain.rows) return m;
  // As coll::kRowPackets and the words of shared memory of the device headers, which a test compares.
  m.rowPackets = 16, m.maxRowPackets = 1024 * 32;
  if (wire.together > 1) { // as coll::kRowUnits: a warp has 15 pieces for each 8 lanes
    const unsigned piece = wire.pieceBytes(), unit = std::min(16u, piece & -piece);
    m.maxRowPackets = kRowUnits / (wire.together / 8 * 15 * (piece / unit)) * wire.together;
  }
  return m;
}

} // namespace coll::codegen
