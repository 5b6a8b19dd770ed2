#include "ir/BuildContract.h"

#include "ir/BuildCounts.h"
#include "ir/BuildFormula.h"
#include "ir/BuildWindow.h"

#include "coll/Extent.h"
#include "llvm/ADT/StringExtras.h"

namespace coll::ir {
namespace {

/// As Buffer::extents has it: a number where it follows from `N`.
std::string extentText(const ast::Extent &extent, int ranks) {
  std::string text = extent.canonical();
  if (!isComputed(text)) return text;
  bool known = true;
  const auto valueOf = [&](std::string_view name) {
    known &= name == "N";
    return std::uint64_t(ranks);
  };
  const std::uint64_t value = extentValue(text, valueOf);
  return known ? std::to_string(value) : text;
}

constexpr const char *kOfIndices = "an index may have numbers, `N`, `me`, arguments that are ranks or whole numbers, and variables of loops";

class Contract {
public:
  Contract(const sema::Algorithm &a, Program &p, DiagnosticEngine &d) : algorithm(a), program(p), diagnostics(d) {}

  bool run() {
    const sema::Collective &collective = *algorithm.collective;
    for (const ast::Param &param : collective.decl->params) argument(param);
    program.extents = collective.extents;
    if (ok && !algorithm.decl->outOfPlace)
      for (const ast::InPlace &pair : collective.decl->inplace) inplace(pair);
    for (const ast::Ensures &clause : collective.decl->ensures) ensures(clause, *clause.condition);
    return ok;
  }

private:
  const sema::Algorithm &algorithm;
  Program &program;
  DiagnosticEngine &diagnostics;
  bool ok = true;

  void slip(ast::Span where, const std::string &what, const std::string &help) {
    if (ok) diagnostics.error(DiagnosticKind::Misplaced, where, what).help(help);
    ok = false;
  }

  void argument(const ast::Param &param) {
    if (param.isScalar()) return scalar(param);
    Buffer buffer{param.name.text, Direction(int(param.direction)),
                  sema::instantiate(param.type.element, program.dtype), {}};
    for (const ast::Extent &extent : param.type.shape) buffer.extents.push_back(extentText(extent, program.ranks));
    buffer.replicated = param.replicated;
    program.buffers.push_back(std::move(buffer));
  }

  void scalar(const ast::Param &param) {
    Scalar s{param.name.text};
    s.rank = param.type.kind == ast::Type::Kind::Rank;
    if (!s.rank) s.type = sema::instantiate(param.type.element, program.dtype);
    program.scalars.push_back(std::move(s));
  }

  Index index(const ast::Expr &e) {
    auto i = integer(e, program.ranks);
    if (!i) slip(e.span, "`" + ast::print(e) + "` is not known before the launch", kOfIndices);
    return i.value_or(Index());
  }

  std::optional<Slice> part(const ast::Expr &expr) {
    const auto *at = std::get_if<ast::Index>(&expr.node);
    if (at && std::holds_alternative<ast::Index>(at->base->node)) return std::nullopt; // a row of a row
    return contractSlice(program, expr, [&](const ast::Expr &e) { return index(e); });
  }

  std::optional<Slice> element(const ast::Expr &expr) {
    return contractElement(program, expr, [&](const ast::Expr &e) { return index(e); });
  }

  void inplace(const ast::InPlace &pair) {
    auto a = part(*pair.lhs), b = part(*pair.rhs);
    const auto isPart = [](const std::optional<Slice> &s) { return s && s->length.kind != Length::Kind::Whole; };
    const auto isMine = [&](const std::optional<Slice> &s) { return !isPart(s) || (s->depth == 1 && s->index.isVariable("me")); };
    if (!a || !b || (isPart(a) && isPart(b)) || !isMine(a) || !isMine(b))
      return slip(pair.span, "an in-place pair is of two arguments, or of one and row `me` of the other",
                  "as in `inplace(y = x)` or `inplace(x = y[me])`");
    if (program.buffers[a->buffer].direction == Direction::In) std::swap(a, b);
    program.aliases.emplace_back(*a, *b);
    program.inplace.emplace_back(ast::print(*pair.lhs), ast::print(*pair.rhs));
  }

  void ensures(const ast::Ensures &clause, const ast::Expr &condition) {
    if (!ok) return;
    if (const auto *both = std::get_if<ast::Binary>(&condition.node); both && both->op == ast::BinaryOp::And) {
      ensures(clause, *both->lhs);
      return ensures(clause, *both->rhs);
    }
    Ensures e;
    e.where = clause.span.begin;
    if (!clause.variables.empty()) e.variable = clause.variables.front().name.text;
    // `me != root or y == …`: promised where the first does not hold.
    const ast::Expr *promise = &condition;
    if (const auto *either = std::get_if<ast::Binary>(&promise->node); either && either->op == ast::BinaryOp::Or)
      for (const auto &[unless, rest] : {std::pair(either->lhs.get(), either->rhs.get()), std::pair(either->rhs.get(), either->lhs.get())})
        if (auto outcome = integer(*unless, program.ranks)) {
          e.on = Index::negate(*outcome), promise = rest;
          break;
        }
    const auto *equal = std::get_if<ast::Binary>(&promise->node);
    if (!equal || equal->op != ast::BinaryOp::Eq || clause.variables.size() > 1) return slipOf(promise->span);
    const ast::Call *left = prefixIn(*equal->lhs), *right = prefixIn(*equal->rhs);
    if (left || right) return prefix(left, right, clause.span, std::move(e));
    auto target = part(*equal->lhs);
    if (!target) target = element(*equal->lhs);
    if (!target || ownerOf(*equal->lhs) || program.buffers[target->buffer].direction == Direction::In) return slipOf(equal->lhs->span);
    e.target = *target;
    if (!source(*equal->rhs, e) || !isOfParameter(*equal->rhs)) {
      e.kind = Ensures::Kind::Formula;
      buildFormula(program, e, *equal->rhs,
                   [&](ast::Span where, const std::string &what, const std::string &help) { slip(where, what, help); });
    }
    if (ok) program.ensures.push_back(std::move(e));
  }

  void slipOf(ast::Span where) {
    slip(where, "this is nothing that `ensures` can promise",
         "write a result, or a whole row of one such as `y[r]`, `==` what it holds at exit, on all ranks or behind a condition "
         "over `me` and scalars and `or`");
  }

  /// `prefix(y[r], c) == prefix(r.x[me], c)`, or of what is computed of arguments.
  void prefix(const ast::Call *left, const ast::Call *right, ast::Span where, Ensures e) {
    const bool equal = left && right && left->function == right->function && ast::print(*left->args[1]) == ast::print(*right->args[1]);
    auto target = equal ? part(*left->args[0]) : std::nullopt;
    if (!target)
      return slip(where, "what is promised of a prefix is another prefix of the same length",
                  "as in `prefix(y, n[me]) == prefix(r.x, n[me])`");
    e.target = *target, e.countsRows = isOfRows(*left);
    if (!source(*right->args[0], e) || e.kind != Ensures::Kind::Copy) {
      e.kind = Ensures::Kind::Formula;
      buildFormula(program, e, *right->args[0],
                   [&](ast::Span at, const std::string &what, const std::string &help) { slip(at, what, help); });
      if (!ok) return;
    }
    if (!count(*left->args[1], e))
      return slip(left->args[1]->span, "the length of a prefix is a number of an input, or of a result that a clause before says equals one",
                  "as in `prefix(y, n[me])` for `in n: u32[N]`");
    program.ensures.push_back(std::move(e));
  }

  /// The number of an input, `r.n[me]`, or that of an output which an earlier clause says equals one: `got[r]`.
  bool count(const ast::Expr &expr, Ensures &e) {
    auto number = element(expr);
    if (!number) return false;
    const ast::Expr *owner = ownerOf(expr);
    if (program.buffers[number->buffer].direction == Direction::In) {
      e.count = *number;
      e.countFrom = owner ? index(*owner) : Index::variable("me");
      return true;
    }
    for (const Ensures &known : program.ensures) {
      if (owner || known.kind != Ensures::Kind::Copy || known.on || known.target.buffer != number->buffer ||
          known.target.length.extents != number->length.extents || !known.target.index.isVariable(known.variable))
        continue;
      const auto there = [&](const Index &i) { return i.substitute(known.variable, number->index); };
      e.count = known.source;
      e.count->index = there(known.source.index);
      e.countFrom = there(known.from);
      return true;
    }
    return false;
  }

  /// Whether a reduction is by what the contract's operator parameter is.
  bool isOfParameter(const ast::Expr &expr) const {
    const auto *r = std::get_if<ast::Reduce>(&expr.node);
    if (!r) return true;
    const auto &name = std::get<ast::NameRef>(r->op->node);
    return std::holds_alternative<const ast::Generic *>(name.ref) || program.op == name.op;
  }

  /// `reduce(op, r in ranks: r.x)`, `r.x`, either with an index after `x`.
  bool source(const ast::Expr &expr, Ensures &e) {
    const auto *r = std::get_if<ast::Reduce>(&expr.node);
    e.kind = r ? Ensures::Kind::Reduction : Ensures::Kind::Copy;
    const ast::Expr &of = r ? *r->body : expr;
    const ast::Expr *owning = ownerOf(of);
    auto owner = owning ? integer(*owning, program.ranks) : std::nullopt;
    auto slice = owning ? part(of) : std::nullopt;
    if (!slice) slice = element(of);
    if (!owning && !r && slice && program.buffers[slice->buffer].direction == Direction::In) owner = Index::variable("me"); // `n[r]`
    if (!owner || (r && !owner->isVariable(r->variable.name.text))) return false;
    if (!slice || slice->length.kind == Length::Kind::Piece) return false;
    e.from = *owner, e.source = *slice;
    return true;
  }
};

/// `view X = split(x, N)` or `split_rows`: the call; null if the view is something else.
const ast::Call *splitCall(const ast::View &view) {
  const auto *call = std::get_if<ast::Call>(&view.value->node);
  const bool splits = call && (call->function == ast::Function::Split || call->function == ast::Function::SplitRows);
  return splits ? call : nullptr;
}

/// The argument that is split.
const ast::Param *splitOf(const ast::View &view) {
  const ast::Call *call = splitCall(view);
  if (!call) return nullptr;
  const auto *name = std::get_if<ast::NameRef>(&call->args.front()->node);
  const auto *count = std::get_if<ast::NameRef>(&call->args.back()->node);
  if (!name || !count || !std::holds_alternative<ast::Builtin>(count->ref)) return nullptr;
  const auto *param = std::get_if<const ast::Param *>(&name->ref);
  return param && std::get<ast::Builtin>(count->ref) == ast::Builtin::N ? *param : nullptr;
}

} // namespace

BufferId bufferOf(const Program &program, const ast::Param &param) {
  for (std::size_t b = 0; b < program.buffers.size(); ++b)
    if (program.buffers[b].name == param.name.text) return BufferId(b);
  return kNone;
}

Slice whole(const Program &program, BufferId buffer) {
  return {buffer, Length{Length::Kind::Whole, program.buffers[buffer].extents, {}}, {}};
}

Slice row(const Program &program, BufferId buffer, Index number, unsigned depth) {
  const std::vector<std::string> &extents = program.buffers[buffer].extents;
  Slice slice{buffer, Length{Length::Kind::Row, {extents.begin() + depth, extents.end()}, {}}, std::move(number)};
  slice.depth = depth;
  return slice;
}

bool buildContract(const sema::Algorithm &algorithm, Program &program, DiagnosticEngine &diagnostics) {
  return Contract(algorithm, program, diagnostics).run();
}

namespace {

/// What `x` or `r.x` names; null for any other expression.
const ast::Ref *refOf(const ast::Expr &expr) {
  if (const auto *name = std::get_if<ast::NameRef>(&expr.node)) return &name->ref;
  if (const auto *member = std::get_if<ast::Member>(&expr.node)) return &member->ref;
  return nullptr;
}

} // namespace

namespace {

/// `x[i][j]`, by its own name or that of a view: an argument and the indices behind it, outer first.
struct Indexed {
  BufferId buffer = kNone;
  std::vector<const ast::Expr *> indices;
};

Indexed indexed(const Program &program, const ast::Expr &expr) {
  Indexed result;
  for (const ast::Expr *at = &expr;;) {
    if (const auto *index = std::get_if<ast::Index>(&at->node)) {
      result.indices.insert(result.indices.begin(), index->index.get());
      at = index->base.get();
      continue;
    }
    const ast::Ref *name = refOf(*at);
    const auto *view = name ? std::get_if<const ast::View *>(name) : nullptr;
    if (view && !splitCall(**view)) {
      at = (*view)->value.get();
      continue;
    }
    const auto *param = name ? std::get_if<const ast::Param *>(name) : nullptr;
    if (param) result.buffer = bufferOf(program, **param);
    return result;
  }
}

/// What several indices count together; empty if how many rows a row has is known at launch only.
std::optional<Index> rowNumber(const Program &program, BufferId buffer, const std::vector<const ast::Expr *> &indices,
                               llvm::function_ref<Index(const ast::Expr &)> index) {
  const std::vector<std::string> &extents = program.buffers[buffer].extents;
  Index number = index(*indices.front());
  for (std::size_t i = 1; i < indices.size(); ++i) {
    if (extents[i] != "N" && !llvm::all_of(extents[i], llvm::isDigit)) return std::nullopt;
    const std::int64_t rows = extents[i] == "N" ? program.ranks : std::stoll(extents[i]);
    number = Index::add(Index::mul(number, Index::constant(rows)), index(*indices[i]));
  }
  return number;
}

} // namespace

std::optional<Slice> contractRow(const Program &program, BufferId buffer, const std::vector<const ast::Expr *> &indices,
                                 llvm::function_ref<Index(const ast::Expr &)> index) {
  if (indices.empty()) return whole(program, buffer);
  if (indices.size() >= program.buffers[buffer].extents.size()) return std::nullopt;
  const auto number = rowNumber(program, buffer, indices, index);
  return number ? std::optional(row(program, buffer, *number, unsigned(indices.size()))) : std::nullopt;
}

/// Pieces of `T[N][M]` are as long as those of `T[N*M]`.
static std::vector<std::string> factorsOf(const std::vector<std::string> &extents) {
  std::vector<std::string> factors;
  for (const std::string &extent : extents) {
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t i = 0; i < extent.size() && isProduct(extent); ++i) {
      depth += (extent[i] == '(') - (extent[i] == ')');
      if (depth == 0 && extent[i] == '*') factors.push_back(extent.substr(begin, i - begin)), begin = i + 1;
    }
    factors.push_back(extent.substr(begin));
  }
  return factors;
}

std::optional<Slice> contractSlice(const Program &program, const ast::Expr &expr,
                                   llvm::function_ref<Index(const ast::Expr &)> index) {
  if (const Indexed of = indexed(program, expr); of.buffer != kNone) {
    return contractRow(program, of.buffer, of.indices, index);
  }
  const auto *at = std::get_if<ast::Index>(&expr.node);
  const ast::Ref *base = at ? refOf(*at->base) : nullptr;
  const auto *view = base ? std::get_if<const ast::View *>(base) : nullptr;
  const ast::Param *param = view ? splitOf(**view) : nullptr;
  const BufferId b = param ? bufferOf(program, *param) : kNone;
  if (b == kNone) return std::nullopt;
  Slice piece = whole(program, b);
  piece.length.kind = Length::Kind::Piece;
  piece.length.ofRows = splitCall(**view)->function == ast::Function::SplitRows;
  if (!piece.length.ofRows) piece.length.extents = factorsOf(piece.length.extents);
  piece.length.index = piece.index = index(*at->index);
  return piece;
}

std::optional<Slice> contractElement(const Program &program, const ast::Expr &expr,
                                     llvm::function_ref<Index(const ast::Expr &)> index) {
  const Indexed of = indexed(program, expr);
  if (of.buffer == kNone || of.indices.size() != 1 || program.buffers[of.buffer].extents.size() != 1) return std::nullopt;
  return row(program, of.buffer, index(*of.indices.front()));
}

std::pair<std::string, std::string> whyNoPart(const Program &program, const ast::Expr &expr) {
  const std::string text = "`" + ast::print(expr) + "`";
  const Indexed of = indexed(program, expr);
  if (of.buffer != kNone && of.indices.size() >= program.buffers[of.buffer].extents.size())
    return {text + " is one element, and data goes by whole vectors, rows and pieces",
            "declare one number as a scalar argument, as in `in alpha: f32`, and several as rows of one element, `T[M][1]`"};
  if (of.buffer != kNone)
    return {text + " is a row of a row, and how many of those there are is known at launch only",
            "index in turn by extents that are `N` or numbers, as in `T[N][4][M]`, or declare fewer extents"};
  const auto *at = std::get_if<ast::Index>(&expr.node);
  const ast::Ref *base = at ? refOf(*at->base) : nullptr;
  if (base && std::holds_alternative<const ast::View *>(*base))
    return {text + " is a piece of something else than a whole argument, or of a split in another number than `N`",
            "split a whole argument between the ranks: `split(x, N)`"};
  return {text + " is no argument, no row or piece of one, no slot of a mailbox and no `let`",
          "choose a part where it is an argument, as in `m[0]`; what is sent is read whole"};
}

/// Whether an argument is a number that indices and conditions may use.
static bool isIndexScalar(const ast::Param &param) {
  if (!param.isScalar()) return false;
  if (param.type.kind == ast::Type::Kind::Rank) return true;
  return param.type.element.dtype && !isFloat(*param.type.element.dtype);
}

std::optional<Index> integer(const ast::Expr &expr, int ranks) {
  auto modulo = [&](bool wrap, Index i) { return wrap ? Index::mod(i, Index::constant(ranks)) : i; };
  if (const auto *lit = std::get_if<ast::IntLit>(&expr.node)) return Index::constant(std::int64_t(lit->value));
  if (const auto *name = std::get_if<ast::NameRef>(&expr.node)) {
    if (const auto *variable = std::get_if<const ast::Variable *>(&name->ref))
      return Index::variable((*variable)->name.text);
    if (const auto *param = std::get_if<const ast::Param *>(&name->ref))
      return isIndexScalar(**param) ? std::optional(Index::variable((*param)->name.text)) : std::nullopt;
    if (const auto *let = std::get_if<const ast::Let *>(&name->ref)) return integer(*(*let)->value, ranks);
    const auto *builtin = std::get_if<ast::Builtin>(&name->ref);
    if (builtin && *builtin == ast::Builtin::N) return Index::constant(ranks);
    if (builtin && *builtin == ast::Builtin::Me) return Index::variable("me");
    if (builtin && (*builtin == ast::Builtin::True || *builtin == ast::Builtin::False))
      return Index::constant(*builtin == ast::Builtin::True);
    return std::nullopt;
  }
  if (const auto *u = std::get_if<ast::Unary>(&expr.node)) {
    auto a = integer(*u->operand, ranks);
    if (!a) return std::nullopt;
    if (u->op == ast::UnaryOp::Not) return Index::negate(*a);
    if (u->op != ast::UnaryOp::Negate) return std::nullopt;
    return modulo(u->moduloN, Index::sub(Index(), *a));
  }
  if (const auto *cast = std::get_if<ast::Cast>(&expr.node)) {
    auto a = integer(*cast->operand, ranks);
    if (!a || (cast->target.kind != ast::Type::Kind::Rank)) return std::nullopt;
    return modulo(true, *a);
  }
  if (const auto *call = std::get_if<ast::Call>(&expr.node);
      call && (call->function == ast::Function::Log2 || call->function == ast::Function::Pow2)) {
    auto a = integer(*call->args.front(), ranks);
    if (!a) return std::nullopt;
    return call->function == ast::Function::Pow2 ? Index::isPowerOf2(*a) : Index::log2(*a);
  }
  const auto *b = std::get_if<ast::Binary>(&expr.node);
  if (!b) return std::nullopt;
  auto x = integer(*b->lhs, ranks), y = integer(*b->rhs, ranks);
  if (!x || !y) return std::nullopt;
  switch (b->op) {
  case ast::BinaryOp::Add: return modulo(b->moduloN, Index::add(*x, *y));
  case ast::BinaryOp::Sub: return modulo(b->moduloN, Index::sub(*x, *y));
  case ast::BinaryOp::Mul: return modulo(b->moduloN, Index::mul(*x, *y));
  case ast::BinaryOp::Div: return Index::div(*x, *y);
  case ast::BinaryOp::Mod: return Index::mod(*x, *y);
  case ast::BinaryOp::Shl: return modulo(b->moduloN, Index::shiftLeft(*x, *y));
  case ast::BinaryOp::Shr: return Index::div(*x, Index::shiftLeft(Index::constant(1), *y));
  case ast::BinaryOp::Xor: return modulo(b->moduloN, Index::exclusiveOr(*x, *y));
  case ast::BinaryOp::Eq: return Index::make(Index::Kind::Eq, *x, *y);
  case ast::BinaryOp::Ne: return Index::make(Index::Kind::Ne, *x, *y);
  case ast::BinaryOp::Lt: return Index::make(Index::Kind::Lt, *x, *y);
  case ast::BinaryOp::Le: return Index::make(Index::Kind::Le, *x, *y);
  case ast::BinaryOp::Gt: return Index::make(Index::Kind::Lt, *y, *x);
  case ast::BinaryOp::Ge: return Index::make(Index::Kind::Le, *y, *x);
  case ast::BinaryOp::And: return Index::make(Index::Kind::And, *x, *y);
  case ast::BinaryOp::Or: return Index::make(Index::Kind::Or, *x, *y);
  default: return std::nullopt;
  }
}

} // namespace coll::ir
