#include "codegen/BodyEmitter.h"

namespace coll::codegen {

bool BodyEmitter::isInline(const Stmt &stmt) {
  if (!Expressions::defines(stmt)) return false;
  const ValueId v = resultOf(stmt);
  return program.values[v].spread == Spread::Everywhere || (program.values[v].name.empty() && uses[v] <= 1);
}

bool BodyEmitter::isElements(const Stmt &stmt) const {
  if (const auto *load = std::get_if<Load>(&stmt.op()); load && load->perRow) return true;
  if (const auto *map = std::get_if<Map>(&stmt.op())) return !Expressions::makesPacket(program, *map);
  return !std::holds_alternative<Assign>(stmt.op()) && !std::holds_alternative<Constant>(stmt.op()) &&
         !std::holds_alternative<Argument>(stmt.op()) && !isPacket(resultOf(stmt));
}

void BodyEmitter::known(ValueId v) {
  if (v != kNone && !computed.has(v)) computed.set(v, valueNames.at(v), Expressions::Form::Packet);
}

void BodyEmitter::compute(const Stmt &stmt) {
  if (const auto *map = std::get_if<Map>(&stmt.op())) known(map->a), known(map->b);
  computed.define(stmt);
  if (isInline(stmt)) return;
  const ValueId v = resultOf(stmt);
  define(stmt, withoutParentheses(isElements(stmt) ? computed.elements(v) : computed.packet(v)));
}

void BodyEmitter::define(const Stmt &stmt, const std::string &text) {
  const ValueId v = resultOf(stmt);
  if (isElements(stmt)) return out.line(declareElements(stmt) + " = " + text + ";");
  out.line(declarator(v) + " = " + text + ";");
  computed.set(v, valueNames.at(v), Expressions::Form::Packet);
}

std::string BodyEmitter::declareElements(const Stmt &stmt) { return declareElementsOf(resultOf(stmt)); }

std::string BodyEmitter::declareElementsOf(ValueId v) {
  const bool declared = declaredElements.count(v);
  const std::string name = declared ? declaredElements.at(v) : names.names.unique(nameFor(v));
  computed.set(v, name, Expressions::Form::Elements);
  return (declared ? "" : "const auto ") + name;
}

void BodyEmitter::assignElements(const Assign &s) {
  known(s.value);
  const std::string value = withoutParentheses(computed.elements(s.value));
  if (!computed.has(s.variable)) declareElements(s.variable);
  out.line(computed.text(s.variable) + " = " + value + ";");
}

void BodyEmitter::declareElements(ValueId v) {
  const std::string name = declaredElements[v] = names.names.unique(nameFor(v));
  out.line(computed.typeOf(v, program.values[v].spread == Spread::Element || (program.values[v].spread == Spread::Group && program.wire().together > 1) ? "Packet::kElements" : "1") + " " + name + " = {};");
  computed.set(v, name, Expressions::Form::Elements);
}

void BodyEmitter::store(const Store &s) {
  known(s.value);
  const bool ofElements = program.values[s.value].count && !inRows;
  const std::string condition = ifHasRow(s.value);
  if (ofElements && !isPacket(s.value))
    return out.line("coll::storeFirstElements<Packet>(launch, " + base(s.to) + ", i, " + countName(s.value) + ", " +
                    withoutParentheses(computed.elements(s.value)) + ");");
  if (ofElements)
    return out.line("coll::storeFirst(launch, " + base(s.to) + ", i, " + countName(s.value) + ", " +
                    nameOf(s.value) + ");");
  if (s.perRow)
    return out.line(condition + "row.template storeGroup<" + Twine(program.values[s.value].group) + ">(" + base(s.to) + ", k, " +
                    withoutParentheses(computed.elements(s.value)) + ");");
  if (program.buffers[s.to.buffer].dtype == program.packetType())
    return out.line(condition + "coll::store<" + shape() + ">(launch, " + place(s.to) + ", " + nameOf(s.value) + ");");
  out.line(condition + "coll::" + computed.storeOf(s.value) + (inPieces() ? "<" + shape() + ", Packet>" : "<" + shape() + ">") + "(launch, " + place(s.to) + ", " + withoutParentheses(computed.elements(s.value)) + ");");
}

void BodyEmitter::load(const Load &s) {
  if (program.values[s.result].count) return loadMessage(s);
  if (s.perRow) return define(s, "row.loadOne(" + base(s.from) + ")");
  if (program.buffers[s.from.buffer].dtype != program.packetType())
    return define(s, "coll::loadElements<" + shape() + ", Packet>(launch, " + place(s.from, s.everyRow) + ")");
  out.line(declarator(s.result) + " = coll::load<" + shape() + ", Packet>(launch, " + place(s.from, s.everyRow) + ");");
}

void BodyEmitter::readOne(ValueId result, MailboxId box, const Index &slot) {
  if (program.mailboxes[box].spread != Spread::Element) { // of groups: those of rows are read by all of the row
    if (program.mailboxes[box].counted && !messageNames.count(result)) declareMessage(result);
    return out.line(declareElementsOf(result) + " = " + readNumberText(result, box, slot) + ";");
  }
  if (program.mailboxes[box].counted) return readMessage(result, box, slot);
  const std::string packet = "coll::readSlot<" + boxName(box) + ">(launch, " + text(slot) + ", " + slotPacket + ")";
  if (isPacketType(box)) return out.line(declarator(result) + " = " + packet + ";");
  out.line(declareElementsOf(result) + " = " + received(box, packet) + ";");
}

void BodyEmitter::reduce(const Reduce &s) {
  const Stmt &from = s.body.front();
  const auto *load = std::get_if<Load>(&from.op());
  if (load && s.multicast)
    return out.line(declarator(s.result) + " = coll::reduceAll<" + shape() + ", " + opName(s.op) + ", Packet>(launch, " +
                    placeOfAll(load->from) + ");");
  if (load) return reduceRanks(s, *load);
  const auto *poll = std::get_if<Poll>(&from.op());
  const auto *read = std::get_if<Read>(&from.op());
  const MailboxId box = poll ? poll->box : read->box;
  if (const Index &slot = poll ? poll->slot : read->slot; !slot.isVariable(s.variable)) return reduceSlotsOf(s, box, slot);
  const ValueId own = poll ? poll->own : read->own;
  const std::string arguments = opName(s.op) + ", " + typeOf(box) + ", " + boxName(box) + ">(launch, " + slotPacket + ownText(box, own) + ")";
  if (program.values[s.result].dtype != program.mailboxes[box].dtype) return define(s, "coll::reduceSlotsWide<" + arguments);
  if (!isPacketType(box)) return define(s, received(box, "coll::reduceSlots<" + arguments));
  out.line(declarator(s.result) + " = coll::reduceSlots<" + arguments + ";");
}

void BodyEmitter::reduceSlotsOf(const Reduce &s, MailboxId box, const Index &slot) {
  const bool wide = program.values[s.result].dtype != program.mailboxes[box].dtype, elements = wide || !isPacketType(box);
  const std::string name = elements ? declareElements(s) : declarator(s.result);
  out.open(name + " = " + (elements && !wide ? "coll::widen<" + typeOf(box) + ">(" : "") + "coll::reduceRanks" + (wide ? "Wide<" : "<") +
           opName(s.op) + ", " + typeOf(box) + ", " + packetType(box) + ", N>([&](coll::u32 " + variables.at(s.variable) + ") {");
  out.line("return coll::readSlot<" + boxName(box) + ">(launch, " + text(slot) + ", " + slotPacket + ");");
  out.close(elements && !wide ? "}));" : "});");
}

void BodyEmitter::reduceRanks(const Reduce &s, const Load &part) {
  const bool wide = program.values[s.result].dtype != program.dtype;
  const std::string name = wide ? declareElements(s) : declarator(s.result);
  out.open(name + " = coll::reduceRanks" + (wide ? "Wide<" : "<") + opName(s.op) + ", T, Packet, N>([&](coll::u32 " +
           variables.at(s.variable) + ") {");
  out.line("return coll::load<" + shape() + ", Packet>(launch, " + place(part.from) + ");");
  out.close("});");
}

} // namespace coll::codegen
