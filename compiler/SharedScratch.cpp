#include "SharedScratch.h"

#include "ir/Build.h"
#include "passes/Passes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"

namespace coll {
namespace {

using ir::Mailbox;
using ir::Sync;
using ir::wireOf;

using Pass = bool (*)(ir::Program &, passes::Context &);
constexpr Pass kPasses[] = {
#define COLL_PASS(Function, Name, Summary) passes::Function,
#include "passes/Passes.def"
};

/// A program as it lies in memory, proved or not: with one copy, where its author asks for no more.
std::optional<ir::Program> laidOut(const sema::Member &member, int ranks, DType type, const Sources &sources) {
  Diagnostics ignored; // the reasons are given when the instance is asked for
  DiagnosticEngine engine(sources, ignored);
  const auto op = member.ops.empty() ? std::nullopt : std::optional(member.ops.front());
  auto program = ir::build(member, ranks, type, op, sources, engine);
  passes::Context context{engine, ignored};
  if (!program) return std::nullopt;
  for (const Pass pass : kPasses) {
    if (pass == passes::chooseDepth)
      for (Mailbox &box : program->mailboxes) box.copies = std::max(box.copies, 1);
    else if (!pass(*program, context)) return std::nullopt;
  }
  return std::move(*program);
}

/// What a program takes of each part of a region that others take of too.
struct Needs {
  std::uint64_t barriers = 0, credits = 0, flags = 0, kept = 0; ///< bytes
  std::uint64_t counts = 0, slots = 0;                          ///< of one copy
};

std::uint64_t wholeLines(std::uint64_t bytes) { return llvm::alignTo(bytes, 128); }

Needs needsOf(const ir::Program &program) {
  Needs needs;
  constexpr std::uint64_t kBarrierWords = 1152, kMaxCtas = 256; // as coll/region.h has them
  const std::uint64_t ranks = std::uint64_t(program.ranks);
  needs.barriers = wholeLines(kBarrierWords + program.barriers * kMaxCtas * ranks * 4);
  if (program.creditOffset) needs.credits = wholeLines(ranks * 4);
  std::uint64_t end = program.regionBytes, begin = end; // of what is kept, which the mailboxes follow
  for (const Mailbox &box : program.mailboxes) {
    const std::uint64_t slots = std::uint64_t(box.slots.value());
    end = std::min(end, box.offset);
    needs.flags += wholeLines(passes::wordsOf(box));
    needs.slots += wholeLines(slots * box.lines * wireOf(box.sync).lineBytes);
    if (box.counted) needs.counts += wholeLines(slots * wireOf(Sync::LL).lineBytes);
  }
  for (const ir::Value &value : program.values)
    if (value.kept) begin = std::min(begin, value.keptOffset);
  if (begin < end) needs.kept = end - begin;
  return needs;
}

} // namespace

const sema::Workspace *workspaceOf(const sema::Program &program, const sema::Member &member) {
  for (const sema::Workspace &workspace : program.workspaces)
    if (llvm::is_contained(workspace.members, &member)) return &workspace;
  return nullptr;
}

std::vector<const sema::Member *> membersFor(const sema::Workspace &workspace, int ranks) {
  std::vector<const sema::Member *> list;
  for (const sema::Member *member : workspace.members)
    if (ranks >= member->algorithm->minRanks && ranks <= member->algorithm->maxRanks) list.push_back(member);
  return list;
}

Instance instanceOf(const sema::Member &member, const Instance &wanted) {
  Instance instance = wanted;
  instance.member = member.name;
  if (!member.dtypes.empty() && !llvm::is_contained(member.dtypes, wanted.dtype)) instance.dtype = member.dtypes.front();
  if (!member.ops.empty() && !llvm::is_contained(member.ops, wanted.op)) instance.op = member.ops.front();
  return instance;
}

std::string wireForms(const sema::Member &member) {
  std::vector<std::string> forms;
  for (const ast::Mailbox *box : member.algorithm->mailboxes)
    if (const auto mode = member.syncOf(*box))
      if (std::string word(ast::keyword(*mode)); !llvm::is_contained(forms, word)) forms.push_back(word);
  llvm::sort(forms);
  std::string text;
  for (const std::string &form : forms) text += (text.empty() ? "" : " and ") + form;
  return text;
}

ir::SharedScratch sharedScratch(const sema::Workspace &workspace, const sema::Member &whose, int ranks, const Sources &sources) {
  ir::SharedScratch shared;
  shared.workspace = workspace.decl->name.text;
  Needs most;
  std::uint64_t flags = 0, before = 0; // of all members, and of those before this one
  for (const sema::Member *member : membersFor(workspace, ranks)) {
    if (member != &whose) shared.others.push_back(member->name);
    else before = flags;
    std::uint64_t ofMember = 0;
    for (const DType type : member->dtypes) {
      const auto program = laidOut(*member, ranks, type, sources);
      if (!program) continue; // nor will it ever be compiled
      const Needs needs = needsOf(*program);
      for (const Mailbox &box : program->mailboxes) shared.copies = std::max(shared.copies, box.copies);
      for (const auto part : {&Needs::barriers, &Needs::credits, &Needs::kept, &Needs::counts, &Needs::slots})
        most.*part = std::max(most.*part, needs.*part);
      ofMember = std::max(ofMember, needs.flags);
    }
    flags += ofMember;
  }
  shared.credits = most.barriers;
  shared.flags = shared.credits + most.credits + before;
  shared.kept = shared.credits + most.credits + flags;
  shared.counts = shared.kept + most.kept;
  shared.countBytes = most.counts, shared.copyBytes = most.slots;
  shared.begin = shared.counts + std::uint64_t(shared.copies) * most.counts;
  std::string text = sources.position(0).file->text + "\n" + shared.workspace + " " + std::to_string(ranks);
  for (const std::uint64_t part : {shared.begin, shared.copyBytes, shared.kept, shared.counts}) text += " " + std::to_string(part);
  shared.key = shared.workspace + "-" + llvm::utohexstr(llvm::xxHash64(text), /*LowerCase=*/true);
  return shared;
}

} // namespace coll
