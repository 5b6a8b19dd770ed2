// The walk that writes a kernel's body, and what it knows on the way. Its functions lie in the files that its sections
// name. Internal to codegen/.
#pragma once

#include "codegen/EmitBody.h"
#include "codegen/EmitIndex.h"
#include "codegen/Expressions.h"

#include <optional>
#include <set>

namespace coll::codegen {

using namespace ir;
using llvm::Twine;

class BodyEmitter {
public:
  BodyEmitter(const Program &p, BodyNames &n, CodeWriter &o) : program(p), names(n), out(o), computed(p, n, [this](const Index &number) { return numberText(renamed(number), scope); }) {}

  void run();

private:
  friend class RowsEmitter; ///< the walk through a packet loop by rows

  const Program &program;
  BodyNames &names;
  CodeWriter &out;
  std::map<ValueId, std::string> valueNames;
  Expressions computed; ///< values that are no packet with a name
  std::map<ValueId, std::string> declaredElements; ///< those that were declared before they were given a value
  std::map<std::string, std::string> variables; ///< loop variables and scalars: the author's names to those in the text
  std::map<std::string, std::string> constants; ///< numbers that have a name here: their text to it
  IndexScope scope{program.ranks, {}};
  std::string slotPacket = "i";                 ///< the number of a packet within a slot
  std::map<ValueId, int> uses;                  ///< how often each value is taken
  static constexpr int kMaxUnits = 16;          ///< of 16 bytes that a thread may load before it sends the first
  static constexpr int kUnrolled = 8;           ///< iterations of an ordered loop that are written out side by side
  std::map<const AwaitCredit *, std::string> creditNames; ///< of those in packet loops, where a thread remembers them
  unsigned lastLine = 0;                        ///< the source line announced last
  ValueId definesVariable = kNone;              ///< the variable that the next value becomes the first of
  bool opened = false;                          ///< whether a loop's head may be the last line
  bool written = false;                         ///< whether the body has a line yet
  bool begun = false;                           ///< whether all threads have read the epoch
  bool givesInLoop = false;                     ///< whether credits are still to be given, in the next packet loop
  std::string give;                             ///< what gives them in this packet loop, until it has been written
  bool needsEpoch = false;                      ///< whether this packet loop has yet to read the epoch
  bool byRows = false;                          ///< whether any packet loop goes by rows
  bool inRows = false;                          ///< whether a packet is number `k` of a thread in a `row`
  std::string hopVariable;                      ///< the loop variable whose rank is `hop` places after this one

  // ---- EmitBody.cpp: what the whole body needs ----
  void scalar(const Scalar &s);
  bool usesMe() const;
  /// Before loops of which one meets and another need not have a packet for each thread.
  void beginFirst();
  /// Declares the pieces of vectors of this length, unless they are.
  void split(const Length &length);
  std::string piecesOf(const Length &length) const;
  /// The way that a vector's packets are gone over: a kernel by rows has shapes of rows, and goes any way over others.
  std::string shape() const { return byRows && !inRows ? "coll::AnyPackets" : "Shape"; }
  /// The chunk loop around the whole body. Vectors are indexed by packet `i`, slots by packet `k` of the chunk.
  void chunks();
  /// Begins a paragraph of something that all threads do, and read the epoch for unless told otherwise.
  void apart(SourceOffset where, bool reads = true);
  /// The source line as a comment, where it is not the one announced last.
  void announce(SourceOffset where);

  // ---- EmitOuter.cpp: statements outside packet loops, credits ----
  void outer(const Stmt &stmt);
  void closeOuter(const Block &body);
  /// A signal to, or an await of, every rank: the device headers do them together.
  void flagsOfAll(const ForRanks &loop);
  /// Whether it is that, and not one that goes from flag to flag.
  bool isOfAll(const ForRanks &loop) const;
  void flagsOfEach(const ForRanks &loop);
  /// Whether slot r of a box is rank r's alone: then its own slot is its own doing, and its flag is not raised.
  bool slotIsWriter(MailboxId box) const;
  const Signal *announcesToAllOthers(const For &loop) const;
  void flagLine(SourceOffset where, const std::string &line);
  /// In the first packet loop, behind its first loads, where nothing is released and threads need not meet.
  void giveCredits(SourceOffset where, const Credit &credit);
  static const AwaitCredit *onlyWait(const Block &body);
  /// The wait of a loop over all other ranks, which the device headers do together; null for another loop.
  const AwaitCredit *ofAllOthers(const ForRanks &loop) const;
  const AwaitCredit *ofAllOthers(const For &loop) const;
  /// Whether `for s in 1 .. N - 1` makes a peer all ranks but this one: `me + s`.
  bool goesToAllOthers(const For &loop, const Index &peer) const;
  /// Outside packet loops the whole CTA waits; inside, a thread does, and remembers it.
  std::string awaitText(const AwaitCredit &s, const std::string &hop) const;
  void declareCredits(const PacketLoop &loop);

  // ---- EmitPackets.cpp: packet loops ----
  void packetLoop(const PacketLoop &loop);
  /// Of a packet loop: what it takes of earlier ones, or changes, from memory, and what later ones take back to it.
  void takeKept(const PacketLoop &loop);
  /// What a packet loop makes of it, and what it takes that is there before.
  struct KeptHere {
    std::set<ValueId> made, taken;
  };
  KeptHere keptIn(const PacketLoop &loop) const;
  void putKept(const PacketLoop &loop);
  void forgetVariables();
  /// How many packets a vector has.
  std::string packetsOf(const Length &domain) const;
  std::string domainText(const Length &domain) const;
  static bool exchanges(const Block &body);
  /// The epoch is read after the first payload is on its way, and before anything that only some packets do.
  void readEpoch();
  /// Statements whose vectors may be too short for packet `i` go under one `if`, as many as follow each other.
  void block(const Block &stmts);
  static bool isElse(const Stmt &stmt, const Stmt &next);
  void ifElse(const Stmt &stmt, const Stmt &next);
  void openIf(const If &s);
  /// Whether `next` gives to a variable what `stmt` makes and nothing else needs: then the variable is what it makes.
  bool defineInPlace(const Stmt &stmt, const Stmt &next);
  /// The number of a piece that has to be worked out gets a name before the first test of its length.
  void namePiece(const Stmt &stmt);
  template <class Visit>
  static void each(const Stmt &stmt, Visit visit) {
    visit(stmt);
    if (const Block *body = bodyOf(stmt)) walk(*body, visit);
  }
  static void countUses(const Stmt &stmt, std::map<ValueId, int> &counts);
  /// Declares what is made under an `if` and used after it.
  void declareOutliving(const Block &stmts, std::size_t begin, std::size_t end);
  static SourceOffset whereOf(const Stmt &stmt);
  /// The condition under which a statement of a packet loop has work, empty where it always has.
  std::string guardOf(const Stmt &stmt) const;
  /// The piece that a statement has work in, null where it always has.
  const Length *guardedBy(const Stmt &stmt) const;
  const Length *lengthOf(const Stmt &stmt) const;
  std::string reaches(const Length &length) const;
  void inner(const Stmt &stmt);

  // ---- EmitValues.cpp: arithmetic, loads and stores, what is received ----
  /// Whether a value is written where it is used instead of getting a name.
  bool isInline(const Stmt &stmt);
  /// Whether a statement makes elements to compute with, and not a packet.
  bool isElements(const Stmt &stmt) const;
  void known(ValueId v);
  void compute(const Stmt &stmt);
  /// Gives a value a name of its own.
  void define(const Stmt &stmt, const std::string &text);
  void assignElements(const Assign &s);
  std::string nameFor(ValueId v) const { return program.values[v].name.empty() ? "value" : program.values[v].name; }
  void declareElements(ValueId v);
  /// The left side of the definition of elements.
  std::string declareElements(const Stmt &stmt);
  std::string declareElementsOf(ValueId v);
  /// Whether a packet is scattered over its vector, or in several units.
  bool inPieces() const { return program.wire().together > 1 || program.bulkUnits() || program.wire().payloadBytes > 16; }
  void store(const Store &s);
  void load(const Load &s);
  void readOne(ValueId result, MailboxId box, const Index &slot);
  void reduce(const Reduce &s);
  void reduceRanks(const Reduce &s, const Load &part);
  /// One slot for each rank, but not that of its number.
  void reduceSlotsOf(const Reduce &s, MailboxId box, const Index &slot);
  std::string opName(ReduceOp op) const { return program.op == op ? "Op" : std::string(cudaName(op)); }
  std::string ownText(MailboxId box, ValueId own) { return own == kNone ? "" : ", " + packetFor(box, own); }
  /// What a rank keeps of what it sends goes by what that is called.
  void keep(ValueId own, ValueId sent);

  // ---- EmitLoops.cpp: loops over ranks and ordered ones in a packet loop ----
  void forLoop(const For &s);
  /// As for ForRanks: all loads of `x[me + s] -> (me + s).box[me]` go out before the first send waits for its own.
  bool loadsFirst(const For &s) const;
  void loadThenSend(const For &s);
  void openFor(const For &s);
  void closeFor(const For &s);
  void forRanks(const ForRanks &loop);
  void eachRank(const ForRanks &loop);
  /// Whether nothing in a loop is to be done for this rank itself.
  bool goesToOthers(const ForRanks &loop) const;
  /// Declares what this rank keeps of what a loop sends, unless it has been declared.
  void declareOwn(const ForRanks &loop);
  /// What goes to all ranks at once; `others`: this rank need not get it.
  bool multicast(const ForRanks &loop, bool others);
  void openHops(const ForRanks &loop, int first);
  /// A loop of one load and one send for each rank, or one store where either reaches into a window: all loads go out
  /// before the first send waits for its own. Not for so many ranks that the packets would not fit into registers.
  bool loadsFirst(const ForRanks &loop) const;
  bool loadsFirst(const Stmt &stmt) const;
  void loadThenSend(const ForRanks &loop, bool others);
  void storeEach(const ForRanks &loop, const Store &store, const std::string &packets);
  /// Whether nothing is to be done for this rank itself: what it keeps is a value from outside the loop, or not used.
  bool skipsSelf(const Stmt &stmt, const ForRanks &loop) const;
  /// Whether a slice needs the number of a rank, rather than how far it is away.
  static bool usesByNumber(const Slice &slice, const std::string &rank);
  bool usesVariable(const ForRanks &loop) const;
  void rankStatement(const Stmt &stmt, const ForRanks &loop);
  /// `forall r in ranks: … box[r] …`: all slots are waited for together, then used one by one.
  void eachSlot(const ForRanks &loop);

  // ---- EmitMessages.cpp: messages that say how long they are ----
  std::map<ValueId, std::string> messageNames; ///< what a thread knows of how long those are that it reads as this value
  std::map<ValueId, std::string> countNames;     ///< of values that are cut to a count
  void declareMessages(const PacketLoop &loop);
  bool isCounted(const ForRanks &loop) const;
  void sendMessages(const ForRanks &loop);
  /// A vector of which this rank keeps as much as a count says.
  void loadMessage(const Load &load);
  /// What a statement reads from a `counted` mailbox, else kNone.
  ValueId messageRead(const Stmt &stmt) const;
  /// What cuts a value: the name of its count, and what comes before a store of it where it goes by rows.
  std::string countName(ValueId v) const;
  std::string ifHasRow(ValueId v) const { return program.isOfRows(v) ? "if (row.number < " + countName(v) + ") " : ""; }
  /// The most that a message may have.
  std::string mostOf(const Length &length, bool rows) const;
  void declareCount(const Load &load);
  std::string placeInMessage(ValueId read) const;
  std::string packetInVector() const { return program.chunks ? slotPacket + ", i" : slotPacket; }
  void readMessage(ValueId result, MailboxId box, const Index &slot);
  void declareMessage(ValueId read);
  std::string messageText(ValueId result, MailboxId box, const Index &slot);
  void eachMessage(const ForRanks &loop, MailboxId box, ValueId own, ValueId result);

  // ---- EmitPlaces.cpp: names, indices, places ----
  Index renamed(Index index) const;
  std::string text(const Index &index) const;
  std::string hop(const Index &peer) const { return hopText(renamed(peer), scope); }
  std::string condition(const Index &index) const { return conditionText(renamed(index), scope); }
  std::string sendText(const Send &s, const std::string &hop);
  /// The same of a number of each row or group, and what is read of such: templates and arguments of coll/row_numbers.h.
  std::string sendNumberText(const Send &s, const std::string &hop);
  std::string readNumberText(ValueId result, MailboxId box, const Index &slot);
  /// Where a slice begins.
  std::string base(const Slice &slice) const;
  /// ` * length`: from rows to elements, or to what there is one of for each row or group.
  std::string ofRow(const Length &length) const;
  /// `pointer, i, length`: packet `i` of a slice; with everyRow of one row that stands for all.
  std::string place(const Slice &slice, bool everyRow = false) const;
  /// `pointers, pointer of all, begin, i, length`: packet `i` of a slice of every rank.
  std::string placeOfAll(const Slice &slice) const;
  /// How many places after this rank a peer is.
  std::string hopOf(const Index &rank) const { return rank.isVariable(hopVariable) ? "hop" : hop(rank); }
  bool isPacket(ValueId v) const { return program.keepsPackets(program.values[v]); }
  /// How many elements, or rows, a message of a value has: those that it is cut to, or all.
  std::string lengthText(ValueId v, bool rows) const;
  /// A value as a packet of a mailbox.
  std::string packetFor(MailboxId box, ValueId v);
  /// The type of a mailbox's elements, and of its packets.
  std::string typeOf(MailboxId box) const;
  std::string packetType(MailboxId box) const { return isPacketType(box) ? "Packet" : boxName(box) + "::P"; }
  bool isPacketType(MailboxId box) const { return program.mailboxes[box].dtype == program.packetType(); }
  /// What was received from a mailbox by a name, or as an expression: as it is, or its elements.
  std::string received(MailboxId box, const std::string &packet) const;
  std::string boxName(MailboxId box) const { return names.boxes.at(program.mailboxes[box].name); }
  std::string declareName(ValueId v) { return valueNames[v] = names.names.unique(program.values[v].name); }
  std::string nameOf(ValueId v) const;
  void declare(ValueId v) { out.line("Packet " + Twine(declareName(v)) + " = {};"); }
  /// The left side of the definition of a value, which declares it unless it has been.
  std::string declarator(ValueId v);
};

} // namespace coll::codegen
