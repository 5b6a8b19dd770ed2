// What stands before an algorithm's braces: modes, restriction, team, `when` and order.
#include "sema/Context.h"

#include <algorithm>

namespace coll::sema {

using namespace ast;

namespace {

void checkModes(Context &context, ast::Algorithm &decl) {
  for (Generic &generic : decl.modes) {
    generic.kind = GenericKind::Mode;
    for (const Name &name : generic.set) {
      auto mode = parseSyncMode(name.text);
      if (!mode)
        context.error(DiagnosticKind::UnknownMode, name.span, "unknown sync mode `" + name.text + "`")
            .help("the parameters of an algorithm are sync modes: " + listed(modeNames(), "and"));
      else if (std::find(generic.modes.begin(), generic.modes.end(), *mode) != generic.modes.end())
        context.error(DiagnosticKind::DuplicateName, name.span, "`" + name.text + "` is in the set already");
      else
        generic.modes.push_back(*mode);
    }
    context.scope.declare(generic.name, &generic);
  }
  constexpr std::size_t mostMembers = 64;
  std::size_t members = 1;
  for (const Generic &generic : decl.modes) members = std::min(members * generic.modes.size(), mostMembers + 1);
  if (members > mostMembers)
    context.error(DiagnosticKind::WrongArguments, decl.modes.back().span,
                  "these modes give more than " + std::to_string(mostMembers) + " kernels");
}

template <typename T>
void narrow(Context &context, const Generic &by, const std::vector<T> &wanted, std::vector<T> &offered) {
  for (T each : wanted)
    if (std::find(offered.begin(), offered.end(), each) == offered.end())
      context
          .error(DiagnosticKind::NotOffered, by.span,
                 "`" + context.collective.name + "` is not for `" + std::string(keyword(each)) + "`")
          .note(context.collective.decl->name.span, "declared here");
  offered = wanted;
}

void checkRestriction(Context &context, ast::Algorithm &decl, Algorithm &algorithm) {
  const Collective &collective = context.collective;
  if (collective.type) algorithm.dtypes = collective.type->dtypes;
  if (collective.op) algorithm.ops = collective.op->ops;
  for (Generic &by : decl.restriction) {
    checkTypeOrOpSet(by, context.diagnostics);
    const Generic *of = by.kind == GenericKind::Type ? collective.type : collective.op;
    if (!of || of->name.text != by.name.text) {
      context
          .error(DiagnosticKind::UnknownName, by.name.span,
                 "`" + collective.name + "` has no " + (by.kind == GenericKind::Type ? "type" : "operator") +
                     " parameter `" + by.name.text + "`")
          .note(collective.decl->name.span, "declared here");
      continue;
    }
    if (by.kind == GenericKind::Type)
      narrow(context, by, by.dtypes, algorithm.dtypes);
    else
      narrow(context, by, by.ops, algorithm.ops);
  }
  if (collective.type) return;
  // Without a type parameter the types are fixed; the first argument's is the one to name the instance by.
  for (const Param &param : collective.decl->params)
    if (param.type.isValue() && param.type.element.dtype && algorithm.dtypes.empty())
      algorithm.dtypes.push_back(*param.type.element.dtype);
  if (algorithm.dtypes.empty()) algorithm.dtypes.push_back(DType::F32);
}

// ---- Teams ----

constexpr int fewestRanks = 2, mostRanks = 72;

std::optional<int> teamSize(Context &context, Expr &expr) {
  check(context, expr);
  auto *literal = std::get_if<IntLit>(&expr.node);
  if (literal && literal->value >= fewestRanks && literal->value <= mostRanks) return static_cast<int>(literal->value);
  context.error(literal ? DiagnosticKind::OutOfRange : DiagnosticKind::TypeMismatch, expr.span,
                "the size of a team is a number from " + std::to_string(fewestRanks) + " to " + std::to_string(mostRanks));
  return std::nullopt;
}

/// Modes that rely on how stores of GPUs that share memory arrive; no network gives that.
void checkModesOnNetwork(Context &context, const ast::Algorithm &decl, const TeamLevel &level) {
  for (const Generic &generic : decl.modes)
    for (std::size_t i = 0; i < generic.modes.size(); ++i) {
      SyncMode mode = generic.modes[i];
      if (mode == SyncMode::Flag || mode == SyncMode::Barrier) continue;
      context
          .error(DiagnosticKind::ModeIllegalOnTeam, generic.set[i].span,
                 "`" + std::string(keyword(mode)) + "` relies on stores that arrive whole, and a `" + level.kind.text +
                     "` team has no such stores")
          .note(level.kind.span, "the team is here")
          .help("use `flag` or `barrier`, or a team `lsa(…)`");
    }
}

void checkTeam(Context &context, ast::Algorithm &decl, Algorithm &algorithm) {
  if (decl.team.size() > 1) {
    Span whole{decl.team.front().kind.span.begin,
               (decl.team.back().last ? decl.team.back().last : decl.team.back().first)->span.end};
    context
        .error(DiagnosticKind::Reserved, whole, "teams of several levels (`rail(G) * lsa(L)`) are reserved for later")
        .help("use one level: `lsa(2..72)`");
    return;
  }
  TeamLevel &level = decl.team.front();
  if (level.kind.text == "rail" || level.kind.text == "world") {
    checkModesOnNetwork(context, decl, level);
    context.error(DiagnosticKind::Reserved, level.kind.span, "`" + level.kind.text + "` teams are reserved for later")
        .help("use `lsa(2..72)`: the ranks whose memory each can reach");
    return;
  }
  if (level.kind.text != "lsa") {
    context.error(DiagnosticKind::UnknownName, level.kind.span, "unknown team `" + level.kind.text + "`")
        .help("use `lsa(2..72)`: the ranks whose memory each can reach");
    return;
  }
  auto first = teamSize(context, *level.first), last = level.last ? teamSize(context, *level.last) : first;
  if (!first || !last) return;
  if (*last < *first)
    context.error(DiagnosticKind::EmptyRange, {level.first->span.begin, level.last->span.end},
                  "the team is empty: " + std::to_string(*first) + " is more than " + std::to_string(*last));
  algorithm.minRanks = *first;
  algorithm.maxRanks = *last;
}

// ---- When ----

/// The bounds on bytes among the conditions that must all hold.
void extractBounds(const Expr &condition, Algorithm &algorithm, DiagnosticEngine &diagnostics) {
  auto *binary = std::get_if<Binary>(&condition.node);
  if (!binary) return;
  if (binary->op == BinaryOp::And) {
    extractBounds(*binary->lhs, algorithm, diagnostics);
    extractBounds(*binary->rhs, algorithm, diagnostics);
    return;
  }
  auto isBytes = [](const Expr &expr) {
    auto *ref = std::get_if<NameRef>(&expr.node);
    return ref && ref->name == "bytes";
  };
  bool swapped = isBytes(*binary->rhs);
  auto *bound = std::get_if<IntLit>(swapped ? &binary->lhs->node : &binary->rhs->node);
  if (!bound || (!swapped && !isBytes(*binary->lhs))) return;
  BinaryOp le = swapped ? BinaryOp::Ge : BinaryOp::Le, lt = swapped ? BinaryOp::Gt : BinaryOp::Lt;
  BinaryOp ge = swapped ? BinaryOp::Le : BinaryOp::Ge, gt = swapped ? BinaryOp::Lt : BinaryOp::Gt;
  auto atMost = [&](std::uint64_t value) {
    algorithm.maxBytes = algorithm.maxBytes ? std::min(algorithm.maxBytes, value) : value;
  };
  const bool isNothing = bound->value == 0 || (binary->op == lt && bound->value == 1);
  if ((binary->op == le || binary->op == lt) && isNothing) {
    diagnostics.error(DiagnosticKind::EmptyRange, condition.span, "no message is that short, so the algorithm is for none");
    return atMost(1); // nothing more to say of it
  }
  if (binary->op == le) atMost(bound->value);
  if (binary->op == lt) atMost(bound->value - 1);
  if (binary->op == ge) algorithm.minBytes = std::max(algorithm.minBytes, bound->value);
  if (binary->op == gt) algorithm.minBytes = std::max(algorithm.minBytes, bound->value + 1);
}

void checkWhen(Context &context, ast::Algorithm &decl, Algorithm &algorithm) {
  if (!decl.when) return;
  context.place = Place::When;
  const Type &type = check(context, *decl.when);
  context.place = Place::Body;
  if (type.kind != Type::Kind::Bool && type.kind != Type::Kind::Error)
    context.error(DiagnosticKind::TypeMismatch, decl.when->span, "`when` states a condition, not " + describe(type));
  extractBounds(*decl.when, algorithm, context.diagnostics);
  if (algorithm.maxBytes && algorithm.minBytes > algorithm.maxBytes)
    context.error(DiagnosticKind::EmptyRange, decl.when->span,
                  "no size is at least " + std::to_string(algorithm.minBytes) + " and at most " +
                      std::to_string(algorithm.maxBytes) + " bytes");
}

void checkOrder(Context &context, const ast::Algorithm &decl, Algorithm &algorithm) {
  if (!decl.order) return;
  const std::string &name = decl.order->text;
  if (name == "ascending")
    algorithm.order = Order::Ascending;
  else if (name == "fixed")
    algorithm.order = Order::Fixed;
  else if (name == "any")
    algorithm.order = Order::Any;
  else
    context.error(DiagnosticKind::UnknownMode, decl.order->span, "unknown order `" + name + "`")
        .help("it is one of `ascending`, `fixed` and `any`");
}

} // namespace

void checkHeader(Context &context, ast::Algorithm &decl, Algorithm &algorithm) {
  checkModes(context, decl);
  checkRestriction(context, decl, algorithm);
  checkTeam(context, decl, algorithm);
  checkWhen(context, decl, algorithm);
  checkOrder(context, decl, algorithm);
  context.dtypes = algorithm.dtypes;
  for (int ranks = algorithm.minRanks; ranks <= algorithm.maxRanks && ranks > 0; ++ranks)
    if (!decl.when || holds(*decl.when, ranks) != false) context.ranks.push_back(ranks);
}

} // namespace coll::sema
