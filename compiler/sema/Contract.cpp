#include "sema/Context.h"
#include "sema/Walk.h"

#include <algorithm>
#include <set>

namespace coll::sema {

using namespace ast;

namespace {

using Kind = Type::Kind;

constexpr DType allTypes[] = {
#define COLL_DTYPE(Enum, Keyword, Bytes, Class, Cuda) DType::Enum,
#include "coll/Types.def"
};

void checkTypeClass(Generic &generic, DiagnosticEngine &diagnostics) {
  const std::string &name = generic.set[0].text;
  generic.kind = GenericKind::Type;
  bool floats = name == "float", ints = name == "int", all = name == "any" || name == "numeric";
  if (!floats && !ints && !all) {
    diagnostics.error(DiagnosticKind::UnknownName, generic.set[0].span, "unknown class of types `" + name + "`")
        .help("it is one of `any`, `numeric`, `float` and `int`, or a set such as `{f32, bf16}`");
    return;
  }
  for (DType type : allTypes)
    if (all || isFloat(type) == floats) generic.dtypes.push_back(type);
}

template <typename T>
void add(std::vector<T> &list, T element, const Name &name, DiagnosticEngine &diagnostics) {
  if (std::find(list.begin(), list.end(), element) != list.end())
    diagnostics.error(DiagnosticKind::DuplicateName, name.span, "`" + name.text + "` is in the set already");
  else
    list.push_back(element);
}

bool isRange(Context &context, std::vector<Variable> &variables, std::vector<ExprPtr> &sets) {
  bool good = true;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Type &set = check(context, *sets[i]);
    if (set.kind != Kind::Set && set.kind != Kind::Error)
      context.error(DiagnosticKind::TypeMismatch, sets[i]->span,
                    "`forall` goes over `ranks`, not over " + describe(set));
    good &= set.kind == Kind::Set;
    variables[i].type = makeType(Kind::Rank);
    context.scope.declare(variables[i].name, &variables[i]);
    context.loops.push_back({&variables[i], nullptr, nullptr});
  }
  return good;
}

void checkEnsures(Context &context, Ensures &clause) {
  context.scope.push();
  isRange(context, clause.variables, clause.sets);
  const Type &condition = check(context, *clause.condition);
  if (condition.kind != Kind::Bool && condition.kind != Kind::Error)
    context
        .error(DiagnosticKind::TypeMismatch, clause.condition->span,
               "`ensures` states a condition, not " + describe(condition))
        .help("as in `ensures y == reduce(op, r in ranks: r.x)`");
  context.loops.clear();
  context.scope.pop();
}

void checkInPlace(Context &context, InPlace &pair) {
  const Type a = check(context, *pair.lhs), b = check(context, *pair.rhs);
  if (a.kind == Kind::Error || b.kind == Kind::Error) return;
  const Param *lhs = argumentOf(*pair.lhs), *rhs = argumentOf(*pair.rhs);
  if (!lhs || !rhs || (lhs->direction == ParamDirection::In) == (rhs->direction == ParamDirection::In)) {
    context.error(DiagnosticKind::TypeMismatch, pair.span,
                  "an in-place pair is an `in` and an `out` argument, or a part of one");
    return;
  }
  if (!a.isValue() || a.shape != b.shape || !sameElement(context, a.element, b.element))
    context.error(DiagnosticKind::TypeMismatch, pair.span,
                  "the two sides of an in-place pair differ: " + describe(a) + " and " + describe(b));
}

/// `replicated(gamma)`: vectors that come in.
void checkReplicated(Context &context, ast::Collective &decl, const Name &name) {
  const auto refuse = [&](DiagnosticKind kind, std::string message, std::string help) {
    context.error(kind, name.span, std::move(message)).help(std::move(help));
  };
  const auto param = std::find_if(decl.params.begin(), decl.params.end(), [&](const Param &p) { return p.name.text == name.text; });
  if (param == decl.params.end())
    return refuse(DiagnosticKind::UnknownName, "`" + name.text + "` is no argument of `" + decl.name.text + "`",
                  "name vectors that are the same on all ranks at entry");
  if (param->replicated)
    return refuse(DiagnosticKind::DuplicateName, "`" + name.text + "` is in `replicated` already", "name it once");
  if (param->direction == ParamDirection::Out)
    return refuse(DiagnosticKind::Misplaced, "`" + name.text + "` is `out`, and holds nothing at entry",
                  "what it holds at exit is for `ensures`");
  if (param->type.kind != Kind::Error && param->isScalar())
    return refuse(DiagnosticKind::Misplaced, "`" + name.text + "` is one number, and those are the same on all ranks already",
                  "leave it out");
  param->replicated = true;
}

void checkParam(Context &context, Param &param) {
  param.type = checkTypeExpr(context, *param.typeExpr);
  bool isData = param.type.isValue() || param.type.kind == Kind::Rank;
  if (!isData && param.type.kind != Kind::Error)
    context.error(DiagnosticKind::TypeMismatch, param.typeExpr->span, "an argument cannot be " + describe(param.type));
  if (param.isScalar() && isData && param.direction != ParamDirection::In)
    context.error(DiagnosticKind::TypeMismatch, param.name.span, "a scalar argument can only be `in`")
        .help("a result is a vector: `" + param.name.text + ": " + str(param.type) + "[1]`");
  context.scope.declare(param.name, &param);
}

/// One instance has one type and one operator, so a contract has at most one parameter for each.
void checkGenerics(ast::Collective &decl, Collective &collective, DiagnosticEngine &diagnostics) {
  for (Generic &generic : decl.generics) {
    checkTypeOrOpSet(generic, diagnostics);
    const Generic *&place = generic.kind == GenericKind::Type ? collective.type : collective.op;
    if (place)
      diagnostics
          .error(DiagnosticKind::WrongArguments, generic.span,
                 std::string("a collective has at most one ") +
                     (generic.kind == GenericKind::Type ? "type parameter" : "operator parameter"))
          .note(place->span, "the first is here");
    place = &generic;
  }
}

/// The arguments whose value at exit an expression reads, of this rank.
std::set<const Param *> readAtExit(const Expr &expr) {
  std::set<const Param *> found;
  forEach(expr, [&](const Expr &part) {
    const auto *call = std::get_if<Call>(&part.node);
    if (call && call->function == Function::Old) return false;
    const auto *name = std::get_if<NameRef>(&part.node);
    const auto *param = name ? std::get_if<const Param *>(&name->ref) : nullptr;
    if (param && (*param)->direction != ParamDirection::In) found.insert(*param);
    return true;
  });
  return found;
}

/// What a condition makes equal to something: `y == …`, `me != root or y == …`, `prefix(y, c) == …`, and each that `and` joins.
void addEquations(const Expr &condition, std::vector<const Binary *> &equations) {
  const auto *binary = std::get_if<Binary>(&condition.node);
  if (!binary) return;
  if (binary->op == BinaryOp::Eq) equations.push_back(binary);
  if (binary->op != BinaryOp::And && binary->op != BinaryOp::Or) return;
  addEquations(*binary->lhs, equations), addEquations(*binary->rhs, equations);
}

const Param *targetOf(const Expr &side) {
  const auto *call = std::get_if<Call>(&side.node);
  return argumentOf(call && !call->args.empty() ? *call->args.front() : side);
}

/// The outputs that some clause says the value of. `y == y` says nothing, nor do two clauses that each name the other's.
std::set<const Param *> promisedOutputs(const ast::Collective &decl) {
  std::vector<const Binary *> equations;
  for (const Ensures &clause : decl.ensures) addEquations(*clause.condition, equations);
  std::set<const Param *> promised;
  for (bool more = true; more;) {
    more = false;
    for (const Binary *equal : equations) {
      const Param *target = targetOf(*equal->lhs);
      if (!target || promised.count(target)) continue;
      const std::set<const Param *> needed = readAtExit(*equal->rhs);
      const bool known = std::all_of(needed.begin(), needed.end(), [&](const Param *p) { return promised.count(p) != 0; });
      if (known) more = promised.insert(target).second;
    }
  }
  return promised;
}

/// What no clause speaks of is neither proved nor compared, whatever the verdict says of the rest.
void checkPromises(const ast::Collective &decl, DiagnosticEngine &diagnostics) {
  const std::set<const Param *> promised = promisedOutputs(decl);
  std::vector<const Param *> left;
  for (const Param &param : decl.params)
    if (param.direction != ParamDirection::In && !promised.count(&param)) left.push_back(&param);
  if (left.empty()) return;
  std::string names;
  for (const Param *param : left)
    names += (param == left.front() ? "`" : param == left.back() ? " and `" : ", `") + param->name.text + "`";
  const bool one = left.size() == 1;
  diagnostics
      .warning(DiagnosticKind::Unassigned, left.front()->name.span,
               "nothing is promised of " + names + (one ? ": it may hold anything, and no check looks at it" : ": they may hold anything, and no check looks at them"))
      .help(std::string(one ? "say what it holds" : "say of each what it holds") + ": `ensures " + left.front()->name.text + " == ...`");
}

} // namespace

void checkTypeOrOpSet(Generic &generic, DiagnosticEngine &diagnostics) {
  if (!generic.braces) return checkTypeClass(generic, diagnostics);
  generic.kind = parseReduceOp(generic.set[0].text) ? GenericKind::Op : GenericKind::Type;
  bool ops = generic.kind == GenericKind::Op;
  for (const Name &name : generic.set) {
    auto type = parseDType(name.text);
    auto op = parseReduceOp(name.text);
    if (ops && op)
      add(generic.ops, *op, name, diagnostics);
    else if (!ops && type)
      add(generic.dtypes, *type, name, diagnostics);
    else
      diagnostics
          .error(DiagnosticKind::UnknownName, name.span,
                 "unknown " + std::string(ops ? "operator" : "element type") + " `" + name.text + "`")
          .help(ops ? "operators are `sum`, `prod`, `min`, `max` and `avg`"
                    : "types are `f64`, `f32`, `f16`, `bf16`, `fp8e4m3`, `fp8e5m2`, and `i` or `u` with 8, 32 or 64");
  }
}

void declareContract(Context &context) {
  const ast::Collective &decl = *context.collective.decl;
  for (const Generic &generic : decl.generics) context.scope.declare(generic.name, &generic);
  for (const Param &param : decl.params) context.scope.declare(param.name, &param);
  for (const std::string &extent : context.collective.extents)
    context.scope.declare({extent, decl.name.span}, ExtentRef{extent});
}

void checkCollective(ast::Collective &decl, Collective &collective, DiagnosticEngine &diagnostics) {
  collective.decl = &decl;
  collective.name = decl.name.text;
  checkGenerics(decl, collective, diagnostics);

  Context context(collective, diagnostics);
  if (collective.type) context.dtypes = collective.type->dtypes;
  for (const Generic &generic : decl.generics) context.scope.declare(generic.name, &generic);
  context.newExtents = &collective.extents;
  for (Param &param : decl.params) checkParam(context, param);
  context.newExtents = nullptr;

  for (InPlace &pair : decl.inplace) checkInPlace(context, pair);
  for (const Name &name : decl.replicated) checkReplicated(context, decl, name);
  context.place = Place::Ensures;
  for (Ensures &clause : decl.ensures) {
    checkEnsures(context, clause);
    forEach(*clause.condition, [&](const Expr &part) {
      collective.reduces |= std::holds_alternative<Reduce>(part.node);
      return true;
    });
  }
  checkPromises(decl, diagnostics);
}

} // namespace coll::sema
