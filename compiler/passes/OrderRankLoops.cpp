#include "passes/Passes.h"

#include "passes/RankLoops.h"

namespace coll::passes {

using namespace ir;

namespace {

class Orderer {
public:
  explicit Orderer(Program &p) : program(p) {
    llvm::SmallVector<llvm::StringRef, 8> taken;
    for (const Scalar &s : program.scalars) taken.push_back(s.name);
    walk(program.body, [&](const Stmt &stmt) {
      if (const auto *loop = std::get_if<For>(&stmt.op())) taken.push_back(loop->variable);
      if (const auto *loop = std::get_if<ForRanks>(&stmt.op())) taken.push_back(loop->variable);
      if (const auto *loop = std::get_if<Reduce>(&stmt.op())) taken.push_back(loop->variable);
    });
    while (llvm::is_contained(taken, hops)) hops += "_";
  }

  void run() {
    for (Stmt &stmt : program.body) outside(stmt);
  }

private:
  Program &program;
  std::string hops = "hops"; ///< the variable of the ordered loops

  void outside(Stmt &stmt) {
    if (auto *loop = std::get_if<PacketLoop>(&stmt.op())) {
      inside(loop->body);
    } else if (Block *body = bodyOf(stmt); body && !std::holds_alternative<ForRanks>(stmt.op())) {
      for (Stmt &inner : *body) outside(inner);
    }
  }

  void inside(Block &block) {
    for (Stmt &stmt : block) {
      if (auto *loop = std::get_if<ForRanks>(&stmt.op())) {
        if (withoutRankText(program, *loop)) order(stmt);
      } else if (Block *body = bodyOf(stmt)) {
        inside(*body);
      }
    }
  }

  void order(Stmt &stmt) {
    ForRanks &loop = std::get<ForRanks>(stmt.op());
    const Index rank = Index::mod(Index::add(Index::variable("me"), Index::variable(hops)), Index::constant(program.ranks));
    For ordered{hops, Index(), Index::constant(program.ranks - 1), std::move(loop.body), loop.where};
    ordered.ofRanks = true;
    const std::string variable = loop.variable;
    substitute(ordered.body, variable, rank);
    stmt = std::move(ordered);
  }

  void substitute(Block &block, const std::string &variable, const Index &by) {
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
          [&](Clear &s) { in(s.slot); }, [&](For &s) { in(s.first), in(s.last); }, [&](If &s) { in(s.condition); },
          [](auto &) {}); // what else has an index stands outside packet loops, or comes later
    });
  }
};

} // namespace

bool orderRankLoops(Program &program, Context &) {
  Orderer(program).run();
  return true;
}

} // namespace coll::passes
