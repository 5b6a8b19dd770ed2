// Not a pass: asks whether the emitter knows every form that the program has, and says which it does not.
#include "passes/Passes.h"
#include "passes/RankLoops.h"

#include <cassert>

namespace coll::passes {

using namespace ir;

namespace {

class EmittableCheck {
public:
  EmittableCheck(const Program &p, Context &c) : program(p), context(c) {}

  bool run() {
    walk(program.body, [&](const Stmt &stmt) {
      if (const auto *loop = std::get_if<PacketLoop>(&stmt.op()); loop && loop->rows) rowLoop(*loop);
    });
    assert(isKnown());
    return ok;
  }

private:
  const Program &program;
  Context &context;
  bool ok = true;

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
  }

  /// What the passes before see to, and the emitter relies on.
  bool isKnown() const {
    bool known = llvm::all_of(program.mailboxes, [](const Mailbox &box) { return box.canonical == (box.sync == Sync::Sentinel); });
    walk(program.body, [&](const Stmt &stmt) {
      const auto *loop = std::get_if<PacketLoop>(&stmt.op());
      known &= !loop || loop->map == ThreadMap::Cyclic;
      if (loop)
        walk(loop->body, [&](const Stmt &s) {
          const auto *ranks = std::get_if<ForRanks>(&s.op());
          const auto *clear = std::get_if<Clear>(&s.op());
          known &= (!ranks || !withoutRankText(program, *ranks)) && (!clear || !clear->behind);
        });
    });
    return known;
  }
};

} // namespace

bool checkEmittable(const Program &program, Context &context) { return EmittableCheck(program, context).run(); }

} // namespace coll::passes
