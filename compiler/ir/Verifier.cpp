// Structural rules of the IR, checked after every pass. A broken rule is a defect of the compiler, never of its input.
#include "ir/Program.h"

#include "llvm/ADT/StringSet.h"

#include <utility>

namespace coll::ir {
namespace {

class Verifier {
public:
  explicit Verifier(const Program &p) : program(p), defined(p.values.size(), false) {}

  std::string run() {
    const Block &body = program.body;
    auto boundary = [](const Stmt &s, KernelBoundary::Side side) {
      const auto *b = std::get_if<KernelBoundary>(&s.op());
      return b && b->side == side;
    };
    if (body.size() < 2 || !boundary(body.front(), KernelBoundary::Side::Entry) ||
        !boundary(body.back(), KernelBoundary::Side::Exit))
      return "a program starts with the entry boundary and ends with the exit boundary";
    scope.insert("me");
    for (const Scalar &s : program.scalars) scope.insert(s.name);
    numberedBarriers();
    block(body);
    return error;
  }

private:
  const Program &program;
  std::vector<bool> defined;
  llvm::StringSet<> scope;
  const PacketLoop *loop = nullptr;
  bool inRanks = false;       ///< inside a loop over ranks
  std::vector<Index> numbers; ///< that the barriers ought to have, in program order
  std::size_t barriers = 0;   ///< that have been seen
  const ForRanks *alone = nullptr; ///< the loop over ranks of which the statement is all there is
  std::string error;

  void fail(std::string text) {
    if (error.empty()) error = std::move(text);
  }

  void numberedBarriers() {
    bool any = program.barriers > 0;
    walk(program.body, [&](const Stmt &s) { any |= std::holds_alternative<Barrier>(s.op()); });
    if (!any) return;
    Program copy = program;
    numberBarriers(copy);
    walk(copy.body, [&](Stmt &s) {
      if (const auto *barrier = std::get_if<Barrier>(&s.op())) numbers.push_back(barrier->number);
    });
    if (copy.barriers != program.barriers) fail("the count of barriers is wrong");
  }

  void block(const Block &stmts, const ForRanks *around = nullptr) {
    for (const Stmt &stmt : stmts) {
      if (!error.empty()) return;
      alone = stmts.size() == 1 ? around : nullptr;
      statement(stmt);
      if (ValueId v = resultOf(stmt); v != kNone) define(v);
    }
  }

  void define(ValueId v) {
    if (v < 0 || std::size_t(v) >= defined.size()) return fail("value " + std::to_string(v) + " is not in the table");
    if (defined[v] && !program.values[v].variable) return fail("value " + std::to_string(v) + " is defined twice");
    defined[v] = true;
    if (loop && program.values[v].spread != Spread::Everywhere &&
        !program.values[v].length.sameDomain(loop->domain))
      fail("value " + std::to_string(v) + " is not of its packet loop's domain");
  }

  void use(ValueId v) {
    if (v < 0 || std::size_t(v) >= defined.size()) return fail("value " + std::to_string(v) + " is not in the table");
    if (!defined[v]) fail("value " + std::to_string(v) + " is used before it is defined");
  }

  void index(const Index &i) {
    if (i.kind() == Index::Kind::Constant) return;
    if (i.kind() == Index::Kind::Variable) {
      if (!scope.contains(i.name())) fail("`" + i.name() + "` is not in scope");
      return;
    }
    index(i.left()), index(i.right());
  }

  void slice(const Slice &s, bool ofRows) {
    if (s.buffer < 0 || std::size_t(s.buffer) >= program.buffers.size()) return fail("no such buffer");
    index(s.index);
    if (ofRows && loop && !loop->rows) fail("rows in a packet loop that is not one of rows");
    if (loop && !ofRows && !s.length.sameDomain(loop->domain)) fail("a slice is not of its packet loop's domain");
    if (!s.owner) return;
    index(*s.owner);
    if (!program.buffers[s.buffer].window) fail("a peer's buffer that is no window");
  }

  void count(const StoreCount &s) {
    index(s.to.index), use(s.value);
    if (error.empty() && !program.values[s.value].count) fail("the count of a value that has none");
    if (!s.to.length.extents.empty()) fail("a count that is stored in more than one element");
  }

  static bool isNarrow(DType type) { return isFloat(type) && sizeOf(type) < 4; }

  void number(ValueId v, DType type) {
    use(v);
    if (error.empty() && program.values[v].dtype != type) fail("arithmetic on values of different types");
    if (error.empty() && isNarrow(type)) fail("arithmetic in a narrow type");
  }

  void map(const Map &s) {
    const DType type = program.values[s.result].dtype;
    if (s.function == Function::Convert || s.function == Function::Truncate) {
      use(s.a);
      if (!error.empty()) return;
      const DType from = program.values[s.a].dtype;
      const bool other = from != DType::F32 && type != DType::F32;
      if (other && (isNarrow(from) || isNarrow(type))) fail("a conversion of a narrow float but to or from f32");
      if (s.function == Function::Truncate && (!isFloat(from) || isFloat(type))) fail("no float that becomes an integer");
      return;
    }
    number(s.a, type);
    const bool unary = s.function < Function::Add;
    if (unary != (s.b == kNone)) return fail("a function of another number of operands");
    if (!unary) number(s.b, type);
  }

  void slot(MailboxId box, const Index &i) {
    if (box < 0 || std::size_t(box) >= program.mailboxes.size()) return fail("no such mailbox");
    index(i);
  }

  /// What goes to all ranks at once is one vector, to one place on all of them.
  void toAll(const Index &peer, const Index &place, const Length &length) {
    if (!alone || !peer.isVariable(alone->variable) || place.uses(alone->variable) || length.index.uses(alone->variable))
      fail("a multicast that is not the same for all ranks of a loop");
  }

  void received(MailboxId box, const Index &i, ValueId own) {
    slot(box, i);
    if (own != kNone) use(own);
  }

  void scoped(const std::string &variable, const Block &body, const ForRanks *loop = nullptr) {
    if (!scope.insert(variable).second) return fail("`" + variable + "` is bound twice");
    const bool before = std::exchange(inRanks, inRanks || loop);
    block(body, loop);
    inRanks = before;
    scope.erase(variable);
  }

  /// A load that reduces reads one place of all ranks.
  void reduction(const Reduce &s) {
    scoped(s.variable, s.body), use(s.yield);
    if (!s.multicast) return;
    const auto *load = s.body.size() == 1 ? std::get_if<Load>(&s.body.front().op()) : nullptr;
    if (!load || !load->from.owner || !load->from.owner->isVariable(s.variable) || load->from.index.uses(s.variable))
      fail("a reduction by multicast of anything but one place of all ranks");
  }

  void statement(const Stmt &stmt) {
    match(
        stmt,
        [&](const KernelBoundary &) {
          if (&stmt != &program.body.front() && &stmt != &program.body.back()) fail("a boundary inside the program");
        },
        [&](const Load &s) { slice(s.from, s.everyRow || s.perRow); },
        [&](const StoreCount &s) { count(s); },
        [&](const Store &s) {
          slice(s.to, s.perRow), use(s.value);
          if (!s.multicast) return;
          if (!s.to.owner) return fail("a multicast into what is no window");
          toAll(*s.to.owner, s.to.index, s.to.length);
        },
        [&](const Constant &s) {
          if (s.number) index(*s.number);
        },
        [&](const Argument &s) {
          if (llvm::none_of(program.scalars, [&](const Scalar &a) { return a.name == s.scalar && !a.rank; }))
            fail("no such scalar");
        },
        [&](const Map &s) { map(s); },
        [&](const RowReduce &s) {
          number(s.value, program.values[s.result].dtype);
          if (loop && !loop->rows) fail("a row reduction in a packet loop that is not one of rows");
        },
        [&](const Send &s) {
          slot(s.box, s.slot), index(s.peer), use(s.value);
          if (s.multicast && error.empty()) toAll(s.peer, s.slot, program.values[s.value].length);
        },
        [&](const Poll &s) { received(s.box, s.slot, s.own); }, [&](const Read &s) { received(s.box, s.slot, s.own); },
        [&](const Clear &s) { slot(s.box, s.slot); },
        [&](const Signal &s) {
          slot(s.box, s.slot), index(s.peer);
          if (loop) fail("a signal inside a packet loop");
        },
        [&](const Await &s) {
          slot(s.box, s.slot);
          if (loop) fail("an await inside a packet loop");
        },
        [&](const Credit &s) {
          index(s.peer);
          if (loop) fail("a credit inside a packet loop");
        },
        [&](const AwaitCredit &s) { slot(s.box, s.peer); },
        [&](const Assign &s) {
          use(s.value);
          if (!program.values[s.variable].variable) fail("an assignment to a value that is not variable");
        },
        [&](const For &s) { index(s.first), index(s.last), scoped(s.variable, s.body); },
        [&](const If &s) { index(s.condition), block(s.body); }, [&](const Combine &s) { use(s.a), use(s.b); },
        [&](const Reduce &s) { reduction(s); },
        [&](const ForRanks &s) { scoped(s.variable, s.body, &s); },
        [&](const PacketLoop &s) {
          if (loop) return fail("a packet loop inside another");
          loop = &s;
          block(s.body);
          loop = nullptr;
        },
        [&](const Barrier &s) {
          if (loop || inRanks) return fail("a barrier inside a loop over ranks or packets");
          index(s.number);
          if (barriers == numbers.size() || !(numbers[barriers++] == s.number)) fail("barriers are not numbered in order");
        },
        [&](const Fence &) {});
  }
};

} // namespace

std::string verify(const Program &program) { return Verifier(program).run(); }

} // namespace coll::ir
