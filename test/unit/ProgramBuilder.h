// Programs of the IR by hand, for the tests of the checker: as short as the .coll text they stand for.
#pragma once

#include "ir/Program.h"

#include <string>
#include <utility>
#include <vector>

namespace coll::ir::testing {

inline Index me() {
  return Index::variable("me");
}
inline Index var(const char *name) {
  return Index::variable(name);
}
inline Index num(int n) {
  return Index::constant(n);
}

inline Length whole(std::vector<std::string> extents) {
  return {Length::Kind::Whole, std::move(extents), {}};
}
inline Length row(std::vector<std::string> extents) {
  return {Length::Kind::Row, std::move(extents), {}};
}
inline Length piece(std::vector<std::string> extents, Index index) {
  return {Length::Kind::Piece, std::move(extents), std::move(index)};
}

/// A block, statement by statement.
inline void append(Block &) {}
template <class... Rest>
void append(Block &block, Stmt first, Rest... rest) {
  block.push_back(std::move(first));
  append(block, std::move(rest)...);
}
template <class... Stmts>
Block block(Stmts... stmts) {
  Block b;
  append(b, std::move(stmts)...);
  return b;
}

/// Builds a program statement by statement; the n-th statement made lies at source offset n.
class ProgramBuilder {
public:
  explicit ProgramBuilder(int ranks) {
    program.member = "test";
    program.ranks = ranks;
    program.op = ReduceOp::Sum;
    program.extents = {"M"};
  }

  BufferId in(std::string name, std::vector<std::string> extents) {
    return buffer(std::move(name), Direction::In, extents);
  }
  BufferId out(std::string name, std::vector<std::string> extents) {
    return buffer(std::move(name), Direction::Out, extents);
  }

  BufferId window(BufferId b) {
    program.buffers[b].window = true;
    return b;
  }
  static Slice of(Index owner, Slice slice) {
    slice.owner = std::move(owner);
    return slice;
  }

  /// `copies` 0 leaves the depth to the checker.
  MailboxId box(std::string name, Index slots, Length length, int copies = 0, Sync sync = Sync::LL) {
    Mailbox m;
    m.name = std::move(name);
    m.sync = sync;
    m.slots = std::move(slots);
    m.length = std::move(length);
    m.copies = copies;
    m.declaredDepth = copies > 0;
    m.canonical = sync == Sync::Sentinel;
    program.mailboxes.push_back(std::move(m));
    return MailboxId(program.mailboxes.size()) - 1;
  }

  ValueId value(std::string name, Length length) { return program.addValue(std::move(name), std::move(length)); }

  Slice all(BufferId b) { return {b, whole(program.buffers[b].extents), {}}; }
  Slice rowOf(BufferId b, Index i) {
    const auto &extents = program.buffers[b].extents;
    return {b, row({extents.begin() + 1, extents.end()}), std::move(i)};
  }
  Slice pieceOf(BufferId b, Index i) { return {b, piece(program.buffers[b].extents, i), i}; }

  Stmt load(ValueId v, Slice from) { return Load{v, std::move(from), next()}; }
  Stmt store(Slice to, ValueId v) { return Store{std::move(to), v, next()}; }
  Stmt send(ValueId v, Index peer, MailboxId box, Index slot, ValueId own = kNone) {
    return Send{box, std::move(peer), std::move(slot), v, own, next()};
  }
  Stmt poll(ValueId v, MailboxId box, Index slot, ValueId own = kNone) {
    return Poll{v, box, std::move(slot), own, next()};
  }
  Stmt read(ValueId v, MailboxId box, Index slot, ValueId own = kNone) {
    return Read{v, box, std::move(slot), own, next()};
  }
  Stmt signal(Index peer, MailboxId box, Index slot) { return Signal{box, std::move(peer), std::move(slot), next()}; }
  Stmt await(MailboxId box, Index slot) { return Await{box, std::move(slot), next()}; }
  Stmt credit(Index peer, bool releases = false) { return Credit{std::move(peer), releases, next()}; }
  Stmt awaitCredit(MailboxId box, Index peer) { return AwaitCredit{box, std::move(peer), next()}; }
  Stmt clear(MailboxId box, Index slot) { return Clear{box, std::move(slot), next()}; }
  Stmt combine(ValueId v, ValueId a, ValueId b, ReduceOp op = ReduceOp::Sum) { return Combine{v, op, a, b, next()}; }
  Stmt reduce(ValueId v, const char *variable, Block body, ValueId yield, ReduceOp op = ReduceOp::Sum) {
    return Reduce{v, op, variable, std::move(body), yield, next()};
  }
  Stmt assign(ValueId variable, ValueId v) { return Assign{variable, v, next()}; }
  Stmt when(Index condition, Block body) { return If{std::move(condition), std::move(body), next()}; }
  Stmt forRanks(const char *variable, Block body) { return ForRanks{variable, std::move(body), next()}; }
  Stmt packets(Length domain, Block body) { return PacketLoop{std::move(domain), std::move(body), next()}; }
  Stmt barrier() { return Barrier{Index::constant(program.barriers++), next()}; }
  Stmt fence() { return Fence{next()}; }

  /// target == reduce(op, r in ranks: r.source)
  void ensuresReduction(Slice target, Slice source) {
    program.ensures.push_back({Ensures::Kind::Reduction, std::move(target), std::move(source), "", var("r"), 0});
  }
  /// forall variable: target == from.source
  void ensuresCopy(Slice target, Slice source, Index from, std::string variable = "") {
    program.ensures.push_back(
        {Ensures::Kind::Copy, std::move(target), std::move(source), std::move(variable), std::move(from), 0});
  }
  void inplace(Slice out, Slice in, std::string outText, std::string inText) {
    program.aliases.emplace_back(std::move(out), std::move(in));
    program.inplace.emplace_back(std::move(outText), std::move(inText));
  }

  /// The program with this body between its boundaries.
  Program finish(Block body) {
    body.insert(body.begin(), KernelBoundary{KernelBoundary::Side::Entry, 0});
    body.push_back(KernelBoundary{KernelBoundary::Side::Exit, next()});
    program.body = std::move(body);
    return program;
  }

  Program program;

private:
  SourceOffset offset = 0;
  SourceOffset next() { return ++offset; }
  BufferId buffer(std::string name, Direction direction, std::vector<std::string> extents) {
    program.buffers.push_back({std::move(name), direction, program.dtype, std::move(extents)});
    return BufferId(program.buffers.size()) - 1;
  }
};

} // namespace coll::ir::testing
