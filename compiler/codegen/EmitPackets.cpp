#include "codegen/BodyEmitter.h"
#include "codegen/EmitRows.h"

#include <set>
#include <tuple>
#include <utility>

namespace coll::codegen {

void BodyEmitter::packetLoop(const PacketLoop &loop) {
  if (written) out.blank();
  written = true;
  declareCredits(loop);
  if (loop.rows) {
    emitRows(*this, loop);
    forgetVariables();
    begun = true;
    return;
  }
  needsEpoch = !begun && exchanges(loop.body);
  declareMessages(loop);
  const std::string packets = program.chunks ? "chunks.size(c)" : packetsOf(loop.domain);
  if (std::exchange(givesInLoop, false)) give = "Credits::give(launch, " + slotPacket + ", " + packets + ");";
  out.open(shape() + "::forEach(launch, " + Twine(packets) + ", [&](coll::u32 " + slotPacket + ") {");
  if (program.chunks) out.line("const coll::u32 i = chunks.first(c) + " + Twine(slotPacket) + ";");
  opened = true;
  takeKept(loop);
  block(loop.body);
  putKept(loop);
  out.close("});");
  forgetVariables();
}

/// What another loop gives a variable that none is left of this one's is a variable of its own there.
void BodyEmitter::forgetVariables() {
  for (ValueId v = 0; v < ValueId(program.values.size()); ++v) {
    if (!program.values[v].variable || program.values[v].kept) continue;
    valueNames.erase(v), declaredElements.erase(v), computed.forget(v);
  }
}

BodyEmitter::KeptHere BodyEmitter::keptIn(const PacketLoop &loop) const {
  KeptHere here; // a variable that is made here may have been before
  walk(loop.body, [&](const Stmt &s) {
    if (const ValueId v = resultOf(s); v != kNone && program.values[v].kept) here.made.insert(v);
  });
  const auto exists = [&](ValueId v) { return valueNames.count(v) || computed.has(v); };
  for (ValueId v : here.made)
    if (program.values[v].variable && exists(v)) here.taken.insert(v);
  for (const Stmt &stmt : loop.body)
    usesOf(stmt, [&](ValueId v) {
      if (v != kNone && program.values[v].kept && !here.made.count(v)) here.taken.insert(v);
    });
  return here;
}

void BodyEmitter::takeKept(const PacketLoop &loop) {
  const KeptHere here = keptIn(loop);
  for (ValueId v : here.taken) {
    const bool packets = program.keepsPackets(program.values[v]);
    const std::string name = packets ? valueNames.count(v) ? nameOf(v) : declareName(v) : (declaredElements[v] = names.names.unique(nameFor(v)));
    out.line(Twine(here.made.count(v) ? "" : "const ") + (packets ? "Packet " : "auto ") + name + " = " + names.kept.at(v) +
             (packets ? "::get<Packet>" : "::get<Packet::kElements>") + "(launch, " + slotPacket + ");");
    computed.set(v, name, packets ? Expressions::Form::Packet : Expressions::Form::Elements);
  }
}

void BodyEmitter::putKept(const PacketLoop &loop) {
  for (ValueId v : keptIn(loop).made) {
    const bool packets = program.keepsPackets(program.values[v]);
    if (!valueNames.count(v)) known(v);
    out.line(names.kept.at(v) + "::put(launch, " + slotPacket + ", " +
             (packets ? nameOf(v) : withoutParentheses(computed.elements(v))) + ");");
  }
}

std::string BodyEmitter::packetsOf(const Length &domain) const {
  // A message without elements is sent too.
  return program.hasCounts() ? "Packet::count(coll::atLeastOne(" + domainText(domain) + "))" : "Packet::count(" + domainText(domain) + ")";
}

std::string BodyEmitter::domainText(const Length &domain) const {
  return domain.kind == Length::Kind::Piece ? piecesOf(domain) + ".piece" : names.product(domain.extents);
}

bool BodyEmitter::exchanges(const Block &body) {
  bool found = false;
  walk(body, [&](const Stmt &s) {
    found |= std::holds_alternative<Send>(s.op()) || std::holds_alternative<Poll>(s.op()) ||
             std::holds_alternative<Read>(s.op());
  });
  return found;
}

void BodyEmitter::readEpoch() {
  if (needsEpoch) out.line("launch.begin();");
  if (needsEpoch && names.trace) out.line("coll::stampFirst(coll::kSends);");
  if (!give.empty()) out.line(give + " // this launch has begun: all that was read before is read");
  needsEpoch = false;
  give.clear();
}

void BodyEmitter::block(const Block &stmts) {
  const auto outer = constants;
  for (std::size_t at = 0; at < stmts.size();) {
    namePiece(stmts[at]);
    const std::string guard = guardOf(stmts[at]);
    std::size_t end = at + 1;
    const auto isNumber = [&](const Stmt &s) { return Expressions::defines(s) && program.values[resultOf(s)].spread == Spread::Everywhere; };
    for (std::size_t next = end; next < stmts.size() && (isNumber(stmts[next]) || guardOf(stmts[next]) == guard);)
      if (!isNumber(stmts[next++])) end = next;
    if (!guard.empty()) {
      announce(whereOf(stmts[at]));
      readEpoch();
      declareOutliving(stmts, at, end);
      out.open("if (" + guard + ") {");
    }
    for (; at < end; ++at)
      if (at + 1 < end && isElse(stmts[at], stmts[at + 1])) ifElse(stmts[at], stmts[at + 1]), ++at;
      else if (!(at + 1 < end && defineInPlace(stmts[at], stmts[at + 1]))) inner(stmts[at]);
      else inner(stmts[at]), ++at;
    if (!guard.empty()) out.close("}");
  }
  constants = outer;
}

bool BodyEmitter::isElse(const Stmt &stmt, const Stmt &next) {
  const auto *branch = std::get_if<If>(&stmt.op()), *other = std::get_if<If>(&next.op());
  return branch && other && Index::negate(branch->condition) == other->condition;
}

void BodyEmitter::ifElse(const Stmt &stmt, const Stmt &next) {
  const If &branch = std::get<If>(stmt.op()), &other = std::get<If>(next.op());
  const auto loads = [](const If &s) { return std::holds_alternative<Load>(s.body.front().op()); };
  announce(whereOf(stmt));
  if (!loads(branch) && !loads(other)) readEpoch(); // else each does, behind its loads
  const std::pair<bool, std::string> before{needsEpoch, give};
  openIf(branch);
  readEpoch();
  std::tie(needsEpoch, give) = before;
  out.indent(-2);
  out.line("} else {");
  out.indent(2);
  opened = true;
  block(other.body);
  readEpoch();
  out.close("}");
}

void BodyEmitter::openIf(const If &s) {
  out.open("if (" + Twine(condition(s.condition)) + ") {");
  opened = true;
  block(s.body);
}

bool BodyEmitter::defineInPlace(const Stmt &stmt, const Stmt &next) {
  const auto *assign = std::get_if<Assign>(&next.op());
  const ValueId made = resultOf(stmt);
  if (!assign || made == kNone || assign->value != made || uses[made] != 1) return false;
  if (program.values[made].variable || std::holds_alternative<Send>(stmt.op())) return false;
  if (Expressions::defines(stmt) || !isPacket(made)) return false;
  if (!valueNames.count(assign->variable)) {
    definesVariable = assign->variable;
    return true;
  }
  valueNames[made] = nameOf(assign->variable);
  return true;
}

void BodyEmitter::namePiece(const Stmt &stmt) {
  const Length *length = std::holds_alternative<ForRanks>(stmt.op()) ? nullptr : lengthOf(stmt);
  if (!length || length->kind != Length::Kind::Piece) return;
  const std::string number = text(length->index);
  if (number.find('(') == std::string::npos) return;
  announce(whereOf(stmt));
  out.line("const coll::u32 " + Twine(constants[number] = names.names.unique("piece")) + " = " + number + ";");
}

void BodyEmitter::countUses(const Stmt &stmt, std::map<ValueId, int> &counts) {
  usesOf(stmt, [&](ValueId v) { ++counts[v]; });
}

void BodyEmitter::declareOutliving(const Block &stmts, std::size_t begin, std::size_t end) {
  std::map<ValueId, int> inside;
  for (std::size_t s = begin; s < end; ++s) {
    countUses(stmts[s], inside);
    each(stmts[s], [&](const Stmt &stmt) { // what a rank keeps for itself goes by the name of what it sent
      if (const auto *send = std::get_if<Send>(&stmt.op()); send && send->own != kNone && program.isKept(send->own))
        --inside[send->value];
    });
  }
  // What is written where it is used takes its operands there.
  for (std::size_t s = end; s-- > begin;)
    if (const ValueId v = resultOf(stmts[s]); v != kNone && isInline(stmts[s]) && uses[v] > inside[v])
      usesOf(stmts[s], [&](ValueId operand) { --inside[operand]; });
  for (std::size_t s = begin; s < end; ++s)
    if (ValueId v = resultOf(stmts[s]); v != kNone && !valueNames.count(v))
      if (program.values[v].variable || uses[v] > inside[v])
        if (!isInline(stmts[s])) isElements(stmts[s]) ? declareElements(v) : declare(v);
  for (std::size_t s = begin; s < end; ++s)
    if (const auto *loop = std::get_if<ForRanks>(&stmts[s].op()); loop && !goesToOthers(*loop)) declareOwn(*loop);
}

SourceOffset BodyEmitter::whereOf(const Stmt &stmt) {
  return match(stmt, [](const auto &s) -> SourceOffset { return s.where; });
}

std::string BodyEmitter::guardOf(const Stmt &stmt) const {
  if (const auto *clear = std::get_if<Clear>(&stmt.op())) {
    Length cleared = program.mailboxes[clear->box].length;
    cleared.index = cleared.index.substitute("slot", clear->slot);
    return reaches(cleared);
  }
  const Length *length = guardedBy(stmt);
  return length ? reaches(*length) : "";
}

const Length *BodyEmitter::guardedBy(const Stmt &stmt) const {
  const Length *guard = nullptr;
  const auto *loop = std::get_if<ForRanks>(&stmt.op());
  if (!loop) guard = lengthOf(stmt);
  else for (const Stmt &s : loop->body)
    if (const Length *l = lengthOf(s); l && !l->index.uses(loop->variable)) guard = l;
  return guard && guard->kind == Length::Kind::Piece ? guard : nullptr;
}

const Length *BodyEmitter::lengthOf(const Stmt &stmt) const {
  if (const auto *send = std::get_if<Send>(&stmt.op())) return &program.values[send->value].length;
  if (const auto *store = std::get_if<Store>(&stmt.op())) return &store->to.length;
  if (ValueId v = resultOf(stmt); v != kNone && !program.values[v].everyRow) return &program.values[v].length;
  return nullptr;
}

std::string BodyEmitter::reaches(const Length &length) const {
  if (length.kind != Length::Kind::Piece) return "";
  if (length.ofRows) return piecesOf(length) + ".has(" + text(length.index) + ", row.number)";
  return "coll::reaches<" + shape() + ", Packet>(i, " + piecesOf(length) + ".size(" + text(length.index) + "))";
}

void BodyEmitter::inner(const Stmt &stmt) {
  if (isInline(stmt)) return compute(stmt);
  announce(whereOf(stmt));
  if (!std::holds_alternative<Load>(stmt.op()) && !loadsFirst(stmt)) readEpoch();
  if (Expressions::defines(stmt)) return compute(stmt);
  match(
      stmt, [&](const Load &s) { load(s); }, [&](const Store &s) { store(s); },
      [&](const StoreCount &s) {
        out.line("coll::storeCount(launch, " + base(s.to) + ", i, " + countName(s.value) + ");");
      },
      [&](const Send &s) {
        if (s.own == kNone) return out.line(sendText(s, hop(s.peer)));
        keep(s.own, s.value); // by the rank that everything goes to
        out.line("if (" + Twine(condition(Index::make(Index::Kind::Ne, Index::variable("me"), s.peer))) + ") " +
                 sendText(s, hop(s.peer)));
      },
      [&](const Poll &s) { readOne(s.result, s.box, s.slot); },
      [&](const Read &s) { readOne(s.result, s.box, s.slot); },
      [&](const Reduce &s) { reduce(s); }, [&](const ForRanks &s) { forRanks(s); },
      [&](const Clear &) {}, // what receives clears
      [&](const Fence &) { out.line("launch.fence(); // instead of trusting hardware"); },
      [&](const Assign &s) {
        if (!isPacket(s.variable)) return assignElements(s);
        const bool known = valueNames.count(s.variable);
        out.line((known ? nameOf(s.variable) : "Packet " + declareName(s.variable)) + " = " + nameOf(s.value) + ";");
      },
      [&](const AwaitCredit &s) { out.line(awaitText(s, ", " + hop(s.peer))); },
      [&](const For &s) {
        if (const AwaitCredit *credit = ofAllOthers(s)) return out.line(awaitText(*credit, ""));
        forLoop(s);
      },
      [&](const If &s) {
        openIf(s);
        out.close("}");
      },
      [&](const Combine &s) {
        out.line(declarator(s.result) + " = coll::combine<" + opName(s.op) + ", T>(" +
                 nameOf(s.a) + ", " + nameOf(s.b) + ");");
      },
      [](const auto &) { std::abort(); }); // not inside a packet loop, or not of a mode that is lowered
}

} // namespace coll::codegen
