#include "passes/Passes.h"

#include "passes/RankLoops.h"

namespace coll::passes {

using namespace ir;

namespace {

class Orderer {
public:
  explicit Orderer(Program &p) : program(p) {}

  void run() {
    for (Stmt &stmt : program.body) outside(stmt);
  }

private:
  Program &program;

  void outside(Stmt &stmt) {
    if (auto *loop = std::get_if<PacketLoop>(&stmt.op())) {
      inside(loop->body);
    } else if (Block *body = bodyOf(stmt); body && !std::holds_alternative<ForRanks>(stmt.op())) {
      for (Stmt &inner : *body) outside(inner);
    }
  }

  void inside(Block &block) {
    for (Stmt &stmt : block) {
      auto *loop = std::get_if<ForRanks>(&stmt.op());
      if (loop && !withoutRankText(program, *loop)) continue;
      if (loop) inOrder(program, stmt);
      if (Block *body = bodyOf(stmt)) inside(*body);
    }
  }
};

} // namespace

bool orderRankLoops(Program &program, Context &) {
  Orderer(program).run();
  return true;
}

} // namespace coll::passes
