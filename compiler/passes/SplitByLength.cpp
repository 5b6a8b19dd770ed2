#include "passes/Passes.h"

#include "passes/Uses.h"

namespace coll::passes {

using namespace ir;

namespace {

class Splitter {
public:
  explicit Splitter(Program &p) : program(p) {}

  void split(Block &block) {
    Block out;
    for (Stmt &stmt : block) {
      if (Block *body = bodyOf(stmt); !body || std::holds_alternative<Reduce>(stmt.op())) {
        out.push_back(std::move(stmt));
      } else {
        split(*body);
        if (meets(*body)) out.push_back(std::move(stmt)); // its packet loops lie within it
        else apart(std::move(stmt), out);
      }
    }
    block = std::move(out);
  }

private:
  Program &program;

  struct Part {
    std::optional<Length> length; ///< of what goes over no vector: nothing
    Block body;
  };

  /// Whether a block has something that whole CTAs do.
  static bool meets(const Block &block) {
    bool found = false;
    walk(block, [&](const Stmt &s) {
      found |= std::holds_alternative<Signal>(s.op()) || std::holds_alternative<Await>(s.op()) || std::holds_alternative<Barrier>(s.op());
    });
    return found;
  }

  /// The statement once for each length that it goes over, with what is of that length in its body.
  void apart(Stmt stmt, Block &out) {
    std::vector<Part> parts;
    for (Stmt &inner : *bodyOf(stmt)) {
      const auto length = domainOf(program, inner);
      auto part = llvm::find_if(parts, [&](const Part &p) { return p.length && length && p.length->sameDomain(*length); });
      if (!length) part = llvm::find_if(parts, [](const Part &p) { return !p.length; });
      if (part == parts.end()) part = parts.insert(parts.end(), Part{length, {}});
      part->body.push_back(std::move(inner));
    }
    const auto numbers = llvm::find_if(parts, [](const Part &p) { return !p.length; });
    const std::size_t lengths = parts.size() - (numbers != parts.end());
    for (Part &part : parts) {
      if (!part.length && lengths > 0) continue;
      if (part.length && numbers != parts.end()) prepend(numbers->body, part.body, lengths > 1);
      Stmt one = stmt;
      *bodyOf(one) = std::move(part.body);
      out.push_back(std::move(one));
    }
  }

  /// Numbers are made in every part that takes them.
  void prepend(const Block &numbers, Block &body, bool several) {
    Block made;
    for (const Stmt &number : llvm::reverse(numbers)) {
      const ValueId v = resultOf(number);
      bool taken = !several;
      for (const Block *block : {&made, &body})
        for (const Stmt &s : *block) usesOf(s, [&](ValueId used) { taken |= used == v; });
      if (taken) made.insert(made.begin(), number);
    }
    for (std::size_t n = 0; several && n < made.size(); ++n) {
      const ValueId v = resultOf(made[n]);
      const ValueId fresh = makeAnew(program, made[n]);
      for (std::size_t later = n + 1; later < made.size(); ++later) replaceUses(made[later], v, fresh);
      for (Stmt &s : body) replaceUses(s, v, fresh);
    }
    body.insert(body.begin(), made.begin(), made.end());
  }
};

} // namespace

bool splitByLength(Program &program, Context &) {
  Splitter(program).split(program.body);
  return true;
}

} // namespace coll::passes
