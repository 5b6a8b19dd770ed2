#include "codegen/EmitRows.h"

#include "ast/Type.h"
#include "codegen/EmitIndex.h"
#include "codegen/Expressions.h"

#include <set>

namespace coll::codegen {

using namespace ir;
using llvm::Twine;

namespace {

/// `forall p in ranks: e -> p.box[me]`, where e may be loaded in the loop: to each rank another.
struct Scatter {
  const Load *load = nullptr;
  const Send *send = nullptr;
};

std::optional<Scatter> scatterOf(const Stmt &stmt) {
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
  if (!s.send || !s.send->peer.isVariable(loop->variable) || s.send->slot.uses(loop->variable) ||
      (s.load && (s.send->value != s.load->result || s.load->everyRow)))
    return std::nullopt;
  return s;
}

/// What a reduction or read takes from the mailbox.
struct Received {
  MailboxId box;
  ValueId own;
};
Received receivedBy(const Stmt &stmt) {
  if (const auto *poll = std::get_if<Poll>(&stmt.op())) return {poll->box, poll->own};
  const Read &read = std::get<Read>(stmt.op());
  return {read.box, read.own};
}

SourceOffset whereOf(const Stmt &stmt) {
  return match(stmt, [](const auto &s) -> SourceOffset { return s.where; });
}

class RowsEmitter {
public:
  RowsEmitter(const Program &p, const BodyNames &n, Names &f, const std::map<std::string, std::string> &v, CodeWriter &o)
      : program(p), names(n), free(f), variables(v), out(o), values(p, n, [this](const Index &index) { return text(index); }) {}

  void run(const PacketLoop &loop) {
    std::vector<std::string> rows = loop.domain.extents;
    const std::string length = rows.back();
    rows.pop_back();
    out.open("coll::forRows<Shape, Packet>(launch, " + names.product(rows) + ", " + names.product({length}) + ", [&](const auto &row) {");
    group(loop.body);
    countUses();
    for (std::size_t g = 0; g < groups.size(); ++g) emit(g);
    out.close("});");
  }

private:
  /// Statements that a thread does for one of its packets after the other, or once for all.
  struct Group {
    enum Kind { Loads, Sends, Packets, Numbers } kind;
    std::vector<const Stmt *> stmts;
  };
  struct Use {
    std::set<std::size_t> groups;
    unsigned count = 0;
  };

  const Program &program;
  const BodyNames &names;
  Names &free;
  const std::map<std::string, std::string> &variables;
  CodeWriter &out;
  Expressions values;
  std::vector<Group> groups;
  std::map<ValueId, std::size_t> definedIn;
  std::map<ValueId, Use> uses;
  std::map<ValueId, ValueId> keptOf; ///< the value that a rank's own slot keeps
  std::map<ValueId, const Map *> widenings;
  std::map<ValueId, std::string> arrays; ///< what lives from one group to another
  unsigned lastLine = 0;
  SourceOffset here = 0; ///< of the statement that is being written
  bool begun = false;
  static constexpr int kMaxUnits = 16; ///< of 16 bytes that a thread may load before it sends the first
  static constexpr const char *kRankAtHop = "coll::rankAt<N>(me, hop)";

  // ---- Groups ----

  Spread spreadOf(const Stmt &stmt) const {
    if (const auto *store = std::get_if<Store>(&stmt.op()))
      return store->perRow ? program.values[store->value].spread : Spread::Element;
    const ValueId v = resultOf(stmt);
    return v == kNone ? Spread::Element : program.values[v].spread;
  }

  Group::Kind kindOf(const Stmt &stmt) const {
    if (std::holds_alternative<Load>(stmt.op())) return Group::Loads;
    if (std::holds_alternative<ForRanks>(stmt.op())) return Group::Sends;
    if (std::holds_alternative<RowReduce>(stmt.op())) return Group::Packets;
    return spreadOf(stmt) >= Spread::Row ? Group::Numbers : Group::Packets;
  }

  void add(Group::Kind kind, const Stmt &stmt) {
    if (groups.empty() || groups.back().kind != kind || std::holds_alternative<RowReduce>(groups.back().stmts.back()->op()))
      groups.push_back({kind, {}});
    groups.back().stmts.push_back(&stmt);
  }

  void group(const Block &body) {
    for (const Stmt &stmt : body) {
      if (std::holds_alternative<Clear>(stmt.op())) continue; // what receives clears
      // Numbers are no part of a group: they may stand before it.
      if (Expressions::defines(stmt) && spreadOf(stmt) == Spread::Everywhere) {
        add(groups.empty() ? Group::Numbers : groups.back().kind, stmt);
        continue;
      }
      if (auto scatter = scatterOf(stmt); scatter && scatter->load) add(Group::Loads, stmt);
      add(kindOf(stmt), stmt);
    }
  }

  /// A narrow value is widened where it is used: it takes less room as it is.
  static bool isWidening(const Program &program, const Map &map) {
    const DType from = program.values[map.a].dtype;
    return map.function == Function::Convert && program.values[map.result].dtype == DType::F32 &&
           ast::accumulatorOf(from) == DType::F32 && program.values[map.a].spread == Spread::Element;
  }

  void use(ValueId v, std::size_t g) {
    if (v == kNone) return;
    Use &u = uses[v];
    u.groups.insert(g), ++u.count;
    if (auto kept = keptOf.find(v); kept != keptOf.end()) return use(kept->second, g);
    if (auto widening = widenings.find(v); widening != widenings.end()) use(widening->second->a, g);
  }

  void countUses() {
    for (std::size_t g = 0; g < groups.size(); ++g)
      for (const Stmt *stmt : groups[g].stmts) {
        if (auto scatter = scatterOf(*stmt)) {
          if (scatter->send->own != kNone) keptOf[scatter->send->own] = scatter->send->value;
          if (scatter->load) definedIn[scatter->load->result] = 0;
          else if (groups[g].kind == Group::Sends) use(scatter->send->value, g);
          continue;
        }
        if (const ValueId v = resultOf(*stmt); v != kNone) definedIn[v] = g;
        const auto *map = std::get_if<Map>(&stmt->op());
        if (map && isWidening(program, *map)) widenings[map->result] = map;
        else usesOf(*stmt, [&](ValueId v) { use(v, g); });
      }
  }

  /// Whether a value of a packet is needed in another group than its own.
  bool crosses(ValueId v) const {
    auto u = uses.find(v);
    if (u == uses.end()) return false;
    const std::size_t g = definedIn.at(v);
    return llvm::any_of(u->second.groups, [&](std::size_t other) { return other != g; });
  }

  // ---- Text ----

  Index renamed(Index index) const {
    for (const auto &[author, name] : variables)
      if (author != name) index = index.substitute(author, Index::variable(name));
    return index;
  }
  std::string text(const Index &index) const { return indexText(renamed(index), IndexScope{program.ranks, {}}); }
  std::string hop(const Index &peer) const { return hopText(renamed(peer), IndexScope{program.ranks, {}}); }

  std::string base(const Slice &slice, const std::string &number) const {
    std::string buffer = "a." + names.buffers.at(program.buffers[slice.buffer].name);
    if (program.buffers[slice.buffer].window) buffer += "[" + (slice.owner ? hop(*slice.owner) : "0") + "]";
    if (slice.length.kind == Length::Kind::Whole) return buffer;
    return buffer + " + " + number + " * (" + names.product(slice.length.extents) + ")";
  }

  std::string boxName(MailboxId box) const { return names.boxes.at(program.mailboxes[box].name); }
  std::string opName(ReduceOp op) const { return program.op == op ? "Op" : std::string(cudaName(op)); }

  bool isNarrowType(BufferId buffer) const { return program.buffers[buffer].dtype == program.dtype; }

  void announce(SourceOffset where) {
    const unsigned line = lineOf(program, where);
    out.from(line);
    if (line == lastLine) return;
    if (lastLine) out.blank();
    lastLine = line;
    const std::string_view source = program.sources->lineAt(std::uint32_t(where));
    llvm::StringRef shown = llvm::StringRef(source.data(), source.size()).split("//").first.trim();
    out.line("// " + Twine(baseName(program.sources->position(std::uint32_t(where)).file->name)) + ":" + Twine(line) + "    " +
             shown);
  }

  // ---- One group ----

  void emit(std::size_t g) {
    const Group &group = groups[g];
    // What is only written into other expressions makes no text of its own.
    std::vector<const Stmt *> work;
    for (const Stmt *stmt : group.stmts) work.push_back(stmt);
    if (group.kind == Group::Numbers) return numbers(work);
    const bool silent = llvm::all_of(work, [&](const Stmt *s) { return Expressions::defines(*s) && isInline(*s); });
    if (silent) {
      for (const Stmt *stmt : work) values.define(*stmt);
      return;
    }
    announce(whereOf(*work.front()));
    if (group.kind == Group::Sends && !begun) begun = true, out.line("launch.begin();");
    declareArrays(work);
    // Nothing is computed from one packet to the next, so numbers may be written before or inside.
    out.open(Twine("row.each([&](coll::u32 k, coll::u32") + (usesPlace(group) ? " i" : "") + ") {");
    for (const Stmt *stmt : work) {
      here = whereOf(*stmt);
      if (group.kind != Group::Loads && !(Expressions::defines(*stmt) && isInline(*stmt))) announce(whereOf(*stmt));
      packetStatement(*stmt, group.kind);
    }
    out.close("});");
    if (const auto *reduce = std::get_if<RowReduce>(&work.back()->op())) meet(*reduce);
    for (auto &[result, map] : widenings) // made anew in each group
      if (values.has(result)) values.forget(result);
  }

  static bool usesPlace(const Group &group) {
    return llvm::any_of(group.stmts, [&](const Stmt *s) {
      const auto *reduce = std::get_if<Reduce>(&s->op());
      return (group.kind == Group::Sends) || (reduce && !std::holds_alternative<Load>(reduce->body.front().op())) || std::holds_alternative<Poll>(s->op()) ||
             std::holds_alternative<Read>(s->op());
    });
  }

  bool isInline(const Stmt &stmt) const {
    const ValueId v = resultOf(stmt);
    const Value &value = program.values[v];
    if (value.spread == Spread::Everywhere) return true;
    if (widenings.count(v)) return true;
    auto u = uses.find(v);
    return value.name.empty() && (u == uses.end() || u->second.count <= 1) && (value.spread >= Spread::Row || !crosses(v));
  }

  void declareArrays(const std::vector<const Stmt *> &work) {
    std::string packets;
    const auto declare = [&](ValueId v, const std::string &wanted, const std::string &dimensions) {
      packets += (packets.empty() ? "Packet " : ", ") + (arrays[v] = free.unique(wanted)) + dimensions;
    };
    for (const Stmt *stmt : work) {
      if (auto scatter = scatterOf(*stmt); scatter && scatter->load) {
        if (!arrays.count(scatter->load->result))
          declare(scatter->load->result, program.values[scatter->load->result].name,
                  loadsFirst() ? "[Shape::kPackets][N]" : "[Shape::kPackets]");
        continue;
      }
      const ValueId v = resultOf(*stmt);
      if (v == kNone || scatterOf(*stmt) || std::holds_alternative<RowReduce>(stmt->op()) || widenings.count(v)) continue;
      if (!std::holds_alternative<Load>(stmt->op()) && !crosses(v)) continue;
      if (program.values[v].spread >= Spread::Row) continue;
      if (formOf(*stmt) == Expressions::Form::Packet) {
        declare(v, nameFor(v), "[Shape::kPackets]");
      } else {
        arrays[v] = free.unique(nameFor(v));
        out.line(values.typeOf(v, program.values[v].spread == Spread::Group ? "1" : "Packet::kElements") + " " + arrays[v] +
                 "[Shape::kPackets];");
      }
    }
    if (!packets.empty()) out.line(packets + ";");
    if (const auto *reduce = std::get_if<RowReduce>(&work.back()->op())) {
      arrays[reduce->result] = free.unique(reduce->op == RowOp::Max ? "most" : "sums");
      out.line("float " + Twine(arrays[reduce->result]) + "[Shape::kPackets]; // of each packet");
    }
  }

  std::string nameFor(ValueId v) const { return program.values[v].name.empty() ? "part" : program.values[v].name; }

  Expressions::Form formOf(const Stmt &stmt) const {
    using Form = Expressions::Form;
    if (const auto *load = std::get_if<Load>(&stmt.op())) return isNarrowType(load->from.buffer) ? Form::Packet : Form::Elements;
    const DType type = program.values[resultOf(stmt)].dtype;
    if (std::holds_alternative<Reduce>(stmt.op())) return type == program.dtype ? Form::Packet : Form::Elements;
    if (const auto *map = std::get_if<Map>(&stmt.op()))
      return Expressions::makesPacket(program, *map) ? Form::Packet : Form::Elements;
    return Form::Packet;
  }

  /// Gives a value that the group makes its place: an array, or a name of its own.
  void assign(ValueId v, const std::string &expression, Expressions::Form form) {
    if (auto array = arrays.find(v); array != arrays.end()) {
      out.line(array->second + "[k] = " + expression + ";");
      return values.set(v, array->second + "[k]", form);
    }
    const std::string name = free.unique(nameFor(v));
    out.line("const " + Twine(form == Expressions::Form::Packet ? "Packet " : "auto ") + name + " = " + expression + ";");
    values.set(v, name, form);
  }

  void packetStatement(const Stmt &stmt, Group::Kind kind) {
    if (auto scatter = scatterOf(stmt)) return kind == Group::Loads ? loads(stmt, *scatter) : sends(stmt, *scatter);
    if (Expressions::defines(stmt)) return compute(stmt);
    match(
        stmt, [&](const Load &s) { load(s); }, [&](const Store &s) { store(s); },
        [&](const Reduce &s) { reduce(s, stmt); }, [&](const Poll &s) { readOne(s.result, s.slot, stmt); },
        [&](const Read &s) { readOne(s.result, s.slot, stmt); },
        [&](const RowReduce &s) {
          prepare(s.value);
          out.line(arrays.at(s.result) + "[k] = row." + (s.op == RowOp::Max ? "maxOf(k, " : "sumOf(k, ") +
                   stripped(values.elements(s.value)) + ");");
        },
        [](const auto &) { std::abort(); }); // withoutRowText has refused it
  }

  /// A widening that is used again and again in this group gets a name.
  void prepare(ValueId v) {
    if (v == kNone || values.has(v)) return;
    auto widening = widenings.find(v);
    if (widening == widenings.end()) return;
    const Map &map = *widening->second;
    prepare(map.a);
    const std::string wide = values.elements(map.a);
    if (program.values[v].name.empty() || uses[v].count < 2) return values.set(v, wide, Expressions::Form::Elements);
    const std::string name = free.unique(program.values[v].name);
    announce(here);
    out.line("const auto " + Twine(name) + " = " + wide + ";");
    values.set(v, name, Expressions::Form::Elements);
  }

  void compute(const Stmt &stmt) {
    const ValueId v = resultOf(stmt);
    if (widenings.count(v)) return;
    if (const auto *map = std::get_if<Map>(&stmt.op())) prepare(map->a), prepare(map->b);
    values.define(stmt);
    if (isInline(stmt)) return;
    const Expressions::Form form = formOf(stmt);
    assign(v, stripped(form == Expressions::Form::Packet ? values.packet(v) : values.elements(v)), form);
  }

  static std::string stripped(const std::string &text) { return withoutParentheses(text); }

  void load(const Load &s) {
    const bool narrow = isNarrowType(s.from.buffer);
    const std::string function = std::string(s.everyRow ? "loadSame" : "load") + (narrow ? "" : "Elements");
    assign(s.result, "row." + function + "(" + base(s.from, text(s.from.index)) + ", k)",
           narrow ? Expressions::Form::Packet : Expressions::Form::Elements);
  }

  void store(const Store &s) {
    prepare(s.value);
    const Value &value = program.values[s.value];
    const std::string to = base(s.to, text(s.to.index));
    if (s.perRow) {
      const std::string what = stripped(values.elements(s.value));
      if (value.spread == Spread::Row) return out.line("row.storeOne(" + to + ", " + what + ");");
      return out.line("row.template storeGroup<" + Twine(value.group) + ">(" + to + ", k, " + what + ");");
    }
    if (isNarrowType(s.to.buffer)) return out.line("row.store(" + to + ", k, " + stripped(values.packet(s.value)) + ");");
    out.line("row." + values.storeOf(s.value) + "(" + to + ", k, " + stripped(values.elements(s.value)) + ");");
  }

  /// Whether the packets for all ranks fit into registers, so that all are on their way before the first is sent.
  bool loadsFirst() const { return program.ranks * int((program.wire().payloadBytes + 15) / 16) <= kMaxUnits; }

  std::string loadFor(const Stmt &stmt, const Scatter &s, const std::string &rank) const {
    const Index of = s.load->from.index.substitute(std::get<ForRanks>(stmt.op()).variable, Index::variable(rank));
    return "row.load(" + base(s.load->from, text(of)) + ", k)";
  }

  void loads(const Stmt &stmt, const Scatter &s) {
    const std::string array = arrays.at(s.load->result) + "[k]";
    if (!loadsFirst()) return out.line(array + " = " + loadFor(stmt, s, "me") + "; // this rank's own");
    out.directive("#pragma unroll");
    out.line("for (int hop = 0; hop < N; ++hop) " + array + "[hop] = " + loadFor(stmt, s, kRankAtHop) + ";");
  }

  void sends(const Stmt &stmt, const Scatter &s) {
    const std::string what = !s.load        ? values.packet(s.send->value)
                             : loadsFirst() ? arrays.at(s.load->result) + "[k][hop]"
                                            : loadFor(stmt, s, kRankAtHop);
    const bool keeps = s.send->own != kNone;
    if (s.send->multicast) {
      out.line("coll::" + Twine(keeps ? "sendToOthers<" : "sendToAll<") + boxName(s.send->box) + ">(launch, a." +
               names.regionsOfAll + ", " + text(s.send->slot) + ", i, " + what + ");");
    } else {
      out.directive("#pragma unroll");
      out.line("for (int hop = " + Twine(keeps ? 1 : 0) + "; hop < N; ++hop) " + boxName(s.send->box) + "::send(launch, hop, " +
               text(s.send->slot) + ", i, " + what + ");");
    }
    if (keeps)
      values.set(s.send->own, s.load ? arrays.at(s.load->result) + (loadsFirst() ? "[k][0]" : "[k]") : values.packet(s.send->value),
                 Expressions::Form::Packet);
  }

  std::string ownText(ValueId own) { return own == kNone ? "" : ", " + values.packet(own); }

  void reduce(const Reduce &s, const Stmt &stmt) {
    if (const auto *load = std::get_if<Load>(&s.body.front().op())) return reduceRanks(s, *load, stmt);
    const Received from = receivedBy(s.body.front());
    const Expressions::Form form = formOf(stmt);
    const std::string call = std::string("coll::reduceSlots") + (form == Expressions::Form::Elements ? "Wide<" : "<") +
                             opName(s.op) + ", T, " + boxName(from.box) + ">(launch, i" + ownText(from.own) + ")";
    auto u = uses.find(s.result);
    if (!arrays.count(s.result) && (u == uses.end() || u->second.count <= 1)) return values.set(s.result, call, form);
    assign(s.result, call, form);
  }

  void reduceRanks(const Reduce &s, const Load &part, const Stmt &stmt) {
    const Expressions::Form form = formOf(stmt);
    assign(s.result,
           std::string("coll::reduceRanks") + (form == Expressions::Form::Elements ? "Wide<" : "<") + opName(s.op) +
               ", T, Packet, N>([&](coll::u32 " + variables.at(s.variable) + ") { return row.load(" +
               base(part.from, text(part.from.index)) + ", k); })",
           form);
  }

  void readOne(ValueId result, const Index &slot, const Stmt &stmt) {
    const Received from = receivedBy(stmt);
    assign(result, "coll::readSlot<" + boxName(from.box) + ">(launch, " + text(slot) + ", i)", Expressions::Form::Packet);
  }

  /// All threads that share the row: what was noted of each packet becomes one number.
  void meet(const RowReduce &s) {
    const std::string &parts = arrays.at(s.result);
    out.from(lineOf(program, s.where));
    if (s.group) {
      out.line("row.template maxOfGroups<" + Twine(s.group) + ">(" + parts + ");");
      return values.set(s.result, "coll::Number{" + parts + "[k]}", Expressions::Form::Elements);
    }
    static constexpr const char *functions[] = {"sum", "mean", "max"};
    const std::string function = functions[int(s.op)];
    const std::string &author = program.values[s.result].name;
    const std::string name = free.unique(author.empty() ? function == "max" ? "largest" : function : author);
    out.line("const coll::Number " + Twine(name) + " = row." + function + "(" + parts + ");");
    values.set(s.result, name, Expressions::Form::Elements);
  }

  void numbers(const std::vector<const Stmt *> &work) {
    for (const Stmt *stmt : work) {
      if (const auto *s = std::get_if<Store>(&stmt->op())) {
        announce(s->where);
        store(*s);
        continue;
      }
      values.define(*stmt);
      const ValueId v = resultOf(*stmt);
      if (program.values[v].spread == Spread::Everywhere || usedByNumbersAlone(v)) continue;
      const std::string name = free.unique(program.values[v].name.empty() ? "scale" : program.values[v].name);
      out.from(lineOf(program, whereOf(*stmt)));
      out.line("const coll::Number " + Twine(name) + " = " + stripped(values.elements(v)) + ";");
      values.set(v, name, Expressions::Form::Elements);
    }
  }

  /// Whether a number is no more than a part of another, once.
  bool usedByNumbersAlone(ValueId v) const {
    auto u = uses.find(v);
    return u == uses.end() || (u->second.count <= 1 && program.values[v].name.empty() &&
                               llvm::all_of(u->second.groups, [&](std::size_t g) { return groups[g].kind == Group::Numbers; }));
  }
};

} // namespace

void emitRows(const Program &program, const BodyNames &names, Names &free,
              const std::map<std::string, std::string> &variables, const PacketLoop &loop, CodeWriter &out) {
  RowsEmitter(program, names, free, variables, out).run(loop);
}

const Stmt *withoutRowText(const PacketLoop &loop) {
  for (const Stmt &stmt : loop.body) {
    if (scatterOf(stmt) || Expressions::defines(stmt) || std::holds_alternative<Clear>(stmt.op())) continue;
    const auto *store = std::get_if<Store>(&stmt.op());
    const auto *reduce = std::get_if<Reduce>(&stmt.op());
    if (std::holds_alternative<Load>(stmt.op()) || (store && !store->to.owner) || (reduce && !reduce->multicast) ||
        std::holds_alternative<RowReduce>(stmt.op()))
      continue;
    const auto *poll = std::get_if<Poll>(&stmt.op());
    const auto *read = std::get_if<Read>(&stmt.op());
    if ((poll && poll->own == kNone) || (read && read->own == kNone)) continue;
    return &stmt;
  }
  return nullptr;
}

} // namespace coll::codegen
