// Not a pass: asks whether the emitter knows every form that the program has, and says which it does not.
#include "passes/Passes.h"
#include "passes/RankLoops.h"

#include <cassert>
#include <map>

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
    if (program.domains().size() > 1) threadsOfArguments();
    assert(isKnown());
    return ok;
  }

private:
  const Program &program;
  Context &context;
  bool ok = true;

  void splitByElements(const Stmt &stmt) {
    if (!ok) return;
    const auto where = std::uint32_t(match(stmt, [](const auto &s) -> SourceOffset { return s.where; }));
    context.diagnostics
        .error(DiagnosticKind::Misplaced, {where, where}, "pieces that end within a row, in an algorithm that goes by rows of the same matrix")
        .help("split it by rows: `split_rows(m, N)`");
    ok = false;
  }

  void countsElements(const Stmt &stmt) {
    if (!ok) return;
    const auto where = std::uint32_t(match(stmt, [](const auto &s) -> SourceOffset { return s.where; }));
    context.diagnostics
        .error(DiagnosticKind::Misplaced, {where, where}, "so many elements of a matrix, which may end within a row, in an algorithm that goes by its rows")
        .help("count rows: `prefix_rows(m, n)`");
    ok = false;
  }

  /// A thread knows what it has stored itself: no other takes it in the same launch.
  void threadsOfArguments() {
    struct Access {
      std::string way; ///< how a loop goes: the rows that it goes by
      const Stmt *stmt;
      bool stores;
    };
    std::map<BufferId, Access> accesses;
    walk(program.body, [&](const Stmt &stmt) {
      const auto *loop = std::get_if<PacketLoop>(&stmt.op());
      if (!loop) return;
      const std::string way = loop->rows ? loop->domain.extents.back() : "";
      walk(loop->body, [&](const Stmt &s) {
        const auto *load = std::get_if<Load>(&s.op());
        const auto *store = std::get_if<Store>(&s.op());
        if (!load && !store) return;
        const auto [known, first] = accesses.emplace(memoryOf(load ? load->from.buffer : store->to.buffer), Access{way, &s, store != nullptr});
        if (!first && known->second.way != way && (store || known->second.stores)) taken(*known->second.stmt, s, known->first);
        known->second.stores |= store != nullptr;
      });
    });
  }

  /// The argument that stands for all that may be the same memory.
  BufferId memoryOf(BufferId buffer) const {
    for (const auto &[out, in] : program.aliases)
      if (in.buffer == buffer) return out.buffer;
    return buffer;
  }

  void taken(const Stmt &first, const Stmt &second, BufferId buffer) {
    if (!ok) return;
    const auto at = [](const Stmt &stmt) { return std::uint32_t(match(stmt, [](const auto &s) -> SourceOffset { return s.where; })); };
    context.diagnostics
        .error(DiagnosticKind::Misplaced, {at(second), at(second)},
               "`" + program.buffers[buffer].name + "` is gone over in two ways, by rows of one length and otherwise, and stored: other threads have its elements each time, and do not wait for each other")
        .note({at(first), at(first)}, "the other way")
        .help("store to one argument and load from another");
    ok = false;
  }

  void rowLoop(const PacketLoop &loop) {
    if (loop.domain.kind == Length::Kind::Piece && !loop.domain.ofRows) splitByElements(loop.body.front());
    walk(loop.body, [&](const Stmt &stmt) {
      const ValueId v = resultOf(stmt);
      if (v != kNone && program.values[v].count && !program.isOfRows(v)) countsElements(stmt);
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
