// Assignments, sends and `await`: what moves data, and whether it fits where it goes.
#include "sema/Context.h"

namespace coll::sema {

using namespace ast;

namespace {

using Kind = Type::Kind;

bool isError(const Type &type) {
  return type.kind == Kind::Error;
}

const ast::Member *memberIn(const Expr &place) {
  const Expr *at = &place;
  while (auto *index = std::get_if<Index>(&at->node)) at = index->base.get();
  return std::get_if<ast::Member>(&at->node);
}

/// Whether the root of a target may be assigned; reports if not.
bool checkAssignable(Context &context, const Expr &target) {
  const NameRef *root = rootOf(target);
  auto refuse = [&](std::string message) {
    return context.error(DiagnosticKind::NotAssignable, target.span, std::move(message));
  };
  if (!root) {
    refuse("`" + print(target) + "` is a value, not a place");
    return false;
  }
  if (const Param *param = argumentOf(target)) {
    if (param->direction != ParamDirection::In) return true;
    refuse("`" + param->name.text + "` is an `in` argument and cannot be assigned")
        .note(param->name.span, "declared here");
    return false;
  }
  if (auto *let = std::get_if<const Let *>(&root->ref)) {
    if ((*let)->mutableVar) return true;
    refuse("`" + root->name + "` is a `let` and keeps its value")
        .note((*let)->name.span, "declared here")
        .help("declare it with `var`");
    return false;
  }
  if (auto *mailbox = std::get_if<const Mailbox *>(&root->ref)) {
    refuse("a mailbox is filled by a send, not by an assignment")
        .note((*mailbox)->name.span, "declared here")
        .help("send to your own slot: `e -> me." + print(target) + "`");
    return false;
  }
  refuse("`" + print(target) + "` cannot be assigned");
  return false;
}

/// The element and extents of data that goes where other data is expected.
bool checkData(Context &context, const Expr &value, const Type &type, std::string_view target) {
  const Type &from = value.type;
  bool element = storesAs(context, from.element, type.element);
  if (element && from.shape == type.shape) return true;
  auto report = context.error(DiagnosticKind::TypeMismatch, value.span,
                              std::string(target) + " is " + describe(type) + ", and this is " + describe(from));
  if (!element && from.shape == type.shape)
    report.help("convert it: `… as " + str(type.element) + "`");
  else if (!from.shape.empty() && from.shape[0].kind == Extent::Kind::Dynamic)
    report.help("only a prefix of it is written: `prefix(…, length) = …`");
  return false;
}

} // namespace

bool checkStorable(Context &context, const Expr &value, const Type &type, std::string_view target) {
  const Type &from = value.type;
  if (isError(from) || isError(type)) return false;
  if (type.isValue() && from.isValue()) return checkData(context, value, type, target);
  bool scalar = type.isValue() && type.shape.empty();
  if (scalar && from.isIndex()) return true;
  if (scalar && from.kind == Kind::Float && isFloatElement(context, type.element)) return true;
  if (type.kind == from.kind && !type.isValue()) return true;
  if (type.kind == Kind::Int && from.kind == Kind::Rank) return true;
  auto report = context.error(DiagnosticKind::TypeMismatch, value.span,
                              std::string(target) + " is " + describe(type) + ", and this is " + describe(from));
  if (type.kind == Kind::Rank && from.kind == Kind::Int) report.help("write `… as rank`, which is modulo N");
  return false;
}

void checkAssign(Context &context, Assign &assign) {
  check(context, *assign.value);
  if (memberIn(*assign.target)) {
    context
        .error(DiagnosticKind::NotAssignable, assign.target->span,
               "what another rank owns cannot be assigned; it is sent to")
        .help("write `" + print(*assign.value) + " -> " + print(*assign.target) + "`");
    return;
  }
  context.typeOnly = true;
  const Type target = check(context, *assign.target);
  context.typeOnly = false;
  if (isError(target) || !checkAssignable(context, *assign.target)) return;
  checkStorable(context, *assign.value, target, "`" + print(*assign.target) + "`");
  if (const Param *param = argumentOf(*assign.target)) context.assigned.insert(param);
}

// ---- Sends ----

namespace {

void checkArrow(Context &context, const Send &send, const Mailbox &mailbox, Span where) {
  for (SyncMode mode : modesOf(mailbox.syncParam, mailbox.syncMode)) {
    if (adds(mode) == send.add) continue;
    std::string name = "`" + mailbox.name.text + "`";
    context
        .error(DiagnosticKind::ModeIllegal, where,
               send.add ? "`+>` adds, and only a `counter` mailbox can be added to"
                        : "a `counter` mailbox is added to, not written")
        .note(mailbox.sync.span, name + " may be `" + std::string(keyword(mode)) + "`")
        .help(send.add ? "send with `->`, one slot for each source" : "send with `+>`");
    return;
  }
}

/// A multicast reaches every rank in its own time, and no more than words of 8 bytes whole.
void checkMulticast(Context &context, const Send &send, const Mailbox &mailbox, Span where) {
  if (send.rank) return;
  const std::string name = "`" + mailbox.name.text + "`", loop = "send in a loop: `forall p in ranks: … -> p." + mailbox.name.text + "[…]`";
  if (send.add) {
    context.error(DiagnosticKind::ModeIllegal, where, "what every rank adds up for itself may be rounded another way on each")
        .help("add on one rank, and send the sum");
    return;
  }
  for (SyncMode mode : modesOf(mailbox.syncParam, mailbox.syncMode)) {
    if (mode != SyncMode::Ll128 && mode != SyncMode::Ll16) continue;
    const std::string word(keyword(mode));
    context
        .error(DiagnosticKind::ModeIllegal, where,
               "a multicast cannot fill a `" + word + "` mailbox: nothing says that its lines of " +
                   (mode == SyncMode::Ll128 ? "128" : "16") + " bytes reach every rank whole")
        .note(mailbox.sync.span, name + " may be `" + word + "`")
        .help(loop);
    return;
  }
}

void checkMessage(Context &context, const Send &send, const Mailbox &mailbox) {
  const Type &value = send.value->type, &slot = mailbox.type;
  if (isError(value) || isError(slot)) return;
  std::string name = "`" + mailbox.name.text + "`";
  if (!value.isValue() || !storesAs(context, value.element, slot.element)) {
    context
        .error(DiagnosticKind::TypeMismatch, send.value->span,
               "a slot of " + name + " holds " + describe(slot) + ", and this is " + describe(value))
        .note(mailbox.name.span, "declared here")
        .help(value.isValue() ? "convert it: `… as " + str(slot.element) + "`" : "");
    return;
  }
  Type message = value;
  message.element = slot.element;
  if (!fits(value.shape, slot.shape)) {
    context
        .error(DiagnosticKind::MailboxTooSmall, send.value->span,
               "this is " + describe(message) + ", and a slot of " + name +
                   (fits(slot.shape, value.shape) ? " has only room for " + describe(slot)
                                                  : " is " + describe(slot) + ": their extents differ, and have to be the same"))
        .note(mailbox.element->span, "the slot's type is declared here")
        .help("declare the mailbox `of " + str(message) + "`");
    return;
  }
  MailboxUse &use = context.mailboxes[&mailbox];
  if (mailbox.counted) {
    Extent length;
    length.kind = Extent::Kind::Dynamic;
    length.operands = {slot.shape[0]};
    message.shape[0] = std::move(length);
  }
  if (!use.message) use.message = std::move(message);
}

void checkMailboxTarget(Context &context, Send &send, const Mailbox &mailbox, std::vector<Index *> &indices,
                        Span where) {
  send.mailbox = &mailbox;
  std::string name = "`" + mailbox.name.text + "`";
  std::size_t wanted = mailbox.slots ? 1 : 0;
  if (indices.size() != wanted) {
    context
        .error(DiagnosticKind::WrongArguments, send.target->span,
               wanted ? name + " has several slots; say which" : name + " has one slot and takes no index")
        .note(mailbox.name.span, "declared here");
    return;
  }
  for (Index *index : indices)
    if (checkIndex(context, *index->index, "the slot of a mailbox"))
      checkInRange(context, *index->index, mailbox.slotCount, mailbox.name.text, &mailbox);
  checkArrow(context, send, mailbox, where);
  checkMulticast(context, send, mailbox, where);
  checkMessage(context, send, mailbox);
  context.mailboxes[&mailbox].sends.push_back(
      {where, indices.empty() ? nullptr : indices[0]->index.get(), context.loops, !context.guards.empty()});
}

/// A line that awaits what each rank pushes to every other, where a push is as plain as that; else empty.
std::string waitFor(const Context &context, const Send &send, const Param &param, std::string_view place) {
  if (!context.guards.empty() || send.indices.size() != 1 || param.type.shape.empty()) return "";
  const auto *index = std::get_if<NameRef>(&send.indices[0]->node);
  if (!index || index->name != "me") return "";
  const auto *to = send.rank ? std::get_if<NameRef>(&send.rank->node) : nullptr;
  const bool toAll = send.rank ? to && context.loops.size() == 1 && !context.loops[0].first && context.loops[0].variable->name.text == to->name
                               : context.loops.empty();
  return toAll ? "forall r in ranks: await " + std::string(place) + "[r]" : "";
}

void checkWindowTarget(Context &context, Send &send, const Param &param, Type type, std::vector<Index *> &indices,
                       Span where) {
  std::string name = "`" + param.name.text + "`";
  auto window = context.windows.find(&param);
  if (window == context.windows.end()) {
    context.error(DiagnosticKind::Misplaced, send.target->span, name + " of another rank is out of reach")
        .note(param.name.span, "declared here")
        .help("declare `window " + param.name.text + "`, or send to a mailbox");
    return;
  }
  if (param.direction == ParamDirection::In) {
    context.error(DiagnosticKind::NotAssignable, send.target->span, name + " is an `in` argument and cannot be written")
        .note(param.name.span, "declared here");
    return;
  }
  if (send.add) {
    context.error(DiagnosticKind::ModeIllegal, where, "`+>` adds, and only a `counter` mailbox can be added to");
    return;
  }
  send.window = &param;
  WindowUse &use = window->second;
  if (!use.firstAccess) use.firstAccess = where;
  use.lastAccess = where;
  use.pushed = true;
  use.lastPush = where;
  use.itsWait = waitFor(context, send, param, memberIn(*send.target)->name.text);
  // Outermost extent first: the innermost Index node.
  for (auto index = indices.rbegin(); index != indices.rend(); ++index) {
    if (!checkIndex(context, *(*index)->index, "an index") || isError(type)) return;
    if (type.shape.empty()) {
      context.error(DiagnosticKind::TypeMismatch, send.target->span, name + " has fewer extents than this has indices");
      return;
    }
    checkInRange(context, *(*index)->index, type.shape.front(), param.name.text, nullptr);
    type.shape.erase(type.shape.begin());
  }
  send.target->type = type;
  checkStorable(context, *send.value, type, "`" + print(*send.target) + "`");
}

/// How a target that lacks its rank is to be written. In `p + 1.box[me]` the dot takes the 1 alone.
std::string withRank(const Expr &target) {
  const auto *sum = std::get_if<Binary>(&target.node);
  if (!sum) return "p." + print(target);
  const ast::Member *member = memberIn(*sum->rhs);
  if (!member) return "(me + 1).box[i]";
  const std::string right = print(*sum->rhs);
  const std::size_t dot = right.find("." + member->name.text);
  return "(" + print(*sum->lhs) + " " + std::string(spelling(sum->op)) + " " + right.substr(0, dot) + ")" + right.substr(dot);
}

} // namespace

void checkSend(Context &context, Send &send, Span where) {
  check(context, *send.value);
  std::vector<Index *> indices;
  Expr *at = send.target.get();
  while (auto *index = std::get_if<Index>(&at->node)) {
    indices.push_back(index);
    at = index->base.get();
  }
  auto *member = std::get_if<ast::Member>(&at->node);
  if (!member) {
    auto report = context.error(DiagnosticKind::Misplaced, send.target->span, "a send goes to a rank");
    const bool computed = std::holds_alternative<Binary>(send.target->node);
    report.help((computed ? "put the rank in parentheses: `" : "name the rank: `") + withRank(*send.target) + "`");
    return;
  }
  auto *owner = std::get_if<NameRef>(&member->base->node);
  if (owner && owner->name == "all") {
    owner->ref = Builtin::All;
    context.algorithm->usesMulticast = true;
    member->base->type = makeType(Kind::Set);
  } else {
    if (!checkOwner(context, *member->base)) return;
    send.rank = member->base.get();
  }
  for (auto index = indices.rbegin(); index != indices.rend(); ++index) send.indices.push_back((*index)->index.get());

  const Scope::Entry *entry = context.scope.find(member->name.text);
  if (!entry) {
    context.scope.reportUnknown(member->name.text, member->name.span, "mailbox");
    return;
  }
  member->ref = entry->ref;
  if (auto *mailbox = std::get_if<const Mailbox *>(&entry->ref))
    return checkMailboxTarget(context, send, **mailbox, indices, where);
  if (auto *param = std::get_if<const Param *>(&entry->ref))
    return checkWindowTarget(context, send, **param, (*param)->type, indices, where);
  if (auto *view = std::get_if<const View *>(&entry->ref))
    if (const Param *param = argumentOf(*(*view)->value))
      return checkWindowTarget(context, send, *param, (*view)->value->type, indices, where);
  context.error(DiagnosticKind::Misplaced, member->name.span, "`" + member->name.text + "` cannot be sent to")
      .note(entry->span, "declared here")
      .help("a send goes to a mailbox, or into a window");
}

void checkAwait(Context &context, Await &await) {
  context.typeOnly = true;
  const Type type = check(context, *await.place);
  context.typeOnly = false;
  if (isError(type)) return;
  const Param *param = argumentOf(*await.place);
  auto window = param ? context.windows.find(param) : context.windows.end();
  if (window == context.windows.end()) {
    context.error(DiagnosticKind::Misplaced, await.place->span, "`await` waits for a place in a window")
        .help("reading a mailbox waits by itself");
    return;
  }
  window->second.awaited = true;
  if (window->second.window->sync) return;
  context
      .error(DiagnosticKind::Misplaced, await.place->span,
             "nothing says when data arrives in `" + param->name.text + "`")
      .note(window->second.window->param.span, "the window is declared without `sync`")
      .help("declare `window " + param->name.text + " sync flag`");
}

} // namespace coll::sema
