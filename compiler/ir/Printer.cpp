// The text form of the IR, for --stage ir, --dump-after and the tests of passes.
#include "ir/Program.h"

namespace coll::ir {
namespace {

llvm::StringRef mnemonic(const Stmt &stmt) {
  static constexpr const char *names[] = {
#define COLL_IR_OP(Struct, Mnemonic) Mnemonic,
#include "ir/Ops.def"
  };
  return names[stmt.op().index()];
}

class Printer {
public:
  Printer(const Program &p, llvm::raw_ostream &o) : program(p), os(o) {}

  void run() {
    os << "program " << program.member << " N=" << program.ranks << " " << keyword(program.dtype);
    if (program.op) os << " " << keyword(*program.op);
    os << "\n";
    for (const Buffer &b : program.buffers) buffer(b);
    for (const Scalar &s : program.scalars) os << "  in " << s.name << ": " << (s.rank ? "rank" : keyword(s.type)) << "\n";
    for (const Mailbox &m : program.mailboxes) mailbox(m);
    if (program.chunks) os << "  chunks of " << program.chunks->elements << " of " << str(program.chunks->of) << "\n";
    block(program.body, 1);
  }

private:
  const Program &program;
  llvm::raw_ostream &os;

  void buffer(const Buffer &b) {
    static constexpr const char *directions[] = {"in", "out", "inout"};
    os << "  " << directions[int(b.direction)] << " " << b.name << ": " << keyword(b.dtype);
    for (const std::string &e : b.extents) os << "[" << e << "]";
    os << (b.replicated ? " replicated" : "") << (b.window ? " window\n" : "\n");
  }

  void mailbox(const Mailbox &m) {
    os << "  mailbox " << m.name << "[" << m.slots << "] of " << (m.payload ? str(m.length) : "nothing") << (m.payload && m.dtype != program.dtype ? " " + std::string(keyword(m.dtype)) : "") << (m.counted ? " counted" : "") << " sync " << keyword(m.sync);
    if (m.canonical) os << " canonical";
    if (m.reuse == Reuse::Ack) os << " reuse ack";
    if (m.reuse == Reuse::Barrier) os << " reuse barrier";
    if (m.copies) os << " copies " << m.copies;
    if (m.lines) os << " lines " << m.lines << " at " << m.offset;
    if (m.countOffset) os << " counts at " << m.countOffset;
    os << "\n";
  }

  std::string str(const Length &length) {
    std::string text;
    for (const std::string &e : length.extents) text += (text.empty() ? "" : "*") + e;
    if (text.empty()) text = "1";
    if (length.isPieceOfRows()) return "rows(" + text + ", " + length.index.str() + ")";
    return length.kind == Length::Kind::Piece ? "piece(" + text + ", " + length.index.str() + ")" : text;
  }

  std::string str(const Slice &slice) {
    std::string text = program.buffers[slice.buffer].name;
    switch (slice.length.kind) {
    case Length::Kind::Whole: break;
    case Length::Kind::Row: text += "[" + slice.index.str() + "]"; break;
    case Length::Kind::Piece: text = (slice.length.ofRows ? "rows(" : "piece(") + text + ", " + slice.index.str() + ")"; break;
    }
    return slice.owner ? text + " of rank " + slice.owner->str() : text;
  }

  std::string str(ValueId value) { return "%" + std::to_string(value) + "." + program.values[value].name; }

  std::string slot(MailboxId box, const Index &index) {
    return program.mailboxes[box].name + "[" + index.str() + "]";
  }

  void own(ValueId value, const char *word) {
    if (value != kNone) os << " " << word << " " << str(value);
  }

  void block(const Block &stmts, unsigned depth) {
    for (const Stmt &stmt : stmts) {
      os.indent(2 * depth);
      if (ValueId result = resultOf(stmt); result != kNone && !std::holds_alternative<Send>(stmt.op()))
        os << str(result) << " = ";
      os << mnemonic(stmt);
      operands(stmt);
      if (const Block *body = bodyOf(stmt)) {
        os << " {\n";
        block(*body, depth + 1);
        os.indent(2 * depth) << "}";
        if (const auto *r = std::get_if<Reduce>(&stmt.op())) os << " yield " << str(r->yield);
      }
      os << "\n";
    }
  }

  void operands(const Stmt &stmt) {
    match(
        stmt,
        [&](const KernelBoundary &s) { os << (s.side == KernelBoundary::Side::Entry ? " entry" : " exit"); },
        [&](const Load &s) {
          os << " " << str(s.from) << (s.everyRow ? " for every row" : s.perRow ? " along rows" : "");
          if (const auto &count = program.values[s.result].count) os << " up to " << str(count->element);
        },
        [&](const Store &s) {
          os << " " << str(s.to) << ", " << str(s.value) << (s.perRow ? " for every row" : "")
             << (s.multicast ? " by multicast" : "");
        },
        [&](const StoreCount &s) { os << " " << str(s.to) << ", " << str(s.value); },
        [&](const Send &s) {
          os << " " << str(s.value) << " to rank " << s.peer << " " << slot(s.box, s.slot);
          own(s.own, "keeping");
          if (s.multicast) os << " by multicast";
        },
        [&](const Poll &s) { os << " " << slot(s.box, s.slot), own(s.own, "or own"); },
        [&](const Read &s) { os << " " << slot(s.box, s.slot), own(s.own, "or own"); },
        [&](const Signal &s) { os << " rank " << s.peer << " " << slot(s.box, s.slot); },
        [&](const Await &s) { os << " " << slot(s.box, s.slot); },
        [&](const Credit &s) { os << " rank " << s.peer << (s.releases ? " releasing" : ""); },
        [&](const AwaitCredit &s) { os << " rank " << s.peer << " " << program.mailboxes[s.box].name; },
        [&](const Assign &s) { os << " " << str(s.value); },
        [&](const For &s) { os << " " << s.variable << " in " << s.first << " .. " << s.last; },
        [&](const If &s) { os << " " << s.condition; },
        [&](const Clear &s) {
          os << " " << slot(s.box, s.slot);
          if (s.behind) os << " behind " << s.behind;
        },
        [&](const Constant &s) {
          if (s.number) os << " " << *s.number;
          else os << " " << s.value;
        }, [&](const Argument &s) { os << " " << s.scalar; },
        [&](const Map &s) {
          os << " " << keyword(s.function) << " " << str(s.a);
          if (s.b != kNone) os << ", " << str(s.b);
          if (s.function == Function::Convert) os << " to " << keyword(program.values[s.result].dtype);
        },
        [&](const RowReduce &s) {
          os << " " << keyword(s.op) << " " << str(s.value);
          if (s.group) os << " by " << s.group;
        },
        [&](const Combine &s) { os << " " << keyword(s.op) << " " << str(s.a) << ", " << str(s.b); },
        [&](const Reduce &s) {
          os << " " << keyword(s.op) << " " << s.variable << " in ranks" << (s.multicast ? " by multicast" : "");
        },
        [&](const ForRanks &s) { os << " " << s.variable; },
        [&](const PacketLoop &s) {
          Length full = s.domain;
          os << (s.rows ? " by rows of " : " of ") << (full.kind == Length::Kind::Piece ? "piece(" + str(Length{Length::Kind::Whole, full.extents, {}}) + ")" : str(full));
          if (s.map == ThreadMap::Blocked) os << " blocked";
        },
        [&](const Barrier &s) { os << " " << s.number; }, [&](const Fence &) {});
  }
};

} // namespace

void print(const Program &program, llvm::raw_ostream &os) { Printer(program, os).run(); }

} // namespace coll::ir
