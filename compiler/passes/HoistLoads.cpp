#include "passes/Passes.h"

#include "passes/Uses.h"

namespace coll::passes {

using namespace ir;

namespace {

void hoist(const Program &program, Block &body) {
  std::size_t loads = 0; // at the begin
  for (std::size_t at = 0; at < body.size(); ++at) {
    const auto *load = std::get_if<Load>(&body[at].op());
    if (!load) continue;
    const BufferId buffer = load->from.buffer;
    if (std::any_of(body.begin() + long(loads), body.begin() + long(at),
                    [&](const Stmt &s) { return mayWrite(program, s, buffer); }))
      continue;
    std::rotate(body.begin() + long(loads), body.begin() + long(at), body.begin() + long(at) + 1);
    ++loads;
  }
}

/// The same in each iteration of ordered loops, for a row's threads have no other work while they wait.
void hoistInLoops(const Program &program, Block &body) {
  for (Stmt &stmt : body)
    if (auto *loop = std::get_if<For>(&stmt.op())) hoist(program, loop->body), hoistInLoops(program, loop->body);
}

/// The statement of a block that alone takes a value, if it stores or sends it as it is; else null.
ValueId *soleUse(Block &body, ValueId value) {
  int count = 0;
  ValueId *place = nullptr;
  for (Stmt &stmt : body) {
    usesOf(stmt, [&](ValueId v) { count += v == value; });
    if (auto *store = std::get_if<Store>(&stmt.op()); store && store->value == value) place = &store->value;
    if (auto *send = std::get_if<Send>(&stmt.op()); send && send->value == value) place = &send->value;
  }
  return count == 1 ? place : nullptr;
}

/// `x -> p.box[me]` and then `y = x`: what has been loaded is stored. Not of windows, which others write meanwhile.
void share(const Program &program, Block &body) {
  for (Stmt &stmt : body)
    if (Block *inner = bodyOf(stmt)) share(program, *inner);
  for (std::size_t at = 0; at < body.size(); ++at) {
    const auto *load = std::get_if<Load>(&body[at].op());
    if (!load || program.buffers[load->from.buffer].window || program.values[load->result].count) continue;
    for (std::size_t before = at; before-- > 0 && !mayWrite(program, body[before], load->from.buffer);) {
      const auto *first = std::get_if<Load>(&body[before].op());
      if (!first || !(first->from == load->from) || program.values[first->result].variable ||
          program.values[first->result].count || program.values[first->result].dtype != program.values[load->result].dtype)
        continue;
      ValueId *use = soleUse(body, load->result);
      if (!use) break;
      *use = first->result;
      body.erase(body.begin() + long(at--));
      break;
    }
  }
}

bool computes(const PacketLoop &loop) {
  const auto isMap = [](const Stmt &s) { return std::holds_alternative<Map>(s.op()); };
  if (!loop.rows) return llvm::any_of(loop.body, isMap);
  bool found = false;
  walk(loop.body, [&](const Stmt &s) { found |= isMap(s); });
  return found;
}

} // namespace

bool hoistLoads(Program &program, Context &) {
  for (Stmt &stmt : program.body)
    if (auto *loop = std::get_if<PacketLoop>(&stmt.op()); loop && !loop->rows) share(program, loop->body);
  // Without arithmetic a load stands where its only use is, and one that is early only takes registers.
  for (Stmt &stmt : program.body)
    if (auto *loop = std::get_if<PacketLoop>(&stmt.op()); loop && computes(*loop)) {
      hoist(program, loop->body);
      if (loop->rows) hoistInLoops(program, loop->body);
    }
  return true;
}

} // namespace coll::passes
