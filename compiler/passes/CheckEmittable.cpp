// Not a pass: asks whether the emitter knows every form that the program has, and says which it does not.
#include "passes/Passes.h"
#include "passes/RankLoops.h"

namespace coll::passes {

using namespace ir;

namespace {

class EmittableCheck {
public:
  EmittableCheck(const Program &p, Context &c) : program(p), context(c) {}

  bool run() {
    for (const Mailbox &box : program.mailboxes)
      if (box.canonical != (box.sync == Sync::Sentinel))
        refuse(program.body.front(), "a `" + keyword(box.sync).str() + "` mailbox with payload as it is");
    walk(program.body, [&](const Stmt &stmt) { outer(stmt); });
    return ok;
  }

private:
  const Program &program;
  Context &context;
  bool ok = true;

  void outer(const Stmt &stmt) {
    if (const auto *signal = std::get_if<Signal>(&stmt.op())) arithmetic(stmt, signal->peer), arithmetic(stmt, signal->slot);
    if (const auto *await = std::get_if<Await>(&stmt.op())) arithmetic(stmt, await->slot);
    const auto *loop = std::get_if<PacketLoop>(&stmt.op());
    if (!loop) return;
    if (loop->map != ThreadMap::Cyclic) refuse(stmt, "another thread map than the cyclic one");
    if (loop->rows) return rowLoop(*loop);
    for (const Stmt &inner : loop->body) packetStatement(inner);
  }

  void refuse(const Stmt &stmt, const std::string &what) {
    if (!ok) return;
    const auto where = std::uint32_t(match(stmt, [](const auto &s) -> SourceOffset { return s.where; }));
    context.diagnostics.error(DiagnosticKind::NotLowered, {where, where}, what + " cannot be lowered yet");
    ok = false;
  }

  void splitByElements(const Stmt &stmt) {
    if (!ok) return;
    const auto where = std::uint32_t(match(stmt, [](const auto &s) -> SourceOffset { return s.where; }));
    context.diagnostics
        .error(DiagnosticKind::Misplaced, {where, where}, "pieces that end within a row, in an algorithm that goes by rows of the same matrix")
        .help("split it by rows: `split_rows(m, N)`");
    ok = false;
  }

  void rowLoop(const PacketLoop &loop) {
    if (program.domains().size() > 1) refuse(loop.body.front(), "a statement by rows beside vectors of another length");
    if (loop.domain.kind == Length::Kind::Piece && !loop.domain.ofRows) splitByElements(loop.body.front());
    walk(loop.body, [&](const Stmt &stmt) {
      const auto *reduce = std::get_if<RowReduce>(&stmt.op());
      if (!reduce || program.wire().together == 1) return;
      if (reduce->group) refuse(stmt, "a scale of each group beside mailboxes in lines of 128 bytes");
      if (sizeOf(program.values[reduce->value].dtype) > 4) refuse(stmt, "a row of 8-byte numbers beside mailboxes in lines of 128 bytes");
    });
    walk(loop.body, [&](const Stmt &stmt) {
      const ValueId v = resultOf(stmt);
      if (std::holds_alternative<StoreCount>(stmt.op()) || (v != kNone && program.values[v].count))
        refuse(stmt, "a `counted` mailbox beside a statement that goes by rows");
    });
    for (const Stmt &inner : loop.body) packetStatement(inner);
  }

  void packetStatement(const Stmt &stmt) {
    if (const auto *loop = std::get_if<ForRanks>(&stmt.op())) return forRanks(*loop);
    if (const auto *loop = std::get_if<Reduce>(&stmt.op())) return reduction(*loop);
    indices(stmt);
    if (const auto *clear = std::get_if<Clear>(&stmt.op()); clear && clear->behind)
      refuse(stmt, "a clear of what an earlier launch received");
    if (std::holds_alternative<For>(stmt.op()) || std::holds_alternative<If>(stmt.op()))
      for (const Stmt &inner : *bodyOf(stmt)) packetStatement(inner);
  }

  void reduction(const Reduce &loop) {
    if (!loop.body.empty()) indices(loop.body.front());
  }

  /// Index arithmetic of the text is in `int`, and divides towards zero.
  void indices(const Stmt &stmt) {
    if (const auto *send = std::get_if<Send>(&stmt.op())) arithmetic(stmt, send->peer), arithmetic(stmt, send->slot);
    if (const Index *slot = slotOf(stmt)) arithmetic(stmt, *slot);
    if (const auto *load = std::get_if<Load>(&stmt.op())) slice(stmt, load->from);
    if (const auto *store = std::get_if<Store>(&stmt.op())) slice(stmt, store->to);
    if (const auto *branch = std::get_if<If>(&stmt.op())) arithmetic(stmt, branch->condition);
    if (const auto *loop = std::get_if<For>(&stmt.op())) largeVariable |= loop->last.value() > 30;
  }

  void slice(const Stmt &stmt, const Slice &s) {
    arithmetic(stmt, s.index);
    if (s.owner) arithmetic(stmt, *s.owner);
  }

  bool largeVariable = false; ///< once a loop variable may be too large to shift an int by

  void arithmetic(const Stmt &stmt, const Index &index) {
    if (index.kind() == Index::Kind::Constant || index.kind() == Index::Kind::Variable) return;
    const bool divides = index.kind() == Index::Kind::Div || index.kind() == Index::Kind::CeilDiv;
    if (divides && (index.right().kind() != Index::Kind::Constant || index.right().value() <= 0))
      refuse(stmt, "a division in an index by what is no number");
    if (index.kind() == Index::Kind::Shl && (largeVariable || index.left().kind() != Index::Kind::Constant))
      refuse(stmt, "this shift in an index");
    arithmetic(stmt, index.left()), arithmetic(stmt, index.right());
  }

  void forRanks(const ForRanks &loop) {
    for (const Stmt &stmt : loop.body) indices(stmt);
    if (const Stmt *stmt = withoutRankText(program, loop)) refuse(*stmt, "this statement in a loop over `ranks`");
  }
};

} // namespace

bool checkEmittable(const Program &program, Context &context) { return EmittableCheck(program, context).run(); }

} // namespace coll::passes
