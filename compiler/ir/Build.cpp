#include "ir/Build.h"

#include "ir/BuildContract.h"
#include "ir/BuildCounts.h"
#include "ir/BuildWindow.h"
#include "ir/Builder.h"

namespace coll::ir {
namespace {

/// Whether something goes between ranks.
bool exchanges(const Stmt &stmt) {
  bool found = false;
  const auto look = [&](const Stmt &s) {
    const auto *load = std::get_if<Load>(&s.op());
    const auto *store = std::get_if<Store>(&s.op());
    found |= std::holds_alternative<Send>(s.op()) || std::holds_alternative<Poll>(s.op()) || std::holds_alternative<Await>(s.op());
    found |= (load && load->from.owner) || (store && store->to.owner);
  };
  look(stmt);
  if (const Block *body = bodyOf(stmt)) walk(*body, look);
  return found;
}

} // namespace

bool Builder::run() {
  const sema::Algorithm &algorithm = *member.algorithm;
  chooseMailedType(algorithm);
  if (!ok) return false;
  program.body.push_back(KernelBoundary{KernelBoundary::Side::Entry, algorithm.decl->span.begin});
  findComputedWith(algorithm.decl->body);
  for (const ast::Stmt &stmt : algorithm.decl->body) {
    const std::size_t before = program.body.size();
    statement(stmt, program.body);
    if (algorithm.hasPipeline && !std::holds_alternative<ast::Pipeline>(stmt.node)) checkBesidePipeline(stmt, before);
  }
  program.body.push_back(KernelBoundary{KernelBoundary::Side::Exit, algorithm.decl->span.begin});
  if (ok) resolveCounts();
  if (ok && program.chunks) checkChunks();
  if (ok) resolvePieces();
  if (ok) dropUnused();
  if (ok) findStored();
  if (ok) numberBarriers(program);
  if (ok) checkLaunchBarriers();
  return ok;
}

void Builder::slip(DiagnosticKind kind, ast::Span where, const std::string &what, const std::string &help) {
  if (ok) diagnostics.error(kind, where, what).help(help);
  ok = false;
}

void Builder::slipOfPart(const ast::Expr &expr) {
  const auto [what, help] = whyNoPart(program, expr);
  slip(DiagnosticKind::Misplaced, expr.span, what, help);
}

void Builder::slipOfLength(ast::Span where) {
  slip(DiagnosticKind::TypeMismatch, where, "this is a vector of another length than what takes it",
       "use vectors of one length together: whole ones, rows of one length, or pieces of one split");
}

/// What goes element by element is done with each chunk, before the body or behind it: no chunk sees another's elements.
void Builder::checkBesidePipeline(const ast::Stmt &stmt, std::size_t before) {
  if (!ok || std::none_of(program.body.begin() + long(before), program.body.end(), exchanges)) return;
  diagnostics.error(DiagnosticKind::Misplaced, stmt.span, "what goes between ranks beside a `pipeline`, whose mailboxes hold chunks")
      .help("write it within the braces of the `pipeline`");
  ok = false;
}

void Builder::checkLaunchBarriers() {
  const auto isOfLaunch = [](const Stmt &s) {
    const auto *barrier = std::get_if<Barrier>(&s.op());
    return barrier && barrier->ofLaunch;
  };
  const auto first = std::find_if_not(program.body.begin() + 1, program.body.end() - 1, isOfLaunch);
  auto last = program.body.end() - 1;
  while (last != first && isOfLaunch(*std::prev(last))) --last;
  const auto within = std::find_if(first, last, isOfLaunch);
  if (within == last) return;
  const auto where = std::uint32_t(std::get<Barrier>(within->op()).where);
  diagnostics.error(DiagnosticKind::Misplaced, {where, where}, "a barrier between what is done with each chunk of a `pipeline`")
      .help("write it within the braces, or before or behind all that the algorithm does");
  ok = false;
}

void Builder::statement(const ast::Stmt &stmt, Block &out) {
  if (!ok) return;
  const SourceOffset where = stmt.span.begin;
  Block *before = std::exchange(block, &out);
  std::visit(
      Overloaded{
          [&](const ast::Mailbox &s) { mailbox(s, where); },
          [&](const ast::Window &s) { ok = ok && openWindow(s, member, program, diagnostics); },
          [&](const ast::ViewStmt &) {}, // resolved where it is used
          [&](const ast::Tune &) {},     // a space for the tuner, nothing the kernel does
          [&](const ast::Let &s) { let(s, stmt.span, out); },
          [&](const ast::Assign &s) { assign(s, where, out); },
          [&](const ast::Send &s) { send(s, stmt.span, out); },
          [&](const ast::Await &s) { await(s, stmt.span, out); },
          [&](const ast::Barrier &) { barrier(stmt.span, out); },
          [&](const ast::Forall &s) { forall(s, stmt.span, out); },
          [&](const ast::For &s) { forLoop(s, stmt.span, out); },
          [&](const ast::Pipeline &s) { pipeline(s, stmt.span, out); },
          [&](const ast::If &s) { conditional(s, stmt.span, out); },
      },
      stmt.node);
  block = before;
}

void Builder::checkChunks() {
  walk(program.body, [&](const Stmt &stmt) {
    const auto *store = std::get_if<Store>(&stmt.op());
    const auto *load = std::get_if<Load>(&stmt.op());
    const ValueId made = resultOf(stmt);
    if (ok && (std::holds_alternative<RowReduce>(stmt.op()) || (made != kNone && program.isOfRows(made)) || (load && (load->everyRow || load->perRow)) || (store && store->perRow))) {
      const auto row = std::uint32_t(match(stmt, [](const auto &s) -> SourceOffset { return s.where; }));
      diagnostics.error(DiagnosticKind::Misplaced, {row, row}, "what goes by rows in a `pipeline`, whose chunks end within a row")
          .help("write an algorithm without `pipeline`, with a bound `when bytes <=`");
      ok = false;
    }
    const ValueId v = resultOf(stmt);
    if (v != kNone && program.values[v].spread == Spread::Everywhere) return; // a number is the same in every chunk
    const Length *length = store ? &store->to.length : v != kNone ? &program.values[v].length : nullptr;
    if (!length || length->sameDomain(program.chunks->of)) return;
    const auto at = std::uint32_t(match(stmt, [](const auto &s) -> SourceOffset { return s.where; }));
    if (ok)
      diagnostics.error(DiagnosticKind::TypeMismatch, {at, at}, "a vector of another length than those that the `pipeline` goes over")
          .note({std::uint32_t(program.chunks->where), std::uint32_t(program.chunks->where)}, "the body sees a chunk of what is as long as this vector")
          .help("name vectors of one length within a `pipeline`: pieces of one `split`, or rows of one length");
    ok = false;
  });
}

std::optional<Program> build(const sema::Member &member, int ranks, DType dtype, std::optional<ReduceOp> op,
                             const Sources &sources, DiagnosticEngine &diagnostics) {
  Program program;
  program.member = member.name;
  program.collective = member.algorithm->collective->name;
  program.algorithm = member.algorithm->decl->name.text;
  program.mode = member.mode;
  program.ranks = ranks;
  program.dtype = dtype;
  program.op = op;
  static constexpr const char *orders[] = {"ascending", "fixed", "any"};
  program.order = orders[int(member.algorithm->order)];
  program.maxBytes = member.algorithm->maxBytes;
  program.sources = &sources;
  const Sources::File &file = *sources.position(0).file;
  program.sourceFile = file.name;
  program.source = &file.text;
  if (!buildContract(*member.algorithm, program, diagnostics)) return std::nullopt;
  ColumnsOfRows columns;
  for (bool more = true; more;) {
    Program built = program;
    Diagnostics found;
    DiagnosticEngine trial(sources, found);
    Builder builder(member, built, trial, columns);
    const bool ok = builder.run();
    more = builder.learn(columns);
    if (ok && !more && found.list.empty()) return built;
  }
  if (!Builder(member, program, diagnostics, columns).run()) return std::nullopt;
  return program;
}

} // namespace coll::ir
