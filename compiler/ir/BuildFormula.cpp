#include "ir/BuildFormula.h"

#include "ir/Arithmetic.h"
#include "ir/BuildContract.h"
#include "llvm/Support/ErrorHandling.h"

namespace coll::ir {
namespace {

/// The right side of an `ensures` that computes.
class FormulaBuilder final : public ArithmeticSink {
public:
  using Refuse = llvm::function_ref<void(ast::Span, const std::string &, const std::string &)>;
  FormulaBuilder(const Program &p, Ensures &e, Refuse r) : program(p), clause(e), refusal(r) {}

  void run(const ast::Expr &expr) {
    Arithmetic arithmetic(*this, program.dtype, program.op);
    const int v = arithmetic.value(expr);
    if (refused) return;
    const DType wanted = program.buffers[clause.target.buffer].dtype;
    if (typeOf(v) != wanted) arithmetic.convert(v, wanted, expr.span);
    if (int(clause.formula.size()) - 1 != v && typeOf(v) == wanted) clause.formula.push_back(clause.formula[std::size_t(v)]); // the last is what the target holds
    settle(expr);
  }

  int operand(const ast::Expr &expr) override {
    Node node;
    const ast::Expr *of = &expr;
    if (const auto *r = std::get_if<ast::Reduce>(&expr.node)) {
      node.kind = Node::Kind::Reduction;
      node.variable = r->variable.name.text;
      const auto &name = std::get<ast::NameRef>(r->op->node);
      node.op = std::holds_alternative<const ast::Generic *>(name.ref) ? *program.op : name.op;
      of = r->body.get();
      if (const auto *cast = std::get_if<ast::Cast>(&of->node); cast && ofOneType(*of, *cast->operand)) of = cast->operand.get();
    }
    if (!source(*of, node)) {
      if (const auto *r = std::get_if<ast::Reduce>(&expr.node)) return contributions(*r, node.op);
      if (const auto *c = std::get_if<ast::Call>(&expr.node); c && c->function == ast::Function::Apply) return combined(expr, *c);
      const auto [what, help] = whyNoPart(program, expr);
      return refuse(expr.span, what, help), 0;
    }
    node.dtype = program.buffers[node.source.buffer].dtype;
    if (node.kind == Node::Kind::Reduction && isFloat(node.dtype) && sizeOf(node.dtype) < 4) node.dtype = DType::F32;
    return add(std::move(node));
  }

  int scaleOf(const ast::Let &, ast::Span) override { llvm_unreachable("a contract has no `let`"); }
  int constant(double value, DType type, ast::Span) override {
    Node node;
    node.kind = Node::Kind::Constant, node.value = value, node.dtype = type, node.spread = Spread::Everywhere;
    return add(std::move(node));
  }
  int index(const ast::Expr &expr, DType type) override {
    Node node;
    node.kind = Node::Kind::Constant, node.number = indexOf(expr), node.dtype = type, node.spread = Spread::Everywhere;
    if (!node.number)
      return refuse(expr.span, "`" + ast::print(expr) + "` is not known before the launch", "use numbers, `N` and arguments"), 0;
    return add(std::move(node));
  }
  int argument(const std::string &scalar, DType type, ast::Span) override {
    Node node;
    node.kind = Node::Kind::Argument, node.scalar = scalar, node.dtype = type, node.spread = Spread::Everywhere;
    return add(std::move(node));
  }
  int map(Function function, int a, int b, DType type, ast::Span) override {
    Node node;
    node.kind = Node::Kind::Map, node.function = function, node.a = a, node.b = b, node.dtype = type;
    node.spread = clause.formula[a].spread;
    if (b != kNone) node.spread = std::min(node.spread, clause.formula[b].spread);
    return add(std::move(node));
  }
  int rowReduce(RowOp op, int value, unsigned group, ast::Span) override {
    Node node;
    node.kind = Node::Kind::RowReduce, node.rowOp = op, node.a = value, node.group = group, node.dtype = typeOf(value);
    node.spread = group ? Spread::Group : Spread::Row;
    return add(std::move(node));
  }
  DType typeOf(int value) const override { return clause.formula[value].dtype; }

private:
  using Node = FormulaNode;
  const Program &program;
  Ensures &clause;
  Refuse refusal;
  bool refused = false;

  void refuse(ast::Span where, const std::string &what, const std::string &help) {
    refused = true;
    if (clause.formula.empty()) clause.formula.emplace_back(); // 0 is what was refused, and is computed with
    refusal(where, what, help);
  }

  int add(Node node) {
    clause.formula.push_back(std::move(node));
    return int(clause.formula.size()) - 1;
  }

  std::map<std::string, int> bound; ///< variables of reductions that are written out: which rank they are

  std::optional<Index> indexOf(const ast::Expr &expr) const {
    auto index = integer(expr, program.ranks);
    for (const auto &[variable, rank] : bound)
      if (index) index = index->substitute(variable, Index::constant(rank));
    return index;
  }

  Arithmetic arithmetic() { return Arithmetic(*this, program.dtype, program.op); }

  /// Of which a cast changes nothing.
  bool ofOneType(const ast::Expr &a, const ast::Expr &b) const {
    return a.type.isValue() && b.type.isValue() &&
           sema::instantiate(a.type.element, program.dtype) == sema::instantiate(b.type.element, program.dtype);
  }

  /// A reduction of what is computed of each rank's arguments, from rank 0 up.
  int contributions(const ast::Reduce &r, ReduceOp op) {
    int sum = 0;
    for (int rank = 0; rank < program.ranks && !refused; ++rank) {
      bound[r.variable.name.text] = rank;
      const int v = arithmetic().value(*r.body);
      if (refused) break;
      const int part = arithmetic().convert(v, ast::accumulatorOf(typeOf(v)), r.body->span);
      sum = rank ? arithmetic().combine(op, sum, part, r.body->span) : part;
      clause.formula[std::size_t(sum)].folds = rank > 0;
    }
    bound.erase(r.variable.name.text);
    return refused ? sum : arithmetic().mean(op, sum, program.ranks, r.body->span);
  }

  /// `op(a, b)` of arguments.
  int combined(const ast::Expr &expr, const ast::Call &c) {
    const DType type = sema::instantiate(expr.type.element, program.dtype), in = ast::accumulatorOf(type);
    const int x = arithmetic().value(*c.args[0]), y = refused ? 0 : arithmetic().value(*c.args[1]);
    if (refused) return 0;
    const int a = arithmetic().convert(x, in, expr.span), b = arithmetic().convert(y, in, expr.span);
    const ReduceOp op = std::holds_alternative<const ast::Generic *>(c.op) ? *program.op : c.builtinOp;
    return arithmetic().convert(arithmetic().combine(op, a, b, expr.span), type, expr.span);
  }

  /// `x`, `r.x`, `old(x)`, each perhaps with indices: what of which rank, and when.
  bool source(const ast::Expr &expr, Node &node) {
    std::vector<const ast::Expr *> indices;
    const ast::Expr *name = &expr;
    for (; const auto *at = std::get_if<ast::Index>(&name->node); name = at->base.get()) indices.insert(indices.begin(), at->index.get());
    node.from = Index::variable("me");
    const auto *call = std::get_if<ast::Call>(&name->node);
    const bool old = call && call->function == ast::Function::Old;
    if (old) name = call->args.front().get();
    const ast::Ref *ref = nullptr;
    if (const auto *member = std::get_if<ast::Member>(&name->node)) {
      auto owner = indexOf(*member->base);
      if (!owner) return false;
      node.from = *owner, ref = &member->ref;
    } else if (const auto *plain = std::get_if<ast::NameRef>(&name->node)) {
      ref = &plain->ref;
    }
    const auto *param = ref ? std::get_if<const ast::Param *>(ref) : nullptr;
    const BufferId buffer = param ? bufferOf(program, **param) : kNone;
    if (buffer == kNone) return false;
    const bool written = program.buffers[buffer].direction != Direction::In;
    if (node.kind == Node::Kind::Reduction && !node.from.isVariable(node.variable)) return false;
    if (node.kind == Node::Kind::Input && written && !old && std::holds_alternative<ast::NameRef>(name->node))
      node.kind = Node::Kind::Exit;
    bool known = true;
    const auto slice = contractRow(program, buffer, indices, [&](const ast::Expr &index) {
      const auto number = indexOf(index);
      known &= number.has_value();
      return number.value_or(Index());
    });
    if (!slice || !known) return false;
    node.source = *slice;
    return true;
  }

  /// Which vectors are rows of the others, and of which length those are.
  void settle(const ast::Expr &expr) {
    if (clause.formula.back().spread == Spread::Everywhere)
      return refuse(expr.span, "this is one number, and no result can be set to one", "promise what is computed of arguments");
    for (const Node &node : clause.formula)
      if (node.kind <= Node::Kind::Reduction && node.source.length.extents.size() >= clause.domain.extents.size() &&
          !node.source.length.isColumnOf(clause.domain))
        clause.domain = node.source.length;
    for (const Node &node : clause.formula) // a number for each row beside a row for all of them
      if (node.kind <= Node::Kind::Reduction && node.source.length.extents.size() == 1 && clause.domain.isColumn())
        clause.domain.extents.back() = node.source.length.extents.front();
    for (Node &node : clause.formula) {
      if (node.kind > Node::Kind::Reduction || node.source.length.sameDomain(clause.domain)) continue;
      if (node.source.length.isOneElement() || clause.domain.isOneElement())
        return refuse(expr.span, "a vector of one element does not stretch over a longer one", "declare what is one number as a scalar: `in alpha: f32`");
      const std::vector<std::string> &extents = node.source.length.extents;
      if (node.source.length.isColumnOf(clause.domain) && node.kind != Node::Kind::Exit) {
        node.perRow = true, node.spread = Spread::Row;
        continue;
      }
      if (node.source.length.kind != Length::Kind::Whole || extents.size() != 1 ||
          extents.front() != clause.domain.extents.back())
        return refuse(expr.span, "a vector is computed with a matrix, and is not one row for all of its rows",
                      "declare it as a vector that is as long as a row, or has one element for each row: `f32[R][1]`");
      node.everyRow = true;
    }
    for (Node &node : clause.formula)
      if (node.kind == Node::Kind::Map)
        node.spread = std::min(clause.formula[std::size_t(node.a)].spread, clause.formula[std::size_t(node.b == kNone ? node.a : node.b)].spread);
    const Spread spread = clause.formula.back().spread;
    if (spread == Spread::Element && !clause.target.length.sameDomain(clause.domain))
      refuse(expr.span, "this is of another length than the result that it is promised of", "promise of each result what is as long");
  }
};

} // namespace

void buildFormula(const Program &program, Ensures &clause, const ast::Expr &expr,
                  llvm::function_ref<void(ast::Span, const std::string &, const std::string &)> refuse) {
  FormulaBuilder(program, clause, refuse).run(expr);
}

} // namespace coll::ir
