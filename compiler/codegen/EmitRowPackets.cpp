#include "codegen/RowsEmitter.h"

#include "ast/Type.h"

namespace coll::codegen {

namespace {

std::string stripped(const std::string &text) { return withoutParentheses(text); }

} // namespace

std::string RowsEmitter::base(const Slice &slice) const {
  if (slice.length.kind == Length::Kind::Piece) return body.base(slice);
  const bool one = slice.length.kind == Length::Kind::Whole;
  const std::string buffer = body.base({slice.buffer, Length{Length::Kind::Whole, {}, {}}, {}, slice.owner});
  return one ? buffer : buffer + " + " + text(slice.index) + " * (" + names.product(slice.length.extents) + ")";
}

bool RowsEmitter::isInline(const Stmt &stmt) const {
  const ValueId v = resultOf(stmt);
  const Value &value = program.values[v];
  if (value.spread == Spread::Everywhere) return true;
  if (widenings.count(v)) return true;
  auto u = uses.find(v);
  return value.name.empty() && (u == uses.end() || u->second.count <= 1) && (value.spread >= Spread::Row || !crosses(v));
}

Expressions::Form RowsEmitter::formOf(const Stmt &stmt) const {
  using Form = Expressions::Form;
  if (const auto *load = std::get_if<Load>(&stmt.op())) return isNarrowType(load->from.buffer) ? Form::Packet : Form::Elements;
  const DType type = program.values[resultOf(stmt)].dtype;
  if (program.values[resultOf(stmt)].spread != Spread::Element && slotOf(stmt)) return Form::Elements;
  if (std::holds_alternative<Reduce>(stmt.op()) || slotOf(stmt)) return type == program.packetType() ? Form::Packet : Form::Elements;
  if (const auto *map = std::get_if<Map>(&stmt.op()))
    return Expressions::makesPacket(program, *map) ? Form::Packet : Form::Elements;
  return Form::Packet;
}

void RowsEmitter::assign(ValueId v, const std::string &expression, Expressions::Form form, const std::string &condition) {
  if (auto array = arrays.find(v); array != arrays.end()) {
    out.line(condition + array->second + "[k] = " + expression + ";");
    return values.set(v, array->second + "[k]", form);
  }
  const std::string name = free.unique(nameFor(v));
  out.line("const " + Twine(form == Expressions::Form::Packet ? "Packet " : "auto ") + name + " = " + expression + ";");
  values.set(v, name, form);
}

void RowsEmitter::packetStatement(const Stmt &stmt, Group::Kind kind) {
  if (auto scatter = scatterOf(program, stmt)) return kind == Group::Loads ? loads(stmt, *scatter) : sends(stmt, *scatter);
  if (Expressions::defines(stmt)) return compute(stmt);
  match(
      stmt, [&](const Load &s) { load(s); }, [&](const Store &s) { store(s); },
      [&](const Reduce &s) { reduce(s, stmt); }, [&](const Poll &s) { readOne(s.result, s.box, s.slot); },
      [&](const Read &s) { readOne(s.result, s.box, s.slot); }, [&](const RowReduce &s) { note(s); },
      [&](const Combine &s) {
        prepare(s.a), prepare(s.b);
        assign(s.result, "coll::combine<" + body.opName(s.op) + ", T>(" + stripped(packet(s.a)) + ", " + stripped(packet(s.b)) + ")",
               Expressions::Form::Packet);
      },
      [&](const auto &) { common(stmt); });
}

void RowsEmitter::common(const Stmt &stmt, const Stmt *otherwise) {
  usesOf(stmt, [&](ValueId v) { prepare(v); });
  if (otherwise) usesOf(*otherwise, [&](ValueId v) { prepare(v); });
  if (otherwise) body.ifElse(stmt, *otherwise);
  else body.inner(stmt);
}

void RowsEmitter::prepare(ValueId v) {
  if (v == kNone || values.has(v)) return;
  auto widening = widenings.find(v);
  if (widening == widenings.end()) return;
  const Map &map = *widening->second;
  prepare(map.a);
  body.known(map.a);
  const std::string wide = values.elements(map.a);
  if (program.values[v].name.empty() || uses[v].count < 2) return values.set(v, wide, Expressions::Form::Elements);
  const std::string name = free.unique(program.values[v].name);
  body.announce(here);
  out.line("const auto " + Twine(name) + " = " + wide + ";");
  values.set(v, name, Expressions::Form::Elements);
}

void RowsEmitter::compute(const Stmt &stmt) {
  const ValueId v = resultOf(stmt);
  if (widenings.count(v)) return;
  if (const auto *map = std::get_if<Map>(&stmt.op()))
    for (ValueId operand : {map->a, map->b}) prepare(operand), body.known(operand);
  values.define(stmt);
  if (isInline(stmt)) return;
  const Expressions::Form form = formOf(stmt);
  assign(v, stripped(form == Expressions::Form::Packet ? values.packet(v) : values.elements(v)), form);
}

void RowsEmitter::load(const Load &s) {
  const bool narrow = isNarrowType(s.from.buffer);
  const std::string function = std::string(s.everyRow ? "loadSame" : "load") + (narrow ? "" : "Elements");
  const Length &length = program.values[s.result].length;
  const bool mayLack = length.isPieceOfRows() && !s.everyRow && !(guard && guard->index == length.index);
  const std::string condition = mayLack ? "if (" + body.reaches(length) + ") " : "";
  if (program.isOfRows(s.result))
    return assign(s.result, std::string("row.loadFirst") + (narrow ? "" : "Elements") + "(" + base(s.from) + ", k, " + body.countName(s.result) + ")",
                  narrow ? Expressions::Form::Packet : Expressions::Form::Elements);
  assign(s.result, "row." + function + "(" + base(s.from) + ", k)",
         narrow ? Expressions::Form::Packet : Expressions::Form::Elements, condition);
}

void RowsEmitter::loadOne(const Load &s) {
  body.announce(s.where);
  assignNumber(s.result, nameFor(s.result), std::string(program.settles(s) ? "row.loadSettled(" : "row.loadOne(") + base(s.from) + ")");
}

void RowsEmitter::assignNumber(ValueId v, const std::string &wanted, const std::string &expression) {
  if (auto declared = outliving.find(v); declared != outliving.end()) {
    out.line(declared->second + " = " + expression + ";");
    return values.set(v, declared->second, Expressions::Form::Elements);
  }
  const std::string name = free.unique(wanted);
  out.line("const " + numberType(v) + " " + Twine(name) + " = " + expression + ";");
  values.set(v, name, Expressions::Form::Elements);
}

void RowsEmitter::store(const Store &s) {
  prepare(s.value);
  body.known(s.value);
  const Value &value = program.values[s.value];
  const std::string to = base(s.to), condition = body.ifHasRow(s.value);
  if (s.perRow) {
    const std::string what = stripped(values.elements(s.value));
    if (value.spread == Spread::Row) return out.line(condition + "row.storeOne(" + to + ", " + what + ");");
    return out.line(condition + "row.template storeGroup<" + Twine(value.group) + ">(" + to + ", k, " + what + ");");
  }
  if (isNarrowType(s.to.buffer)) return out.line(condition + "row.store(" + to + ", k, " + stripped(values.packet(s.value)) + ");");
  out.line(condition + "row." + values.storeOf(s.value) + "(" + to + ", k, " + stripped(values.elements(s.value)) + ");");
}

std::string RowsEmitter::loadFor(const Stmt &stmt, const Scatter &s, const std::string &rank) const {
  Slice from = s.load->from;
  from.index = from.index.substitute(std::get<ForRanks>(stmt.op()).variable, Index::variable(rank));
  return "row.load(" + base(from) + ", k)";
}

std::string RowsEmitter::conditionFor(const Stmt &stmt, const Scatter &s, const std::string &rank) const {
  Length length = program.values[s.send->value].length;
  const std::string &variable = std::get<ForRanks>(stmt.op()).variable;
  if (!length.isPieceOfRows() || !length.index.uses(variable)) return "";
  length.index = length.index.substitute(variable, Index::variable(rank));
  return "if (" + body.reaches(length) + ") ";
}

void RowsEmitter::eachHop(const Stmt &stmt, const Scatter &s, int first, llvm::function_ref<std::string(const std::string &)> line) {
  out.directive("#pragma unroll");
  const std::string head = "for (int hop = " + std::to_string(first) + "; hop < N; ++hop) ";
  if (conditionFor(stmt, s, kRankAtHop).empty()) return out.line(head + line(kRankAtHop));
  const std::string &rank = body.variables.at(std::get<ForRanks>(stmt.op()).variable);
  out.open(head + "{");
  out.line("const coll::u32 " + Twine(rank) + " = " + kRankAtHop + ";");
  out.line(conditionFor(stmt, s, rank) + line(rank));
  out.close("}");
}

void RowsEmitter::loads(const Stmt &stmt, const Scatter &s) {
  const std::string array = arrays.at(s.load->result) + "[k]";
  if (!loadsFirst()) return out.line(conditionFor(stmt, s, "me") + array + " = " + loadFor(stmt, s, "me") + "; // this rank's own");
  eachHop(stmt, s, 0, [&](const std::string &rank) { return array + "[hop] = " + loadFor(stmt, s, rank) + ";"; });
}

void RowsEmitter::sends(const Stmt &stmt, const Scatter &s) {
  if (!s.load) prepare(s.send->value);
  const MailboxId box = s.send->box;
  const auto what = [&](const std::string &rank) {
    return !s.load        ? packetFor(box, s.send->value)
           : loadsFirst() ? arrays.at(s.load->result) + "[k][hop]"
                          : loadFor(stmt, s, rank);
  };
  const bool keeps = s.send->own != kNone;
  if (s.send->multicast)
    out.line("coll::" + Twine(program.linesOf(program.mailboxes[box]) > 1 ? "sendLines" : "send") + (keeps ? "ToOthers<" : "ToAll<") + body.boxName(box) + ">(launch, a." +
             names.regionsOfAll + ", " + text(s.send->slot) + ", i, " + what(kRankAtHop) + ");");
  else
    eachHop(stmt, s, keeps ? 1 : 0, [&](const std::string &rank) {
      return body.boxName(box) + "::send(launch, hop, " + text(s.send->slot) + ", i, " + what(rank) + ");";
    });
  if (keeps && !body.isPacketType(box)) values.set(s.send->own, values.elements(s.send->value), Expressions::Form::Elements);
  else if (keeps)
    values.set(s.send->own, s.load ? arrays.at(s.load->result) + (loadsFirst() ? "[k][0]" : "[k]") : what(kRankAtHop),
               Expressions::Form::Packet);
}

void RowsEmitter::reduce(const Reduce &s, const Stmt &stmt) {
  const Stmt &from = s.body.front();
  if (const auto *load = std::get_if<Load>(&from.op())) {
    if (s.multicast)
      return assign(s.result, "coll::reduceAll<Shape, " + body.opName(s.op) + ", Packet>(launch, " + body.placeOfAll(load->from) + ")",
                    formOf(stmt));
    return reduceRanks(s, "row.load(" + base(load->from) + ", k)", stmt, kNone);
  }
  const auto *poll = std::get_if<Poll>(&from.op());
  const MailboxId box = poll ? poll->box : std::get<Read>(from.op()).box;
  if (const Index &slot = *slotOf(from); !slot.isVariable(s.variable))
    return reduceRanks(s, "coll::readSlot<" + body.boxName(box) + ">(launch, " + text(slot) + ", i)", stmt, box);
  const ValueId own = poll ? poll->own : std::get<Read>(from.op()).own;
  const Expressions::Form form = formOf(stmt);
  const bool wide = program.values[s.result].dtype != program.mailboxes[box].dtype;
  const std::string sum = std::string("coll::reduceSlots") + (wide ? "Wide<" : "<") + body.opName(s.op) + ", " + body.typeOf(box) +
                          ", " + body.boxName(box) + ">(launch, i" + (own == kNone ? "" : ", " + packetFor(box, own)) + ")";
  const std::string call = wide ? sum : body.received(box, sum);
  auto u = uses.find(s.result);
  if (!arrays.count(s.result) && (u == uses.end() || u->second.count <= 1)) return values.set(s.result, call, form);
  assign(s.result, call, form);
}

void RowsEmitter::reduceRanks(const Reduce &s, const std::string &part, const Stmt &stmt, MailboxId box) {
  const bool ofPackets = box == kNone || body.isPacketType(box);
  const bool wide = program.values[s.result].dtype != (box == kNone ? program.packetType() : program.mailboxes[box].dtype);
  const std::string sum = std::string("coll::reduceRanks") + (wide ? "Wide<" : "<") + body.opName(s.op) +
                          (ofPackets ? ", T, Packet" : ", " + body.typeOf(box) + ", " + body.packetType(box)) +
                          ", N>([&](coll::u32 " + body.variables.at(s.variable) + ") { return " + part + "; })";
  assign(s.result, wide || ofPackets ? sum : body.received(box, sum), formOf(stmt));
}

void RowsEmitter::readOne(ValueId result, MailboxId box, const Index &slot) {
  if (program.mailboxes[box].spread != Spread::Element) return assign(result, body.readNumberText(result, box, slot), Expressions::Form::Elements);
  const std::string read = program.mailboxes[box].counted ? body.messageText(result, box, slot)
                                                          : "coll::readSlot<" + body.boxName(box) + ">(launch, " + text(slot) + ", i)";
  assign(result, body.received(box, read), body.isPacketType(box) ? Expressions::Form::Packet : Expressions::Form::Elements);
}

void RowsEmitter::note(const RowReduce &s) {
  prepare(s.value);
  body.known(s.value);
  out.line((s.group && inLines() ? "" : arrays.at(s.result) + "[k] = ") + "row." + (s.op == RowOp::Max ? "maxOf(k, " : "sumOf(k, ") +
           stripped(values.elements(s.value)) + ");");
}

void RowsEmitter::meet(const RowReduce &s) {
  const std::string &parts = arrays.at(s.result);
  out.from(lineOf(program, s.where));
  if (s.group) {
    out.line("row.template maxOfGroups<" + Twine(s.group) + ">(" + parts + ");");
    return values.set(s.result, inLines() ? parts + "[k]" : "coll::Number{" + parts + "[k]}", Expressions::Form::Elements);
  }
  static constexpr const char *functions[] = {"sum", "mean", "max"};
  const std::string function = functions[int(s.op)];
  const std::string &author = program.values[s.result].name;
  assignNumber(s.result, author.empty() ? function == "max" ? "largest" : function : author, "row." + function + "(" + parts + ")");
}

std::string RowsEmitter::numberType(ValueId v) const {
  const DType type = ast::accumulatorOf(program.values[v].dtype);
  return type == DType::F32 ? "coll::Number" : "coll::NumberOf<" + std::string(cudaName(type)) + ">";
}

void RowsEmitter::numbers(const std::vector<const Stmt *> &work) {
  for (const Stmt *stmt : work) {
    if (const auto *s = std::get_if<Store>(&stmt->op())) {
      body.announce(s->where);
      store(*s);
      continue;
    }
    if (const auto *s = std::get_if<Assign>(&stmt->op())) {
      body.announce(s->where);
      out.line(values.text(s->variable) + " = " + stripped(values.elements(s->value)) + ";");
      continue;
    }
    if (const auto *s = std::get_if<Load>(&stmt->op())) {
      loadOne(*s);
      continue;
    }
    if (isOfNumbers(*stmt)) {
      numberOfRank(*stmt);
      continue;
    }
    values.define(*stmt);
    const ValueId v = resultOf(*stmt);
    if (isSameNumber(*stmt) && !outliving.count(v)) continue;
    if (program.values[v].spread == Spread::Everywhere || (usedByNumbersAlone(v) && !outliving.count(v))) continue;
    out.from(lineOf(program, BodyEmitter::whereOf(*stmt)));
    assignNumber(v, program.values[v].name.empty() ? "scale" : program.values[v].name, stripped(values.elements(v)));
  }
}

/// What all threads of the row wait for, or the first of them sends.
void RowsEmitter::numberOfRank(const Stmt &stmt) {
  body.announce(BodyEmitter::whereOf(stmt));
  match(
      stmt, [&](const Send &s) { out.line(body.sendNumberText(s, body.hop(s.peer))); },
      [&](const Poll &s) { assignNumber(s.result, nameFor(s.result), body.readNumberText(s.result, s.box, s.slot)); },
      [&](const Read &s) { assignNumber(s.result, nameFor(s.result), body.readNumberText(s.result, s.box, s.slot)); },
      [](const auto &) { std::abort(); });
}

bool RowsEmitter::isSameNumber(const Stmt &stmt) const {
  const auto *map = std::get_if<Map>(&stmt.op());
  return map && map->function == Function::Convert && program.values[map->result].dtype == ast::accumulatorOf(program.values[map->a].dtype);
}

bool RowsEmitter::usedByNumbersAlone(ValueId v) const {
  auto u = uses.find(v);
  return u == uses.end() || (u->second.count <= 1 && program.values[v].name.empty() &&
                             llvm::all_of(u->second.groups, [&](std::size_t g) { return kinds[g] == Group::Numbers; }));
}

} // namespace coll::codegen
