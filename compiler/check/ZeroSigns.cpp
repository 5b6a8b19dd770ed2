#include "check/ZeroSigns.h"

#include <map>

namespace coll::check {

namespace {

using namespace ir;

/// Follows values that may be zeros of either sign through a program, whatever the order of its statements.
class Follower {
public:
  explicit Follower(const Program &p)
      : program(p), origin(p.values.size(), kNone), ofBuffer(p.buffers.size(), kNone),
        ofBox(p.mailboxes.size(), kNone) {
    for (std::size_t box = 0; box < p.mailboxes.size(); ++box)
      if (p.mailboxes[box].sync == Sync::Sentinel || adds(p.mailboxes[box].sync)) ofBox[box] = MailboxId(box);
  }

  std::optional<Refutation> run() {
    if (llvm::all_of(ofBox, [](MailboxId box) { return box == kNone; })) return std::nullopt;
    walk(program.body, [&](const Stmt &s) {
      if (const auto *number = std::get_if<Constant>(&s.op()); number && !number->number)
        numbers[number->result] = number->value;
      if (const auto *map = std::get_if<Map>(&s.op())) maps[map->result] = map;
    });
    while (std::exchange(changed, false)) walk(program.body, [&](const Stmt &s) { follow(s); });
    walk(program.body, [&](const Stmt &s) { look(s); });
    return std::move(refutation);
  }

private:
  const Program &program;
  // Which mailbox the sign of a zero was lost in; kNone if in none.
  std::vector<MailboxId> origin, ofBuffer, ofBox;
  std::map<ValueId, double> numbers;
  std::map<ValueId, const Map *> maps;
  bool changed = true;
  std::optional<Refutation> refutation;

  MailboxId of(ValueId v) const { return v == kNone ? kNone : origin[std::size_t(v)]; }
  MailboxId either(ValueId a, ValueId b) const { return of(a) != kNone ? of(a) : of(b); }

  void raise(MailboxId &to, MailboxId from) {
    if (to == kNone && from != kNone) to = from, changed = true;
  }
  void give(ValueId v, MailboxId from) {
    if (v != kNone && isFloat(program.values[std::size_t(v)].dtype)) raise(origin[std::size_t(v)], from);
  }

  void follow(const Stmt &stmt) {
    match(
        stmt, [&](const Poll &s) { give(s.result, ofBox[std::size_t(s.box)]), give(s.result, of(s.own)); },
        [&](const Read &s) { give(s.result, ofBox[std::size_t(s.box)]), give(s.result, of(s.own)); },
        [&](const Send &s) { raise(ofBox[std::size_t(s.box)], of(s.value)), give(s.own, of(s.value)); },
        [&](const Load &s) { give(s.result, ofBuffer[std::size_t(s.from.buffer)]); },
        [&](const Store &s) { raise(ofBuffer[std::size_t(s.to.buffer)], of(s.value)); },
        [&](const Assign &s) { give(s.variable, of(s.value)); },
        [&](const Reduce &s) { give(s.result, of(s.yield)); },
        [&](const RowReduce &s) { give(s.result, of(s.value)); },
        [&](const Combine &s) {
          if (s.op != ReduceOp::Prod || !same(s.a, s.b)) give(s.result, either(s.a, s.b));
        },
        [&](const Map &s) {
          if (!settles(s)) give(s.result, either(s.a, s.b));
        },
        [](const auto &) {});
  }

  /// One value, maybe converted twice.
  bool same(ValueId a, ValueId b) const {
    if (a == b) return true;
    const auto one = maps.find(a), other = maps.find(b);
    return one != maps.end() && other != maps.end() && one->second->function == Function::Convert &&
           other->second->function == Function::Convert && program.values[a].dtype == program.values[b].dtype &&
           same(one->second->a, other->second->a);
  }

  std::optional<double> numberOf(ValueId v) const {
    if (const auto number = numbers.find(v); number != numbers.end()) return number->second;
    const auto map = maps.find(v);
    return map != maps.end() && map->second->function == Function::Convert ? numberOf(map->second->a) : std::nullopt;
  }

  /// Whether the result is the same for zeros of both signs.
  bool settles(const Map &s) const {
    const auto number = s.b == kNone ? std::nullopt : numberOf(of(s.a) == kNone ? s.a : s.b);
    switch (s.function) {
    case Function::Abs:
    case Function::Exp:
    case Function::Truncate: return true;
    case Function::Mul: return same(s.a, s.b);
    case Function::Add:
    case Function::Sub: return number && *number != 0;
    case Function::Max: return number && *number > 0;
    case Function::Min: return number && *number < 0;
    default: return false;
    }
  }

  void look(const Stmt &stmt) {
    if (const auto *s = std::get_if<Map>(&stmt.op())) {
      if (s->function == Function::Div && of(s->b) != kNone)
        refute(of(s->b), s->where, "what is divided by came through it, and 1.0 / -0.0 is not 1.0 / 0.0");
      if (s->function == Function::Rsqrt && of(s->a) != kNone)
        refute(of(s->a), s->where, "what `rsqrt` is taken of came through it, and `rsqrt` of -0.0 is not that of 0.0");
    }
    const auto *s = std::get_if<Store>(&stmt.op());
    const auto copies = [&](const Ensures &e) {
      return e.kind == Ensures::Kind::Copy && e.target.buffer == s->to.buffer;
    };
    if (s && of(s->value) != kNone && llvm::any_of(program.ensures, copies))
      refute(of(s->value), s->where,
             "`" + program.buffers[s->to.buffer].name + "` is promised to be a copy, bit for bit");
  }

  void refute(MailboxId box, SourceOffset where, const std::string &why) {
    if (refutation) return;
    const Mailbox &m = program.mailboxes[box];
    refutation.emplace();
    refutation->kind = Refutation::Kind::NoSpareValue;
    refutation->ranks = program.ranks;
    refutation->first.where = where;
    refutation->first.box = box;
    refutation->explanation =
        "`" + m.name + "` is `sync " + ir::keyword(m.sync).str() + "`, where the sign of a zero is lost; " + why;
    refutation->fix = "use `sync ll`, `ll128` or `flag`, which keep every bit";
    if (m.sync != Sync::Sentinel) refutation->fix += ", and add up what arrives by `reduce`";
  }
};

} // namespace

std::optional<Refutation> refuteZeroSigns(const ir::Program &program) { return Follower(program).run(); }

} // namespace coll::check
