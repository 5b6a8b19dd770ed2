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

/// Whether a statement has a place in a loop: one that sends, or one that receives first of all. Numbers of rows go one by one.
bool fits(const Program &program, const Stmt &stmt, const ForRanks &loop, bool receives) {
  const auto *sends = std::get_if<Send>(&stmt.op());
  if (sends && program.mailboxes[sends->box].spread == Spread::Row) return false;
  if (slotOf(stmt) && program.values[resultOf(stmt)].spread == Spread::Row) return false;
  const auto *store = std::get_if<Store>(&stmt.op());
  if (store && store->perRow && program.values[store->value].spread == Spread::Row) return false;
  const auto *load = std::get_if<Load>(&stmt.op());
  if (load && program.settles(*load)) return false;
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

/// A name that no loop and no argument has.
static std::string freshVariable(const Program &program, std::string name) {
  const auto isTaken = [&] {
    bool taken = llvm::any_of(program.scalars, [&](const Scalar &s) { return s.name == name; });
    walk(program.body, [&](const Stmt &stmt) {
      const auto *ordered = std::get_if<For>(&stmt.op());
      const auto *ranks = std::get_if<ForRanks>(&stmt.op());
      const auto *reduced = std::get_if<Reduce>(&stmt.op());
      taken |= (ordered && ordered->variable == name) || (ranks && ranks->variable == name) || (reduced && reduced->variable == name);
    });
    return taken;
  };
  while (isTaken()) name += "_";
  return name;
}

static void substitute(Program &program, Block &block, const std::string &variable, const Index &by) {
  const auto in = [&](Index &index) { index = index.substitute(variable, by); };
  const auto inSlice = [&](Slice &slice) {
    in(slice.index), in(slice.length.index);
    if (slice.owner) in(*slice.owner);
  };
  walk(block, [&](Stmt &stmt) {
    if (const ValueId v = resultOf(stmt); v != kNone) {
      Value &value = program.values[v];
      in(value.length.index);
      if (value.count) inSlice(value.count->element), in(value.count->slot);
    }
    match(
        stmt, [&](Load &s) { inSlice(s.from); }, [&](Store &s) { inSlice(s.to); }, [&](StoreCount &s) { inSlice(s.to); },
        [&](Send &s) { in(s.peer), in(s.slot); }, [&](Poll &s) { in(s.slot); }, [&](Read &s) { in(s.slot); },
        [&](Clear &s) { in(s.slot); }, [&](Signal &s) { in(s.peer), in(s.slot); }, [&](Await &s) { in(s.slot); },
        [&](For &s) { in(s.first), in(s.last); }, [&](If &s) { in(s.condition); },
        [&](Constant &s) {
          if (s.number) in(*s.number);
        },
        [](auto &) {}); // what else has an index comes later
  });
}

void inOrder(Program &program, Stmt &stmt) {
  const std::string hops = freshVariable(program, "hops");
  ForRanks &loop = std::get<ForRanks>(stmt.op());
  const Index rank = Index::mod(Index::add(Index::variable("me"), Index::variable(hops)), Index::constant(program.ranks));
  For ordered{hops, Index(), Index::constant(program.ranks - 1), std::move(loop.body), loop.where};
  ordered.ofRanks = true;
  const std::string variable = loop.variable;
  substitute(program, ordered.body, variable, rank);
  stmt = std::move(ordered);
}

const Stmt *withoutRankText(const Program &program, const ForRanks &loop) {
  const bool receives = llvm::any_of(loop.body, [](const Stmt &s) { return slotOf(s) != nullptr; });
  const Index *piece = nullptr; // one test, at the loop's head, says whether a packet reaches into its vectors
  for (const Stmt &stmt : loop.body) {
    if (const Length *length = lengthOf(program, stmt); length && length->kind == Length::Kind::Piece) {
      if (piece && !(*piece == length->index)) return &stmt;
      piece = &length->index;
    }
    if (!fits(program, stmt, loop, receives)) return &stmt;
  }
  return nullptr;
}

} // namespace coll::passes
