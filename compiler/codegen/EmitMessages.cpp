#include "codegen/BodyEmitter.h"

namespace coll::codegen {

namespace {

/// `forall p in ranks: prefix(x[p], n[p]) -> p.box[me]`, as expressions of the text.
struct MessagesOut {
  std::string box, slot;
  std::string shape;     ///< the way that the vector is gone over
  bool rows = false;     ///< by rows
  std::string packet;    ///< its number in the vector
  std::string place;     ///< and in the slot
  std::string rank;      ///< the loop's variable
  std::string vector;    ///< `a.x + p * (a.M)`: what the message is the begin of
  std::string own, ownCount, ownName; ///< vector and count of this rank, and a name for the latter
  std::string count;     ///< `a.n, p`: how much of it
  std::string length;    ///< `a.M`: the most
  std::string vectors, counts; ///< names for those of all ranks, by how many places they are after this one
  bool vectorByRank = false, countByRank = false; ///< whether they name `rank`
  bool keeps = false;    ///< this rank's own is not sent
  struct Own {
    std::string packet, count;
  };
  bool loadsFirst = true; ///< so few ranks that a packet for each fits into registers
};

/// The loop over all ranks by how many places they are after this one.
void eachHop(const MessagesOut &out, CodeWriter &code, int first, bool byRank, const std::string &body) {
  const std::string head = "for (int hop = " + std::to_string(first) + "; hop < N; ++hop) ";
  code.directive("#pragma unroll");
  if (!byRank) return code.line(head + body);
  code.open(head + "{");
  code.line("const coll::u32 " + out.rank + " = coll::rankAt<N>(me, hop);");
  code.line(body);
  code.close("}");
}

std::string load(const MessagesOut &out, const std::string &vector, const std::string &count) {
  if (out.rows) return "row.loadFirst(" + vector + ", k, " + count + ")";
  return "coll::loadFirst<Packet>(launch, " + vector + ", " + out.packet + ", " + count + ")";
}

/// All that there is of a packet, so that nothing waits for the count; what is beyond it is not sent.
std::string loadAhead(const MessagesOut &out, const std::string &vector) {
  return "coll::load<" + out.shape + ", Packet>(launch, " + vector + ", " + out.packet + ", " + out.length + ")";
}

std::string send(const MessagesOut &out, const std::string &packet, const std::string &count) {
  return out.box + "::send(launch, hop, " + out.slot + ", " + out.place + ", " + packet + (out.rows ? ", row.number, " : ", ") + count + ");";
}

std::string count(const MessagesOut &out, const std::string &index) {
  return "coll::countAt(launch, " + index + ", " + out.length + ")";
}

/// One after the other, a few at a time: written out for all ranks they would be the longer part of compiling.
void sendEach(const MessagesOut &out, CodeWriter &code) {
  code.directive("#pragma unroll 4");
  code.open("for (int hop = " + Twine(out.keeps ? 1 : 0) + "; hop < N; ++hop) {");
  if (out.vectorByRank || out.countByRank) code.line("const coll::u32 " + out.rank + " = coll::rankAt<N>(me, hop);");
  code.line("const coll::u32 " + out.counts + " = " + count(out, out.count) + ";");
  code.line(send(out, load(out, out.vector, out.counts), out.counts));
  code.close("}");
}

/// Writes the loads of counts and vectors that come before the first send.
void emitLoads(const MessagesOut &out, CodeWriter &code) {
  if (!out.loadsFirst) return;
  code.line("coll::u32 " + out.counts + "[N]; // by how many places the rank is after me");
  eachHop(out, code, 0, out.countByRank, out.counts + "[hop] = " + count(out, out.count) + ";");
  code.line("Packet " + out.vectors + "[N];" + (out.rows ? "" : " // all there may be, not waiting for the count"));
  const std::string loaded = out.rows ? load(out, out.vector, out.counts + "[hop]") : loadAhead(out, out.vector);
  eachHop(out, code, 0, out.vectorByRank, out.vectors + "[hop] = " + loaded + ";");
}

/// Writes the sends, and what this rank's own packet and count are called afterwards.
MessagesOut::Own emitSends(const MessagesOut &out, CodeWriter &code) {
  if (out.loadsFirst) {
    eachHop(out, code, out.keeps ? 1 : 0, false, send(out, out.vectors + "[hop]", out.counts + "[hop]"));
    return {out.vectors + "[0]", out.counts + "[0]"};
  }
  sendEach(out, code);
  if (!out.keeps) return {};
  code.line("const coll::u32 " + out.ownName + " = " + count(out, out.ownCount) + ";");
  code.line("const Packet " + out.vectors + " = " + load(out, out.own, out.ownName) + ";");
  return {out.vectors, out.ownName};
}

} // namespace

/// A thread asks once for each slot, and not again for its next packet. What is read on some ranks or again and again is
/// asked for where it is read.
void BodyEmitter::declareMessages(const PacketLoop &loop) {
  const auto declare = [&](const Stmt &stmt, const char *many, const std::string &name) {
    const ValueId v = messageRead(stmt);
    if (v == kNone) return;
    messageNames[v] = names.names.unique(name);
    out.line("coll::Messages<" + Twine(many) + "> " + messageNames[v] + "; // how long this thread knows " + (many[0] == 'N' ? "them" : "it") + " to be");
  };
  for (const Stmt &s : loop.body) declare(s, "1", "message");
  walk(loop.body, [&](const Stmt &s) {
    if (const auto *ranks = std::get_if<ForRanks>(&s.op())) declare(ranks->body.front(), "N", "messages");
  });
}

/// `forall p in ranks: prefix(x[p], n[p]) -> p.box[me]`, whose loads go out together.
bool BodyEmitter::isCounted(const ForRanks &loop) const {
  const auto *load = std::get_if<Load>(&loop.body.front().op());
  const auto *send = loop.body.size() == 2 ? std::get_if<Send>(&loop.body[1].op()) : nullptr;
  return load && send && program.values[load->result].count && send->value == load->result &&
         isPacketType(send->box) && send->peer.isVariable(loop.variable) && !send->slot.uses(loop.variable);
}

void BodyEmitter::sendMessages(const ForRanks &loop) {
  const Load &load = std::get<Load>(loop.body[0].op());
  const Send &send = std::get<Send>(loop.body[1].op());
  const Slice &element = program.values[load.result].count->element;
  Slice own = load.from;
  own.index = own.index.substitute(loop.variable, Index::variable("me"));
  const std::string counts = "a." + names.buffers.at(program.buffers[element.buffer].name) + ", ";
  MessagesOut text;
  text.shape = shape(), text.rows = inRows, text.box = boxName(send.box), text.slot = this->text(send.slot), text.packet = "i", text.place = packetInVector();
  text.rank = variables.at(loop.variable);
  text.vector = base(load.from), text.own = base(own);
  text.count = counts + this->text(element.index);
  text.ownCount = counts + this->text(element.index.substitute(loop.variable, Index::variable("me")));
  text.length = mostOf(load.from.length, inRows);
  text.vectors = names.names.unique(program.values[load.result].name);
  text.counts = names.names.unique(program.buffers[element.buffer].name);
  text.vectorByRank = load.from.index.uses(loop.variable), text.countByRank = element.index.uses(loop.variable);
  text.keeps = send.own != kNone;
  text.loadsFirst = program.ranks * int((program.wire().payloadBytes + 15) / 16) <= kMaxUnits;
  emitLoads(text, out);
  readEpoch();
  if (!text.loadsFirst) text.ownName = names.names.unique(text.counts + "_of_me");
  const MessagesOut::Own kept = emitSends(text, out);
  if (send.own != kNone) valueNames[send.own] = kept.packet, countNames[send.own] = kept.count;
}

void BodyEmitter::declareCount(const Load &load) {
  const Slice &element = program.values[load.result].count->element;
  const std::string count = countNames[load.result] = names.names.unique(program.buffers[element.buffer].name);
  out.line("const coll::u32 " + Twine(count) + " = coll::countAt(launch, a." +
           names.buffers.at(program.buffers[element.buffer].name) + ", " + text(element.index) + ", " +
           mostOf(load.from.length, inRows) + ");");
}

void BodyEmitter::loadMessage(const Load &load) {
  declareCount(load);
  if (inRows) {
    const std::string from = "(" + base(load.from) + ", k, " + countNames.at(load.result) + ")";
    if (isPacket(load.result)) return out.line(declarator(load.result) + " = row.loadFirst" + from + ";");
    return out.line(declareElementsOf(load.result) + " = row.loadFirstElements" + from + ";");
  }
  if (isPacket(load.result)) out.line(declarator(load.result) + " = coll::load<" + shape() + ", Packet>(launch, " + place(load.from) + "); // all there may be");
  else out.line(declareElementsOf(load.result) + " = coll::loadElements<" + shape() + ", Packet>(launch, " + place(load.from) + "); // all there may be");
}

/// Of values with the same count, the last before it has the name.
std::string BodyEmitter::countName(ValueId v) const {
  for (ValueId known = v; known >= 0; --known)
    if (const auto name = countNames.find(known); name != countNames.end() && program.values[known].count == program.values[v].count)
      return name->second;
  return countNames.at(v);
}

std::string BodyEmitter::mostOf(const Length &length, bool rows) const {
  return names.product(rows ? std::vector<std::string>(length.extents.begin(), length.extents.end() - 1) : length.extents);
}

/// The packet of what is read as this value, and how much there may be.
std::string BodyEmitter::placeInMessage(ValueId read) const {
  return (inRows ? "i, row.number" : packetInVector()) + ", " + mostOf(program.values[read].length, inRows);
}

ValueId BodyEmitter::messageRead(const Stmt &stmt) const {
  const auto *poll = std::get_if<Poll>(&stmt.op());
  const auto *read = std::get_if<Read>(&stmt.op());
  const MailboxId box = poll ? poll->box : read ? read->box : MailboxId(kNone);
  return box != MailboxId(kNone) && program.mailboxes[box].counted ? resultOf(stmt) : ValueId(kNone);
}

void BodyEmitter::declareMessage(ValueId read) {
  messageNames[read] = names.names.unique("message");
  out.line("coll::Messages<1> " + Twine(messageNames[read]) + ";");
}

void BodyEmitter::readMessage(ValueId result, MailboxId box, const Index &slot) {
  if (!messageNames.count(result)) declareMessage(result);
  const std::string packet = messageText(result, box, slot);
  if (isPacketType(box)) out.line(declarator(result) + " = " + packet + ";");
  else out.line(declareElementsOf(result) + " = " + received(box, packet) + ";");
}

/// What is read, and from then on how long it is.
std::string BodyEmitter::messageText(ValueId result, MailboxId box, const Index &slot) {
  const std::string &message = messageNames.at(result);
  countNames[result] = message + ".count[0]";
  return "coll::readMessage" + std::string(inRows ? "Row<" : "<") + boxName(box) + ">(launch, " + message +
                             ", " + text(slot) + ", " + placeInMessage(result) + ")";
}

void BodyEmitter::eachMessage(const ForRanks &loop, MailboxId box, ValueId own, ValueId result) {
  const std::string part = isPacketType(box) ? declareName(result) : names.names.unique(nameFor(result));
  if (!isPacketType(box)) computed.set(result, received(box, part), Expressions::Form::Elements);
  const std::string count = countNames[result] = names.names.unique("count");
  const std::string owned = own == kNone ? "" : ", " + countNames.at(own) + ", " + packetFor(box, own);
  out.line("coll::eachMessage" + Twine(inRows ? "Row<" : program.chunks ? "OfChunk<" : "<") + boxName(box) + ">(");
  out.indent(4);
  out.line("launch, " + messageNames.at(result) + ", " + placeInMessage(result) + owned + ",");
  out.open("[&](coll::u32 " + variables.at(loop.variable) + ", coll::u32 " + count + ", const " + packetType(box) + " &" + part + ") {");
  opened = true;
  for (std::size_t s = 1; s < loop.body.size(); ++s)
    if (!std::holds_alternative<Clear>(loop.body[s].op())) inner(loop.body[s]);
  out.close("});");
  out.indent(-4);
}

} // namespace coll::codegen
