#include "ir/Indices.h"

namespace coll::ir {
namespace {

void visitSlice(const Slice &slice, SourceOffset where, VisitIndex visit) {
  visit(slice.index, where, false), visit(slice.length.index, where, false);
  if (slice.owner) visit(*slice.owner, where, false);
}

void visitStatement(const Stmt &stmt, VisitIndex visit) {
  const SourceOffset where = match(stmt, [](const auto &s) -> SourceOffset { return s.where; });
  const auto index = [&](const Index &i) { visit(i, where, false); };
  match(
      stmt, [&](const Load &s) { visitSlice(s.from, where, visit); },
      [&](const Store &s) { visitSlice(s.to, where, visit); },
      [&](const StoreCount &s) { visitSlice(s.to, where, visit); },
      [&](const Send &s) { index(s.peer), index(s.slot); }, [&](const Poll &s) { index(s.slot); },
      [&](const Read &s) { index(s.slot); }, [&](const Clear &s) { index(s.slot); },
      [&](const Signal &s) { index(s.peer), index(s.slot); }, [&](const Await &s) { index(s.slot); },
      [&](const Credit &s) { index(s.peer); }, [&](const AwaitCredit &s) { index(s.peer); },
      [&](const Constant &s) { s.number ? visit(*s.number, where, true) : void(); },
      [&](const If &s) { index(s.condition); }, [&](const For &s) { index(s.first), index(s.last); },
      [](const auto &) {});
}

} // namespace

void forEachIndex(const Program &program, VisitIndex visit) {
  walk(program.body, [&](const Stmt &s) { visitStatement(s, visit); });
  for (const Value &v : program.values) {
    visit(v.length.index, 0, false);
    if (v.count) visitSlice(v.count->element, 0, visit), visit(v.count->slot, 0, false);
  }
  for (const Mailbox &m : program.mailboxes) visit(m.length.index, m.where, false);
  for (const Ensures &e : program.ensures) {
    visitSlice(e.target, e.where, visit), visitSlice(e.source, e.where, visit);
    visit(e.from, e.where, false), visit(e.countFrom, e.where, false);
    if (e.on) visit(*e.on, e.where, false);
    if (e.count) visitSlice(*e.count, e.where, visit);
    for (const FormulaNode &n : e.formula) {
      visitSlice(n.source, e.where, visit), visit(n.from, e.where, false);
      if (n.number) visit(*n.number, e.where, true);
    }
  }
}

bool steers(const Program &program, const Scalar &scalar) {
  bool found = false;
  forEachIndex(program, [&](const Index &i, SourceOffset, bool) { found |= i.uses(scalar.name); });
  return found;
}

} // namespace coll::ir
