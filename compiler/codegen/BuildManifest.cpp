#include "codegen/EmitCuda.h"
#include "codegen/Names.h"

#include <numeric>

namespace coll::codegen {

using namespace ir;

namespace {

/// The vector that decides how many packets there are: where a program goes over both, the whole one, not its pieces.
const Length *largestDomain(const Program &program) {
  const Length *domain = nullptr;
  walk(program.body, [&](const Stmt &stmt) {
    if (const auto *loop = std::get_if<PacketLoop>(&stmt.op()))
      if (!domain || domain->kind == Length::Kind::Piece) domain = &loop->domain;
  });
  return domain;
}

bool hasPieces(const Program &program) {
  return llvm::any_of(program.values, [](const Value &v) { return v.length.kind == Length::Kind::Piece; });
}

std::uint64_t capacityOf(const Program &program, const Length &domain) {
  std::uint64_t elements = program.maxBytes / sizeOf(program.dtype);
  for (const Buffer &b : program.buffers)
    if (llvm::is_contained(b.extents, "N") && !llvm::is_contained(domain.extents, "N"))
      return elements / std::uint64_t(program.ranks);
  return elements;
}

Manifest::Promise::Part part(const Slice &slice, unsigned rank, const Index::Lookup &variables) {
  const bool row = slice.length.kind == Length::Kind::Row;
  return {rank, unsigned(slice.buffer), row ? int(slice.index.evaluate(variables).value_or(0)) : Manifest::kWhole};
}

/// What a clause promises to each rank, for each value of its variable.
void addPromises(const Program &program, const Ensures &e, Manifest &m) {
  const int n = program.ranks;
  for (int me = 0; me < n; ++me)
    for (int bound = 0; bound < (e.variable.empty() ? 1 : n); ++bound) {
      const auto lookup = [&](llvm::StringRef name) -> std::optional<std::int64_t> {
        return name == "me" ? me : bound; // a clause has no other variable
      };
      Manifest::Promise promise{part(e.target, unsigned(me), lookup), e.kind == Ensures::Kind::Reduction, {}};
      if (promise.reduces)
        for (int r = 0; r < n; ++r) promise.sources.push_back(part(e.source, unsigned(r), lookup));
      else
        promise.sources.push_back(part(e.source, unsigned(e.from.evaluate(lookup).value_or(0)), lookup));
      m.promises.push_back(std::move(promise));
    }
}

/// Eight bytes of -0.0, which coll::sentinel::Spare takes for an empty slot.
std::uint64_t negativeZeros(DType type) {
  std::uint64_t bits = 0;
  for (unsigned at = sizeOf(type); at <= 8; at += sizeOf(type)) bits |= std::uint64_t(0x80) << (8 * (at - 1));
  return bits;
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
  for (const Buffer &b : program.buffers) m.arguments.push_back({b.name, b.direction, b.dtype, b.extents});
  m.extents = program.extents;
  m.inplace = program.inplace;
  for (const Ensures &e : program.ensures) {
    addPromises(program, e, m);
    m.ensures.push_back(ensuresText(program, e));
  }
  for (const Mailbox &box : program.mailboxes) {
    m.mailboxes.push_back({box.name, keyword(box.sync).str(), std::uint64_t(box.slots.value()), box.lines,
                           std::uint64_t(box.copies), wireOf(box.sync).lineBytes, wireOf(box.sync).payloadBytes,
                           box.offset});
    m.minArch = std::max(m.minArch, wireOf(box.sync).minArch);
    m.unsplitBytes = std::max(m.unsplitBytes, wireOf(box.sync).unsplitBytes);
    if (box.sync == Sync::Sentinel) m.mailboxes.back().fill = negativeZeros(program.dtype);
  }
  m.entry = kernelName(program);
  m.regionBytes = program.regionBytes;
  m.barriers = program.barriers;
  MessageChain chain{std::vector<unsigned>(program.mailboxes.size())};
  chain.follow(program.body);
  m.hops = chain.received;
  const Wire wire = program.wire();
  m.packetBytes = wire.payloadBytes;
  m.packetsTogether = wire.together;
  m.alignment = std::min(wire.payloadBytes, 16u); // vectors are loaded and stored in units of 8 or 16 bytes
  const std::uint64_t size = sizeOf(program.dtype);
  m.wholeUnit = std::max<std::uint64_t>(1, m.alignment / size);
  if (hasPieces(program)) m.wholeUnit = std::uint64_t(program.ranks) * std::max<std::uint64_t>(1, 16 / size);
  if (const Length *domain = largestDomain(program)) {
    m.domain = {domain->extents, domain->kind == Length::Kind::Piece};
    m.capacity = capacityOf(program, *domain);
  }
  m.proof = program.proof;
  m.strength = program.strength;
  return m;
}

} // namespace coll::codegen
