// What belongs to somebody: elements and pieces, mailboxes, other ranks' buffers; and extents.
#include "sema/Context.h"

namespace coll::sema {

using namespace ast;

namespace {

using Kind = Type::Kind;

Type error() {
  return makeType(Kind::Error);
}
bool isError(const Type &type) {
  return type.kind == Kind::Error;
}

const Mailbox *mailboxNamed(const Context &context, const Expr &expr) {
  auto *ref = std::get_if<NameRef>(&expr.node);
  const Scope::Entry *entry = ref ? context.scope.find(ref->name) : nullptr;
  auto *mailbox = entry ? std::get_if<const Mailbox *>(&entry->ref) : nullptr;
  return mailbox ? *mailbox : nullptr;
}

// ---- Members ----

/// `box[r].count`
Type checkCount(Context &context, ast::Member &member, const Mailbox &mailbox) {
  member.ref = Builtin::Count;
  const Type base = check(context, *member.base);
  if (mailbox.counted || isError(base)) return isError(base) ? base : makeType(Kind::Int);
  context.error(DiagnosticKind::Misplaced, member.name.span, "messages in `" + mailbox.name.text + "` carry no count")
      .note(mailbox.name.span, "declared here")
      .help("declare it `counted`");
  return error();
}

/// The `quant` that `q.scale` is of: what the `let` q names, or a call itself.
const Call *quantOf(const Context &context, const Expr &base) {
  const Expr *value = &base;
  if (auto *ref = std::get_if<NameRef>(&base.node)) {
    const Scope::Entry *entry = context.scope.find(ref->name);
    auto *let = entry ? std::get_if<const Let *>(&entry->ref) : nullptr;
    if (!let) return nullptr;
    value = (*let)->value.get();
  }
  auto *call = std::get_if<Call>(&value->node);
  return call && call->callee.text == "quant" ? call : nullptr;
}

/// `q.scale`, where q was made by `quant`: a number for each row or group.
std::optional<Type> checkScale(Context &context, ast::Member &member) {
  const Call *call = quantOf(context, *member.base);
  if (!call) return std::nullopt;
  Type type = check(context, *member.base);
  if (isError(type)) return type;
  member.ref = Builtin::Scale;
  type.element = {DType::F32, nullptr, false};
  auto *scheme = std::get_if<Call>(&call->args[2]->node);
  if (!scheme) {
    type.shape.back() = numberExtent(1);
  } else if (scheme->function == Function::Group) {
    Extent groups;
    groups.kind = Extent::Kind::Arith;
    groups.op = '/';
    groups.operands = {type.shape.back(), numberExtent(std::get<IntLit>(scheme->args[0]->node).value)};
    type.shape.back() = std::move(groups);
  } else {
    type.shape.clear();
  }
  return type;
}

/// `r.x`: an argument of another rank, or a view of one.
Type checkRemote(Context &context, ast::Member &member, const Param &param, const Type &type, Span where) {
  if (context.place == Place::Ensures) return type;
  auto window = context.windows.find(&param);
  if (context.place != Place::Body || window == context.windows.end()) {
    context
        .error(DiagnosticKind::Misplaced, member.name.span, "`" + param.name.text + "` of another rank is out of reach")
        .note(param.name.span, "declared here")
        .help(context.place == Place::Body ? "declare `window " + param.name.text + "`, or send it to a mailbox" : "");
    return error();
  }
  WindowUse &use = window->second;
  if (!use.firstAccess) use.firstAccess = where;
  use.lastAccess = where;
  use.pulled = true;
  return type;
}

} // namespace

bool checkOwner(Context &context, Expr &owner) {
  const Type &type = check(context, owner);
  if (isError(type) || type.kind == Kind::Rank) return type.kind == Kind::Rank;
  auto report = context.error(DiagnosticKind::TypeMismatch, owner.span,
                              "`" + print(owner) + "` is " + describe(type) + ", not a rank");
  if (type.kind == Kind::Int) report.help("write `(" + print(owner) + " as rank)`, which is modulo N");
  return false;
}

Type checkMember(Context &context, ast::Member &member, Expr &expr) {
  const Expr &base = *member.base;
  auto *index = std::get_if<Index>(&base.node);
  const Mailbox *mailbox = mailboxNamed(context, index ? *index->base : base);
  if (mailbox && member.name.text == "count") return checkCount(context, member, *mailbox);
  if (member.name.text == "scale")
    if (auto type = checkScale(context, member)) return *type;
  if (!checkOwner(context, *member.base)) return error();

  const Scope::Entry *entry = context.scope.find(member.name.text);
  if (!entry) {
    context.scope.reportUnknown(member.name.text, member.name.span);
    return error();
  }
  member.ref = entry->ref;
  if (auto *param = std::get_if<const Param *>(&entry->ref))
    return checkRemote(context, member, **param, (*param)->type, expr.span);
  if (auto *view = std::get_if<const View *>(&entry->ref))
    if (const Param *param = argumentOf(*(*view)->value))
      return checkRemote(context, member, *param, (*view)->value->type, expr.span);
  auto report = context.error(DiagnosticKind::Misplaced, member.name.span,
                              std::holds_alternative<const Mailbox *>(entry->ref)
                                  ? "a mailbox of another rank can be sent to; only its owner reads it"
                                  : "`" + member.name.text + "` is this rank's own; no other rank has one to reach");
  report.note(entry->span, "declared here");
  return error();
}

Type readMailbox(Context &context, const Mailbox &mailbox, const Expr *slot, Span where) {
  if (mailbox.slots && !slot) {
    context.error(DiagnosticKind::TypeMismatch, where, "`" + mailbox.name.text + "` has several slots; choose one")
        .note(mailbox.name.span, "declared here")
        .help("as in `" + mailbox.name.text + "[me]`");
    return error();
  }
  if (context.typeOnly) return mailbox.type;
  MailboxUse &use = context.mailboxes[&mailbox];
  use.reads.push_back({where, slot, context.loops, !context.guards.empty()});
  return use.message.value_or(mailbox.type);
}

Type checkSubscript(Context &context, Index &index, Expr &expr) {
  const Mailbox *mailbox = mailboxNamed(context, *index.base);
  if (mailbox && mailbox->slots) {
    std::get<NameRef>(index.base->node).ref = mailbox;
    index.base->type = makeType(Kind::Mailbox);
    if (!checkIndex(context, *index.index, "the slot of a mailbox")) return error();
    checkInRange(context, *index.index, mailbox->slotCount, mailbox->name.text, mailbox);
    return readMailbox(context, *mailbox, index.index.get(), expr.span);
  }
  context.wholeSplit = true;
  const Type base = check(context, *index.base);
  context.wholeSplit = false;
  bool good = checkIndex(context, *index.index, "an index");
  if (isError(base) || !good) return error();
  if (!base.isValue() || base.shape.empty()) {
    context.error(DiagnosticKind::TypeMismatch, expr.span,
                  "`" + print(*index.base) + "` is " + describe(base) + " and has no elements to choose from");
    return error();
  }
  checkInRange(context, *index.index, base.shape.front(), print(*index.base), nullptr);
  Type type = base;
  type.shape.erase(type.shape.begin());
  return type;
}

namespace {

enum class Reached { Never, Maybe, Surely };

/// Whether the current place is reached for N ranks.
Reached reached(const Context &context, const Ranges &ranges, int ranks) {
  if (ranges.empty()) return Reached::Never;
  Reached out = Reached::Surely;
  for (const Guard &guard : context.guards) {
    auto value = holds(*guard.condition, ranks);
    if (value && *value != guard.value) return Reached::Never;
    if (!value) out = Reached::Maybe;
  }
  return out;
}

struct PastEnd {
  int ranks;
  std::int64_t value, size;
};

/// An index that is outside for some N; behind a condition that depends on a launch, one that is outside for every N.
std::optional<PastEnd> findPastEnd(const Context &context, const Expr &index, const Extent &extent) {
  std::optional<PastEnd> first;
  bool always = true;
  for (int ranks : context.ranks) {
    Ranges ranges(ranks, context.loops);
    Reached how = reached(context, ranges, ranks);
    auto value = ranges.of(index);
    auto size = valueOf(extent, ranks);
    if (how == Reached::Never || !value || !size) continue;
    bool outside = value->lo >= *size || value->hi < 0;
    bool partly = value->exact && how == Reached::Surely && (value->hi >= *size || value->lo < 0);
    if (!outside && !partly) {
      always = false;
      continue;
    }
    if (!first) first = PastEnd{ranks, value->hi >= *size ? value->hi : value->lo, *size};
    if (how == Reached::Surely) return first;
  }
  return always ? first : std::nullopt;
}

} // namespace

void checkInRange(Context &context, const Expr &index, const Extent &extent, std::string_view of,
                  const Mailbox *mailbox) {
  auto found = findPastEnd(context, index, extent);
  if (!found) return;
  auto report = context.error(DiagnosticKind::OutOfRange, index.span,
                              "index `" + print(index) + "` of `" + std::string(of) + "` is " +
                                  (found->value < 0 ? "negative" : "past the end") + ": it is " +
                                  std::to_string(found->value) + " where N = " + std::to_string(found->ranks) +
                                  ", and the last is " + std::to_string(found->size - 1));
  if (mailbox) report.note(mailbox->name.span, "`" + std::string(of) + "` has " + extent.str() + " slots");
}

// ---- Extents and types ----

namespace {

Extent simplified(Extent extent) {
  const Extent &a = extent.operands[0], &b = extent.operands[1];
  if (a.kind != Extent::Kind::Number || b.kind != Extent::Kind::Number) return extent;
  auto value = valueOf(extent, 1);
  return value && *value >= 0 ? numberExtent(*value) : extent;
}

std::optional<Extent> extentOfName(Context &context, NameRef &ref, Span where) {
  Extent extent;
  if (ref.name == "N") {
    ref.ref = Builtin::N;
    extent.kind = Extent::Kind::Ranks;
    return extent;
  }
  const Scope::Entry *entry = context.scope.find(ref.name);
  if (!entry && context.newExtents && !builtinNamed(ref.name)) {
    context.newExtents->push_back(ref.name);
    context.scope.declare({ref.name, where}, ExtentRef{ref.name});
    entry = context.scope.find(ref.name);
  }
  if (!entry && !builtinNamed(ref.name)) {
    context.scope.reportUnknown(ref.name, where);
    return std::nullopt;
  }
  if (!entry || !std::holds_alternative<ExtentRef>(entry->ref)) {
    auto report = context.error(DiagnosticKind::TypeMismatch, where, "`" + ref.name + "` is no extent");
    report.help("an extent is made of numbers, `N` and the extents of the contract");
    if (entry) report.note(entry->span, "declared here");
    return std::nullopt;
  }
  ref.ref = entry->ref;
  extent.kind = Extent::Kind::Free;
  extent.name = ref.name;
  return extent;
}

char extentOperator(BinaryOp op) {
  return op == BinaryOp::Add   ? '+'
         : op == BinaryOp::Sub ? '-'
         : op == BinaryOp::Mul ? '*'
         : op == BinaryOp::Div ? '/'
                               : 0;
}

} // namespace

std::optional<Extent> extentOf(Context &context, Expr &expr) {
  expr.type = makeType(Kind::Int);
  if (auto *literal = std::get_if<IntLit>(&expr.node)) return numberExtent(literal->value);
  if (auto *ref = std::get_if<NameRef>(&expr.node)) return extentOfName(context, *ref, expr.span);
  Extent extent;
  extent.kind = Extent::Kind::Arith;
  if (auto *binary = std::get_if<Binary>(&expr.node); binary && extentOperator(binary->op)) {
    auto lhs = extentOf(context, *binary->lhs), rhs = extentOf(context, *binary->rhs);
    if (!lhs || !rhs) return std::nullopt;
    extent.op = extentOperator(binary->op);
    extent.operands = {std::move(*lhs), std::move(*rhs)};
    return simplified(std::move(extent));
  }
  if (auto *call = std::get_if<Call>(&expr.node); call && call->callee.text == "log2" && call->args.size() == 1) {
    call->function = Function::Log2;
    auto of = extentOf(context, *call->args[0]);
    if (!of) return std::nullopt;
    extent.op = 'l';
    extent.operands = {std::move(*of)};
    return extent;
  }
  context.error(DiagnosticKind::TypeMismatch, expr.span, "`" + print(expr) + "` is no extent")
      .help("an extent is made of numbers, `N`, extents of the contract, `+ - * /` and `log2`");
  return std::nullopt;
}

Type checkTypeExpr(Context &context, Expr &expr) {
  std::vector<Index *> chain;
  Expr *root = &expr;
  while (auto *index = std::get_if<Index>(&root->node)) {
    chain.push_back(index);
    root = index->base.get();
  }
  auto *name = std::get_if<NameRef>(&root->node);
  const Scope::Entry *entry = name ? context.scope.find(name->name) : nullptr;
  bool isParameter = entry && std::holds_alternative<const Generic *>(entry->ref);
  if (name && name->name == "rank" && chain.empty()) {
    name->ref = Builtin::Rank;
    return expr.type = makeType(Kind::Rank);
  }
  if (!name || !(isParameter || parseDType(name->name))) {
    if (name && !entry && context.place == Place::Declaration) {
      context.scope.reportUnknown(name->name, root->span, "type");
      return error();
    }
    context.typeOnly = true;
    Type type = check(context, expr);
    context.typeOnly = false;
    return type;
  }
  Type type = check(context, *root);
  if (isError(type)) return type;
  if (type.kind != Kind::DType) {
    context.error(DiagnosticKind::TypeMismatch, root->span,
                  "`" + name->name + "` is " + describe(type) + ", not a type");
    return error();
  }
  type.kind = Kind::Value;
  for (auto index = chain.rbegin(); index != chain.rend(); ++index) {
    auto extent = extentOf(context, *(*index)->index);
    if (!extent) return error();
    type.shape.push_back(std::move(*extent));
    (*index)->base->type = type;
  }
  return expr.type = type;
}

// ---- Places ----

static bool isPrefix(Function function) { return function == Function::Prefix || function == Function::PrefixRows; }
static bool isSplit(Function function) { return function == Function::Split || function == Function::SplitRows; }

const NameRef *rootOf(const Expr &expr) {
  const Expr *root = &expr;
  for (;;) {
    if (auto *index = std::get_if<Index>(&root->node))
      root = index->base.get();
    else if (auto *call = std::get_if<Call>(&root->node);
             call && !call->args.empty() && (isPrefix(call->function) || isSplit(call->function)))
      root = call->args[0].get();
    else
      return std::get_if<NameRef>(&root->node);
  }
}

const Param *argumentOf(const Expr &expr) {
  const NameRef *root = rootOf(expr);
  if (!root) return nullptr;
  if (auto *param = std::get_if<const Param *>(&root->ref)) return *param;
  if (auto *view = std::get_if<const View *>(&root->ref)) return argumentOf(*(*view)->value);
  return nullptr;
}

bool isSplit(const View &view) {
  auto *call = std::get_if<Call>(&view.value->node);
  return call && isSplit(call->function);
}

} // namespace coll::sema
