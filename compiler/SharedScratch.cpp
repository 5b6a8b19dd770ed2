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

/// Why a program cannot share its scratch yet; empty if it can.
std::string hindrance(const ir::Program &program) {
  for (const Mailbox &box : program.mailboxes) {
    if (box.sync == Sync::Flag || ir::adds(box.sync))
      return "`" + ir::keyword(box.sync).str() + "` mailboxes, which have flags or counts of their own behind their copies";
    if (box.counted && box.sync != Sync::LL) return "`counted` mailboxes of this sync mode";
  }
  if (llvm::any_of(program.values, [](const ir::Value &value) { return value.kept; }))
    return "values that are kept from before a barrier, as their place is a member's own";
  if (program.creditOffset) return "the rule `ack`, whose credits are a member's own";
  return "";
}

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

/// Bytes that one copy of every mailbox takes, one behind the other.
std::uint64_t copyBytesOf(const ir::Program &program) {
  std::uint64_t bytes = 0;
  for (const Mailbox &box : program.mailboxes) {
    const std::uint64_t slots = std::uint64_t(box.slots.value());
    bytes += llvm::alignTo(slots * box.lines * wireOf(box.sync).lineBytes, 128);
    if (box.counted) bytes += llvm::alignTo(slots * wireOf(Sync::LL).lineBytes, 128);
  }
  return bytes;
}

std::uint64_t beginOf(const ir::Program &program) {
  std::uint64_t begin = program.regionBytes;
  for (const Mailbox &box : program.mailboxes) begin = std::min(begin, box.offset);
  return begin;
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

std::optional<ir::SharedScratch> sharedScratch(const sema::Workspace &workspace, const sema::Member &whose, int ranks,
                                           const Sources &sources, DiagnosticEngine &diagnostics) {
  ir::SharedScratch shared;
  shared.workspace = workspace.decl->name.text;
  for (const sema::Member *member : membersFor(workspace, ranks)) {
    if (member != &whose) shared.others.push_back(member->name);
    for (const DType type : member->dtypes) {
      const auto program = laidOut(*member, ranks, type, sources);
      if (!program) continue; // nor will it ever be compiled
      if (const std::string what = hindrance(*program); !what.empty()) {
        diagnostics.error(DiagnosticKind::NotLowered, workspace.decl->name.span,
                          "`" + member->name + "` in `" + shared.workspace + "`: a workspace cannot be lowered yet with " + what);
        return std::nullopt;
      }
      for (const Mailbox &box : program->mailboxes) shared.copies = std::max(shared.copies, box.copies);
      shared.begin = std::max(shared.begin, beginOf(*program));
      shared.copyBytes = std::max(shared.copyBytes, copyBytesOf(*program));
    }
  }
  const std::string text = sources.position(0).file->text + "\n" + shared.workspace + " " + std::to_string(ranks) + " " +
                           std::to_string(shared.begin) + " " + std::to_string(shared.copyBytes);
  shared.key = shared.workspace + "-" + llvm::utohexstr(llvm::xxHash64(text), /*LowerCase=*/true);
  return shared;
}

} // namespace coll
