// A program of the IR: the tables its operations refer to, and walks over it.
#pragma once

#include "coll/Manifest.h"
#include "ir/Ops.h"
#include "support/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>
#include <optional>

namespace coll::ir {

/// The arrival protocols that can be lowered. Others are refused before there is IR of them.
enum class Sync { LL, LL16, LL128, Sentinel, Flag, Barrier, Counter, Counter16, Counter128 };
llvm::StringRef keyword(Sync sync);
/// Whether what is sent is added to what is there.
inline bool adds(Sync sync) { return sync == Sync::Counter || sync == Sync::Counter16 || sync == Sync::Counter128; }

/// What a sync mode makes of a vector: packets, each of which takes a line of a slot.
struct Wire {
  unsigned payloadBytes;     ///< of a packet
  unsigned lineBytes;        ///< that a packet takes in a slot
  unsigned together = 1;     ///< packets come in whole groups of so many, whose threads act as one
  unsigned unsplitBytes = 8; ///< aligned stores of so many bytes must arrive whole; up to 8, PTX promises it
  unsigned minArch = 70;     ///< the lowest sm_XX that the mode is for
  unsigned alignment = 16;   ///< of a packet that is whole in a vector, in bytes

  /// Bytes that follow each other in a vector: a packet, or of those that come in groups each of its two pieces.
  unsigned pieceBytes() const { return together > 1 ? payloadBytes * 16 / 15 / 2 : payloadBytes; }
  /// Bytes that a thread has room for: those of a packet and, of one in pieces, what not every thread has.
  unsigned packetBytes() const { return together > 1 ? 2 * pieceBytes() : payloadBytes; }
};
Wire wireOf(Sync sync);
/// The mode of a keyword; nothing if none has it.
std::optional<Sync> syncOf(llvm::StringRef keyword);
/// Along what a value is constant.
enum class Spread { Element, Group, Row, Everywhere };

/// How a slot of a mailbox may be filled again.
enum class Reuse {
  Auto,         ///< as DoubleBuffer where that is proved for some number of copies, else as Ack
  DoubleBuffer, ///< whoever fills it has received what its reader sent afterwards
  Ack,          ///< its reader tells the writer: Credit, AwaitCredit
  Barrier,      ///< a barrier of the team ends the launch
};

/// How many of its elements a value has where that is known only once the kernel runs: as many as an element of an input
/// says, or as the message in a slot of a counted mailbox has.
struct Count {
  Slice element = {};        ///< of one number; of no meaning if there is a box
  MailboxId box = kNone;
  Index slot = {};
  bool rows = false; ///< they are rows of a matrix

  bool operator==(const Count &other) const {
    return box == other.box && (box == kNone ? element == other.element : slot == other.slot);
  }
};

struct Value {
  std::string name; ///< the author's where there is one
  Length length;    ///< of no meaning where it is constant everywhere
  bool variable = false; ///< may be assigned more than once
  DType dtype = DType::F32;
  Spread spread = Spread::Element;
  unsigned group = 0;    ///< elements of a group, if it is constant along such
  bool everyRow = false; ///< made of rows that each stand for every row: as long as there is need
  std::optional<Count> count = {}; ///< then it is the begin of a vector of this length
  bool kept = false;               ///< taken in packet loops behind the one that makes it: lies in memory meanwhile
  std::uint64_t keptOffset = 0;    ///< where, in the region. Set by assignMemory
};

struct Buffer {
  std::string name;
  Direction direction;
  DType dtype;
  std::vector<std::string> extents; ///< each a free extent, "N", a number, or what coll/Extent.h reads
  bool window = false;              ///< peers touch it, so it lies in symmetric memory
  std::vector<std::string> bound = {}; ///< of numbers of elements: they are at most the product of these extents
  bool replicated = false;          ///< holds the same on all ranks at entry
  MailboxId flags = kNone;          ///< of a window: announces what was stored in a row or piece, by its number
};

/// An argument that is no vector: `root`. Equal on all ranks in a launch, free to change from launch to launch. A rank or
/// an integer is an index variable of its name.
struct Scalar {
  std::string name;
  bool rank = true;         ///< in 0 .. N-1
  DType type = DType::U32;  ///< of one that is no rank

  bool isIndex() const { return rank || !isFloat(type); }

  /// What it may be where it steers a program (ir/Indices.h): any rank, any number of its type, but of 64 bits only up to
  /// kMost, so that a proof need not look at sums and products that overflow.
  static constexpr std::int64_t kMost = std::int64_t(1) << 48;
  std::int64_t least() const, greatest(int ranks) const;
};

struct Mailbox {
  std::string name;
  Sync sync;
  Index slots; ///< a constant once N is
  Length length;          ///< of one slot: what the writer of slot `slot` sends to rank `me`, over these two variables
  DType dtype = DType::F32; ///< of what is sent
  Spread spread = Spread::Element; ///< along what it is constant: a number for each row, or group of it, has a line of its own
  unsigned group = 0;              ///< elements of such a group
  bool payload = true;    ///< else its slots are announced and hold nothing
  bool counted = false;   ///< a message says how long it is, and is sent even if it has no elements
  bool countsRows = false; ///< in rows of a matrix
  Reuse reuse = Reuse::Auto;
  bool declaredDepth = false;
  bool canonical = false; ///< senders turn the value that means empty into an equal one: set by expandSyncModes
  int copies = 0;         ///< how many rotate by epoch; 0 until the checker or the author says
  std::uint64_t lines = 0, offset = 0; ///< lines of a slot; place in the region. Set by assignMemory
  std::uint64_t countOffset = 0;       ///< of the lines with the counts, one a slot and copy
  std::uint64_t stride = 0;            ///< bytes from copy to copy; 0: they follow each other
  std::uint64_t countStride = 0;       ///< the same of the lines with the counts
  std::uint64_t flagOffset = 0;        ///< of the words that announce its slots; 0: they follow its copies
  SourceOffset where = 0;
};

/// A launch in chunks: the body runs once for each `elements` of the vector `of`, in order, on that part of every
/// vector; the last part may be short. To the mailboxes a chunk is what a launch is without: it has an epoch of its own,
/// and fills each slot once. Nothing but what the body says orders one chunk before the next.
struct Chunks {
  Length of; ///< for a Piece, a full one
  std::uint64_t elements = 0;
  SourceOffset where = 0;
};

/// Arithmetic in `ensures`, operands before their uses; the last node is what the target holds. Its operations are those
/// of the body: Map, RowReduce, Constant, Argument.
struct FormulaNode {
  enum class Kind {
    Input,     ///< `source` of rank `from` at entry
    Exit,      ///< `source`, an output of this rank, at exit
    Reduction, ///< the `source` of all ranks, which are `variable` in its index, by `op`, in f32 if it is narrow
    Constant,
    Argument,
    Map,
    RowReduce,
  } kind = Kind::Input;
  DType dtype = DType::F32;
  Spread spread = Spread::Element;
  Slice source = {};
  bool everyRow = false; ///< the source is a row, for every row of the target
  bool perRow = false;   ///< the source has one element for each row of the target
  Index from = {};
  std::string variable = {};
  ReduceOp op = ReduceOp::Sum;
  double value = 0;        ///< of a Constant
  std::optional<Index> number = {}; ///< a whole number, instead
  std::string scalar = {}; ///< of an Argument
  Function function = Function::Add;
  RowOp rowOp = RowOp::Sum;
  unsigned group = 0;
  int a = kNone, b = kNone;
  bool folds = false; ///< a Map that is a step of a reduction, which is written out: `b` is the next rank's part
};

/// What `ensures` promises of an output.
struct Ensures {
  enum class Kind {
    Reduction, ///< target == reduce(op, r in ranks: r.source)
    Copy,      ///< target == source of rank `from`
    Formula    ///< target == formula
  } kind;
  Slice target;            ///< of an output of rank `me`; its index may use `variable`
  Slice source;            ///< of an input of the contributing rank, which is `r` in its index (Reduction) or `from`
  std::string variable;    ///< bound by `forall … in ranks`, empty if none
  Index from;              ///< Copy: whose value, over `variable`, `me` and scalars
  SourceOffset where = 0;
  std::optional<Index> on = {}; ///< promised only to ranks where this condition over `me` and scalars holds
  std::vector<FormulaNode> formula = {};
  std::optional<Slice> count = {}; ///< no Reduction: of so many elements, which is a number of an input of rank `countFrom`
  Index countFrom = {};
  bool countsRows = false; ///< of so many rows
  Length domain = {}; ///< Formula: of the vectors it computes with; the target has one element for each of their rows or
                      ///< groups if the last node is constant there
};

/// What the members of a `workspace` agree on: one region for all, with one epoch. Behind a header that has room for any
/// of them come the copies, each with room for all mailboxes of any member, so that what is written in two launches that
/// follow each other never meets. The header has what is no slot: barrier words, credits, flags, what is kept, counts.
struct SharedScratch {
  std::string workspace;           ///< its name
  std::string key;                 ///< equal for whoever shares it, and for nobody else
  std::vector<std::string> others; ///< members
  int copies = 2;
  std::uint64_t begin = 0, copyBytes = 0; ///< of the first copy, and of each
  std::uint64_t credits = 0;              ///< where those of all members are
  std::uint64_t flags = 0;                ///< where this member's words that announce slots begin: no two members share any
  std::uint64_t kept = 0;                 ///< where what is kept between loops lies, of one launch at a time
  std::uint64_t counts = 0, countBytes = 0; ///< where the lines with counts begin, and of each of their copies
};

struct Program {
  std::string member, collective, algorithm, mode;
  std::string sourceFile;
  const Sources *sources = nullptr;    ///< the texts that `where` offsets lie in
  const std::string *source = nullptr; ///< the user's text, whose offsets start at 0
  int ranks = 0;
  DType dtype = DType::F32; ///< T
  std::optional<DType> mailed = {}; ///< the type that all mailboxes are of, where none is of T
  std::optional<ReduceOp> op;
  std::string order = "ascending";
  std::uint64_t maxBytes = 0; ///< from `when bytes <= …`: of the largest argument

  std::vector<Buffer> buffers;
  std::vector<std::string> extents; ///< free ones, in order of appearance
  std::vector<std::pair<std::string, std::string>> inplace; ///< as Manifest::inplace
  std::vector<std::pair<Slice, Slice>> aliases; ///< (output, input) slices that may be the same memory; indices use `me`
  std::vector<Scalar> scalars;
  std::vector<Mailbox> mailboxes;
  std::optional<Chunks> chunks;
  std::vector<Value> values;
  std::vector<Ensures> ensures;
  Block body;

  std::optional<SharedScratch> shared; ///< what assignMemory is to follow
  unsigned barriers = 0; ///< as numbers of barriers go
  std::uint64_t regionBytes = 0;
  std::optional<std::uint64_t> creditOffset; ///< of the credits in the region, where there are any. Set by assignMemory
  std::string proof, strength; ///< what the checker says, and what its proof rests on
  std::vector<std::string> assumptions; ///< of hardware beyond the PTX memory model, that it rests on
  bool fullDependence = false;          ///< as check::Verdict has it
  bool strict = false;                  ///< to be proved without any
  std::vector<unsigned> removableBarriers; ///< lines of barriers without which it is proved as well

  /// What a packet holds elements of: as it is sent, or where nothing is, as most arguments are.
  DType packetType() const { return mailed.value_or(dtype); }
  /// The form of its packets: that of its mailboxes where all are alike, else one that is whole lines of each of them.
  Wire wire() const;
  /// How many elements follow each other in a vector for one thread: of a packet, or of each piece of it.
  unsigned pieceElements() const { return std::max(1u, wire().pieceBytes() / sizeOf(packetType())); }
  /// How many lines of a mailbox a packet takes.
  unsigned linesOf(const Mailbox &box) const;
  /// Whether a packet is what every mailbox sends at a time.
  bool mailsAlike() const;
  /// Units of 16 bytes that a packet has where data goes from memory to memory alone: large messages want many loads in
  /// flight. 0 in other programs.
  unsigned bulkUnits() const;
  /// Whether something is done to whole rows, so that packets must not go from one to the next.
  bool goesByRows() const;
  /// The vectors that packet loops go over, in order of appearance: of a whole and its pieces the whole.
  std::vector<Length> domains() const;
  /// Of a full chunk; 0 without chunks.
  std::uint64_t chunkPackets() const;

  /// A value of the packets' type, another for each element, unless it is said otherwise.
  ValueId addValue(std::string name, Length length);
  ValueId addValue(std::string name, Length length, DType type, Spread spread);

  /// Whether what lies in memory of a value between loops is packets as they are, and not what is computed with.
  bool keepsPackets(const Value &value) const { return value.dtype == packetType() && value.spread == Spread::Element; }

  /// Whether a value is what this rank keeps of what it sends to all, where it would read its own slot.
  bool isKept(ValueId v) const;

  /// Whether a number of each row is loaded from what is stored to as well: the row's threads, of which one stores, wait for
  /// each other before they load it and behind that.
  bool settles(const Load &load) const;

  bool hasCounts() const {
    return llvm::any_of(mailboxes, [](const Mailbox &m) { return m.counted; });
  }

  /// Whether a mailbox holds packets of vectors, and not numbers of rows or groups, or nothing at all.
  static bool holdsPackets(const Mailbox &box) { return box.payload && box.spread == Spread::Element; }

  /// Whether a value is as many rows of a matrix as a number says.
  bool isOfRows(ValueId v) const { return values[v].count && values[v].count->rows; }

  bool hasWindows() const {
    return llvm::any_of(buffers, [](const Buffer &b) { return b.window; });
  }

  /// Whether anything goes to the mailboxes of all ranks, or to and from such an argument of all, by multicast.
  bool multicastsMail() const;
  bool multicastsBuffer(BufferId buffer) const;
  bool usesMulticast() const;

  /// Elements of a vector of this length for given extents; a Piece's index may use `me` and loop variables.
  std::uint64_t elements(const Length &length, const Extents &values, const Index::Lookup &variables) const;
  /// The first element of a slice within its buffer.
  std::uint64_t begin(const Slice &slice, const Extents &values, const Index::Lookup &variables) const;
  /// The same of one whose extents are numbers, such as `u32[4]`; of a piece of such, a full one.
  std::optional<std::uint64_t> fixedElements(const Length &length) const;
  /// Elements of a full piece, whole 16-byte units or whole rows.
  std::uint64_t pieceElements(const Length &length, const Extents &values) const;
  std::uint64_t product(const std::vector<std::string> &extents, const Extents &values) const;
};

/// Calls `visit` for every statement, outer before inner.
void walk(const Block &block, llvm::function_ref<void(const Stmt &)> visit);
void walk(Block &block, llvm::function_ref<void(Stmt &)> visit);

/// The body of a statement that has one; null otherwise.
const Block *bodyOf(const Stmt &stmt);
Block *bodyOf(Stmt &stmt);

/// The value a statement defines (for a Send, its `own`), or kNone.
ValueId resultOf(const Stmt &stmt);

/// The slot that a statement receives from; null if it receives nothing.
const Index *slotOf(const Stmt &stmt);

/// Calls `visit` for every value that a statement and its body take; kNone where an `own` is not set.
void usesOf(const Stmt &stmt, llvm::function_ref<void(ValueId)> visit);

/// Gives every barrier its number, in program order and another in each iteration of the ordered loops around it, and sets
/// Program::barriers to how many there are.
void numberBarriers(Program &program);

/// Text of the whole program, one operation a line, in the mnemonics of Ops.def.
void print(const Program &program, llvm::raw_ostream &os);

/// A sentence on the first broken rule, empty if there is none: every value defined once and before its uses, tables
/// not overrun, loop variables in scope, Entry first and Exit last, packet loops not nested and their operations of
/// the loop's domain, barriers outside loops over ranks and packets, and numbered
/// in order.
std::string verify(const Program &program);

/// match(stmt, cases…): std::visit that a forgotten operation does not compile in.
template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

template <class S, class... Cases>
decltype(auto) match(S &stmt, Cases... cases) {
  return std::visit(Overloaded{cases...}, stmt.op());
}

} // namespace coll::ir
