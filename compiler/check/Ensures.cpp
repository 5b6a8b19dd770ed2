// The outputs at the end of a launch against the contract.
#include "check/Dataflow.h"
#include "check/Match.h"

#include <algorithm>
#include <bit>
#include <set>

namespace coll::check {
namespace {

class Checker {
public:
  Checker(const ir::Program &p, const Variant &v, const Sizes &s, Symbols &y, const std::vector<Storage> &st)
      : program(p), variant(v), sizes(s), symbols(y), storage(st),
        exactTree(isFloat(program.dtype) && program.op && *program.op != ReduceOp::Min &&
                  *program.op != ReduceOp::Max && program.order == "ascending") {}

  std::optional<Refutation> run() {
    for (const ir::Ensures &e : program.ensures)
      for (int v = 0; v < (e.variable.empty() ? 1 : program.ranks); ++v) {
        first = ir::kNone, trees.clear();
        for (int r = 0; r < program.ranks; ++r)
          if (promised(e, r, v) && !clause(e, r, v)) return std::move(refutation);
      }
    return std::nullopt;
  }

private:
  using Kind = Refutation::Kind;
  const ir::Program &program;
  const Variant &variant;
  const Sizes &sizes;
  Symbols &symbols;
  const std::vector<Storage> &storage;
  const bool exactTree;  ///< the order of operations is promised and shows
  Content held;          ///< by the target, from its first element
  Content firstRank;     ///< the same on the first rank that something is promised to
  int first = ir::kNone; ///< that rank
  int current = 0;       ///< the value of the clause's variable
  std::vector<std::pair<int, Match::Tree>> trees; ///< where a formula reduces, and on which rank it was found so
  bool anyOrder = false; ///< the formula is made as if no order were promised, to see what is wrong
  std::optional<Refutation> refutation;
  std::vector<Symbols::Leaf> want, have;
  std::vector<Symbols::Leaf> wanted;                 ///< the last of a reduction: mostly that of every rank
  std::set<std::pair<Node, std::int64_t>> complete; ///< what has been seen to be made of that

  ir::Index::Lookup scope(const ir::Ensures &e, int me, int variable, int contributor) const {
    return [this, &e, me, variable, contributor](llvm::StringRef name) -> std::optional<std::int64_t> {
      if (e.kind == ir::Ensures::Kind::Reduction && (e.from.isVariable(name) || name == "r") && contributor >= 0)
        return contributor;
      if (name == e.variable) return variable;
      if (name == "me") return me;
      for (std::size_t i = 0; i < program.scalars.size(); ++i)
        if (name == program.scalars[i].name) return variant.scalars[i];
      return std::nullopt;
    };
  }

  std::int64_t begin(const ir::Slice &slice, const ir::Index::Lookup &lookup) const {
    return std::int64_t(program.begin(slice, sizes.counts(), lookup));
  }

  /// Whether the clause holds for rank `me`. Where it does not, its target may hold anything.
  bool promised(const ir::Ensures &e, int me, int variable) const {
    return !e.on || e.on->evaluate(scope(e, me, variable, -1)).value_or(0) != 0;
  }

  /// One target of rank `me`.
  bool clause(const ir::Ensures &e, int me, int variable) {
    const auto here = scope(e, me, variable, -1);
    current = variable;
    if (isOfEmptyRows(e.target.length)) return true;
    const std::int64_t base = begin(e.target, here);
    const std::uint64_t n = program.elements(e.target.length, sizes.counts(), here);
    storage[me].peek(e.target.buffer, base, base + n, held);
    if (e.kind == ir::Ensures::Kind::Formula) return computed(e, me, variable, base, n);
    Segment expected{0, n, 0, 0};
    want.clear();
    if (e.kind == ir::Ensures::Kind::Copy) {
      const int from = int(e.from.evaluate(here).value_or(0));
      contribution(e, from, here, expected);
      if (e.count) cut(e, here, expected);
    } else {
      for (int r = 0; r < program.ranks; ++r) {
        Segment next{0, n, 0, 0};
        contribution(e, r, scope(e, me, variable, r), next);
        if (exactTree) expected = r ? symbols.combine(Symbols::folded(*program.op), expected, next) : next;
      }
      if (exactTree && program.op == ReduceOp::Avg) expected = meanOf(expected);
      std::sort(want.begin(), want.end());
      if (want != wanted) wanted = want, complete.clear();
    }
    for (const Segment &s : held)
      if (!(e.kind == ir::Ensures::Kind::Copy ? sameNode(s, expected)
            : exactTree                       ? sameNode({s.begin, s.end, symbols.unrounded(s.node), s.shift}, expected)
                                              : sameLeaves(s)))
        return e.count ? differs(e, me, base, s, expected) : refute(e, me, base, s, expected);
    return sameEverywhere(e, me, base);
  }

  // ---- Arithmetic ----

  /// The formula with symbolic data, against what the target holds.
  bool computed(const ir::Ensures &e, int me, int variable, std::int64_t base, std::uint64_t n) {
    const std::uint64_t elements = program.elements(e.domain, sizes.counts(), scope(e, me, variable, -1));
    std::vector<Content> values;
    for (const ir::FormulaNode &node : e.formula) values.push_back(valueOf(e, node, me, variable, elements, values));
    Content expected = values.back();
    if (e.formula.back().spread != ir::Spread::Element) {
      if (elements == 0) return true; // of rows without elements nothing is promised
      expected = numbersOf(expected, n, elements);
    }
    for (Segment &s : expected)
      if (e.count) cut(e, scope(e, me, variable, -1), s);
    Match match(symbols, program.dtype, anyOrder || program.order != "ascending");
    std::vector<Match::Tree> found;
    for (std::size_t i = 0, j = 0; i < held.size() && j < expected.size();) {
      const std::uint64_t begin = std::max(held[i].begin, expected[j].begin), end = std::min(held[i].end, expected[j].end);
      const Segment is{begin, end, held[i].node, held[i].shift}, should{begin, end, expected[j].node, expected[j].shift};
      if (!match.same(is, should, found)) return anyOrder ? false : inAnotherOrder(e, me, variable, base, n, is, should);
      i += held[i].end == end, j += expected[j].end == end;
    }
    return anyOrder || sameTrees(e, me, base, found);
  }

  /// The n numbers of a matrix's rows, or groups, of which each part may hold another value.
  Content numbersOf(const Content &matrix, std::uint64_t n, std::uint64_t elements) {
    Content out;
    const std::uint64_t each = std::max<std::uint64_t>(1, n ? elements / n : 1);
    for (const Segment &s : matrix) {
      const Segment number = symbols.ofRows(s.node, s.shift);
      append(out, {s.begin / each, &s == &matrix.back() ? n : s.end / each, number.node, number.shift});
    }
    return out;
  }

  /// A number for each row, along rows of so many elements.
  Content alongRows(const Content &numbers, std::uint64_t row) {
    Content out;
    for (const Segment &s : numbers) {
      const Segment along = symbols.alongRows(s.node, s.shift);
      append(out, {s.begin * row, s.end * row, along.node, along.shift});
    }
    return out;
  }

  /// Of rows without elements nothing is promised, nor of the numbers that an output has for them.
  bool isOfEmptyRows(const ir::Length &target) const {
    if (!target.isColumn()) return false;
    return llvm::any_of(program.buffers, [&](const ir::Buffer &b) {
      const auto &extents = b.extents;
      return extents.size() > 1 && extents.back() != "1" && extents[extents.size() - 2] == target.extents[target.extents.size() - 2] &&
             program.product({extents.back()}, sizes.counts()) == 0;
    });
  }

  /// The formula in symbolic data differs from what the target holds: in the order of operations and roundings alone?
  bool inAnotherOrder(const ir::Ensures &e, int me, int variable, std::int64_t base, std::uint64_t n, const Segment &is,
                      const Segment &should) {
    anyOrder = true;
    const bool sameValues = program.order == "ascending" && computed(e, me, variable, base, n);
    anyOrder = false;
    return sameValues ? notAscending(e, me, base, is, should) : differs(e, me, base, is, should);
  }

  Segment meanOf(const Segment &sum) {
    Content out;
    symbols.mean({sum}, out);
    return out.front();
  }

  /// Whether the order in which a reduction is combined may be any, because it does not show or is not promised.
  bool isFree(ReduceOp op, DType type) const {
    return anyOrder || !isFloat(type) || op == ReduceOp::Min || op == ReduceOp::Max || program.order != "ascending";
  }

  /// Where no order is promised, all ranks have the same. Integers, minima and maxima do not show it.
  bool sameTrees(const ir::Ensures &e, int me, std::int64_t base, const std::vector<Match::Tree> &found) {
    for (const Match::Tree &tree : found) {
      const int op = symbols.operation(tree.promised)->op - Symbols::kFolds;
      if (!isFloat(program.dtype) || op == int(ReduceOp::Min) || op == int(ReduceOp::Max)) continue;
      for (const auto &[rank, other] : trees) {
        if (other.promised != tree.promised || std::max(other.begin, tree.begin) >= std::min(other.end, tree.end)) continue;
        if (other.node == tree.node && other.shift == tree.shift) continue;
        return failWhole(Kind::RankDivergentOrder, e, me, base, held.front(), otherOrder(me, rank),
                    "combine the same values in the same order on all ranks");
      }
    }
    for (const Match::Tree &tree : found)
      if (trees.empty() || trees.front().first == me) trees.emplace_back(me, tree);
    return true;
  }

  Content valueOf(const ir::Ensures &e, const ir::FormulaNode &node, int me, int variable, std::uint64_t elements,
                  const std::vector<Content> &values) {
    using Kind = ir::FormulaNode::Kind;
    Content out;
    switch (node.kind) {
    case Kind::Input: return {input(node, int(node.from.evaluate(scope(e, me, variable, -1)).value_or(0)), elements, scope(e, me, variable, -1))};
    case Kind::Exit: {
      const auto begin = std::uint64_t(this->begin(node.source, scope(e, me, variable, -1)));
      const std::uint64_t row = node.perRow ? program.product({e.domain.extents.back()}, sizes.counts()) : 1;
      storage[me].peek(node.source.buffer, begin, begin + (row ? elements / row : 0), out);
      return node.perRow ? alongRows(out, row) : out;
    }
    case Kind::Reduction: {
      Segment sum{};
      for (int r = 0; r < program.ranks; ++r) {
        const auto here = scope(e, me, variable, -1);
        const auto lookup = [&](llvm::StringRef name) { return name == node.variable ? std::optional<std::int64_t>(r) : here(name); };
        const Segment next = input(node, r, elements, lookup);
        const bool free = isFree(node.op, node.dtype);
        const ReduceOp op = Symbols::folded(node.op);
        sum = !r ? next : free ? symbols.fold(op, sum, next) : symbols.combine(op, sum, next);
      }
      return {node.op == ReduceOp::Avg ? meanOf(sum) : sum};
    }
    case Kind::Constant:
      if (node.number) return symbols.everywhere(Symbols::kWhole, node.number->evaluate(scope(e, me, variable, -1)).value_or(0));
      return symbols.everywhere(Symbols::kConstant, std::bit_cast<std::int64_t>(node.value));
    case Kind::Argument: {
      std::size_t index = 0;
      while (program.scalars[index].name != node.scalar) ++index;
      return symbols.everywhere(Symbols::kArgument, std::int64_t(index));
    }
    case Kind::Map:
      if (const auto op = node.folds ? operatorOf(node.function) : std::nullopt; op && isFree(*op, node.dtype)) {
        symbols.fold(*op, values[node.a], values[node.b], out);
        return out;
      }
      symbols.map(node.function, values[node.a], node.b == ir::kNone ? nullptr : &values[node.b], e.formula[node.a].dtype,
                  node.dtype, out);
      return out;
    case Kind::RowReduce: symbols.apply(Symbols::kRows + int(node.rowOp), values[node.a], out, node.group); return out;
    }
    return out;
  }

  static std::optional<ReduceOp> operatorOf(ir::Function function) {
    switch (function) {
    case ir::Function::Add: return ReduceOp::Sum;
    case ir::Function::Mul: return ReduceOp::Prod;
    case ir::Function::Min: return ReduceOp::Min;
    case ir::Function::Max: return ReduceOp::Max;
    default: return std::nullopt;
    }
  }

  Segment input(const ir::FormulaNode &node, int rank, std::uint64_t elements, const ir::Index::Lookup &lookup) {
    const Segment all{0, elements, symbols.input(rank, node.source.buffer), begin(node.source, lookup)};
    if (node.perRow) return symbols.apply(Symbols::kSpread, {0, elements, all.node, 0}, all.shift);
    return node.everyRow ? symbols.apply(Symbols::kEveryRow, {0, elements, all.node, 0}, all.shift) : all;
  }

  bool differs(const ir::Ensures &e, int me, std::int64_t base, const Segment &is, const Segment &should) {
    if (is.node == Symbols::kUnwritten)
      return fail(Kind::WrongResult, e, me, base, is, "not written", "store to every part of the output");
    Node a = is.node, b = should.node;
    std::int64_t atA = std::int64_t(is.begin) + is.shift, atB = std::int64_t(is.begin) + should.shift;
    symbols.descend(a, atA, b, atB);
    const std::string have = symbols.text(a, atA), want = symbols.text(b, atB);
    return fail(Kind::WrongResult, e, me, base, is,
                have == want ? "computed from other elements of " + have
                             : "computed with " + have + " where `ensures` has " + want,
                "compute what `ensures` says, in the same order and with the same roundings" + orReplicated(a, b) + orNamed());
  }

  /// What a `counter` adds is rounded as the contract's own operator is, and one that has no name is rounded as written.
  std::string orNamed() const {
    const bool adds = llvm::any_of(program.mailboxes, [](const ir::Mailbox &box) { return ir::adds(box.sync); });
    const bool isNarrow = isFloat(program.dtype) && sizeOf(program.dtype) < 4;
    if (program.op || !adds || !isNarrow) return "";
    return "; where a `counter` adds narrow floats, the contract has to name the operator: declare `op in {sum}` behind its "
           "types and promise `reduce(op, …)`";
  }

  /// Where another rank's argument stands for this rank's: callers may have both alike.
  std::string orReplicated(Node a, Node b) const {
    const Node buffers = Node(program.buffers.size());
    const auto isInput = [&](Node n) { return n > 0 && n <= Node(program.ranks) * buffers; };
    if (!isInput(a) || !isInput(b) || (a - 1) % buffers != (b - 1) % buffers) return "";
    const std::string &name = program.buffers[std::size_t((a - 1) % buffers)].name;
    return "; or, if callers have the same `" + name + "` on all ranks, write `replicated(" + name + ")` in the contract";
  }

  /// Notes what element 0 takes from rank r, and gives it as a segment.
  void contribution(const ir::Ensures &e, int r, const ir::Index::Lookup &lookup, Segment &out) {
    out.shift = begin(e.source, lookup);
    out.node = symbols.input(r, e.source.buffer);
    want.push_back({r, e.source.buffer, out.shift});
  }

  /// Promised is only as much as a number of an input says.
  void cut(const ir::Ensures &e, const ir::Index::Lookup &lookup, Segment &expected) {
    const Node counts = symbols.input(int(e.countFrom.evaluate(lookup).value_or(0)), e.count->buffer);
    expected.node = symbols.prefix({expected}, counts, begin(*e.count, lookup), e.countsRows).front().node;
  }

  static bool sameNode(const Segment &a, const Segment &b) { return a.node == b.node && a.shift == b.shift; }

  bool sameLeaves(const Segment &s) {
    if (complete.count({s.node, s.shift})) return true;
    have.clear();
    if (!symbols.leaves(s.node, s.shift, program.op, want.size() + 1, have)) return false;
    std::sort(have.begin(), have.end());
    if (have == want) complete.emplace(s.node, s.shift);
    return have == want;
  }

  /// Without a promised order of operations it is still the same one on all ranks.
  bool sameEverywhere(const ir::Ensures &e, int me, std::int64_t base) {
    if (e.kind == ir::Ensures::Kind::Copy || exactTree || e.source.index.uses("me") || e.target.index.uses("me"))
      return true;
    if (first == ir::kNone) return first = me, firstRank = held, true;
    if (!isFloat(program.dtype) || program.op == ReduceOp::Min || program.op == ReduceOp::Max) return true;
    for (std::size_t i = 0; i < held.size() && i < firstRank.size(); ++i) {
      if (sameNode(held[i], firstRank[i]) && held[i].end == firstRank[i].end) continue;
      return failWhole(Kind::RankDivergentOrder, e, me, base, held[i], otherOrder(me, first),
                  "combine the same values in the same order on all ranks");
    }
    return true;
  }

  static std::string otherOrder(int me, int first) {
    return "is combined in another order on rank " + std::to_string(me) + " than on rank " + std::to_string(first);
  }

  /// Whether `order fixed` would hold: what all ranks hold is combined alike, or is not the same thing.
  bool isAlikeEverywhere(const ir::Ensures &e) const {
    const auto usesMe = [](const ir::FormulaNode &node) { return node.source.index.uses("me") || node.from.uses("me"); };
    if (e.source.index.uses("me") || e.target.index.uses("me") || llvm::any_of(e.formula, usesMe)) return true;
    Content other;
    for (int r = 0; r < program.ranks; ++r) {
      if (!promised(e, r, current)) continue;
      const auto there = scope(e, r, current, -1);
      const auto from = std::uint64_t(begin(e.target, there));
      storage[r].peek(e.target.buffer, from, from + program.elements(e.target.length, sizes.counts(), there), other);
      if (!std::equal(held.begin(), held.end(), other.begin(), other.end(), [](const Segment &a, const Segment &b) {
            return sameNode(a, b) && a.end == b.end;
          }))
        return false;
    }
    return true;
  }

  /// All contributions are there, and `order ascending` is not kept.
  bool notAscending(const ir::Ensures &e, int me, std::int64_t base, const Segment &is, const Segment &should) {
    const Segment exact = symbols.withoutRoundings(is), inOrder = symbols.withoutRoundings(should);
    const std::string on = " on rank " + std::to_string(me), type(keyword(program.dtype));
    const bool fixed = isAlikeEverywhere(e);
    if (sameNode(exact, inOrder))
      return failWhole(Kind::WrongResult, e, me, base, is,
                  "is rounded to " + type + " before all is combined" + on + ", and `order ascending` promises one rounding, at the end",
                  std::string("combine all by one `reduce`, or in f32 with `as f32`") +
                      (fixed ? "; or declare `order fixed`, which rounds at each hop" : ""));
    return failWhole(Kind::RankDivergentOrder, e, me, base, is,
                "is not combined in ascending order of ranks" + on + ", which `order ascending` promises",
                fixed ? "combine in ascending order of ranks, or declare `order fixed`"
                      : "combine in ascending order of ranks, from rank 0 up on every rank");
  }

  bool fail(Kind kind, const ir::Ensures &e, int me, std::int64_t base, const Segment &s, std::string what,
            std::string fix) {
    Refutation r;
    r.kind = kind;
    r.first.rank = r.first.owner = me;
    r.promise = e.where;
    const Step *writer = storage[me].writer(e.target.buffer, std::uint64_t(base) + s.begin);
    r.first.what = writer ? Event::What::Store : Event::What::None;
    r.first.where = writer ? writer->where : e.where;
    r.first.buffer = e.target.buffer;
    r.first.begin = std::uint64_t(base) + s.begin;
    r.first.end = std::uint64_t(base) + s.end;
    const std::string &name = program.buffers[e.target.buffer].name;
    const bool one = r.first.end - r.first.begin == 1;
    r.explanation = std::string(one ? "element " : "elements ") + std::to_string(r.first.begin) +
                    (one ? "" : " to " + std::to_string(r.first.end - 1)) + " of `" + name + "` on rank " +
                    std::to_string(me) + " " + (one ? "is " : "are ") + what;

    r.fix = std::move(fix);
    refutation = std::move(r);
    return false;
  }

  /// What is wrong with all of the target, not with some elements.
  bool failWhole(Kind kind, const ir::Ensures &e, int me, std::int64_t base, const Segment &s, const std::string &what,
                 std::string fix) {
    fail(kind, e, me, base, s, what, std::move(fix));
    refutation->explanation = "`" + program.buffers[e.target.buffer].name + "` " + what;
    return false;
  }

  std::string text(const Symbols::Leaf &l) const {
    if (l.rank < 0) return "memory that holds no value of this launch";
    return "`" + program.buffers[l.buffer].name + "[" + std::to_string(l.element) + "]` of rank " +
           std::to_string(l.rank);
  }

  /// Says what is wrong with the first element of a segment.
  bool refute(const ir::Ensures &e, int me, std::int64_t base, const Segment &s, const Segment &expected) {
    have.clear();
    const std::int64_t first = std::int64_t(s.begin);
    const bool ops = symbols.leaves(s.node, first + s.shift, program.op, want.size() + 1, have);
    for (Symbols::Leaf &l : want) l.element += first;
    if (s.node == Symbols::kUnwritten)
      return fail(Kind::WrongResult, e, me, base, s, "not written", "store to every part of the output");
    std::sort(want.begin(), want.end());
    std::vector<Symbols::Leaf> sorted = have, missing, extra;
    std::sort(sorted.begin(), sorted.end());
    std::set_difference(want.begin(), want.end(), sorted.begin(), sorted.end(), std::back_inserter(missing));
    std::set_difference(sorted.begin(), sorted.end(), want.begin(), want.end(), std::back_inserter(extra));
    if (missing.empty() && extra.empty() && !ops && !program.op) return differs(e, me, base, s, expected);
    if (missing.empty() && extra.empty() && !ops)
      return fail(Kind::WrongResult, e, me, base, s,
                  "not combined by `" + std::string(keyword(*program.op)) + "` alone",
                  "combine with the operator that the contract names");
    if (missing.empty() && extra.empty()) return notAscending(e, me, base, s, expected);
    if (missing.empty()) {
      const bool twice = std::binary_search(want.begin(), want.end(), extra.front());
      return fail(Kind::WrongResult, e, me, base, s,
                  (twice ? "wrong: a contribution comes in twice, " : "wrong: they take in ") + text(extra.front()),
                  "combine each contribution once");
    }
    if (extra.empty())
      return fail(Kind::WrongResult, e, me, base, s, "missing the contribution of " + text(missing.front()),
                  "combine the contributions of all ranks");
    return fail(Kind::WrongResult, e, me, base, s,
                "wrong: " + text(extra.front()) + " is there instead of " + text(missing.front()),
                "store the piece that `ensures` promises");
  }
};

} // namespace

std::optional<Refutation> checkEnsures(const ir::Program &program, const Variant &variant, const Sizes &sizes,
                                       Symbols &symbols, const std::vector<Storage> &storage) {
  return Checker(program, variant, sizes, symbols, storage).run();
}

} // namespace coll::check
