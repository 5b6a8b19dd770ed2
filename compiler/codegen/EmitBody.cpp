#include "codegen/EmitBody.h"

#include "codegen/EmitIndex.h"
#include "codegen/EmitMessages.h"
#include "codegen/EmitRows.h"
#include "codegen/Expressions.h"

#include <limits>
#include <tuple>
#include <utility>

namespace coll::codegen {

using namespace ir;

namespace {

using llvm::Twine;

class BodyEmitter {
public:
  BodyEmitter(const Program &p, BodyNames &n, CodeWriter &o) : program(p), names(n), out(o), computed(p, n) {}

  void run() {
    names.function = names.names.unique(program.algorithm);
    for (const Scalar &s : program.scalars)
      if (s.isIndex()) scalar(s);
    walk(program.body, [&](const Stmt &s) {
      const auto *ranks = std::get_if<ForRanks>(&s.op());
      const auto *ordered = std::get_if<For>(&s.op());
      const auto *reduced = std::get_if<Reduce>(&s.op());
      if (reduced && !std::holds_alternative<Load>(reduced->body.front().op())) return; // slots need no name
      if (!ranks && !ordered && !reduced) return;
      const std::string &variable = ranks ? ranks->variable : ordered ? ordered->variable : reduced->variable;
      if (!variables.count(variable)) variables[variable] = names.names.unique(variable);
    });
    for (const Stmt &stmt : program.body) countUses(stmt, uses);
    out.line("template <class Shape>");
    out.open("__device__ inline void " + Twine(names.function) + "(coll::Launch<N> &launch, const Args &a) {");
    if (usesMe()) written = true, out.line("const coll::u32 me = launch.me();");
    if (auto split = splitExtents())
      written = true, out.line("const coll::Pieces<Shape, T, N> pieces(" + names.product(*split) + "); // split(…, N)");
    if (program.chunks) chunks();
    else for (const Stmt &stmt : program.body) outer(stmt);
    if (names.trace) out.line("coll::stamp(coll::kReceived);");
    out.line(program.chunks ? "launch.finish(coll::kMostChunks);" : "launch.finish();");
    out.close("}");
    out.blank();
  }

private:
  const Program &program;
  BodyNames &names;
  CodeWriter &out;
  std::map<ValueId, std::string> valueNames;
  Expressions computed; ///< values that are no packet with a name
  std::map<ValueId, std::string> declaredFloats; ///< those that were declared before they were given a value
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
  std::string hopVariable;                      ///< the loop variable whose rank is `hop` places after this one

  // ---- What the whole body needs ----

  void scalar(const Scalar &s) {
    const std::string name = variables[s.name] = "a." + names.scalars.at(s.name);
    if (!s.rank) scope.loops[name] = {std::numeric_limits<int>::min(), std::numeric_limits<int>::max()};
  }

  bool usesMe() const {
    bool uses = false;
    const Stmt *ofAll = nullptr; // the load of a reduction by multicast
    walk(program.body, [&](const Stmt &s) {
      if (const auto *reduce = std::get_if<Reduce>(&s.op()); reduce && reduce->multicast) ofAll = &reduce->body.front();
      uses |= std::holds_alternative<Send>(s.op()) || std::holds_alternative<Signal>(s.op());
      if (const auto *credit = std::get_if<AwaitCredit>(&s.op())) uses |= credit->peer.uses("me");
      if (const auto *load = std::get_if<Load>(&s.op())) uses |= load->from.index.uses("me") || (load->from.owner && &s != ofAll);
      if (const auto *store = std::get_if<Store>(&s.op())) uses |= store->to.index.uses("me") || (store->to.owner && !store->multicast);
      if (const auto *poll = std::get_if<Poll>(&s.op())) uses |= poll->slot.uses("me");
      if (const auto *read = std::get_if<Read>(&s.op())) uses |= read->slot.uses("me");
      if (const auto *branch = std::get_if<If>(&s.op())) uses |= branch->condition.uses("me");
    });
    return uses;
  }

  std::optional<std::vector<std::string>> splitExtents() const {
    std::optional<std::vector<std::string>> extents;
    for (const Value &v : program.values)
      if (v.length.kind == Length::Kind::Piece) extents = v.length.extents;
    return extents;
  }

  // ---- Chunks ----

  /// The chunk loop around the whole body. Vectors are indexed by packet `i`, slots by packet `k` of the chunk.
  void chunks() {
    slotPacket = names.names.unique("k");
    apart(program.chunks->where);
    out.line("const coll::Chunks<" + Twine(program.chunkPackets()) + "> chunks(Packet::count(" +
             domainText(program.chunks->of) + "));");
    out.directive("#pragma unroll 1");
    out.open("for (coll::u32 c = 0; c < chunks.count(); ++c) {");
    out.line("launch.chunk(c, chunks.count());");
    for (const Stmt &stmt : program.body) outer(stmt);
    out.close("}");
  }

  // ---- Statements outside packet loops ----

  void outer(const Stmt &stmt) {
    match(
        stmt, [&](const KernelBoundary &) {}, // Launch's constructor and finish()
        [&](const PacketLoop &s) { packetLoop(s); },
        [&](const Barrier &s) {
          apart(s.where);
          out.line("launch.barrier(" + Twine(s.number) + ");");
        },
        [&](const Fence &s) {
          announce(s.where);
          out.line("launch.fence(); // instead of trusting hardware");
        },
        [&](const Signal &s) { flagLine(s.where, boxName(s.box) + "::announce(launch, " + hop(s.peer) + ", " + text(s.slot) + ");"); },
        [&](const Await &s) { flagLine(s.where, boxName(s.box) + "::await(launch, " + text(s.slot) + ", 1" + (slotIsWriter(s.box) ? ", me" : "") + ");"); },
        [&](const AwaitCredit &s) { flagLine(s.where, awaitText(s, ", " + hop(s.peer))); },
        [&](const ForRanks &s) { flagsOfAll(s); },
        [&](const For &s) {
          if (const AwaitCredit *credit = ofAllOthers(s)) return flagLine(s.where, awaitText(*credit, ""));
          if (const Signal *signal = announcesToAllOthers(s))
            return flagLine(s.where, boxName(signal->box) + "::announce(launch, " + text(signal->slot) + ");");
          apart(s.where, begun);
          out.directive("#pragma unroll 1");
          openFor(s);
          closeOuter(s.body);
          scope.loops.erase(variables.at(s.variable));
        },
        [&](const If &s) {
          apart(s.where, begun);
          out.open("if (" + Twine(condition(s.condition)) + ") {");
          opened = true;
          closeOuter(s.body);
        },
        [](const auto &) { std::abort(); }); // formPacketLoops leaves nothing else outside
  }

  void closeOuter(const Block &body) {
    written = false; // no blank line after the head
    const bool before = begun;
    for (const Stmt &stmt : body) outer(stmt);
    out.close("}");
    written = true, begun = before; // the body may not have run
  }

  /// A signal to, or an await of, every rank: the device headers do them together.
  void flagsOfAll(const ForRanks &loop) {
    if (const auto *signal = std::get_if<Signal>(&loop.body.front().op()))
      return flagLine(loop.where, boxName(signal->box) + "::announce(launch, " + text(signal->slot) + ");");
    if (const auto *credit = std::get_if<Credit>(&loop.body.front().op())) return giveCredits(loop.where, *credit);
    if (const auto *credit = std::get_if<AwaitCredit>(&loop.body.front().op()))
      return flagLine(loop.where, awaitText(*credit, ""));
    const Await &await = std::get<Await>(loop.body.front().op());
    flagLine(loop.where, boxName(await.box) + "::await(launch, 0, N, me);");
  }

  /// Whether slot r of a box is rank r's alone: then its own slot is its own doing, and its flag is not raised.
  bool slotIsWriter(MailboxId box) const {
    bool all = true;
    walk(program.body, [&](const Stmt &s) {
      if (const auto *signal = std::get_if<Signal>(&s.op()); signal && signal->box == box)
        all &= signal->slot.isVariable("me");
    });
    return all;
  }

  const Signal *announcesToAllOthers(const For &loop) const {
    const auto *signal = loop.body.size() == 1 ? std::get_if<Signal>(&loop.body.front().op()) : nullptr;
    return signal && goesToAllOthers(loop, signal->peer) && !signal->slot.uses(loop.variable) ? signal : nullptr;
  }

  void flagLine(SourceOffset where, const std::string &line) {
    apart(where);
    out.line(line);
  }

  // ---- Credits ----

  /// In the first packet loop, behind its first loads, where nothing is released and threads need not meet.
  void giveCredits(SourceOffset where, const Credit &credit) {
    if (!credit.releases && !program.chunks && std::holds_alternative<PacketLoop>(program.body[2].op())) {
      givesInLoop = true;
      return;
    }
    apart(where);
    out.line("Credits::give(launch);");
  }

  static const AwaitCredit *onlyWait(const Block &body) {
    return body.size() == 1 ? std::get_if<AwaitCredit>(&body.front().op()) : nullptr;
  }

  /// The wait of a loop over all other ranks, which the device headers do together; null for another loop.
  const AwaitCredit *ofAllOthers(const ForRanks &loop) const {
    const AwaitCredit *credit = onlyWait(loop.body);
    return credit && credit->peer.isVariable(loop.variable) ? credit : nullptr;
  }
  const AwaitCredit *ofAllOthers(const For &loop) const {
    const AwaitCredit *credit = onlyWait(loop.body);
    return credit && goesToAllOthers(loop, credit->peer) ? credit : nullptr;
  }

  /// Whether `for s in 1 .. N - 1` makes a peer all ranks but this one: `me + s`.
  bool goesToAllOthers(const For &loop, const Index &peer) const {
    const Index next = Index::mod(Index::add(Index::variable("me"), Index::variable(loop.variable)),
                                  Index::constant(program.ranks));
    return loop.first.isConstant(1) && loop.last.isConstant(program.ranks - 1) && peer == next;
  }

  /// Outside packet loops the whole CTA waits; inside, a thread does, and remembers it.
  std::string awaitText(const AwaitCredit &s, const std::string &hop) const {
    const auto memory = creditNames.find(&s);
    return (memory == creditNames.end() ? "Credits::awaitWithCta" : memory->second + ".await") + "(launch, " +
           std::to_string(program.mailboxes[s.box].copies) + hop + ");";
  }

  void declareCredits(const PacketLoop &loop) {
    walk(loop.body, [&](const Stmt &s) {
      if (const auto *credit = std::get_if<AwaitCredit>(&s.op())) {
        creditNames[credit] = creditNames.empty() ? "credits" : names.names.unique("credits");
        out.line("Credits " + Twine(creditNames[credit]) + "; // what this thread has waited for");
      }
    });
  }

  // ---- Messages with counts ----

  std::map<MailboxId, std::string> messageNames; ///< what a thread knows of how long those in a mailbox are
  std::map<ValueId, std::string> countNames;     ///< of values that are cut to a count

  void declareMessages(const PacketLoop &loop) {
    walk(loop.body, [&](const Stmt &s) {
      const auto *poll = std::get_if<Poll>(&s.op());
      const auto *read = std::get_if<Read>(&s.op());
      if (!poll && !read) return;
      const MailboxId box = poll ? poll->box : read->box;
      if (!program.mailboxes[box].counted || messageNames.count(box)) return;
      messageNames[box] = names.names.unique("messages");
      out.line("coll::Messages<N> " + Twine(messageNames[box]) + "; // how long this thread knows them to be");
    });
  }

  bool isCounted(const ForRanks &loop) const {
    return llvm::any_of(loop.body, [&](const Stmt &s) {
      const ValueId v = resultOf(s);
      return v != kNone && program.values[v].count;
    });
  }

  void sendMessages(const ForRanks &loop) {
    const Load &load = std::get<Load>(loop.body[0].op());
    const Send &send = std::get<Send>(loop.body[1].op());
    const Slice &element = program.values[load.result].count->element;
    Slice own = load.from;
    own.index = own.index.substitute(loop.variable, Index::variable("me"));
    const std::string counts = "a." + names.buffers.at(program.buffers[element.buffer].name) + ", ";
    MessagesOut text;
    text.box = boxName(send.box), text.slot = this->text(send.slot), text.packet = slotPacket;
    text.rank = variables.at(loop.variable);
    text.vector = base(load.from), text.own = base(own);
    text.count = counts + this->text(element.index);
    text.ownCount = counts + this->text(element.index.substitute(loop.variable, Index::variable("me")));
    text.length = names.product(load.from.length.extents);
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

  /// A vector of which this rank keeps as much as a count says.
  void loadMessage(const Load &load) {
    const Slice &element = program.values[load.result].count->element;
    const std::string count = countNames[load.result] = names.names.unique(program.buffers[element.buffer].name);
    out.line("const coll::u32 " + Twine(count) + " = coll::countAt(launch, a." +
             names.buffers.at(program.buffers[element.buffer].name) + ", " + text(element.index) + ", " +
             names.product(load.from.length.extents) + ");");
    out.line(declarator(load.result) + " = coll::loadFirst<Packet>(launch, " + base(load.from) + ", " + slotPacket + ", " +
             count + ");");
  }

  void eachMessage(const ForRanks &loop, MailboxId box, ValueId own, ValueId result) {
    const std::string part = declareName(result), count = countNames[result] = names.names.unique("count");
    const std::string owned = own == kNone ? "" : ", " + countNames.at(own) + ", " + nameOf(own);
    out.line("coll::eachMessage<" + Twine(boxName(box)) + ">(");
    out.indent(4);
    out.line("launch, " + messageNames.at(box) + ", " + slotPacket + ", " + names.product(program.values[result].length.extents) + owned + ",");
    out.open("[&](coll::u32 " + variables.at(loop.variable) + ", coll::u32 " + count + ", const Packet &" + part + ") {");
    opened = true;
    for (std::size_t s = 1; s < loop.body.size(); ++s)
      if (!std::holds_alternative<Clear>(loop.body[s].op())) inner(loop.body[s]);
    out.close("});");
    out.indent(-4);
  }

  /// Begins a paragraph of something that all threads do, and read the epoch for unless told otherwise.
  void apart(SourceOffset where, bool reads = true) {
    begun = reads;
    if (written) out.blank();
    written = opened = true;
    announce(where);
  }

  void packetLoop(const PacketLoop &loop) {
    if (written) out.blank();
    written = true;
    if (loop.rows) {
      begun = true;
      return emitRows(program, names, names.names, variables, loop, out);
    }
    needsEpoch = !begun && exchanges(loop);
    declareCredits(loop);
    declareMessages(loop);
    std::string packets = program.chunks ? "chunks.size(c)" : "Packet::count(" + domainText(loop.domain) + ")";
    if (program.hasCounts()) packets = "Packet::count(coll::atLeastOne(" + domainText(loop.domain) + "))";
    if (std::exchange(givesInLoop, false)) give = "Credits::give(launch, " + slotPacket + ", " + packets + ");";
    out.open("Shape::forEach(launch, " + Twine(packets) + ", [&](coll::u32 " + slotPacket + ") {");
    if (program.chunks) out.line("const coll::u32 i = chunks.first(c) + " + Twine(slotPacket) + ";");
    opened = true;
    block(loop.body);
    out.close("});");
  }

  std::string domainText(const Length &domain) const {
    return domain.kind == Length::Kind::Piece ? "pieces.piece" : names.product(domain.extents);
  }

  static bool exchanges(const PacketLoop &loop) {
    bool found = false;
    walk(loop.body, [&](const Stmt &s) {
      found |= std::holds_alternative<Send>(s.op()) || std::holds_alternative<Poll>(s.op()) ||
               std::holds_alternative<Read>(s.op());
    });
    return found;
  }

  /// The epoch is read after the first payload is on its way, and before anything that only some packets do.
  void readEpoch() {
    if (needsEpoch) out.line("launch.begin();");
    if (needsEpoch && names.trace) out.line("coll::stampFirst(coll::kSends);");
    if (!give.empty()) out.line(give + " // this launch has begun: all that was read before is read");
    needsEpoch = false;
    give.clear();
  }

  /// The source line as a comment, where it is not the one announced last.
  void announce(SourceOffset where) {
    const unsigned line = lineOf(program, where);
    const bool first = std::exchange(opened, false);
    if (line == lastLine) return;
    if (lastLine && !first) out.blank();
    lastLine = line;
    const std::string_view text = program.sources->lineAt(std::uint32_t(where));
    out.from(line);
    llvm::StringRef shown = llvm::StringRef(text.data(), text.size()).split("//").first.trim();
    out.line("// " + Twine(baseName(program.sources->position(std::uint32_t(where)).file->name)) + ":" + Twine(line) +
             "    " + shown);
  }

  // ---- Packets ----

  /// Statements whose vectors may be too short for packet `i` go under one `if`, as many as follow each other.
  void block(const Block &stmts) {
    const auto outer = constants;
    for (std::size_t at = 0; at < stmts.size();) {
      namePiece(stmts[at]);
      const std::string guard = guardOf(stmts[at]);
      std::size_t end = at + 1;
      while (end < stmts.size() && guardOf(stmts[end]) == guard) ++end;
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

  static bool isElse(const Stmt &stmt, const Stmt &next) {
    const auto *branch = std::get_if<If>(&stmt.op()), *other = std::get_if<If>(&next.op());
    return branch && other && Index::negate(branch->condition) == other->condition;
  }

  void ifElse(const Stmt &stmt, const Stmt &next) {
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

  void openIf(const If &s) {
    out.open("if (" + Twine(condition(s.condition)) + ") {");
    opened = true;
    block(s.body);
  }

  /// Whether `next` gives to a variable what `stmt` makes and nothing else needs: then the variable is what it makes.
  bool defineInPlace(const Stmt &stmt, const Stmt &next) {
    const auto *assign = std::get_if<Assign>(&next.op());
    const ValueId made = resultOf(stmt);
    if (!assign || made == kNone || assign->value != made || uses[made] != 1) return false;
    if (program.values[made].variable || std::holds_alternative<Send>(stmt.op())) return false;
    if (Expressions::defines(stmt) || program.values[made].dtype != program.dtype) return false;
    if (!valueNames.count(assign->variable)) {
      definesVariable = assign->variable;
      return true;
    }
    valueNames[made] = nameOf(assign->variable);
    return true;
  }

  /// The number of a piece that has to be worked out gets a name before the first test of its length.
  void namePiece(const Stmt &stmt) {
    const Length *length = std::holds_alternative<ForRanks>(stmt.op()) ? nullptr : lengthOf(stmt);
    if (!length || length->kind != Length::Kind::Piece) return;
    const std::string number = text(length->index);
    if (number.find('(') == std::string::npos) return;
    announce(whereOf(stmt));
    out.line("const coll::u32 " + Twine(constants[number] = names.names.unique("piece")) + " = " + number + ";");
  }

  template <class Visit>
  static void each(const Stmt &stmt, Visit visit) {
    visit(stmt);
    if (const Block *body = bodyOf(stmt)) walk(*body, visit);
  }

  static void countUses(const Stmt &stmt, std::map<ValueId, int> &counts) {
    usesOf(stmt, [&](ValueId v) { ++counts[v]; });
  }

  /// Declares what is made under an `if` and used after it.
  void declareOutliving(const Block &stmts, std::size_t begin, std::size_t end) {
    std::map<ValueId, int> inside;
    for (std::size_t s = begin; s < end; ++s) {
      countUses(stmts[s], inside);
      each(stmts[s], [&](const Stmt &stmt) { // what a rank keeps for itself goes by the name of what it sent
        if (const auto *send = std::get_if<Send>(&stmt.op()); send && send->own != kNone && program.isKept(send->own))
          --inside[send->value];
      });
    }
    for (std::size_t s = begin; s < end; ++s)
      if (ValueId v = resultOf(stmts[s]); v != kNone && !valueNames.count(v))
        if (program.values[v].variable || uses[v] > inside[v])
          if (!isInline(stmts[s])) isFloats(stmts[s]) ? declareFloats(v) : declare(v);
  }

  static SourceOffset whereOf(const Stmt &stmt) {
    return match(stmt, [](const auto &s) -> SourceOffset { return s.where; });
  }

  /// The condition under which a statement of a packet loop has work, empty where it always has.
  std::string guardOf(const Stmt &stmt) const {
    if (const auto *loop = std::get_if<ForRanks>(&stmt.op())) {
      std::string guard;
      for (const Stmt &s : loop->body)
        if (const Length *l = lengthOf(s); l && !l->index.uses(loop->variable)) guard = reaches(*l);
      return guard;
    }
    if (const auto *clear = std::get_if<Clear>(&stmt.op())) {
      Length cleared = program.mailboxes[clear->box].length;
      cleared.index = cleared.index.substitute("slot", clear->slot);
      return reaches(cleared);
    }
    const Length *length = lengthOf(stmt);
    return length ? reaches(*length) : "";
  }

  const Length *lengthOf(const Stmt &stmt) const {
    if (const auto *send = std::get_if<Send>(&stmt.op())) return &program.values[send->value].length;
    if (const auto *store = std::get_if<Store>(&stmt.op())) return &store->to.length;
    if (ValueId v = resultOf(stmt); v != kNone) return &program.values[v].length;
    return nullptr;
  }

  std::string reaches(const Length &length) const {
    if (length.kind != Length::Kind::Piece) return "";
    return "coll::reaches<Shape, Packet>(i, pieces.size(" + text(length.index) + "))";
  }

  void inner(const Stmt &stmt) {
    if (isInline(stmt)) return compute(stmt);
    announce(whereOf(stmt));
    if (!std::holds_alternative<Load>(stmt.op()) && !loadsFirst(stmt)) readEpoch();
    if (Expressions::defines(stmt)) return compute(stmt);
    match(
        stmt, [&](const Load &s) { load(s); }, [&](const Store &s) { store(s); },
        [&](const StoreCount &s) {
          out.line("coll::storeCount(launch, " + base(s.to) + ", " + slotPacket + ", " + countNames.at(s.value) + ");");
        },
        [&](const Send &s) {
          if (s.own == kNone) return out.line(sendText(s, hop(s.peer)));
          valueNames[s.own] = nameOf(s.value); // kept by the rank that everything goes to
          out.line("if (" + Twine(condition(Index::make(Index::Kind::Ne, Index::variable("me"), s.peer))) + ") " +
                   sendText(s, hop(s.peer)));
        },
        [&](const Poll &s) { readOne(s.result, s.box, s.slot); },
        [&](const Read &s) { readOne(s.result, s.box, s.slot); },
        [&](const Reduce &s) { reduce(s); }, [&](const ForRanks &s) { forRanks(s); },
        [&](const Clear &) {}, // what receives clears
        [&](const Fence &) { out.line("launch.fence(); // instead of trusting hardware"); },
        [&](const Assign &s) {
          if (program.values[s.variable].dtype != program.dtype) return assignFloats(s);
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

  // ---- Arithmetic ----

  /// Whether a value is written where it is used instead of getting a name.
  bool isInline(const Stmt &stmt) {
    if (!Expressions::defines(stmt)) return false;
    const ValueId v = resultOf(stmt);
    return program.values[v].spread == Spread::Everywhere || (program.values[v].name.empty() && uses[v] <= 1);
  }

  /// Whether a statement makes floats and not a packet.
  bool isFloats(const Stmt &stmt) const {
    const DType type = program.values[resultOf(stmt)].dtype;
    if (const auto *map = std::get_if<Map>(&stmt.op()))
      return map->function != Function::Convert || type != program.dtype || type == DType::F32;
    if (std::holds_alternative<Load>(stmt.op()) || std::holds_alternative<Reduce>(stmt.op())) return type != program.dtype;
    return false;
  }

  void known(ValueId v) {
    if (v != kNone && !computed.has(v)) computed.set(v, valueNames.at(v), Expressions::Form::Packet);
  }

  void compute(const Stmt &stmt) {
    if (const auto *map = std::get_if<Map>(&stmt.op())) known(map->a), known(map->b);
    computed.define(stmt);
    if (isInline(stmt)) return;
    const ValueId v = resultOf(stmt);
    define(stmt, withoutParentheses(isFloats(stmt) ? computed.floats(v) : computed.packet(v)));
  }

  /// Gives a value a name of its own.
  void define(const Stmt &stmt, const std::string &text) {
    const ValueId v = resultOf(stmt);
    if (!isFloats(stmt)) {
      out.line(declarator(v) + " = " + text + ";");
      return computed.set(v, valueNames.at(v), Expressions::Form::Packet);
    }
    const bool declared = declaredFloats.count(v);
    const std::string name = declared ? declaredFloats.at(v) : names.names.unique(nameFor(v));
    out.line((declared ? "" : "const auto ") + Twine(name) + " = " + text + ";");
    computed.set(v, name, Expressions::Form::Floats);
  }

  void assignFloats(const Assign &s) {
    known(s.value);
    const std::string value = withoutParentheses(computed.floats(s.value));
    if (!computed.has(s.variable)) declareFloats(s.variable);
    out.line(computed.text(s.variable) + " = " + value + ";");
  }

  std::string nameFor(ValueId v) const { return program.values[v].name.empty() ? "value" : program.values[v].name; }
  void declareFloats(ValueId v) {
    const std::string name = declaredFloats[v] = names.names.unique(nameFor(v));
    out.line("coll::Floats<Packet::kElements> " + Twine(name) + " = {};");
    computed.set(v, name, Expressions::Form::Floats);
  }

  void store(const Store &s) {
    known(s.value);
    if (program.values[s.value].count)
      return out.line("coll::storeFirst(launch, " + base(s.to) + ", " + slotPacket + ", " + countNames.at(s.value) + ", " +
                      nameOf(s.value) + ");");
    if (program.buffers[s.to.buffer].dtype == program.dtype)
      return out.line("coll::store<Shape>(launch, " + place(s.to) + ", " + nameOf(s.value) + ");");
    out.line("coll::storeFloats<Shape>(launch, " + place(s.to) + ", " + withoutParentheses(computed.floats(s.value)) + ");");
  }

  void load(const Load &s) {
    if (program.values[s.result].count) return loadMessage(s);
    if (program.buffers[s.from.buffer].dtype != program.dtype)
      return define(s, "coll::loadFloats<Shape, Packet::kElements>(launch, " + place(s.from) + ")");
    out.line(declarator(s.result) + " = coll::load<Shape, Packet>(launch, " + place(s.from) + ");");
  }

  void readOne(ValueId result, MailboxId box, const Index &slot) {
    out.line(declarator(result) + " = coll::readSlot<" + boxName(box) + ">(launch, " +
             text(slot) + ", " + slotPacket + ");");
  }

  void reduce(const Reduce &s) {
    const Stmt &from = s.body.front();
    const auto *load = std::get_if<Load>(&from.op());
    if (load && s.multicast)
      return out.line(declarator(s.result) + " = coll::reduceAll<Shape, " + opName(s.op) + ", Packet>(launch, " +
                      placeOfAll(load->from) + ");");
    if (load) return reduceRanks(s, *load);
    const auto *poll = std::get_if<Poll>(&from.op());
    const auto *read = std::get_if<Read>(&from.op());
    const MailboxId box = poll ? poll->box : read->box;
    const ValueId own = poll ? poll->own : read->own;
    const std::string arguments = opName(s.op) + ", T, " + boxName(box) + ">(launch, " + slotPacket + ownText(own) + ")";
    if (program.values[s.result].dtype != program.dtype) return define(s, "coll::reduceSlotsWide<" + arguments);
    out.line(declarator(s.result) + " = coll::reduceSlots<" + arguments + ";");
  }

  void reduceRanks(const Reduce &s, const Load &part) {
    out.open(declarator(s.result) + " = coll::reduceRanks<" + opName(s.op) + ", T, Packet, N>([&](coll::u32 " +
             variables.at(s.variable) + ") {");
    out.line("return coll::load<Shape, Packet>(launch, " + place(part.from) + ");");
    out.close("});");
  }

  std::string opName(ReduceOp op) const { return program.op == op ? "Op" : std::string(cudaName(op)); }
  std::string ownText(ValueId own) { return own == kNone ? "" : ", " + nameOf(own); }

  void forLoop(const For &s) {
    if (loadsFirst(s)) return loadThenSend(s);
    out.directive(s.last.value() - s.first.value() < kUnrolled ? "#pragma unroll" : "#pragma unroll 1");
    openFor(s);
    block(s.body);
    closeFor(s);
  }

  /// As for ForRanks: all loads of `x[me + s] -> (me + s).box[me]` go out before the first send waits for its own.
  bool loadsFirst(const For &s) const {
    const std::int64_t units = (s.last.value() + 1) * (program.wire().payloadBytes > 16 ? 2 : 1);
    if (s.body.size() != 2 || s.first.value() < 0 || units > kMaxUnits) return false;
    const auto *load = std::get_if<Load>(&s.body[0].op());
    const auto *send = std::get_if<Send>(&s.body[1].op());
    return load && send && send->value == load->result && load->from.length.kind != Length::Kind::Piece;
  }

  void loadThenSend(const For &s) {
    const Load &load = std::get<Load>(s.body[0].op());
    const std::string packets = declareName(load.result), variable = variables.at(s.variable);
    out.line("Packet " + Twine(packets) + "[" + Twine(s.last.value() + 1) + "]; // by " + variable);
    for (const bool loads : {true, false}) {
      out.directive("#pragma unroll");
      openFor(s);
      valueNames[load.result] = packets + "[" + variable + "]";
      out.line(loads ? nameOf(load.result) + " = coll::load<Shape, Packet>(launch, " + place(load.from) + ");"
                     : sendText(std::get<Send>(s.body[1].op()), hop(std::get<Send>(s.body[1].op()).peer)));
      closeFor(s);
    }
  }

  void openFor(const For &s) {
    const std::string variable = variables.at(s.variable);
    scope.loops[variable] = {s.first.value(), s.last.value()};
    out.open("for (int " + Twine(variable) + " = " + Twine(s.first.value()) + "; " + variable + " <= " +
             Twine(s.last.value()) + "; ++" + variable + ") {");
    opened = true;
  }

  void closeFor(const For &s) {
    scope.loops.erase(variables.at(s.variable));
    out.close("}");
  }

  // ---- Loops over ranks ----

  void forRanks(const ForRanks &loop) {
    if (const AwaitCredit *credit = ofAllOthers(loop)) return out.line(awaitText(*credit, ""));
    eachRank(loop);
    hopVariable.clear();
  }

  void eachRank(const ForRanks &loop) {
    for (const Stmt &s : loop.body)
      if (std::holds_alternative<Poll>(s.op()) || std::holds_alternative<Read>(s.op())) return eachSlot(loop);
    const bool others = llvm::all_of(loop.body, [&](const Stmt &s) { return skipsSelf(s, loop); });
    if (isCounted(loop)) return sendMessages(loop);
    if (loadsFirst(loop)) return loadThenSend(loop, others);
    for (const Stmt &s : loop.body)
      if (const auto *send = std::get_if<Send>(&s.op()); send && send->own != kNone && program.isKept(send->own)) {
        if (others) valueNames[send->own] = nameOf(send->value);
        else declare(send->own);
      }
    if (multicast(loop, others)) return;
    out.directive("#pragma unroll");
    const auto *only = loop.body.size() == 1 ? std::get_if<Send>(&loop.body.front().op()) : nullptr;
    if (only && only->peer.isVariable(loop.variable) && (others || only->own == kNone) && !usesVariable(loop))
      return out.line("for (int hop = " + Twine(others ? 1 : 0) + "; hop < N; ++hop) " + Twine(sendText(*only, "hop")));
    const auto *store = loop.body.size() == 1 ? std::get_if<Store>(&loop.body.front().op()) : nullptr;
    if (store && !usesVariable(loop)) {
      hopVariable = loop.variable;
      return out.line("for (int hop = 0; hop < N; ++hop) coll::store<Shape>(launch, " + place(store->to) + ", " +
                      nameOf(store->value) + ");");
    }
    openHops(loop, others ? 1 : 0);
    for (const Stmt &s : loop.body) rankStatement(s, loop);
    out.close("}");
  }

  /// What goes to all ranks at once; `others`: this rank need not get it.
  bool multicast(const ForRanks &loop, bool others) {
    const auto *send = std::get_if<Send>(&loop.body.front().op());
    const auto *store = std::get_if<Store>(&loop.body.front().op());
    if (send && send->multicast)
      out.line("coll::" + Twine(others ? "sendToOthers<" : "sendToAll<") + boxName(send->box) + ">(launch, a." +
               names.regionsOfAll + ", " + text(send->slot) + ", " + slotPacket + ", " + nameOf(send->value) + ");");
    else if (store && store->multicast)
      out.line("coll::storeToAll<Shape>(launch, " + placeOfAll(store->to) + ", " + nameOf(store->value) + ");");
    else
      return false;
    return true;
  }

  void openHops(const ForRanks &loop, int first) {
    hopVariable = loop.variable;
    out.open("for (int hop = " + Twine(first) + "; hop < N; ++hop) {");
    if (usesVariable(loop))
      out.line("const coll::u32 " + variables.at(loop.variable) + " = coll::rankAt<N>(me, hop);");
    std::string guard;
    for (const Stmt &s : loop.body)
      if (const Length *l = lengthOf(s); l && l->index.uses(loop.variable)) guard = reaches(*l);
    if (!guard.empty()) out.line("if (!" + guard + ") continue;");
  }

  /// A loop of one load and one send for each rank, or one store where either reaches into a window: all loads go out
  /// before the first send waits for its own. Not for so many ranks that the packets would not fit into registers.
  bool loadsFirst(const ForRanks &loop) const {
    const int units = program.ranks * int((program.wire().payloadBytes + 15) / 16);
    if (loop.body.size() != 2 || units > kMaxUnits) return false;
    const auto *load = std::get_if<Load>(&loop.body[0].op());
    const auto *send = std::get_if<Send>(&loop.body[1].op());
    const auto *store = std::get_if<Store>(&loop.body[1].op());
    if (load && store) return store->value == load->result && (load->from.owner || store->to.owner);
    return load && send && send->value == load->result && send->peer.isVariable(loop.variable);
  }
  bool loadsFirst(const Stmt &stmt) const {
    const auto *loop = std::get_if<ForRanks>(&stmt.op());
    return loop && loadsFirst(*loop);
  }

  void loadThenSend(const ForRanks &loop, bool others) {
    const Load &load = std::get<Load>(loop.body[0].op());
    const auto *store = std::get_if<Store>(&loop.body[1].op());
    const std::string packets = declareName(load.result);
    out.line("Packet " + Twine(packets) + "[N]; // by how many places the rank is after me");
    out.directive("#pragma unroll");
    openHops(loop, others ? 1 : 0);
    out.line(packets + "[hop] = coll::load<Shape, Packet>(launch, " + place(load.from) + ");");
    out.close("}");
    if (store) return storeEach(loop, *store, packets);
    const Send &send = std::get<Send>(loop.body[1].op());
    readEpoch();
    out.directive("#pragma unroll");
    openHops(loop, send.own == kNone ? 0 : 1);
    valueNames[load.result] = packets + "[hop]";
    out.line(sendText(send, "hop"));
    out.close("}");
    if (send.own != kNone) valueNames[send.own] = packets + "[0]";
  }

  void storeEach(const ForRanks &loop, const Store &store, const std::string &packets) {
    out.directive("#pragma unroll");
    openHops(loop, 0);
    out.line("coll::store<Shape>(launch, " + place(store.to) + ", " + packets + "[hop]);");
    out.close("}");
  }

  /// Whether nothing is to be done for this rank itself: what it keeps is a value from outside the loop, or not used.
  bool skipsSelf(const Stmt &stmt, const ForRanks &loop) const {
    if (std::holds_alternative<Load>(stmt.op())) return true;
    const auto *send = std::get_if<Send>(&stmt.op());
    if (!send || send->own == kNone || !send->peer.isVariable(loop.variable)) return false;
    if (!program.isKept(send->own)) return true;
    return llvm::none_of(loop.body, [&](const Stmt &s) { return resultOf(s) == send->value; });
  }

  /// Whether a slice needs the number of a rank, rather than how far it is away.
  static bool usesByNumber(const Slice &slice, const std::string &rank) {
    return slice.index.uses(rank) || (slice.owner && slice.owner->uses(rank) && !slice.owner->isVariable(rank));
  }

  bool usesVariable(const ForRanks &loop) const {
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

  void rankStatement(const Stmt &stmt, const ForRanks &loop) {
    const auto *send = std::get_if<Send>(&stmt.op());
    if (!send || !send->peer.isVariable(loop.variable)) return inner(stmt);
    announce(send->where);
    if (send->own == kNone || !program.isKept(send->own) || valueNames[send->own] == nameOf(send->value)) return out.line(sendText(*send, "hop"));
    out.line("if (hop == 0) " + Twine(nameOf(send->own)) + " = " + nameOf(send->value) + ";");
    out.line("else " + Twine(sendText(*send, "hop")));
  }

  /// `forall r in ranks: … box[r] …`: all slots are waited for together, then used one by one.
  void eachSlot(const ForRanks &loop) {
    const Stmt &first = loop.body.front();
    const auto *poll = std::get_if<Poll>(&first.op());
    const auto *read = std::get_if<Read>(&first.op());
    const MailboxId box = poll ? poll->box : read->box;
    const ValueId own = poll ? poll->own : read->own, result = poll ? poll->result : read->result;
    if (program.mailboxes[box].counted) return eachMessage(loop, box, own, result);
    const std::string condition = reaches(program.values[result].length);
    const std::string part = declareName(result);
    const std::string argument = "coll::u32 " + variables.at(loop.variable);
    out.line("coll::eachSlot<" + Twine(boxName(box)) + ">(");
    out.indent(4);
    out.line("launch, " + Twine(slotPacket) + ownText(own) + ", " +
             (condition.empty() ? "[](coll::u32) { return true; }," : "[&](" + argument + ") { return " + condition + "; },"));
    out.open("[&](" + Twine(argument) + ", const Packet &" + part + ") {");
    for (std::size_t s = 1; s < loop.body.size(); ++s)
      if (!std::holds_alternative<Clear>(loop.body[s].op())) inner(loop.body[s]);
    out.close("});");
    out.indent(-4);
  }

  // ---- Pieces of text ----

  Index renamed(Index index) const {
    for (const auto &[author, name] : variables)
      if (author != name) index = index.substitute(author, Index::variable(name));
    return index;
  }
  std::string text(const Index &index) const {
    const std::string number = indexText(renamed(index), scope);
    auto named = constants.find(number);
    return named == constants.end() ? number : named->second;
  }
  std::string hop(const Index &peer) const { return hopText(renamed(peer), scope); }
  std::string condition(const Index &index) const { return conditionText(renamed(index), scope); }

  std::string sendText(const Send &s, const std::string &hop) {
    return boxName(s.box) + "::send(launch, " + hop + ", " + text(s.slot) + ", " + slotPacket + ", " +
           nameOf(s.value) + ");";
  }

  /// Where a slice begins.
  std::string base(const Slice &slice) const {
    std::string base = "a." + names.buffers.at(program.buffers[slice.buffer].name);
    if (program.buffers[slice.buffer].window) base += "[" + (slice.owner ? hopOf(*slice.owner) : "0") + "]";
    const std::string number = text(slice.index);
    switch (slice.length.kind) {
    case Length::Kind::Whole: return base;
    case Length::Kind::Row: return base + " + " + number + (slice.length.extents.empty() ? "" : " * (" + names.product(slice.length.extents) + ")");
    case Length::Kind::Piece: return base + " + pieces.begin(" + number + ")";
    }
    return {};
  }

  /// `pointer, i, length`: packet `i` of a slice.
  std::string place(const Slice &slice) const {
    const bool piece = slice.length.kind == Length::Kind::Piece;
    return base(slice) + ", i, " + (piece ? "pieces.size(" + text(slice.index) + ")" : names.product(slice.length.extents));
  }

  /// `pointers, pointer of all, begin, i, length`: packet `i` of a slice of every rank.
  std::string placeOfAll(const Slice &slice) const {
    const std::string &name = program.buffers[slice.buffer].name, number = text(slice.index);
    const std::string base = "a." + names.buffers.at(name) + ", a." + names.buffersOfAll.at(name) + ", ";
    const std::string elements = names.product(slice.length.extents);
    switch (slice.length.kind) {
    case Length::Kind::Whole: return base + "0, i, " + elements;
    case Length::Kind::Row: return base + number + " * (" + elements + "), i, " + elements;
    case Length::Kind::Piece: return base + "pieces.begin(" + number + "), i, pieces.size(" + number + ")";
    }
    return {};
  }

  /// How many places after this rank a peer is.
  std::string hopOf(const Index &rank) const { return rank.isVariable(hopVariable) ? "hop" : hop(rank); }

  std::string boxName(MailboxId box) const { return names.boxes.at(program.mailboxes[box].name); }

  std::string declareName(ValueId v) { return valueNames[v] = names.names.unique(program.values[v].name); }
  std::string nameOf(ValueId v) const {
    auto name = valueNames.find(v);
    return name != valueNames.end() ? name->second : withoutParentheses(computed.packet(v));
  }
  void declare(ValueId v) { out.line("Packet " + Twine(declareName(v)) + " = {};"); }
  /// The left side of the definition of a value, which declares it unless it has been.
  std::string declarator(ValueId v) {
    if (valueNames.count(v)) return nameOf(v);
    const ValueId variable = std::exchange(definesVariable, kNone);
    return (variable == kNone ? "const Packet " : "Packet ") + declareName(variable == kNone ? v : variable);
  }
};

} // namespace

std::string BodyNames::product(const std::vector<std::string> &authorExtents) const {
  std::string text;
  for (const std::string &e : authorExtents) {
    if (!text.empty()) text += " * ";
    auto it = extents.find(e);
    text += it != extents.end() ? "a." + it->second : e == "N" ? e : e + "ull";
  }
  return text.empty() ? "1" : text;
}

void emitBody(const Program &program, BodyNames &names, CodeWriter &out) { BodyEmitter(program, names, out).run(); }

} // namespace coll::codegen
