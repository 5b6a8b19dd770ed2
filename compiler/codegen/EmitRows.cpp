#include "codegen/EmitRows.h"

#include "codegen/RowsEmitter.h"

#include "ast/Type.h"

#include <utility>

namespace coll::codegen {

std::optional<Scatter> scatterOf(const Program &program, const Stmt &stmt) {
  const auto *loop = std::get_if<ForRanks>(&stmt.op());
  if (!loop) return std::nullopt;
  Scatter s;
  for (const Stmt &inner : loop->body) {
    const auto *load = std::get_if<Load>(&inner.op());
    const auto *send = std::get_if<Send>(&inner.op());
    if (load && !s.load && !s.send) s.load = load;
    else if (send && !s.send) s.send = send;
    else return std::nullopt;
  }
  if (!s.send || program.mailboxes[s.send->box].counted || program.mailboxes[s.send->box].spread != Spread::Element || !s.send->peer.isVariable(loop->variable) || s.send->slot.uses(loop->variable) ||
      (s.load && (s.send->value != s.load->result || s.load->everyRow || s.load->from.owner)))
    return std::nullopt;
  return s;
}

void RowsEmitter::run(const PacketLoop &loop) {
  bool messages = false;
  walk(loop.body, [&](const Stmt &s) {
    const auto *send = std::get_if<Send>(&s.op());
    messages |= (resultOf(s) != kNone && program.isOfRows(resultOf(s))) || (send && program.mailboxes[send->box].counted);
  });
  body.inRows = true, body.slotPacket = "i";
  if (messages) body.declareMessages(loop);
  const unsigned line = std::exchange(body.lastLine, 0);
  body.opened = false;
  std::vector<std::string> rows = loop.domain.extents;
  const std::string length = rows.back();
  rows.pop_back();
  const std::string count = loop.domain.isPieceOfRows() ? body.piecesOf(loop.domain) + ".rows" : names.product(rows);
  const bool mayBeEmpty = program.domains().size() > 1; // where another vector has elements
  out.open("coll::forRows" + std::string(messages ? "OfMessages" : "") + "<Shape, Packet>(launch, " + (mayBeEmpty && !messages ? names.product({length}) + " ? " + count + " : 0" : count) + ", " +
           names.product({length}) + ", [&](const auto &row) {");
  Groups groups;
  kept = body.keptIn(loop);
  group(loop.body, groups);
  countUses(groups);
  kinds.push_back(Group::Packets); // the last: what is kept
  for (ValueId v : kept.made) use(v, kinds.size() - 1);
  declareVariables(groups);
  declareOutliving(groups);
  declareOwn(groups);
  takeKept();
  emit(groups);
  putKept();
  out.close("});");
  body.lastLine = line, body.inRows = false;
}

// ---- Groups ----

Spread RowsEmitter::spreadOf(const Stmt &stmt) const {
  if (const auto *store = std::get_if<Store>(&stmt.op()))
    return store->perRow ? program.values[store->value].spread : Spread::Element;
  const ValueId v = resultOf(stmt);
  return v == kNone ? Spread::Element : program.values[v].spread;
}

RowsEmitter::Group::Kind RowsEmitter::kindOf(const Stmt &stmt) const {
  if (const auto *load = std::get_if<Load>(&stmt.op())) return load->perRow ? Group::Numbers : Group::Loads;
  if (isOfNumbers(stmt)) return Group::Numbers;
  bool sends = false;
  BodyEmitter::each(stmt, [&](const Stmt &s) {
    sends |= std::holds_alternative<Send>(s.op()) || std::holds_alternative<AwaitCredit>(s.op());
  });
  if (sends) return Group::Sends;
  if (std::holds_alternative<RowReduce>(stmt.op())) return Group::Packets;
  return spreadOf(stmt) >= Spread::Row ? Group::Numbers : Group::Packets;
}

bool RowsEmitter::isOfNumbers(const Stmt &stmt) const {
  const auto *send = std::get_if<Send>(&stmt.op());
  if (send) return program.mailboxes[send->box].spread == Spread::Row;
  return slotOf(stmt) && program.values[resultOf(stmt)].spread == Spread::Row;
}

bool RowsEmitter::meets(const Stmt &stmt) const {
  bool found = false;
  if (const Block *inner = bodyOf(stmt))
    walk(*inner, [&](const Stmt &s) {
      const auto *store = std::get_if<Store>(&s.op());
      const auto *set = std::get_if<Assign>(&s.op());
      const auto *load = std::get_if<Load>(&s.op());
      found |= (load && program.settles(*load)) || std::holds_alternative<RowReduce>(s.op()) || isOfNumbers(s) || (store && store->perRow && program.values[store->value].spread == Spread::Row) ||
               (set && program.values[set->variable].spread == Spread::Row);
    });
  return found;
}

RowsEmitter::Group &RowsEmitter::begin(Groups &groups, Group::Kind kind) {
  groups.push_back({kind, kinds.size(), {}});
  kinds.push_back(kind);
  return groups.back();
}

void RowsEmitter::add(Groups &groups, Group::Kind kind, const Stmt &stmt) {
  if (groups.empty() || groups.back().kind != kind || std::holds_alternative<RowReduce>(groups.back().stmts.back()->op()))
    begin(groups, kind);
  groups.back().stmts.push_back(&stmt);
}

void RowsEmitter::group(const Block &stmts, Groups &groups) {
  const auto anywhere = [&](const Stmt &s) { // what no piece has anything to do with
    return Expressions::defines(s) && (spreadOf(s) == Spread::Everywhere || program.values[resultOf(s)].everyRow);
  };
  for (std::size_t at = 0; at < stmts.size();) {
    const auto *load = std::get_if<Load>(&stmts[at].op());
    const Length *piece = (load && !load->perRow) || anywhere(stmts[at]) ? nullptr : body.guardedBy(stmts[at]);
    if (!piece) {
      group(stmts[at++], groups);
      continue;
    }
    Groups inner;
    std::vector<const Stmt *> all;
    for (; at < stmts.size(); ++at) {
      const Length *next = body.guardedBy(stmts[at]);
      if (!anywhere(stmts[at]) && !(next && body.reaches(*next) == body.reaches(*piece))) break;
      all.push_back(&stmts[at]);
      group(stmts[at], inner);
    }
    Group &under = begin(groups, Group::Guarded);
    under.stmts = std::move(all), under.inner = std::move(inner);
  }
}

void RowsEmitter::group(const Stmt &stmt, Groups &groups) {
  if (std::holds_alternative<Clear>(stmt.op())) return; // what receives clears
  // Numbers are no part of a group: they may stand before it.
  if (Expressions::defines(stmt) && spreadOf(stmt) == Spread::Everywhere)
    return add(groups, groups.empty() || groups.back().kind >= Group::Around ? Group::Numbers : groups.back().kind, stmt);
  if (meets(stmt)) {
    Groups inner;
    if (const auto *loop = std::get_if<For>(&stmt.op())) body.scope.loops[body.variables.at(loop->variable)] = {loop->first.value(), loop->last.value()};
    group(*bodyOf(stmt), inner);
    if (const auto *loop = std::get_if<For>(&stmt.op())) body.scope.loops.erase(body.variables.at(loop->variable));
    Group &around = begin(groups, Group::Around);
    around.stmts.push_back(&stmt), around.inner = std::move(inner);
    return;
  }
  if (auto scatter = scatterOf(program, stmt); scatter && scatter->load) add(groups, Group::Loads, stmt);
  add(groups, kindOf(stmt), stmt);
}

bool RowsEmitter::isWidening(const Program &program, const Map &map) {
  const DType from = program.values[map.a].dtype;
  return map.function == Function::Convert && program.values[map.result].dtype == DType::F32 &&
         ast::accumulatorOf(from) == DType::F32 && program.values[map.a].spread == Spread::Element;
}

void RowsEmitter::use(ValueId v, std::size_t g) {
  if (v == kNone) return;
  Use &u = uses[v];
  u.groups.insert(g), ++u.count;
  if (auto kept = keptOf.find(v); kept != keptOf.end()) return use(kept->second, g);
  if (auto widening = widenings.find(v); widening != widenings.end()) use(widening->second->a, g);
}

void RowsEmitter::countUses(const Groups &groups) {
  for (const Group &group : groups) {
    if (group.kind >= Group::Around) countUses(group.inner);
    else for (const Stmt *stmt : group.stmts) countUses(*stmt, group);
  }
}

void RowsEmitter::countUses(const Stmt &stmt, const Group &group) {
  if (auto scatter = scatterOf(program, stmt)) {
    if (scatter->send->own != kNone) keptOf[scatter->send->own] = scatter->send->value;
    if (scatter->load) definedIn[scatter->load->result] = 0;
    else if (group.kind == Group::Sends) use(scatter->send->value, group.number);
    return;
  }
  BodyEmitter::each(stmt, [&](const Stmt &s) {
    if (const auto *send = std::get_if<Send>(&s.op()); send && send->own != kNone) keptOf[send->own] = send->value;
    if (const auto *set = std::get_if<Assign>(&s.op())) use(set->variable, group.number);
  });
  if (const ValueId v = resultOf(stmt); v != kNone) definedIn[v] = group.number;
  const auto *map = std::get_if<Map>(&stmt.op());
  if (map && isWidening(program, *map)) widenings[map->result] = map;
  else usesOf(stmt, [&](ValueId v) { use(v, group.number); });
}

bool RowsEmitter::crosses(ValueId v) const {
  auto u = uses.find(v);
  if (u == uses.end()) return false;
  const std::size_t g = definedIn.at(v);
  return llvm::any_of(u->second.groups, [&](std::size_t other) { return other != g; });
}

// ---- What lives from one group to another ----

/// A variable that several groups know has its place before all of them: some may be within a loop or condition.
void RowsEmitter::declareVariables(const Groups &groups) {
  std::set<ValueId> variables;
  for (const Group &group : groups)
    for (const Stmt *stmt : group.stmts)
      BodyEmitter::each(*stmt, [&](const Stmt &s) {
        if (const auto *set = std::get_if<Assign>(&s.op()); set && (uses[set->variable].groups.size() > 1 || program.values[set->variable].spread == Spread::Row)) variables.insert(set->variable);
      });
  for (ValueId v : variables)
    if (!kept.taken.count(v)) declareForAll(v, program.keepsPackets(program.values[v]));
}

void RowsEmitter::numbersIn(const Group &group, std::set<std::size_t> &numbers) {
  numbers.insert(group.number);
  for (const Group &inner : group.inner) numbersIn(inner, numbers);
}

void RowsEmitter::declareOutliving(const Groups &groups) {
  for (const Group &group : groups) {
    declareOutliving(group.inner);
    if (group.kind != Group::Guarded) continue;
    std::set<std::size_t> inside;
    numbersIn(group, inside);
    for (const Stmt *stmt : group.stmts) {
      const ValueId v = resultOf(*stmt);
      if (v == kNone || program.values[v].spread == Spread::Everywhere || arrays.count(v) || values.has(v)) continue;
      if (llvm::all_of(uses[v].groups, [&](std::size_t g) { return inside.count(g); })) continue;
      const auto *reduce = std::get_if<RowReduce>(&stmt->op());
      if (program.values[v].spread == Spread::Row)
        out.line(numberType(v) + " " + Twine(outliving[v] = free.unique(nameFor(v))) + " = {};");
      else if (reduce)
        declareParts(*reduce);
      else if (!std::holds_alternative<Send>(stmt->op()))
        declareForAll(v, formOf(*stmt) == Expressions::Form::Packet);
    }
  }
}

void RowsEmitter::declareOwn(const Groups &groups) {
  for (const Group &group : groups) {
    declareOwn(group.inner);
    if (group.kind >= Group::Around) continue;
    for (const Stmt *stmt : group.stmts) {
      const auto *loop = std::get_if<ForRanks>(&stmt->op());
      if (!loop || scatterOf(program, *stmt) || body.goesToOthers(*loop)) continue;
      for (const Stmt &s : loop->body)
        if (const auto *send = std::get_if<Send>(&s.op()); send && send->own != kNone && program.isKept(send->own) && !arrays.count(send->own))
          if (llvm::any_of(uses[send->own].groups, [&](std::size_t g) { return g != group.number; }))
            declareForAll(send->own, program.keepsPackets(program.values[send->own]));
    }
  }
}

void RowsEmitter::declareForAll(ValueId v, bool packet) {
  if (program.values[v].spread == Spread::Row) {
    const std::string name = free.unique(nameFor(v));
    out.line(numberType(v) + " " + name + " = {};");
    return values.set(v, name, Expressions::Form::Elements);
  }
  const std::string name = free.unique(nameFor(v)), here = name + "[k]";
  out.line((packet ? "Packet" : values.typeOf(v, elementsOf(v))) + " " + name +
           "[Shape::kPackets];");
  arrays[v] = name;
  if (packet) body.valueNames[v] = here;
  else body.declaredElements[v] = here;
  values.set(v, here, packet ? Expressions::Form::Packet : Expressions::Form::Elements);
}

void RowsEmitter::takeKept() {
  std::vector<std::string> lines;
  for (ValueId v : kept.taken) {
    const Value &value = program.values[v];
    const std::string &from = names.kept.at(v);
    if (value.spread == Spread::Row) {
      const std::string name = free.unique(nameFor(v));
      out.line((value.variable ? "" : "const ") + numberType(v) + " " + name + " = " + from + "::getOfRow(launch, row);");
      values.set(v, name, Expressions::Form::Elements);
      continue;
    }
    declareForAll(v, program.keepsPackets(value));
    lines.push_back(arrays.at(v) + "[k] = " + from +
                    (program.keepsPackets(value)        ? "::get<Packet>"
                                                  : std::string("::get<") + elementsOf(v) + ">") +
                    "(launch, i);");
  }
  if (lines.empty()) return;
  out.open("row.each([&](coll::u32 k, coll::u32 i) {");
  for (const std::string &line : lines) out.line(line);
  out.close("});");
}

void RowsEmitter::putKept() {
  std::vector<ValueId> packets;
  for (ValueId v : kept.made)
    if (program.values[v].spread != Spread::Row) packets.push_back(v);
    else out.line(names.kept.at(v) + "::putOfRow(launch, row, " + withoutParentheses(values.elements(v)) + ");");
  if (packets.empty()) return;
  out.open("row.each([&](coll::u32 k, coll::u32 i) {");
  for (ValueId v : packets) {
    prepare(v);
    body.known(v);
    out.line(names.kept.at(v) + "::put(launch, i, " +
             withoutParentheses(program.keepsPackets(program.values[v]) ? values.packet(v) : values.elements(v)) + ");");
  }
  out.close("});");
}

void RowsEmitter::declareArrays(const std::vector<const Stmt *> &work) {
  std::string packets;
  const auto declare = [&](ValueId v, const std::string &wanted, const std::string &dimensions) {
    packets += (packets.empty() ? "Packet " : ", ") + (arrays[v] = free.unique(wanted)) + dimensions;
  };
  for (const Stmt *stmt : work) {
    if (auto scatter = scatterOf(program, *stmt); scatter && scatter->load) {
      if (!arrays.count(scatter->load->result))
        declare(scatter->load->result, program.values[scatter->load->result].name,
                loadsFirst() ? "[Shape::kPackets][N]" : "[Shape::kPackets]");
      continue;
    }
    const ValueId v = resultOf(*stmt);
    if (v == kNone || std::holds_alternative<Send>(stmt->op()) || std::holds_alternative<Assign>(stmt->op()) ||
        std::holds_alternative<RowReduce>(stmt->op()) || widenings.count(v))
      continue;
    if (!std::holds_alternative<Load>(stmt->op()) && !crosses(v)) continue;
    if (program.values[v].spread >= Spread::Row || arrays.count(v)) continue;
    if (formOf(*stmt) == Expressions::Form::Packet) {
      declare(v, nameFor(v), "[Shape::kPackets]");
    } else {
      arrays[v] = free.unique(nameFor(v));
      out.line(values.typeOf(v, elementsOf(v)) + " " + arrays[v] +
               "[Shape::kPackets];");
    }
  }
  if (!packets.empty()) out.line(packets + ";");
  if (const auto *reduce = std::get_if<RowReduce>(&work.back()->op()); reduce && !arrays.count(reduce->result)) declareParts(*reduce);
}

/// A packet in lines is of pieces of several groups.
const char *RowsEmitter::elementsOf(ValueId v) const {
  return program.values[v].spread == Spread::Group && !inLines() ? "1" : "Packet::kElements";
}

/// Whether reductions in lines take each other's words.
bool RowsEmitter::sharesWords() const {
  bool groups = false, isLong = false, isShort = false;
  walk(program.body, [&](const Stmt &stmt) {
    const auto *reduce = std::get_if<RowReduce>(&stmt.op());
    if (!reduce) return;
    groups |= reduce->group != 0;
    (sizeOf(program.values[reduce->value].dtype) > 4 ? isLong : isShort) = true;
  });
  return inLines() && (groups || (isLong && isShort));
}

void RowsEmitter::declareParts(const RowReduce &s) {
  arrays[s.result] = free.unique(s.op == RowOp::Max ? "most" : "sums");
  if (s.group && inLines()) return out.line("coll::Floats<Packet::kElements> " + Twine(arrays[s.result]) + "[Shape::kPackets]; // of each group");
  out.line(Twine(std::string(cudaName(program.values[s.result].dtype))) + " " + arrays[s.result] + "[Shape::kPackets]; // of each packet");
}

// ---- One group ----

void RowsEmitter::emit(const Groups &groups) {
  const auto outer = body.constants;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const bool either = g + 1 < groups.size() && groups[g].kind == Group::Around && groups[g + 1].kind == Group::Around &&
                        BodyEmitter::isElse(*groups[g].stmts.front(), *groups[g + 1].stmts.front());
    if (groups[g].kind == Group::Around) around(groups[g], either ? &groups[g + 1] : nullptr);
    else if (groups[g].kind == Group::Guarded) guarded(groups[g]);
    else emit(groups[g]);
    if (either) ++g; // written with the one before
  }
  body.constants = outer;
}

/// All threads read the epoch, before any does what only some do.
void RowsEmitter::readEpoch(const Group &group) {
  bool exchanges = group.kind == Group::Sends;
  if (group.kind != Group::Loads)
    for (const Stmt *stmt : group.stmts)
      BodyEmitter::each(*stmt, [&](const Stmt &s) { exchanges |= std::holds_alternative<Send>(s.op()) || std::holds_alternative<AwaitCredit>(s.op()) || slotOf(s); });
  if (exchanges && !std::exchange(body.begun, true)) out.line("launch.begin();");
}

void RowsEmitter::guarded(const Group &group) {
  const Stmt &first = *group.stmts.front();
  body.announce(BodyEmitter::whereOf(first));
  readEpoch(group);
  if (!std::holds_alternative<ForRanks>(first.op())) body.namePiece(first);
  const Length *before = std::exchange(guard, body.guardedBy(first));
  out.open("if (" + Twine(body.reaches(*guard)) + ") {");
  body.opened = true;
  emit(group.inner);
  out.close("}");
  guard = before;
}

void RowsEmitter::around(const Group &group, const Group *otherwise) {
  const Stmt &stmt = *group.stmts.front();
  body.announce(BodyEmitter::whereOf(stmt));
  readEpoch(group);
  if (otherwise) readEpoch(*otherwise);
  const auto *loop = std::get_if<For>(&stmt.op());
  if (loop) out.directive("#pragma unroll 1"), body.openFor(*loop);
  else out.open("if (" + Twine(body.condition(std::get<If>(stmt.op()).condition)) + ") {");
  body.opened = true;
  emit(group.inner);
  if (otherwise) {
    out.close("} else {");
    out.indent(2);
    body.opened = true;
    emit(otherwise->inner);
  }
  if (loop) body.closeFor(*loop);
  else out.close("}");
}

void RowsEmitter::emit(const Group &group) {
  const std::vector<const Stmt *> &work = group.stmts;
  if (group.kind == Group::Numbers) return readEpoch(group), declareCounts(group), numbers(work);
  // What is only written into other expressions makes no text of its own.
  if (llvm::all_of(work, [&](const Stmt *s) { return Expressions::defines(*s) && isInline(*s); })) {
    for (const Stmt *stmt : work) values.define(*stmt);
    return;
  }
  body.announce(BodyEmitter::whereOf(*work.front()));
  readEpoch(group);
  declareArrays(work);
  declareCounts(group);
  if (std::holds_alternative<RowReduce>(work.back()->op()) && sharesWords()) out.line("row.freeWords(); // all have read what they held");
  // Nothing is computed from one packet to the next, so numbers may be written before or inside.
  out.open(Twine("row.each([&](coll::u32 k, coll::u32") + (usesPlace(group) ? " i" : "") + ") {");
  body.opened = true;
  for (std::size_t s = 0; s < work.size(); ++s) {
    const Stmt &stmt = *work[s];
    here = BodyEmitter::whereOf(stmt);
    if (group.kind != Group::Loads && !(Expressions::defines(stmt) && isInline(stmt))) body.announce(here);
    if (s + 1 < work.size() && BodyEmitter::isElse(stmt, *work[s + 1])) common(stmt, work[++s]);
    else packetStatement(stmt, group.kind);
  }
  out.close("});");
  body.opened = false;
  if (const auto *reduce = std::get_if<RowReduce>(&work.back()->op())) meet(*reduce);
  for (auto &[result, map] : widenings) // made anew in each group
    if (values.has(result)) values.forget(result);
}

bool RowsEmitter::usesPlace(const Group &group) {
  bool uses = group.kind == Group::Sends;
  for (const Stmt *stmt : group.stmts)
    BodyEmitter::each(*stmt, [&](const Stmt &s) { uses |= slotOf(s) != nullptr || std::holds_alternative<StoreCount>(s.op()); });
  return uses;
}

void RowsEmitter::declareCounts(const Group &group) {
  for (const Stmt *stmt : group.stmts) {
    const auto *load = std::get_if<Load>(&stmt->op());
    if (load && program.isOfRows(load->result)) body.declareCount(*load);
    if (const ValueId v = body.messageRead(*stmt); v != kNone && !body.messageNames.count(v)) body.declareMessage(v);
  }
}

void emitRows(BodyEmitter &body, const PacketLoop &loop) { RowsEmitter(body).run(loop); }

} // namespace coll::codegen
