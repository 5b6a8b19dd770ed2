#include "codegen/BodyEmitter.h"

#include "coll/Extent.h"
#include "llvm/ADT/StringExtras.h"

#include <limits>
#include <utility>

namespace coll::codegen {

void BodyEmitter::run() {
  names.function = names.names.unique(program.algorithm);
  for (const Scalar &s : program.scalars)
    if (s.isIndex()) scalar(s);
  walk(program.body, [&](const Stmt &s) {
    const auto *ranks = std::get_if<ForRanks>(&s.op());
    const auto *ordered = std::get_if<For>(&s.op());
    const auto *reduced = std::get_if<Reduce>(&s.op());
    if (const Index *slot = reduced ? slotOf(reduced->body.front()) : nullptr; slot && slot->isVariable(reduced->variable)) return; // slots need no name
    if (!ranks && !ordered && !reduced) return;
    const std::string &variable = ranks ? ranks->variable : ordered ? ordered->variable : reduced->variable;
    if (!variables.count(variable)) variables[variable] = names.names.unique(variable);
  });
  for (const Stmt &stmt : program.body) countUses(stmt, uses);
  out.line("template <class Shape>");
  out.open("__device__ inline void " + Twine(names.function) + "(coll::Launch<N> &launch, const Args &a) {");
  if (usesMe()) written = true, out.line("const coll::u32 me = launch.me();");
  walk(program.body, [&](const Stmt &s) {
    const auto *loop = std::get_if<PacketLoop>(&s.op());
    byRows |= loop && loop->rows;
  });
  for (const Value &v : program.values)
    if (v.length.kind == Length::Kind::Piece) split(v.length);
  if (byRows && program.domains().size() > 1 && exchanges(program.body)) beginFirst();
  if (program.chunks) chunks();
  else for (const Stmt &stmt : program.body) outer(stmt);
  if (names.trace) out.line("coll::stamp(coll::kReceived);");
  out.line(program.chunks ? "launch.finish(coll::kMostChunks);" : "launch.finish();");
  out.close("}");
  out.blank();
}

void BodyEmitter::scalar(const Scalar &s) {
  // Whole numbers are signed and of 64 bits, as the checker takes them: in the scalar's own type `k - 1` of 0 would be large.
  const std::string given = "a." + names.scalars.at(s.name);
  const std::string name = variables[s.name] = s.rank ? given : "(long long)" + given;
  if (!s.rank) scope.loops[name] = {std::numeric_limits<int>::min(), std::numeric_limits<int>::max()};
}

bool BodyEmitter::usesMe() const {
  bool uses = false;
  const Stmt *ofAll = nullptr; // the load of a reduction by multicast
  walk(program.body, [&](const Stmt &s) {
    if (const auto *reduce = std::get_if<Reduce>(&s.op()); reduce && reduce->multicast) ofAll = &reduce->body.front();
    uses |= std::holds_alternative<Send>(s.op()) || std::holds_alternative<Signal>(s.op());
    if (const auto *ranks = std::get_if<ForRanks>(&s.op())) uses |= usesVariable(*ranks); // by its distance from this one
    if (const auto *number = std::get_if<Constant>(&s.op())) uses |= number->number && number->number->uses("me");
    if (const auto *credit = std::get_if<AwaitCredit>(&s.op())) uses |= credit->peer.uses("me");
    if (const auto *load = std::get_if<Load>(&s.op())) uses |= load->from.index.uses("me") || (load->from.owner && &s != ofAll);
    if (const auto *store = std::get_if<Store>(&s.op())) uses |= store->to.index.uses("me") || (store->to.owner && !store->multicast);
    if (const auto *poll = std::get_if<Poll>(&s.op())) uses |= poll->slot.uses("me");
    if (const auto *read = std::get_if<Read>(&s.op())) uses |= read->slot.uses("me");
    if (const auto *branch = std::get_if<If>(&s.op())) uses |= branch->condition.uses("me");
  });
  return uses;
}

static std::vector<std::string> rowsOf(const Length &length) { return {length.extents.begin(), length.extents.end() - 1}; }

void BodyEmitter::split(const Length &length) {
  std::string &name = length.ofRows ? names.rowPieces[rowsOf(length)] : names.pieces[length.extents];
  if (!name.empty()) return;
  name = names.pieces.size() + names.rowPieces.size() == 1 ? "pieces" : names.names.unique("pieces"); // which is kept for the first
  written = true;
  if (length.ofRows)
    return out.line("const coll::RowPieces<N> " + name + "(" + names.product(rowsOf(length)) + "); // split_rows(…, N)");
  out.line("const coll::Pieces<" + shape() + ", " + Twine(program.mailed ? std::string(cudaName(program.dtype)) : "T") + ", N> " + name +
           "(" + names.product(length.extents) + "); // split(…, N)");
}

std::string BodyEmitter::piecesOf(const Length &length) const {
  return length.ofRows ? names.rowPieces.at(rowsOf(length)) : names.pieces.at(length.extents);
}

void BodyEmitter::beginFirst() {
  out.line("launch.begin(); // all threads: not every one has a packet in each loop");
  begun = written = true;
}

void BodyEmitter::chunks() {
  slotPacket = names.names.unique("k");
  apart(program.chunks->where);
  out.line("const coll::Chunks<" + Twine(program.chunkPackets()) + "> chunks(" + packetsOf(program.chunks->of) + ");");
  auto meets = [](const Stmt &s) {
    const auto *barrier = std::get_if<Barrier>(&s.op());
    return barrier && barrier->ofLaunch ? barrier : nullptr;
  };
  const auto work = llvm::find_if(program.body, [](const Stmt &s) {
    return !std::holds_alternative<KernelBoundary>(s.op()) && !std::holds_alternative<Barrier>(s.op()) &&
           !std::holds_alternative<Fence>(s.op()) && !std::holds_alternative<ForRanks>(s.op()); // credits of each chunk
  });
  for (const Stmt &stmt : llvm::make_range(program.body.begin(), work))
    if (const Barrier *barrier = meets(stmt)) {
      announce(barrier->where);
      out.line("launch.chunk(0, chunks.count());");
      out.line("launch.barrier(" + text(barrier->number) + ");");
    }
  out.directive("#pragma unroll 1");
  out.open("for (coll::u32 c = 0; c < chunks.count(); ++c) {");
  out.line("launch.chunk(c, chunks.count());");
  for (const Stmt &stmt : program.body)
    if (!meets(stmt)) outer(stmt);
  out.close("}");
  written = true;
  for (const Stmt &stmt : llvm::make_range(work, program.body.end()))
    if (const Barrier *barrier = meets(stmt)) {
      apart(barrier->where);
      out.line("launch.barrier(" + text(barrier->number) + ");");
    }
}

void BodyEmitter::apart(SourceOffset where, bool reads) {
  begun = reads;
  if (written) out.blank();
  written = opened = true;
  announce(where);
}

void BodyEmitter::announce(SourceOffset where) {
  const unsigned line = lineOf(program, where);
  const bool first = std::exchange(opened, false);
  if (line == lastLine) return;
  if (lastLine && !first) out.blank();
  lastLine = line;
  const std::string_view text = program.sources->lineAt(std::uint32_t(where));
  out.from(line);
  llvm::StringRef shown = llvm::StringRef(text.data(), text.size()).split("//").first.trim();
  out.line("// " + Twine(baseName(program.sources->position(std::uint32_t(where)).file->name)) + ":" + Twine(line) +
           "    " + shown);
}

/// An extent that is worked out, as coll/Extent.h says what it comes to.
std::string BodyNames::computed(const std::string &extent) const {
  struct Texts {
    const BodyNames &names;
    std::string number(std::uint64_t n) { return std::to_string(n); } // met by one of 64 bits
    std::string named(std::string_view name) { return names.product({std::string(name)}); }
    std::string log2(const std::string &a) { return "coll::floorLog2(" + a + ")"; }
    std::string binary(char op, const std::string &a, const std::string &b) {
      if (op == '-') return "(" + a + " > " + b + " ? " + a + " - " + b + " : 0)";
      if (op == '/' && b == "0") return b;
      const bool mayBe0 = op == '/' && !llvm::isDigit(b.front());
      return mayBe0 ? "(" + b + " ? " + a + " / " + b + " : 0)" : "(" + a + " " + op + " " + b + ")";
    }
  } texts{*this};
  std::string text = ExtentReader<std::string, Texts>(extent, texts).read();
  return isProduct(extent) ? text.substr(1, text.size() - 2) : text;
}

std::string BodyNames::product(const std::vector<std::string> &authorExtents) const {
  std::string text;
  for (const std::string &e : authorExtents) {
    if (e == "1" && authorExtents.size() > 1) continue;
    if (!text.empty()) text += " * ";
    auto it = extents.find(e);
    if (isComputed(e)) {
      text += computed(e);
      continue;
    }
    text += it != extents.end() ? "a." + it->second : e == "N" ? e : e + "ull";
  }
  return text.empty() ? "1" : text;
}

void emitBody(const Program &program, BodyNames &names, CodeWriter &out) { BodyEmitter(program, names, out).run(); }

} // namespace coll::codegen
