#include "codegen/BodyEmitter.h"

namespace coll::codegen {

void BodyEmitter::forLoop(const For &s) {
  if (loadsFirst(s)) return loadThenSend(s);
  out.directive(s.last.value() - s.first.value() < kUnrolled ? "#pragma unroll" : "#pragma unroll 1");
  openFor(s);
  block(s.body);
  closeFor(s);
}

bool BodyEmitter::loadsFirst(const For &s) const {
  const std::int64_t units = (s.last.value() + 1) * ((program.wire().payloadBytes + 15) / 16);
  if (s.body.size() != 2 || s.first.value() < 0 || units > kMaxUnits) return false;
  const auto *load = std::get_if<Load>(&s.body[0].op());
  const auto *send = std::get_if<Send>(&s.body[1].op());
  return load && send && send->value == load->result && isPacket(load->result) && !program.values[load->result].count && load->from.length.kind != Length::Kind::Piece;
}

void BodyEmitter::loadThenSend(const For &s) {
  const Load &load = std::get<Load>(s.body[0].op());
  const std::string packets = declareName(load.result), variable = variables.at(s.variable);
  out.line("Packet " + Twine(packets) + "[" + Twine(s.last.value() + 1) + "]; // by " + variable);
  for (const bool loads : {true, false}) {
    out.directive("#pragma unroll");
    openFor(s);
    valueNames[load.result] = packets + "[" + variable + "]";
    out.line(loads ? nameOf(load.result) + " = coll::load<" + shape() + ", Packet>(launch, " + place(load.from) + ");"
                   : sendText(std::get<Send>(s.body[1].op()), hop(std::get<Send>(s.body[1].op()).peer)));
    closeFor(s);
  }
}

void BodyEmitter::openFor(const For &s) {
  const std::string variable = variables.at(s.variable);
  scope.loops[variable] = {s.first.value(), s.last.value()};
  out.open("for (int " + Twine(variable) + " = " + Twine(s.first.value()) + "; " + variable + " <= " +
           Twine(s.last.value()) + "; ++" + variable + ") {");
  opened = true;
}

void BodyEmitter::closeFor(const For &s) {
  scope.loops.erase(variables.at(s.variable));
  out.close("}");
}

void BodyEmitter::forRanks(const ForRanks &loop) {
  if (const AwaitCredit *credit = ofAllOthers(loop)) return out.line(awaitText(*credit, ""));
  eachRank(loop);
  hopVariable.clear();
}

void BodyEmitter::eachRank(const ForRanks &loop) {
  for (const Stmt &s : loop.body)
    if (std::holds_alternative<Poll>(s.op()) || std::holds_alternative<Read>(s.op())) return eachSlot(loop);
  const bool others = goesToOthers(loop);
  if (isCounted(loop)) return sendMessages(loop);
  if (loadsFirst(loop)) return loadThenSend(loop, others);
  if (!others) declareOwn(loop);
  else for (const Stmt &s : loop.body)
    if (const auto *send = std::get_if<Send>(&s.op()); send && send->own != kNone && program.isKept(send->own))
      keep(send->own, send->value);
  if (multicast(loop, others)) return;
  out.directive("#pragma unroll");
  const auto *only = loop.body.size() == 1 ? std::get_if<Send>(&loop.body.front().op()) : nullptr;
  if (only && only->peer.isVariable(loop.variable) && (others || only->own == kNone) && !usesVariable(loop))
    return out.line("for (int hop = " + Twine(others ? 1 : 0) + "; hop < N; ++hop) " + Twine(sendText(*only, "hop")));
  const auto *store = loop.body.size() == 1 ? std::get_if<Store>(&loop.body.front().op()) : nullptr;
  if (store && program.buffers[store->to.buffer].dtype == program.packetType() && !store->perRow && !usesVariable(loop)) {
    hopVariable = loop.variable;
    return out.line("for (int hop = 0; hop < N; ++hop) coll::store<" + shape() + ">(launch, " + place(store->to) + ", " +
                    nameOf(store->value) + ");");
  }
  openHops(loop, others ? 1 : 0);
  for (const Stmt &s : loop.body) rankStatement(s, loop);
  out.close("}");
}

bool BodyEmitter::goesToOthers(const ForRanks &loop) const {
  return llvm::all_of(loop.body, [&](const Stmt &s) { return skipsSelf(s, loop); });
}

void BodyEmitter::declareOwn(const ForRanks &loop) {
  for (const Stmt &s : loop.body)
    if (const auto *send = std::get_if<Send>(&s.op()); send && send->own != kNone && program.isKept(send->own))
      if (!valueNames.count(send->own) && !computed.has(send->own))
        isPacket(send->own) ? declare(send->own) : declareElements(send->own);
}

bool BodyEmitter::multicast(const ForRanks &loop, bool others) {
  const auto *send = std::get_if<Send>(&loop.body.front().op());
  const auto *store = std::get_if<Store>(&loop.body.front().op());
  if (send && send->multicast)
    out.line("coll::" + Twine(program.linesOf(program.mailboxes[send->box]) > 1 ? "sendLines" : "send") + (others ? "ToOthers<" : "ToAll<") +
             boxName(send->box) + ">(launch, a." + names.regionsOfAll + ", " + text(send->slot) + ", " + slotPacket + ", " +
             packetFor(send->box, send->value) + ");");
  else if (store && store->multicast)
    out.line("coll::storeToAll<" + shape() + ">(launch, " + placeOfAll(store->to) + ", " + nameOf(store->value) + ");");
  else
    return false;
  return true;
}

void BodyEmitter::openHops(const ForRanks &loop, int first) {
  hopVariable = loop.variable;
  out.open("for (int hop = " + Twine(first) + "; hop < N; ++hop) {");
  if (usesVariable(loop))
    out.line("const coll::u32 " + variables.at(loop.variable) + " = coll::rankAt<N>(me, hop);");
  std::string guard;
  for (const Stmt &s : loop.body)
    if (const Length *l = lengthOf(s); l && l->index.uses(loop.variable)) guard = reaches(*l);
  if (!guard.empty()) out.line("if (!" + guard + ") continue;");
}

bool BodyEmitter::loadsFirst(const ForRanks &loop) const {
  const int units = program.ranks * int((program.wire().payloadBytes + 15) / 16);
  if (loop.body.size() != 2 || units > kMaxUnits) return false;
  const auto *load = std::get_if<Load>(&loop.body[0].op());
  const auto *send = std::get_if<Send>(&loop.body[1].op());
  const auto *store = std::get_if<Store>(&loop.body[1].op());
  if (load && (!isPacket(load->result) || program.values[load->result].count)) return false;
  if (load && store) return store->value == load->result && (load->from.owner || store->to.owner);
  return load && send && send->value == load->result && send->peer.isVariable(loop.variable);
}

bool BodyEmitter::loadsFirst(const Stmt &stmt) const {
  const auto *loop = std::get_if<ForRanks>(&stmt.op());
  return loop && loadsFirst(*loop);
}

void BodyEmitter::loadThenSend(const ForRanks &loop, bool others) {
  const Load &load = std::get<Load>(loop.body[0].op());
  const auto *store = std::get_if<Store>(&loop.body[1].op());
  const std::string packets = declareName(load.result);
  out.line("Packet " + Twine(packets) + "[N]; // by how many places the rank is after me");
  out.directive("#pragma unroll");
  openHops(loop, others ? 1 : 0);
  out.line(packets + "[hop] = coll::load<" + shape() + ", Packet>(launch, " + place(load.from) + ");");
  out.close("}");
  if (store) return storeEach(loop, *store, packets);
  const Send &send = std::get<Send>(loop.body[1].op());
  readEpoch();
  out.directive("#pragma unroll");
  openHops(loop, send.own == kNone ? 0 : 1);
  valueNames[load.result] = packets + "[hop]";
  out.line(sendText(send, "hop"));
  out.close("}");
  if (send.own == kNone) return;
  const auto [name, isNew] = valueNames.try_emplace(send.own, packets + "[0]");
  if (!isNew) out.line(name->second + " = " + packets + "[0];"); // it is declared where more than this loop sees it
}

void BodyEmitter::storeEach(const ForRanks &loop, const Store &store, const std::string &packets) {
  out.directive("#pragma unroll");
  openHops(loop, 0);
  out.line("coll::store<" + shape() + ">(launch, " + place(store.to) + ", " + packets + "[hop]);");
  out.close("}");
}

bool BodyEmitter::skipsSelf(const Stmt &stmt, const ForRanks &loop) const {
  if (std::holds_alternative<Load>(stmt.op())) return true;
  const auto *send = std::get_if<Send>(&stmt.op());
  if (!send || send->own == kNone || !send->peer.isVariable(loop.variable)) return false;
  if (!program.isKept(send->own)) return true;
  return llvm::none_of(loop.body, [&](const Stmt &s) { return resultOf(s) == send->value; });
}

bool BodyEmitter::usesByNumber(const Slice &slice, const std::string &rank) {
  return slice.index.uses(rank) || (slice.owner && slice.owner->uses(rank) && !slice.owner->isVariable(rank));
}

bool BodyEmitter::usesVariable(const ForRanks &loop) const {
  bool uses = false;
  walk(loop.body, [&](const Stmt &s) {
    if (const auto *send = std::get_if<Send>(&s.op()))
      uses |= send->slot.uses(loop.variable) || program.values[send->value].length.index.uses(loop.variable) ||
              (send->peer.uses(loop.variable) && !send->peer.isVariable(loop.variable));
    if (const auto *load = std::get_if<Load>(&s.op())) uses |= usesByNumber(load->from, loop.variable);
    if (const auto *store = std::get_if<Store>(&s.op())) uses |= usesByNumber(store->to, loop.variable);
  });
  return uses;
}

void BodyEmitter::rankStatement(const Stmt &stmt, const ForRanks &loop) {
  const auto *send = std::get_if<Send>(&stmt.op());
  if (!send || !send->peer.isVariable(loop.variable)) return inner(stmt);
  announce(send->where);
  if (send->own == kNone || !program.isKept(send->own)) return out.line(sendText(*send, "hop"));
  const auto textOf = [&](ValueId v) { return isPacket(v) ? nameOf(v) : withoutParentheses(computed.elements(v)); };
  if (textOf(send->own) == textOf(send->value)) return out.line(sendText(*send, "hop"));
  out.line("if (hop == 0) " + Twine(textOf(send->own)) + " = " + textOf(send->value) + ";");
  out.line("else " + Twine(sendText(*send, "hop")));
}

void BodyEmitter::eachSlot(const ForRanks &loop) {
  const Stmt &first = loop.body.front();
  const auto *poll = std::get_if<Poll>(&first.op());
  const auto *read = std::get_if<Read>(&first.op());
  const MailboxId box = poll ? poll->box : read->box;
  const ValueId own = poll ? poll->own : read->own, result = poll ? poll->result : read->result;
  if (program.mailboxes[box].counted) return eachMessage(loop, box, own, result);
  const std::string condition = reaches(program.values[result].length);
  const std::string part = isPacketType(box) ? declareName(result) : names.names.unique(nameFor(result));
  if (!isPacketType(box)) computed.set(result, received(box, part), Expressions::Form::Elements);
  const std::string argument = "coll::u32 " + variables.at(loop.variable);
  out.line("coll::eachSlot<" + Twine(boxName(box)) + ">(");
  out.indent(4);
  out.line("launch, " + Twine(slotPacket) + ownText(box, own) + ", " +
           (condition.empty() ? "[](coll::u32) { return true; }," : "[&](" + argument + ") { return " + condition + "; },"));
  out.open("[&](" + Twine(argument) + ", const " + packetType(box) + " &" + part + ") {");
  for (std::size_t s = 1; s < loop.body.size(); ++s)
    if (!std::holds_alternative<Clear>(loop.body[s].op())) inner(loop.body[s]);
  out.close("});");
  out.indent(-4);
}

} // namespace coll::codegen
