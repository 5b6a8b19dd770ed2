#include "ir/SlotPieces.h"

namespace coll::ir {

Length SlotPieces::standIn(MailboxId box, const Index &slot) {
  Length length = program.mailboxes[box].length;
  length.index = Index::variable("received " + std::to_string(standIns.size())); // no name of a program has a space
  standIns.push_back({box, slot});
  return length;
}

const SlotPieces::StandIn *SlotPieces::standInOf(const Index &index) const {
  if (index.kind() != Index::Kind::Variable || !llvm::StringRef(index.name()).startswith("received ")) return nullptr;
  unsigned number = 0;
  llvm::StringRef(index.name()).split(' ').second.getAsInteger(10, number);
  return &standIns[number];
}

std::optional<SlotPieces::Failure> SlotPieces::resolve() {
  for (const Mailbox &box : program.mailboxes) {
    const bool split = box.length.kind == Length::Kind::Piece;
    bases.push_back(split ? int(pieces.size()) : kNone);
    if (split) pieces.resize(pieces.size() + std::size_t(box.slots.value()) * program.ranks, kNone);
  }
  if (pieces.empty()) return std::nullopt;
  // A few values of a scalar stand for all: the checker, which tries them all, refutes what does not hold for others.
  for (const int scalar : {0, 1, program.ranks - 1}) {
    for (int me = 0; me < program.ranks; ++me) {
      scope.assign(1, {"me", me});
      for (const Scalar &s : program.scalars) scope.emplace_back(s.name, scalar);
      collect(program.body, me);
    }
    if (program.scalars.empty()) break;
  }
  if (auto failure = propagate()) return failure;
  for (std::size_t box = 0; box < bases.size(); ++box) {
    if (bases[box] == kNone) continue;
    Mailbox &m = program.mailboxes[box];
    const auto index = formula(MailboxId(box));
    if (!index)
      return Failure{m.where, "which piece a slot of `" + m.name + "` holds follows no sum of `me` and the slot's number, modulo N",
                     "send pieces by such a rule, as in `forall p in ranks: X[p] -> p." + m.name + "[me]`"};
    m.length.index = *index;
  }
  for (Value &value : program.values)
    if (const StandIn *received = standInOf(value.length.index))
      value.length.index = program.mailboxes[received->box].length.index.substitute("slot", received->slot);
  return std::nullopt;
}

// ---- What the sends say ----

std::optional<std::int64_t> SlotPieces::evaluate(const Index &index) const {
  return index.evaluate([&](llvm::StringRef name) -> std::optional<std::int64_t> {
    for (const auto &[bound, value] : llvm::reverse(scope))
      if (bound == name) return value;
    return std::nullopt;
  });
}

int SlotPieces::entryOf(MailboxId box, std::int64_t owner, std::optional<std::int64_t> slot) const {
  const std::int64_t slots = program.mailboxes[box].slots.value();
  if (!slot || *slot < 0 || *slot >= slots || owner < 0 || owner >= program.ranks) return kNone; // the checker says so
  return bases[box] + int(owner * slots + *slot);
}

void SlotPieces::collect(const Block &block, int me) {
  for (const Stmt &stmt : block) {
    if (const auto *s = std::get_if<Send>(&stmt.op())) send(*s, me);
    if (const auto *loop = std::get_if<ForRanks>(&stmt.op())) repeat(loop->variable, 0, program.ranks - 1, loop->body, me);
    if (const auto *loop = std::get_if<For>(&stmt.op()))
      repeat(loop->variable, evaluate(loop->first).value_or(0), evaluate(loop->last).value_or(-1), loop->body, me);
    if (const auto *branch = std::get_if<If>(&stmt.op()); branch && evaluate(branch->condition).value_or(0))
      collect(branch->body, me);
  }
}

void SlotPieces::repeat(const std::string &variable, std::int64_t first, std::int64_t last, const Block &body, int me) {
  for (std::int64_t i = first; i <= last; ++i) {
    scope.emplace_back(variable, i);
    collect(body, me);
    scope.pop_back();
  }
}

void SlotPieces::send(const Send &send, int me) {
  if (bases[send.box] == kNone) return;
  const int entry = entryOf(send.box, evaluate(send.peer).value_or(-1), evaluate(send.slot));
  if (entry == kNone) return;
  const Index &piece = program.values[send.value].length.index;
  if (const StandIn *received = standInOf(piece))
    fillings.push_back({entry, kNone, entryOf(received->box, me, evaluate(received->slot)), send.where});
  else
    fillings.push_back({entry, int(evaluate(piece).value_or(kNone)), kNone, send.where});
}

/// What is passed on becomes known once what was received is.
std::optional<SlotPieces::Failure> SlotPieces::propagate() {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Filling &f : fillings) {
      const int piece = f.from == kNone ? f.piece : pieces[f.from];
      if (piece == kNone || pieces[f.entry] == piece) continue;
      if (pieces[f.entry] != kNone) return Failure{f.where, "a slot is sent two different pieces, which may differ in length", "give each piece a slot of its own"};
      pieces[f.entry] = piece;
      changed = true;
    }
  }
  return std::nullopt;
}

// ---- The formula ----

/// The simplest that holds for all slots which are sent to: a sum of `me` and the slot, either way round, or what
/// exchanges in powers of two give.
std::optional<Index> SlotPieces::formula(MailboxId box) const {
  const std::int64_t slots = program.mailboxes[box].slots.value();
  const Index me = Index::variable("me"), slot = Index::variable("slot"), n = Index::constant(program.ranks);
  int first = 0;
  while (first < slots * program.ranks && pieces[bases[box] + first] == kNone) ++first;
  if (first == slots * program.ranks) return Index(); // nothing is sent, or what is cannot be told: the checker's to say
  const std::int64_t at[] = {first / slots, first % slots};
  static constexpr int factors[][2] = {{0, 0}, {1, 0}, {0, 1}, {1, -1}, {1, 1}, {-1, 1}, {-1, 0}, {0, -1}, {-1, -1}};
  for (const auto &[a, b] : factors) {
    const Index rest = Index::constant(pieces[bases[box] + first] - a * at[0] - b * at[1]);
    Index sum = Index::mod(rest, n);
    if (a > 0) sum = Index::add(me, sum);
    if (b > 0) sum = Index::add(slot, sum);
    if (a < 0) sum = Index::sub(sum, me);
    if (b < 0) sum = Index::sub(sum, slot);
    const bool plain = sum == me || (sum == slot && slots <= program.ranks) || sum.kind() == Index::Kind::Constant;
    if (!plain) sum = Index::mod(sum, n);
    if (fits(box, sum)) return sum;
  }
  if (const auto sum = anySum(box)) return sum;
  for (const Index &step : {slot, Index::shiftLeft(Index::constant(1), slot)})
    if (const Index exchanged = Index::mod(Index::exclusiveOr(me, step), n); fits(box, exchanged)) return exchanged;
  return std::nullopt;
}

/// a * me + b * slot + c modulo N, with the least numbers that fit.
std::optional<Index> SlotPieces::anySum(MailboxId box) const {
  const int slots = int(program.mailboxes[box].slots.value()), n = program.ranks;
  const int *of = pieces.data() + bases[box];
  const auto fits = [&](int a, int b, int c) {
    for (int at = 0; at < slots * n; ++at)
      if (of[at] != kNone && (a * (at / slots) + b * (at % slots) + c) % n != of[at]) return false;
    return true;
  };
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b)
      for (int c = 0; c < n; ++c)
        if (fits(a, b, c)) {
          const auto times = [](int factor, const char *of) { return Index::mul(Index::constant(factor), Index::variable(of)); };
          return Index::mod(Index::add(Index::add(times(a, "me"), times(b, "slot")), Index::constant(c)), Index::constant(n));
        }
  return std::nullopt;
}

bool SlotPieces::fits(MailboxId box, const Index &candidate) const {
  const std::int64_t slots = program.mailboxes[box].slots.value();
  for (std::int64_t me = 0; me < program.ranks; ++me)
    for (std::int64_t slot = 0; slot < slots; ++slot) {
      const int piece = pieces[bases[box] + me * slots + slot];
      if (piece == kNone) continue;
      const auto lookup = [&](llvm::StringRef name) -> std::optional<std::int64_t> { return name == "me" ? me : slot; };
      if (candidate.evaluate(lookup) != piece) return false;
    }
  return true;
}

} // namespace coll::ir
