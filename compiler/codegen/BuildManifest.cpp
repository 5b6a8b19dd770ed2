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

using Scalars = std::map<std::string, std::int64_t>;

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
      Manifest::Promise promise{part(e.target, unsigned(me), lookup), e.kind == Ensures::Kind::Reduction, {}};
      if (promise.reduces)
        for (int r = 0; r < n; ++r) promise.sources.push_back(part(e.source, unsigned(r), lookup));
      else
        promise.sources.push_back(part(e.source, unsigned(e.from.evaluate(lookup).value_or(0)), lookup));
      promises.push_back(std::move(promise));
    }
}

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
  for (const Scalar &s : program.scalars) m.scalars.push_back({s.name, s.rank ? "rank" : std::string(keyword(s.type))});
  for (const Ensures &e : program.ensures) m.ensures.push_back(ensuresText(program, e));
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
    if (box.sync == Sync::Sentinel) m.mailboxes.back().fill = negativeZeros(program.dtype);
  }
  m.entry = kernelName(program);
  m.regionBytes = program.regionBytes;
  m.barriers = program.barriers;
  m.credits = program.creditOffset.value_or(0);
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
