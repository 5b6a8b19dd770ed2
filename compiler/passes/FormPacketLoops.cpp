#include "passes/Passes.h"

#include "passes/Uses.h"

namespace coll::passes {

using namespace ir;

namespace {

/// What no vector enters: it is made in each loop that uses it.
bool isNumber(const Program &program, const Stmt &stmt) {
  const ValueId v = resultOf(stmt);
  return v != kNone && program.values[v].spread == Spread::Everywhere;
}

class Former {
public:
  Former(Program &p, Context &c) : program(p), context(c) {}

  bool run() {
    if (!form(program.body)) return false;
    dropUnused();
    markRows();
    return true;
  }

private:
  Program &program;
  Context &context;
  PacketLoop *loop = nullptr; ///< valid until `out` grows, which only happens when it is replaced
  std::vector<ValueId> definedHere, assigned; ///< in this loop, for sure; variables, anywhere so far
  std::map<ValueId, ValueId> madeHere; ///< what was made once more for this loop, by what it stands for
  /// What can be made once more: loads of inputs, which nobody writes, of those of peers before the next barrier, from where on
  /// they may have ended the launch; and numbers.
  std::map<ValueId, Stmt> again;

  bool form(Block &block) {
    Block out;
    for (Stmt &stmt : block) {
      if (isNumber(program, stmt)) {
        again.emplace(resultOf(stmt), std::move(stmt));
        continue;
      }
      if (standsOutside(stmt)) {
        loop = nullptr;
        if (std::holds_alternative<Barrier>(stmt.op())) forgetPulls();
        if (Block *body = bodyOf(stmt); body && !std::holds_alternative<ForRanks>(stmt.op()) && !form(*body)) return false;
        loop = nullptr;
        out.push_back(std::move(stmt));
        continue;
      }
      const auto domain = domainOf(program, stmt);
      if (!loop || !loop->domain.sameDomain(*domain)) {
        Length full = *domain;
        full.index = Index();
        out.push_back(PacketLoop{full, {}, whereOf(stmt)});
        loop = &std::get<PacketLoop>(out.back().op());
        definedHere.clear(), madeHere.clear();
      }
      if (!reload(stmt)) return false;
      remember(stmt);
      loop->body.push_back(std::move(stmt));
    }
    block = std::move(out);
    return true;
  }

  /// What is made of values alone, and nothing takes: loads that have been made once more wherever they are used, and loops
  /// that do nothing else. What that took may then be unused, too.
  void dropUnused() {
    while (dropUnused(program.body, used())) {}
  }

  std::vector<bool> used() const {
    std::vector<bool> used(program.values.size());
    for (const Stmt &stmt : program.body)
      usesOf(stmt, [&](ValueId v) {
        if (v != kNone) used[std::size_t(v)] = true;
      });
    return used;
  }

  static bool onlyMakes(const Stmt &stmt) {
    return std::holds_alternative<Load>(stmt.op()) || std::holds_alternative<Constant>(stmt.op()) ||
           std::holds_alternative<Argument>(stmt.op()) || std::holds_alternative<Map>(stmt.op()) ||
           std::holds_alternative<Combine>(stmt.op()) || std::holds_alternative<RowReduce>(stmt.op());
  }

  /// Whether anything has been dropped.
  static bool dropUnused(Block &body, const std::vector<bool> &used) {
    bool dropped = false;
    for (Stmt &stmt : body)
      if (Block *inner = bodyOf(stmt)) dropped |= dropUnused(*inner, used);
    const std::size_t before = body.size();
    llvm::erase_if(body, [&](const Stmt &s) {
      if (const ValueId v = resultOf(s); v != kNone && onlyMakes(s)) return !used[std::size_t(v)];
      const Block *inner = bodyOf(s);
      return inner && inner->empty() && !std::holds_alternative<Reduce>(s.op());
    });
    return dropped || body.size() < before;
  }

  /// Boundaries, barriers, fences; signals and awaits, which whole CTAs do, and loops around them.
  bool standsOutside(const Stmt &stmt) const {
    const auto isOfCta = [](const Stmt &s) {
      return std::holds_alternative<Signal>(s.op()) || std::holds_alternative<Await>(s.op()) || std::holds_alternative<Barrier>(s.op());
    };
    bool ofCta = isOfCta(stmt);
    if (const Block *body = bodyOf(stmt)) walk(*body, [&](const Stmt &s) { ofCta |= isOfCta(s); });
    return ofCta || !domainOf(program, stmt);
  }

  /// A loop with rows goes by rows, and so do all loops over such matrices: which thread has an element is then the same
  /// in all of them.
  void markRows() {
    std::vector<std::vector<std::string>> matrices;
    const auto eachLoop = [&](llvm::function_ref<void(PacketLoop &)> visit) {
      walk(program.body, [&](Stmt &stmt) {
        if (auto *l = std::get_if<PacketLoop>(&stmt.op())) visit(*l);
      });
    };
    eachLoop([&](PacketLoop &l) {
      bool rows = l.domain.isPieceOfRows();
      walk(l.body, [&](const Stmt &s) {
        rows |= std::holds_alternative<RowReduce>(s.op());
        if (const ValueId v = resultOf(s); v != kNone) rows |= program.isOfRows(v);
        if (const auto *load = std::get_if<Load>(&s.op())) rows |= load->everyRow || load->perRow;
        if (const auto *store = std::get_if<Store>(&s.op())) rows |= store->perRow;
      });
      if (rows) matrices.push_back(l.domain.extents);
    });
    eachLoop([&](PacketLoop &l) { l.rows = llvm::is_contained(matrices, l.domain.extents); });
  }

  static SourceOffset whereOf(const Stmt &stmt) {
    return match(stmt, [](const auto &s) -> SourceOffset { return s.where; });
  }

  void remember(const Stmt &stmt) {
    auto look = [&](const Stmt &s) {
      if (ValueId v = resultOf(s); v != kNone) definedHere.push_back(v);
      const auto *load = std::get_if<Load>(&s.op());
      if (load && program.buffers[load->from.buffer].direction == Direction::In) again.emplace(load->result, *load);
    };
    look(stmt);
    if (const Block *body = bodyOf(stmt)) walk(*body, look);
    const auto note = [&](const Stmt &s) {
      if (const auto *assign = std::get_if<Assign>(&s.op())) assigned.push_back(assign->variable);
    };
    note(stmt);
    if (const Block *body = bodyOf(stmt)) walk(*body, note);
  }

  void forgetPulls() {
    for (auto at = again.begin(); at != again.end();) {
      const auto *load = std::get_if<Load>(&at->second.op());
      at = load && load->from.owner ? again.erase(at) : std::next(at);
    }
  }

  /// Makes every value that the statement takes from outside this loop anew in it.
  bool reload(Stmt &stmt) {
    std::vector<ValueId> foreign, inside;
    auto defined = [&](const Stmt &s) {
      if (ValueId v = resultOf(s); v != kNone) inside.push_back(v);
    };
    defined(stmt);
    if (const Block *body = bodyOf(stmt)) walk(*body, defined);
    // What a condition or a loop may leave as it is, is taken from before.
    const auto leaves = [&](const Stmt &s) {
      const auto *assign = std::get_if<Assign>(&s.op());
      if (!assign || !llvm::is_contained(assigned, assign->variable)) return;
      llvm::erase_value(inside, assign->variable);
      foreign.push_back(assign->variable);
    };
    if (const Block *body = bodyOf(stmt)) walk(*body, leaves);
    llvm::erase_if(foreign, [&](ValueId v) { return llvm::is_contained(definedHere, v); });
    usesOf(stmt, [&](ValueId v) {
      if (v != kNone && !llvm::is_contained(definedHere, v) && !llvm::is_contained(inside, v) &&
          !llvm::is_contained(foreign, v))
        foreign.push_back(v);
    });
    for (ValueId v : foreign) {
      if (const auto made = madeHere.find(v); made != madeHere.end()) {
        replaceUses(stmt, v, made->second);
        continue;
      }
      auto known = again.find(v);
      if (known == again.end()) {
        if (!keep(stmt, v)) return false;
        continue;
      }
      Stmt copy = known->second;
      const ValueId fresh = makeAnew(program, copy);
      if (!reload(copy)) return false; // a number may be made of others
      replaceUses(stmt, v, fresh);
      definedHere.push_back(fresh), madeHere[v] = fresh;
      loop->body.push_back(std::move(copy));
    }
    return true;
  }

  /// What can be had no other way lies in memory from one loop to the next: packet i is one thread's in all of them.
  bool keep(const Stmt &stmt, ValueId v) {
    Value &value = program.values[v];
    if (value.count) return slipOfMessage(stmt, v);
    value.kept = true;
    if (program.maxBytes || program.chunks) return true;
    const std::uint32_t where = std::uint32_t(whereOf(stmt));
    context.diagnostics
        .error(DiagnosticKind::Unbounded, {where, where},
               "`" + value.name + "` is kept in memory from one side of a barrier to the other, and nothing says how long it "
               "may be")
        .help("write `when bytes <= 256Ki` before the `{`");
    return false;
  }

  /// How long it is, each loop would have to ask again.
  bool slipOfMessage(const Stmt &stmt, ValueId v) {
    const auto where = std::uint32_t(whereOf(stmt));
    context.diagnostics
        .error(DiagnosticKind::Misplaced, {where, where},
               "`" + program.values[v].name + "` is taken behind a barrier or a wait of whole CTAs, and is a message, as long as the kernel finds it")
        .help("take a message where it arrives: write the barrier before or behind both");
    return false;
  }
};

} // namespace

bool formPacketLoops(Program &program, Context &context) { return Former(program, context).run(); }

} // namespace coll::passes
