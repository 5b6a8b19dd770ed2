#include "ir/BuildWindow.h"

namespace coll::ir {
namespace {

/// Whether an argument may lie in a row of another that is a different one on each rank. Then it is not in the same
/// place of the symmetric memory on all of them, and none knows where the others have theirs.
bool liesInRowOfMe(const Program &program, BufferId buffer) {
  return llvm::any_of(program.aliases, [&](const auto &pair) {
    const auto &[a, b] = pair;
    return (a.buffer == buffer && b.length.kind == Length::Kind::Row && b.index.uses("me")) ||
           (b.buffer == buffer && a.length.kind == Length::Kind::Row && a.index.uses("me"));
  });
}

} // namespace

bool openWindow(const ast::Window &window, const sema::Member &member, Program &program,
                DiagnosticEngine &diagnostics) {
  const auto refuse = [&](ast::Span where, const std::string &text, const std::string &help = {}) {
    auto report = diagnostics.error(DiagnosticKind::InplaceHazard, where, text);
    if (!help.empty()) report.help(help);
    return false;
  };
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    if (program.buffers[b].name != window.param.text) continue;
    if (liesInRowOfMe(program, BufferId(b)))
      return refuse(window.param.span,
                    "`" + window.param.text + "` may lie in row `me` of another argument, at another place on each rank, "
                    "and a window must lie at the same",
                    "declare the algorithm `outofplace`");
    program.buffers[b].window = true;
    if (member.syncOf(window) != ast::SyncMode::Flag) continue;
    Mailbox flags;
    flags.name = window.param.text;
    flags.sync = Sync::Flag;
    flags.dtype = program.dtype;
    flags.slots = Index::constant(program.ranks);
    flags.payload = false;
    flags.where = window.param.span.begin;
    program.buffers[b].flags = MailboxId(program.mailboxes.size());
    program.mailboxes.push_back(std::move(flags));
  }
  return true;
}

const ast::Expr *ownerOf(const ast::Expr &expr) {
  const ast::Expr *at = &expr;
  while (const auto *index = std::get_if<ast::Index>(&at->node)) at = index->base.get();
  const auto *member = std::get_if<ast::Member>(&at->node);
  return member ? member->base.get() : nullptr;
}

} // namespace coll::ir
