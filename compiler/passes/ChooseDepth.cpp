#include "check/Check.h"
#include "check/Diagram.h"
#include "passes/Passes.h"

namespace coll::passes {

using namespace ir;

/// Proves a program as it is; with `strict`, where that does not hold, with the fences that PTX asks for.
static check::Verdict proveFenced(Program &program, const check::Options &options) {
  check::Verdict verdict = check::check(program, options);
  if (verdict.proved || !options.strict) return verdict;
  addStrictFences(program);
  return check::check(program, options);
}

/// The same with credits for one of the mailboxes that the author leaves open, or all: they may order what is sent to others
/// as well, whatever those declare. False if it does not hold.
static bool proveBesideCredits(Program &program, const check::Options &options, check::Verdict &verdict) {
  std::vector<MailboxId> open;
  for (std::size_t box = 0; box < program.mailboxes.size(); ++box)
    if (program.mailboxes[box].reuse == Reuse::Auto) open.push_back(MailboxId(box));
  std::vector<std::vector<MailboxId>> choices;
  for (const MailboxId box : open) choices.push_back({box});
  if (open.size() > 1) choices.push_back(open);
  for (const std::vector<MailboxId> &boxes : choices) {
    Program tried = program;
    for (const MailboxId box : boxes) addCredits(tried, box);
    check::Verdict found = proveFenced(tried, options);
    if (!found.proved) continue;
    program = std::move(tried), verdict = std::move(found);
    return true;
  }
  return false;
}

/// Proves the program, with credits where nothing else is credit enough and the author leaves it open.
static check::Verdict prove(Program &program, const check::Options &options) {
  for (;;) {
    Program tried = program;
    check::Verdict verdict = proveFenced(tried, options);
    const bool helpless = !verdict.proved && verdict.refutation->noDepthHelps;
    if (helpless && program.mailboxes[verdict.refutation->first.box].reuse == Reuse::Auto) {
      addCredits(program, verdict.refutation->first.box);
      continue;
    }
    if (!helpless || !proveBesideCredits(program, options, verdict)) program = std::move(tried);
    return verdict;
  }
}

/// Finds a depth with some values of scalars, where not all can be tried.
static bool proveForSome(Program &program, check::Options options) {
  Program tried = program;
  options.someScalars = true;
  const check::Verdict verdict = prove(tried, options);
  if (!verdict.proved) return false;
  for (std::size_t box = 0; box < tried.mailboxes.size(); ++box) tried.mailboxes[box].copies = verdict.copies[box];
  program = std::move(tried);
  return true;
}

/// What is refuted for its result alone may have a depth that is proved without one: run unchecked, it goes wrong in that
/// result and in nothing else.
static bool proveWithoutResult(Program &program, const check::Options &options, check::Refutation::Kind kind) {
  using Kind = check::Refutation::Kind;
  if (kind != Kind::WrongResult && kind != Kind::RankDivergentOrder && kind != Kind::InplaceHazard) return false;
  Program tried = program;
  tried.ensures.clear(), tried.aliases.clear();
  const check::Verdict verdict = prove(tried, options);
  if (!verdict.proved) return false;
  tried.ensures = program.ensures, tried.aliases = program.aliases;
  for (std::size_t box = 0; box < tried.mailboxes.size(); ++box) tried.mailboxes[box].copies = verdict.copies[box];
  program = std::move(tried);
  return true;
}

bool chooseDepth(Program &program, Context &context) {
  check::Options options;
  options.strict = program.strict = context.strict;
  if (options.strict) removeMulticasts(program);
  const check::Verdict verdict = prove(program, options);
  if (context.draw) context.drawing = check::drawDiagram(program, verdict);
  if (verdict.proved) {
    for (std::size_t box = 0; box < program.mailboxes.size(); ++box) {
      Mailbox &m = program.mailboxes[box];
      if (m.declaredDepth && m.copies > verdict.smallest[box]) {
        const std::uint32_t where = std::uint32_t(m.where);
        context.diagnostics.remark(DiagnosticKind::LargerDepth, {where, where},
                                   "`" + m.name + "` has depth " + std::to_string(m.copies) + "; " +
                                       std::to_string(verdict.smallest[box]) + " is proved to be enough");
      }
      m.copies = verdict.copies[box];
    }
    for (ir::SourceOffset where : check::removableBarriers(program, options)) {
      const unsigned line = program.sources ? program.sources->position(std::uint32_t(where)).line : 0;
      program.removableBarriers.push_back(line);
    }
    program.proof = verdict.summary;
    program.strength = verdict.strength;
    program.fullDependence = verdict.fullDependence;
    program.assumptions = verdict.assumptions;
    return true;
  }
  const bool untried = verdict.refutation->kind == check::Refutation::Kind::Unbounded;
  context.refuted = true, context.untried = untried;
  context.events = check::eventsOf(program, *verdict.refutation);
  context.counts = verdict.refutation->counts;
  Diagnostic counterexample = check::toDiagnostic(program, *verdict.refutation);
  if (!context.unchecked) {
    context.sink.list.push_back(std::move(counterexample));
    return false;
  }
  counterexample.severity = Severity::Warning;
  counterexample.message += "; goes on because of --unchecked";
  context.sink.list.push_back(std::move(counterexample));
  if (!(untried ? proveForSome(program, options) : proveWithoutResult(program, options, verdict.refutation->kind)))
    for (Mailbox &box : program.mailboxes)
      if (box.copies == 0) box.copies = 1;
  program.proof = std::string("unchecked: this algorithm is ") + (untried ? "NOT PROVED: " : "REFUTED: ") + verdict.refutation->explanation;
  return true;
}

} // namespace coll::passes
