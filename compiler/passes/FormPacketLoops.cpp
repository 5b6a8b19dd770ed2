#include "passes/Passes.h"

namespace coll::passes {

using namespace ir;

namespace {

/// Replaces uses of a value, for one that is loaded again.
void replaceUses(Stmt &stmt, ValueId from, ValueId to) {
  auto swap = [&](ValueId &v) {
    if (v == from) v = to;
  };
  auto rewrite = [&](Stmt &s) {
    match(
        s, [&](Store &op) { swap(op.value); },
        [&](Send &op) { swap(op.value); }, [&](Poll &op) { swap(op.own); }, [&](Read &op) { swap(op.own); },
        [&](Assign &op) { swap(op.value); }, [&](Combine &op) { swap(op.a), swap(op.b); }, [&](Reduce &op) { swap(op.yield); },
        [](auto &) {});
  };
  rewrite(stmt);
  if (Block *body = bodyOf(stmt)) walk(*body, rewrite);
}

/// The vector a statement goes over: that of the first value or slice in it.
std::optional<Length> domainOf(const Program &program, const Stmt &stmt) {
  std::optional<Length> domain;
  auto look = [&](const Stmt &s) {
    if (domain) return;
    if (const auto *store = std::get_if<Store>(&s.op())) domain = store->to.length;
    if (const auto *send = std::get_if<Send>(&s.op())) domain = program.values[send->value].length;
    if (const auto *clear = std::get_if<Clear>(&s.op())) domain = program.mailboxes[clear->box].length;
    if (ValueId v = resultOf(s); !domain && v != kNone) domain = program.values[v].length;
  };
  look(stmt);
  if (const Block *body = bodyOf(stmt)) walk(*body, look);
  return domain;
}

class Former {
public:
  Former(Program &p, Context &c) : program(p), context(c) {}

  bool run() { return form(program.body); }

private:
  Program &program;
  Context &context;
  PacketLoop *loop = nullptr; ///< valid until `out` grows, which only happens when it is replaced
  std::vector<ValueId> definedHere;
  std::map<ValueId, Load> loads; ///< of earlier loops

  bool form(Block &block) {
    Block out;
    for (Stmt &stmt : block) {
      if (standsOutside(stmt)) {
        loop = nullptr;
        if (Block *body = bodyOf(stmt); body && !std::holds_alternative<ForRanks>(stmt.op()) && !form(*body)) return false;
        loop = nullptr;
        out.push_back(std::move(stmt));
        continue;
      }
      const auto domain = domainOf(program, stmt);
      if (!ofOneDomain(stmt, *domain)) return false;
      if (!loop || !loop->domain.sameDomain(*domain)) {
        Length full = *domain;
        full.index = Index();
        out.push_back(PacketLoop{full, {}, whereOf(stmt)});
        loop = &std::get<PacketLoop>(out.back().op());
        definedHere.clear();
      }
      if (!reload(stmt)) return false;
      remember(stmt);
      loop->body.push_back(std::move(stmt));
    }
    block = std::move(out);
    return true;
  }

  /// Boundaries, barriers, fences; signals and awaits, which whole CTAs do, and loops around them.
  bool standsOutside(const Stmt &stmt) const {
    bool ofCta = std::holds_alternative<Signal>(stmt.op()) || std::holds_alternative<Await>(stmt.op());
    if (const Block *body = bodyOf(stmt))
      walk(*body, [&](const Stmt &s) {
        ofCta |= std::holds_alternative<Signal>(s.op()) || std::holds_alternative<Await>(s.op());
      });
    return ofCta || !domainOf(program, stmt);
  }

  bool ofOneDomain(const Stmt &stmt, const Length &domain) {
    bool same = true;
    auto look = [&](const Stmt &s) {
      if (const auto *store = std::get_if<Store>(&s.op())) same &= store->to.length.sameDomain(domain);
      if (const auto *send = std::get_if<Send>(&s.op())) same &= program.values[send->value].length.sameDomain(domain);
      if (ValueId v = resultOf(s); v != kNone) same &= program.values[v].length.sameDomain(domain);
    };
    look(stmt);
    if (const Block *body = bodyOf(stmt)) walk(*body, look);
    if (same) return true;
    const auto where = std::uint32_t(whereOf(stmt));
    context.diagnostics.error(DiagnosticKind::NotLowered, {where, where},
                              "vectors of different shape in one statement cannot be lowered yet");
    return false;
  }

  static SourceOffset whereOf(const Stmt &stmt) {
    return match(stmt, [](const auto &s) -> SourceOffset { return s.where; });
  }

  void remember(const Stmt &stmt) {
    auto look = [&](const Stmt &s) {
      if (ValueId v = resultOf(s); v != kNone) definedHere.push_back(v);
      if (const auto *load = std::get_if<Load>(&s.op())) loads.emplace(load->result, *load);
    };
    look(stmt);
    if (const Block *body = bodyOf(stmt)) walk(*body, look);
  }

  /// Makes every value that the statement takes from an earlier loop anew in this one.
  bool reload(Stmt &stmt) {
    std::vector<ValueId> foreign, inside;
    auto defined = [&](const Stmt &s) {
      if (ValueId v = resultOf(s); v != kNone) inside.push_back(v);
    };
    defined(stmt);
    if (const Block *body = bodyOf(stmt)) walk(*body, defined);
    usesOf(stmt, [&](ValueId v) {
      if (v != kNone && !llvm::is_contained(definedHere, v) && !llvm::is_contained(inside, v)) foreign.push_back(v);
    });
    for (ValueId v : foreign) {
      auto load = loads.find(v);
      if (load == loads.end()) return refuse(stmt, v);
      Load again = load->second;
      again.result = program.addValue(program.values[v].name, program.values[v].length);
      replaceUses(stmt, v, again.result);
      definedHere.push_back(again.result);
      loop->body.push_back(again);
    }
    return true;
  }

  bool refuse(const Stmt &stmt, ValueId v) {
    const std::uint32_t where = std::uint32_t(whereOf(stmt));
    context.diagnostics.error(DiagnosticKind::NotLowered, {where, where},
                              "`" + program.values[v].name +
                                  "` is needed on both sides of a barrier or of a change of shape, which cannot be "
                                  "lowered yet");
    return false;
  }
};

} // namespace

bool formPacketLoops(Program &program, Context &context) { return Former(program, context).run(); }

} // namespace coll::passes
