#include "codegen/BodyEmitter.h"

#include "ast/Type.h"

#include <utility>

namespace coll::codegen {

Index BodyEmitter::renamed(Index index) const {
  for (const auto &[author, name] : variables)
    if (author != name) index = index.substitute(author, Index::variable(name));
  return index;
}

std::string BodyEmitter::text(const Index &index) const {
  const std::string number = indexText(renamed(index), scope);
  auto named = constants.find(number);
  return named == constants.end() ? number : named->second;
}

std::string BodyEmitter::sendText(const Send &s, const std::string &hop) {
  const Mailbox &box = program.mailboxes[s.box];
  if (box.spread != Spread::Element) return sendNumberText(s, hop);
  const std::string inVector = box.counted && program.chunks ? ", i" : "";
  const std::string count = box.counted ? (box.countsRows ? ", row.number, " : ", ") + lengthText(s.value, box.countsRows) : "";
  return boxName(s.box) + "::send(launch, " + hop + ", " + text(s.slot) + ", " + slotPacket + inVector + ", " +
         packetFor(s.box, s.value) + count + ");";
}

std::string BodyEmitter::sendNumberText(const Send &s, const std::string &hop) {
  const Mailbox &box = program.mailboxes[s.box];
  const bool group = box.spread == Spread::Group;
  known(s.value);
  const std::string wide = group ? ", " + std::string(cudaName(ast::accumulatorOf(program.values[s.value].dtype))) : "";
  return "coll::send" + std::string(group ? "GroupNumber<" + std::to_string(box.group) + ", " : "Number<") + boxName(s.box) + ", " +
         typeOf(s.box) + wide + ">(row, " + (group ? "k, " : "") + hop + ", " + text(s.slot) + ", " + withoutParentheses(computed.elements(s.value)) +
         (box.counted ? ", " + lengthText(s.value, true) : "") + ");";
}

std::string BodyEmitter::readNumberText(ValueId result, MailboxId number, const Index &slot) {
  const Mailbox &box = program.mailboxes[number];
  const bool group = box.spread == Spread::Group;
  std::string message;
  if (box.counted) message = messageNames.at(result) + ", ", countNames[result] = messageNames.at(result) + ".count[0]";
  return "coll::read" + std::string(group ? "GroupNumber<" + std::to_string(box.group) + ", " : "Number<") + boxName(number) + ", " +
         typeOf(number) + ">(row, " + (group ? "k, " : "") + message + text(slot) +
         (box.counted ? ", " + mostOf(program.values[result].length, true) : "") + ")";
}

std::string BodyEmitter::lengthText(ValueId v, bool rows) const {
  return program.values[v].count ? countName(v) : "coll::u32(" + mostOf(program.values[v].length, rows) + ")";
}

std::string BodyEmitter::packetFor(MailboxId box, ValueId v) {
  if (isPacketType(box)) return nameOf(v);
  known(v);
  return "coll::narrow<" + typeOf(box) + ", " + packetType(box) + ">(" + withoutParentheses(computed.elements(v)) + ")";
}

std::string BodyEmitter::typeOf(MailboxId box) const {
  return isPacketType(box) ? "T" : std::string(cudaName(program.mailboxes[box].dtype));
}

std::string BodyEmitter::received(MailboxId box, const std::string &packet) const {
  return isPacketType(box) ? packet : "coll::widen<" + typeOf(box) + ">(" + packet + ")";
}

void BodyEmitter::keep(ValueId own, ValueId sent) {
  if (isPacket(own)) valueNames[own] = nameOf(sent);
  else computed.set(own, computed.elements(sent), Expressions::Form::Elements);
}

/// A number as a factor.
static std::string factor(const std::string &number) {
  int depth = 0;
  for (char c : number) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ' ' && depth == 0) return "(" + number + ")";
  }
  return number;
}

std::string BodyEmitter::base(const Slice &slice) const {
  std::string base = "a." + names.buffers.at(program.buffers[slice.buffer].name);
  if (program.buffers[slice.buffer].window) base += "[" + (slice.owner ? hopOf(*slice.owner) : "0") + "]";
  const std::string number = text(slice.index);
  switch (slice.length.kind) {
  case Length::Kind::Whole: return base;
  case Length::Kind::Row: return base + " + " + factor(number) + (slice.length.extents.empty() ? "" : " * (" + names.product(slice.length.extents) + ")");
  case Length::Kind::Piece:
    return base + " + " + piecesOf(slice.length) + ".begin(" + number + ")" + (slice.length.ofRows ? ofRow(slice.length) : "");
  }
  return {};
}

std::string BodyEmitter::ofRow(const Length &length) const {
  const std::string &elements = length.extents.back();
  return elements == "1" ? "" : " * " + names.product({elements});
}

std::string BodyEmitter::place(const Slice &slice, bool everyRow) const {
  if (inRows) return (everyRow ? base(slice) : "row.of(" + base(slice) + ")") + ", row.packet(k), row.length";
  const bool piece = slice.length.kind == Length::Kind::Piece;
  return base(slice) + ", i, " + (piece ? piecesOf(slice.length) + ".size(" + text(slice.index) + ")" : names.product(slice.length.extents));
}

std::string BodyEmitter::placeOfAll(const Slice &slice) const {
  const std::string &name = program.buffers[slice.buffer].name, number = text(slice.index);
  const std::string base = "a." + names.buffers.at(name) + ", a." + names.buffersOfAll.at(name) + ", ";
  const std::string elements = names.product(slice.length.extents);
  if (inRows) {
    const bool row = slice.length.kind == Length::Kind::Row, piece = slice.length.isPieceOfRows();
    const std::string begin = row     ? factor(number) + " * (" + elements + ") + "
                              : piece ? piecesOf(slice.length) + ".begin(" + number + ")" + ofRow(slice.length) + " + "
                                      : "";
    return base + begin + "row.number * row.length, row.packet(k), row.length";
  }
  switch (slice.length.kind) {
  case Length::Kind::Whole: return base + "0, i, " + elements;
  case Length::Kind::Row: return base + factor(number) + " * (" + elements + "), i, " + elements;
  case Length::Kind::Piece:
    return base + piecesOf(slice.length) + ".begin(" + number + "), i, " + piecesOf(slice.length) + ".size(" + number + ")";
  }
  return {};
}

std::string BodyEmitter::nameOf(ValueId v) const {
  auto name = valueNames.find(v);
  return name != valueNames.end() ? name->second : withoutParentheses(computed.packet(v));
}

std::string BodyEmitter::declarator(ValueId v) {
  if (valueNames.count(v)) return nameOf(v);
  const ValueId variable = std::exchange(definesVariable, kNone);
  return (variable == kNone ? "const Packet " : "Packet ") + declareName(variable == kNone ? v : variable);
}

} // namespace coll::codegen
