#include "passes/Uses.h"

namespace coll::passes {

using namespace ir;

void replaceUses(Stmt &stmt, ValueId from, ValueId to) {
  auto swap = [&](ValueId &v) {
    if (v == from) v = to;
  };
  auto rewrite = [&](Stmt &s) {
    match(
        s, [&](Store &op) { swap(op.value); }, [&](StoreCount &op) { swap(op.value); },
        [&](Send &op) { swap(op.value); }, [&](Poll &op) { swap(op.own); }, [&](Read &op) { swap(op.own); },
        [&](Assign &op) { swap(op.value); }, [&](Combine &op) { swap(op.a), swap(op.b); },
        [&](Map &op) { swap(op.a), swap(op.b); }, [&](RowReduce &op) { swap(op.value); }, [&](Reduce &op) { swap(op.yield); },
        [](auto &) {});
  };
  rewrite(stmt);
  if (Block *body = bodyOf(stmt)) walk(*body, rewrite);
}

ValueId makeAnew(Program &program, Stmt &copy) {
  const Value value = program.values[resultOf(copy)];
  const ValueId fresh = program.addValue(value.name, value.length, value.dtype, value.spread);
  program.values[fresh].count = value.count, program.values[fresh].everyRow = value.everyRow;
  match(
      copy, [&](Load &s) { s.result = fresh; }, [&](Constant &s) { s.result = fresh; },
      [&](Argument &s) { s.result = fresh; }, [&](Map &s) { s.result = fresh; }, [](auto &) {});
  return fresh;
}

bool mayWrite(const Program &program, const Stmt &stmt, BufferId buffer) {
  bool writes = false;
  const auto look = [&](const Stmt &s) {
    const auto *store = std::get_if<Store>(&s.op());
    if (!store) return;
    writes |= store->to.buffer == buffer;
    for (const auto &[out, in] : program.aliases)
      writes |= (store->to.buffer == out.buffer && buffer == in.buffer) ||
                (store->to.buffer == in.buffer && buffer == out.buffer);
  };
  look(stmt);
  if (const Block *body = bodyOf(stmt)) walk(*body, look);
  return writes;
}

std::optional<Length> domainOf(const Program &program, const Stmt &stmt) {
  std::optional<Length> domain;
  const auto visit = [&](const Length &length) {
    if (!domain) domain = length;
  };
  const auto value = [&](ValueId v) {
    if (program.values[v].spread != Spread::Everywhere) visit(program.values[v].length);
  };
  const auto look = [&](const Stmt &s) {
    if (const auto *store = std::get_if<Store>(&s.op())) {
      if (store->perRow) value(store->value);
      else visit(store->to.length);
    }
    if (const auto *send = std::get_if<Send>(&s.op())) value(send->value);
    if (const auto *store = std::get_if<StoreCount>(&s.op())) value(store->value);
    if (const auto *clear = std::get_if<Clear>(&s.op())) visit(program.mailboxes[clear->box].length);
    if (const ValueId v = resultOf(s); v != kNone) value(v);
  };
  look(stmt);
  if (const Block *body = bodyOf(stmt)) walk(*body, look);
  return domain;
}

} // namespace coll::passes
