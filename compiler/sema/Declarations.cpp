// Mailboxes, windows and `tune`.
#include "sema/Context.h"
#include "sema/Walk.h"

namespace coll::sema {

using namespace ast;

const std::vector<std::string> &modeNames() {
  static const std::vector<std::string> names = {
#define COLL_SYNC(Enum, Keyword) Keyword,
#include "ast/SyncModes.def"
  };
  return names;
}

namespace {

using Kind = Type::Kind;

/// The set element that brings a mode in, or the name after `sync`.
Span placeOf(const Mailbox &mailbox, SyncMode mode) {
  if (mailbox.syncParam)
    for (std::size_t i = 0; i < mailbox.syncParam->modes.size(); ++i)
      if (mailbox.syncParam->modes[i] == mode) return mailbox.syncParam->set[i].span;
  return mailbox.sync.span;
}

void checkSentinel(Context &context, const Mailbox &mailbox) {
  Span where = placeOf(mailbox, SyncMode::Sentinel);
  const Collective &collective = context.collective;
  if (!collective.reduces && !collective.decl->ensures.empty()) {
    context
        .error(DiagnosticKind::NoSpareValue, where,
               "`" + collective.name + "` has no `reduce`, so its data may hold every bit pattern and none is left for `sentinel`")
        .help("use `ll`, `ll128` or `flag`");
    return;
  }
  if (mailbox.type.isValue() && isIntElement(context, mailbox.type.element))
    context
        .error(DiagnosticKind::NoSpareValue, where,
               "`" + mailbox.name.text + "` holds integers, and they have no value to spare for `sentinel`")
        .help("use `ll`, `ll128` or `flag`");
}

void checkCounter(Context &context, const Mailbox &mailbox, SyncMode mode) {
  const std::string name = "`" + std::string(keyword(mode)) + "`";
  Span where = placeOf(mailbox, mode);
  const Algorithm &algorithm = *context.algorithm;
  auto refuse = [&](std::string message, std::string help) {
    context.error(DiagnosticKind::ModeIllegal, where, std::move(message)).help(std::move(help));
  };
  if (algorithm.order != Order::Any)
    refuse(name + " adds in the order of arrival", "declare the algorithm with `order any`");
  bool onlySum = algorithm.ops.empty() || (algorithm.ops.size() == 1 && algorithm.ops[0] == ReduceOp::Sum);
  if (!onlySum)
    refuse(name + " can only sum", "restrict the algorithm: `for " + context.collective.name + "<" +
                                         context.collective.op->name.text + " in {sum}>`");
  if (mailbox.counted) refuse("a `counted` mailbox cannot be a " + name, "");
  bool possible = false;
  for (DType type : context.dtypes) {
    DType element = mailbox.type.isValue() ? instantiate(mailbox.type.element, type) : DType::F32;
    possible |= element == DType::F32 || element == DType::F16 || element == DType::BF16;
  }
  if (!possible) refuse(name + " adds `f32`, `f16` and `bf16` only", "");
}

void checkElement(Context &context, Mailbox &mailbox) {
  mailbox.type = checkTypeExpr(context, *mailbox.element);
  if (mailbox.type.kind == Kind::Error) return;
  if (!mailbox.type.isValue()) {
    context.error(DiagnosticKind::TypeMismatch, mailbox.element->span,
                  "a mailbox holds data, not " + describe(mailbox.type));
    mailbox.type = makeType(Kind::Error);
    return;
  }
  mailbox.type.element.accumulator = false;
  if (mailbox.counted && mailbox.type.shape.empty())
    context.error(DiagnosticKind::TypeMismatch, mailbox.element->span, "a `counted` mailbox holds vectors");
}

bool onlyOfN(const Expr &expr) {
  bool only = true;
  forEach(expr, [&](const Expr &part) {
    const auto *name = std::get_if<NameRef>(&part.node);
    only &= !name || name->name == "N";
    return true;
  });
  return only;
}

void checkSlots(Context &context, Mailbox &mailbox) {
  mailbox.slotCount = numberExtent(1);
  if (!mailbox.slots) return;
  auto count = extentOf(context, *mailbox.slots);
  if (!count) return;
  mailbox.slotCount = *count;
  for (int ranks : context.ranks) {
    auto value = valueOf(*count, ranks);
    if (value && *value > 0) continue;
    mailbox.slotCount = Extent{Extent::Kind::Free, 0, "", 0, {}, nullptr}; // nothing more to say of its slots
    context.error(value ? DiagnosticKind::EmptyRange : DiagnosticKind::TypeMismatch, mailbox.slots->span,
                  value ? "`" + mailbox.name.text + "` has no slot where N = " + std::to_string(ranks)
                        : onlyOfN(*mailbox.slots)
                            ? "`" + mailbox.name.text + "` has too many slots where N = " + std::to_string(ranks) +
                                  ", or their number is divided by 0"
                            : "the number of slots must follow from N alone");
    return;
  }
}

void checkReuse(Context &context, Mailbox &mailbox) {
  if (mailbox.reuse) {
    mailbox.reuseRule = parseReuseRule(mailbox.reuse->text);
    if (!mailbox.reuseRule)
      context
          .error(DiagnosticKind::UnknownMode, mailbox.reuse->span, "unknown reuse rule `" + mailbox.reuse->text + "`")
          .help("it is one of `double_buffer`, `ack` and `barrier`");
  }
  if (!mailbox.depth) return;
  check(context, *mailbox.depth);
  constexpr std::uint64_t most = 64;
  auto *depth = std::get_if<IntLit>(&mailbox.depth->node);
  if (depth && depth->value >= 1 && depth->value <= most)
    mailbox.depthCount = depth->value;
  else
    context.error(DiagnosticKind::OutOfRange, mailbox.depth->span,
                  "a depth is a number from 1 to " + std::to_string(most));
}

} // namespace

std::vector<SyncMode> modesOf(const Generic *parameter, std::optional<SyncMode> mode) {
  if (parameter) return parameter->modes;
  return mode ? std::vector<SyncMode>{*mode} : std::vector<SyncMode>{};
}

void resolveSync(Context &context, const Name &name, const Generic *&parameter, std::optional<SyncMode> &mode) {
  const Scope::Entry *entry = context.scope.find(name.text);
  auto *generic = entry ? std::get_if<const Generic *>(&entry->ref) : nullptr;
  if (generic && (*generic)->kind == GenericKind::Mode) {
    parameter = *generic;
    return;
  }
  mode = parseSyncMode(name.text);
  if (mode) return;
  std::vector<std::string> known = modeNames();
  for (const Generic &each : context.algorithm->decl->modes) known.push_back(each.name.text);
  std::string meant = nearest(name.text, known);
  context.error(DiagnosticKind::UnknownMode, name.span, "unknown sync mode `" + name.text + "`")
      .help(meant.empty() ? "it is one of " + listed(modeNames()) : "did you mean `" + meant + "`?");
}

void checkMailbox(Context &context, Mailbox &mailbox) {
  checkSlots(context, mailbox);
  checkElement(context, mailbox);
  resolveSync(context, mailbox.sync, mailbox.syncParam, mailbox.syncMode);
  for (SyncMode mode : modesOf(mailbox.syncParam, mailbox.syncMode)) {
    if (mode == SyncMode::Sentinel) checkSentinel(context, mailbox);
    if (adds(mode)) checkCounter(context, mailbox, mode);
  }
  checkReuse(context, mailbox);
  context.scope.declare(mailbox.name, &mailbox);
  context.algorithm->mailboxes.push_back(&mailbox);
  context.mailboxes[&mailbox];
}

void checkWindow(Context &context, Window &window) {
  const Scope::Entry *entry = context.scope.find(window.param.text);
  auto *param = entry ? std::get_if<const Param *>(&entry->ref) : nullptr;
  if (!entry) {
    context.scope.reportUnknown(window.param.text, window.param.span, "argument");
    return;
  }
  if (!param || (*param)->type.shape.empty()) {
    context.error(DiagnosticKind::TypeMismatch, window.param.span, "a window opens a vector or matrix of the contract")
        .note(entry->span, "`" + window.param.text + "` declared here");
    return;
  }
  window.ref = *param;
  if (window.sync) resolveSync(context, *window.sync, window.syncParam, window.syncMode);
  for (SyncMode mode : modesOf(window.syncParam, window.syncMode)) {
    if (mode == SyncMode::Flag || mode == SyncMode::Barrier) continue;
    context
        .error(DiagnosticKind::ModeIllegal, window.sync->span,
               "`" + std::string(keyword(mode)) + "` needs a mailbox: a window is the caller's own data, as it is")
        .help("use `flag` or `barrier`");
    break;
  }
  WindowUse &use = context.windows[*param];
  if (use.window)
    context.error(DiagnosticKind::DuplicateName, window.param.span, "`" + window.param.text + "` is a window already")
        .note(use.window->param.span, "declared here");
  use.window = &window;
  context.algorithm->windows.push_back(&window);
}

void checkTune(Context &context, Tune &tune, Span) {
  const std::vector<std::string> known = {"ctas", "threads"};
  for (TuneAxis &axis : tune.axes) {
    if (std::find(known.begin(), known.end(), axis.name.text) == known.end())
      context.error(DiagnosticKind::UnknownName, axis.name.span, "`" + axis.name.text + "` cannot be tuned")
          .help("what can be tuned is " + listed(known, "and"));
    for (const TuneAxis *other : context.algorithm->tune)
      if (other->name.text == axis.name.text)
        context.error(DiagnosticKind::DuplicateName, axis.name.span, "`" + axis.name.text + "` is tuned twice")
            .note(other->name.span, "first here");
    for (std::uint64_t value : axis.values) {
      bool threads = axis.name.text == "threads";
      if (value > 0 && value <= 1024 && (!threads || value % 32 == 0)) continue;
      context.error(DiagnosticKind::OutOfRange, axis.span,
                    "`" + axis.name.text + "` cannot be " + std::to_string(value) +
                        (threads ? ": it is a multiple of 32 from 32 to 1024" : ": it is from 1 to 1024"));
      break;
    }
    context.algorithm->tune.push_back(&axis);
  }
}

} // namespace coll::sema
