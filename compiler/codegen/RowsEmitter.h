// The walk that writes a packet loop by rows: what a thread does with its packets of a row, between the meetings of all
// threads that share it. What goes on within one packet is the body's. Internal to codegen/.
#pragma once

#include "codegen/BodyEmitter.h"

#include <set>

namespace coll::codegen {

/// `forall p in ranks: e -> p.box[me]`, where e may be loaded in the loop: to each rank another.
struct Scatter {
  const Load *load = nullptr;
  const Send *send = nullptr;
};
std::optional<Scatter> scatterOf(const Program &program, const Stmt &stmt);

class RowsEmitter {
public:
  explicit RowsEmitter(BodyEmitter &b)
      : body(b), program(b.program), names(b.names), free(b.names.names), out(b.out), values(b.computed) {}

  void run(const PacketLoop &loop);

private:
  /// Statements that a thread does for one of its packets after the other, or once for all; or a loop or condition around
  /// such groups, at which all threads of the row go along; or those that are for rows of one piece, which may lack the row.
  struct Group {
    enum Kind { Loads, Sends, Packets, Numbers, Around, Guarded } kind;
    std::size_t number;
    std::vector<const Stmt *> stmts;
    std::vector<Group> inner = {};
  };
  using Groups = std::vector<Group>;
  struct Use {
    std::set<std::size_t> groups;
    unsigned count = 0;
  };

  BodyEmitter &body;
  const Program &program;
  BodyNames &names;
  Names &free;
  CodeWriter &out;
  Expressions &values;
  std::vector<Group::Kind> kinds; ///< of the groups, by number
  std::map<ValueId, std::size_t> definedIn;
  std::map<ValueId, Use> uses;
  std::map<ValueId, ValueId> keptOf; ///< the value that a rank's own slot keeps
  std::map<ValueId, const Map *> widenings;
  std::map<ValueId, std::string> arrays; ///< what lives from one group to another
  std::map<ValueId, std::string> outliving; ///< numbers of rows that are taken behind the guard that they are made under
  const Length *guard = nullptr;         ///< the piece that surely has this row, where there is one
  BodyEmitter::KeptHere kept;            ///< of this loop
  SourceOffset here = 0; ///< of the statement that is being written
  static constexpr int kMaxUnits = 16; ///< of 16 bytes that a thread may load before it sends the first
  static constexpr const char *kRankAtHop = "coll::rankAt<N>(me, hop)";

  // ---- EmitRows.cpp: groups, and what lives from one to the next ----
  Spread spreadOf(const Stmt &stmt) const;
  Group::Kind kindOf(const Stmt &stmt) const;
  /// Whether all threads of the row must go along with a loop or condition: they meet in it, or it stores a number for a row.
  bool meets(const Stmt &stmt) const;
  /// Whether it sends or receives a number for each row.
  bool isOfNumbers(const Stmt &stmt) const;
  void add(Groups &groups, Group::Kind kind, const Stmt &stmt);
  Group &begin(Groups &groups, Group::Kind kind);
  void group(const Block &stmts, Groups &groups);
  void group(const Stmt &stmt, Groups &groups);
  void use(ValueId v, std::size_t g);
  void countUses(const Groups &groups);
  void countUses(const Stmt &stmt, const Group &group);
  /// Whether a value of a packet is needed in another group than its own.
  bool crosses(ValueId v) const;
  /// A narrow value is widened where it is used: it takes less room as it is.
  static bool isWidening(const Program &program, const Map &map);
  void declareVariables(const Groups &groups);
  /// What is made under a guard and taken behind it.
  void declareOutliving(const Groups &groups);
  /// What a rank keeps of what it computes for each rank and sends, where another group takes it.
  void declareOwn(const Groups &groups);
  static void numbersIn(const Group &group, std::set<std::size_t> &numbers);
  /// Makes the place that a value has in all groups of this loop.
  void declareForAll(ValueId v, bool packet);
  void takeKept();
  void putKept();
  bool inLines() const { return program.wire().together > 1; }
  const char *elementsOf(ValueId v) const;
  bool sharesWords() const;
  /// The place of what each packet makes of its part of a row.
  void declareParts(const RowReduce &s);
  void declareArrays(const std::vector<const Stmt *> &work);
  void emit(const Groups &groups);
  void emit(const Group &group);
  void around(const Group &group, const Group *otherwise);
  void guarded(const Group &group);
  void readEpoch(const Group &group);
  static bool usesPlace(const Group &group);
  /// Before a group: how long messages in it are, as far as all threads of the row know it or ask for it.
  void declareCounts(const Group &group);

  // ---- EmitRowPackets.cpp: the statements of a group ----
  std::string text(const Index &index) const { return body.text(index); }
  std::string base(const Slice &slice) const;
  std::string packet(ValueId v) { return body.known(v), values.packet(v); }
  bool isNarrowType(BufferId buffer) const { return program.buffers[buffer].dtype == program.packetType(); }
  std::string nameFor(ValueId v) const { return program.values[v].name.empty() ? "part" : program.values[v].name; }
  bool isInline(const Stmt &stmt) const;
  Expressions::Form formOf(const Stmt &stmt) const;
  /// Gives a value that the group makes its place: an array, or a name of its own.
  void assign(ValueId v, const std::string &expression, Expressions::Form form, const std::string &condition = "");
  void assignNumber(ValueId v, const std::string &wanted, const std::string &expression);
  void packetStatement(const Stmt &stmt, Group::Kind kind);
  /// What is the same in every packet loop.
  void common(const Stmt &stmt, const Stmt *otherwise = nullptr);
  /// A widening that is used again and again in this group gets a name.
  void prepare(ValueId v);
  void compute(const Stmt &stmt);
  void load(const Load &s);
  /// A number for each row, by all its threads.
  void loadOne(const Load &s);
  void store(const Store &s);
  /// Whether the packets for all ranks fit into registers, so that all are on their way before the first is sent.
  bool loadsFirst() const { return program.ranks * int((program.wire().payloadBytes + 15) / 16) <= kMaxUnits; }
  /// `if (…) `, where a loop over ranks has another piece for each rank.
  std::string conditionFor(const Stmt &stmt, const Scatter &s, const std::string &rank) const;
  /// The loop over ranks from so many places after this one on, with one line for each.
  void eachHop(const Stmt &stmt, const Scatter &s, int first, llvm::function_ref<std::string(const std::string &rank)> line);
  std::string loadFor(const Stmt &stmt, const Scatter &s, const std::string &rank) const;
  void loads(const Stmt &stmt, const Scatter &s);
  void sends(const Stmt &stmt, const Scatter &s);
  std::string packetFor(MailboxId box, ValueId v) { return body.isPacketType(box) ? withoutParentheses(packet(v)) : body.packetFor(box, v); }
  void reduce(const Reduce &s, const Stmt &stmt);
  /// `part`: of one rank, from a mailbox if it is not kNone.
  void reduceRanks(const Reduce &s, const std::string &part, const Stmt &stmt, MailboxId box);
  void readOne(ValueId result, MailboxId box, const Index &slot);
  void note(const RowReduce &s);
  /// All threads that share the row: what was noted of each packet becomes one number.
  void meet(const RowReduce &s);
  void numberOfRank(const Stmt &stmt);
  std::string numberType(ValueId v) const;
  void numbers(const std::vector<const Stmt *> &work);
  /// Whether a number is another as it is computed with.
  bool isSameNumber(const Stmt &stmt) const;
  /// Whether a number is no more than a part of another, once.
  bool usedByNumbersAlone(ValueId v) const;
};

} // namespace coll::codegen
