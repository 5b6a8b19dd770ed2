// Rules that need the whole body: every message has a reader and every read a message, results are assigned, windows
// are guarded, scratch is bounded. The checker proves the rest; these have better messages.
#include "sema/Context.h"

#include <algorithm>

namespace coll::sema {

using namespace ast;

namespace {

/// From the lowest to the highest slot that accesses reach for N ranks; nothing if that is not known, lo > hi if none.
std::optional<Interval> reach(const std::vector<MailboxUse::Access> &accesses, int ranks) {
  Interval out{INT64_MAX, INT64_MIN};
  for (const auto &access : accesses) {
    Ranges ranges(ranks, access.loops);
    if (ranges.empty()) continue;
    auto value = ranges.of(*access.slot);
    if (!value) return std::nullopt;
    out.lo = std::min(out.lo, value->lo);
    out.hi = std::max(out.hi, value->hi);
  }
  return out;
}

/// Reports the first access to a slot that the other side surely never touches.
bool reportUnmatched(Context &context, const Mailbox &mailbox, const std::vector<MailboxUse::Access> &accesses,
                     const std::vector<MailboxUse::Access> &others, DiagnosticKind kind, std::string_view what) {
  for (int ranks : context.ranks) {
    auto other = reach(others, ranks);
    if (!other) continue;
    for (const auto &access : accesses) {
      Ranges ranges(ranks, access.loops);
      auto value = ranges.of(*access.slot);
      if (ranges.empty() || access.guarded || !value || !value->exact) continue;
      if (value->lo >= other->lo && value->hi <= other->hi) continue;
      std::int64_t slot = value->lo < other->lo ? value->lo : value->hi;
      context
          .error(kind, access.where,
                 "slot " + std::to_string(slot) + " of `" + mailbox.name.text + "` " + std::string(what) +
                     " where N = " + std::to_string(ranks))
          .note(mailbox.name.span, "declared here");
      return true;
    }
  }
  return false;
}

void checkMailboxUse(Context &context, const Mailbox &mailbox, const MailboxUse &use) {
  std::string name = "`" + mailbox.name.text + "`";
  if (use.sends.empty() && use.reads.empty()) {
    context.diagnostics.warning(DiagnosticKind::OrphanSend, mailbox.name.span, name + " is never used");
  } else if (use.reads.empty()) {
    context.error(DiagnosticKind::OrphanSend, use.sends[0].where, "nobody reads what is sent to " + name)
        .note(mailbox.name.span, "declared here");
  } else if (use.sends.empty()) {
    context.error(DiagnosticKind::ReadWithoutArrival, use.reads[0].where, "nothing is ever sent to " + name)
        .note(mailbox.name.span, "declared here")
        .help("send to it: `e -> p." + mailbox.name.text + (mailbox.slots ? "[me]`" : "`"));
  } else if (mailbox.slots) {
    if (!reportUnmatched(context, mailbox, use.sends, use.reads, DiagnosticKind::OrphanSend,
                         "is sent to, and nobody reads it"))
      reportUnmatched(context, mailbox, use.reads, use.sends, DiagnosticKind::ReadWithoutArrival,
                      "is read, and nothing is ever sent to it");
  }
}

void checkResults(Context &context, const Algorithm &algorithm) {
  for (const Param &param : context.collective.decl->params) {
    bool filled =
        param.direction != ParamDirection::Out || context.assigned.contains(&param) || context.windows.contains(&param);
    if (filled) continue;
    context
        .error(DiagnosticKind::Unassigned, algorithm.decl->name.span,
               "`" + algorithm.decl->name.text + "` never assigns the result `" + param.name.text + "`")
        .note(param.name.span, "declared here");
  }
}

void checkBarriers(Context &context, const WindowUse &use) {
  if (!use.firstAccess) return;
  std::string name = "`" + use.window->param.text + "`";
  auto barrier = [&](auto test) { return std::any_of(context.barriers.begin(), context.barriers.end(), test); };
  if (!barrier([&](Span at) { return at.begin < use.firstAccess->begin; }))
    context
        .error(DiagnosticKind::MissingBarrier, *use.firstAccess,
               "a peer's " + name + " is touched before anything says that the peer has started")
        .note(use.window->param.span, "declared a window here")
        .help("write `entry barrier` before it");
  bool mustEnd = use.pulled || !use.window->sync;
  if (use.pushed && use.window->sync && !use.awaited && !barrier([&](Span at) { return at.begin > use.lastPush->begin; })) {
    context
        .error(DiagnosticKind::MissingBarrier, *use.lastPush,
               "nothing awaits what is pushed into " + name + ": its owner may read it, or end, before it is there")
        .note(use.window->param.span, "declared a window of mode `flag` here")
        .help(!use.itsWait.empty() ? "write `" + use.itsWait + "` behind it"
              : use.window->ref->type.shape.size() > 1
                  ? "let the owner `await` each place before it reads it, as in `await " + use.window->param.text + "[i]`"
                  : "let the owner write `await " + use.window->param.text + "` before it reads it");
  } else if (mustEnd && !barrier([&](Span at) { return at.begin > use.lastAccess->begin; }))
    context
        .error(DiagnosticKind::MissingBarrier, *use.lastAccess,
               "nothing says when peers have finished with " + name + "; its owner may change it under them")
        .note(use.window->param.span, "declared a window here")
        .help("write `exit barrier` after it");
}

void checkBounded(Context &context, const Algorithm &algorithm) {
  if (algorithm.maxBytes || algorithm.hasPipeline) return;
  auto grows = [](const Extent &extent, auto &self) -> bool {
    return extent.kind == Extent::Kind::Free || std::any_of(extent.operands.begin(), extent.operands.end(),
                                                            [&](const Extent &each) { return self(each, self); });
  };
  for (const Mailbox *mailbox : algorithm.mailboxes)
    for (const Extent &extent : mailbox->type.shape)
      if (grows(extent, grows)) {
        context
            .error(DiagnosticKind::Unbounded, algorithm.decl->name.span,
                   "`" + algorithm.decl->name.text + "` has no upper bound on bytes, so its mailboxes have no size")
            .note(mailbox->name.span, "`" + mailbox->name.text + "` grows with the message")
            .help("write `when bytes <= 256Ki` before the `{`, or stream with `pipeline`");
        return;
      }
}

} // namespace

void checkCoverage(Context &context, const Algorithm &algorithm) {
  checkBounded(context, algorithm);
  for (const Mailbox *mailbox : algorithm.mailboxes) checkMailboxUse(context, *mailbox, context.mailboxes[mailbox]);
  for (const Window *window : algorithm.windows) checkBarriers(context, context.windows[window->ref]);
  checkResults(context, algorithm);
}

} // namespace coll::sema
