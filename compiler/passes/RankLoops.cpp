#include "passes/RankLoops.h"

namespace coll::passes {

using namespace ir;

namespace {

const Length *lengthOf(const Program &program, const Stmt &stmt) {
  if (const auto *send = std::get_if<Send>(&stmt.op())) return &program.values[send->value].length;
  if (const auto *store = std::get_if<Store>(&stmt.op())) return &store->to.length;
  if (ValueId v = resultOf(stmt); v != kNone) return &program.values[v].length;
  return nullptr;
}

/// Whether a statement has a place in a loop: one that sends, or one that receives first of all.
bool fits(const Stmt &stmt, const ForRanks &loop, bool receives) {
  if (const auto *send = std::get_if<Send>(&stmt.op())) return !receives && send->peer.isVariable(loop.variable);
  if (const Index *slot = slotOf(stmt)) return &stmt == &loop.body.front() && slot->isVariable(loop.variable);
  if (const auto *credit = std::get_if<AwaitCredit>(&stmt.op()))
    return loop.body.size() == 1 && credit->peer.isVariable(loop.variable);
  if (std::holds_alternative<Load>(stmt.op())) return !receives;
  return std::holds_alternative<Store>(stmt.op()) || std::holds_alternative<Clear>(stmt.op()) ||
         std::holds_alternative<StoreCount>(stmt.op()) || std::holds_alternative<Map>(stmt.op()) ||
         std::holds_alternative<Constant>(stmt.op()) || std::holds_alternative<Argument>(stmt.op());
}

} // namespace

const Stmt *withoutRankText(const Program &program, const ForRanks &loop) {
  const bool receives = llvm::any_of(loop.body, [](const Stmt &s) { return slotOf(s) != nullptr; });
  const Index *piece = nullptr; // one test, at the loop's head, says whether a packet reaches into its vectors
  for (const Stmt &stmt : loop.body) {
    if (const Length *length = lengthOf(program, stmt); length && length->kind == Length::Kind::Piece) {
      if (piece && !(*piece == length->index)) return &stmt;
      piece = &length->index;
    }
    if (!fits(stmt, loop, receives)) return &stmt;
  }
  return nullptr;
}

} // namespace coll::passes
