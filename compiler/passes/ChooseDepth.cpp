#include "check/Check.h"
#include "passes/Passes.h"

namespace coll::passes {

using namespace ir;

/// Proves the program, with credits where nothing else is credit enough and the author leaves it open.
static check::Verdict prove(Program &program) {
  for (;;) {
    check::Verdict verdict = check::check(program);
    if (verdict.proved || !verdict.refutation->noDepthHelps) return verdict;
    const MailboxId box = verdict.refutation->first.box;
    if (program.mailboxes[box].reuse != Reuse::Auto) return verdict;
    addCredits(program, box);
  }
}

bool chooseDepth(Program &program, Context &context) {
  const check::Verdict verdict = prove(program);
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
    program.proof = verdict.summary;
    program.strength = verdict.strength;
    return true;
  }
  Diagnostic counterexample = check::toDiagnostic(program, *verdict.refutation);
  if (!context.unchecked) {
    context.sink.list.push_back(std::move(counterexample));
    return false;
  }
  counterexample.severity = Severity::Warning;
  counterexample.message += "; goes on because of --unchecked";
  context.sink.list.push_back(std::move(counterexample));
  for (Mailbox &box : program.mailboxes)
    if (box.copies == 0) box.copies = 1;
  program.proof = "unchecked: this algorithm is REFUTED: " + verdict.refutation->explanation;
  return true;
}

} // namespace coll::passes
