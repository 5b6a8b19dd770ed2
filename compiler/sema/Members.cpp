// The kernels an algorithm gives: one for each combination of its modes, with the types each is legal for.
#include "sema/Context.h"

#include <algorithm>

namespace coll::sema {

using namespace ast;

namespace {

struct Refusal {
  DiagnosticKind kind;
  std::string reason;
};

/// Why a mode cannot carry a type; nothing if it can.
std::optional<Refusal> refusal(SyncMode mode, DType type) {
  if (mode == SyncMode::Sentinel && !isFloat(type))
    return Refusal{DiagnosticKind::NoSpareValue, "integers have no value to spare for `sentinel`"};
  if (mode == SyncMode::Ll16 && sizeOf(type) > 4)
    return Refusal{DiagnosticKind::ModeIllegal, "the 12 bytes of an `ll16` line hold no whole number of 8-byte elements"};
  if (adds(mode) && type != DType::F32 && type != DType::F16 && type != DType::BF16)
    return Refusal{DiagnosticKind::ModeIllegal, "`" + std::string(keyword(mode)) + "` adds `f32`, `f16` and `bf16` only"};
  return std::nullopt;
}

/// The same for a member in the instance of a type.
std::optional<Refusal> refusal(const Member &member, DType type) {
  for (const Mailbox *mailbox : member.algorithm->mailboxes)
    if (auto why = refusal(*member.syncOf(*mailbox), instantiate(mailbox->type.element, type))) return why;
  return std::nullopt;
}

void offerTypes(Member &member, DiagnosticEngine &diagnostics) {
  std::vector<std::string> dropped;
  std::optional<Refusal> why;
  for (DType type : member.algorithm->dtypes) {
    auto refused = refusal(member, type);
    if (!refused) {
      member.dtypes.push_back(type);
      continue;
    }
    dropped.emplace_back(keyword(type));
    why = refused;
  }
  if (dropped.empty()) return;
  Span where = member.algorithm->decl->name.span;
  for (const auto &[generic, mode] : member.modes)
    for (std::size_t i = 0; i < generic->modes.size(); ++i)
      if (generic->modes[i] == mode) where = generic->set[i].span;
  diagnostics.remark(why->kind, where,
                     "`" + member.name + "` is not offered for " + listed(dropped) + ": " + why->reason);
}

std::optional<SyncMode> modeIn(const Member &member, const Generic *parameter, std::optional<SyncMode> mode) {
  if (!parameter) return mode;
  for (const auto &[generic, bound] : member.modes)
    if (generic == parameter) return bound;
  return std::nullopt;
}

} // namespace

std::optional<SyncMode> Member::syncOf(const Mailbox &mailbox) const {
  return modeIn(*this, mailbox.syncParam, mailbox.syncMode);
}

std::optional<SyncMode> Member::syncOf(const Window &window) const {
  return modeIn(*this, window.syncParam, window.syncMode);
}

std::vector<Member> membersOf(const Algorithm &algorithm, DiagnosticEngine &diagnostics) {
  std::vector<Member> out(1);
  for (const Generic &generic : algorithm.decl->modes) {
    std::vector<Member> longer;
    for (const Member &member : out)
      for (SyncMode mode : generic.modes) {
        longer.push_back(member);
        longer.back().modes.emplace_back(&generic, mode);
        longer.back().mode += (member.mode.empty() ? "" : ".") + std::string(keyword(mode));
      }
    out = std::move(longer);
  }
  for (Member &member : out) {
    member.algorithm = &algorithm;
    member.local = algorithm.decl->name.text + (member.mode.empty() ? "" : "." + member.mode);
    member.name = algorithm.collective->name + "." + member.local;
    member.ops = algorithm.ops;
    offerTypes(member, diagnostics);
  }
  return out;
}

bool checkOffered(const Member &member, DType type, std::optional<ReduceOp> op, DiagnosticEngine &diagnostics) {
  Span where = member.algorithm->decl->name.span;
  auto names = [](const auto &list) {
    std::vector<std::string> out;
    for (auto each : list) out.emplace_back(keyword(each));
    return listed(out, "and");
  };
  std::string subject = "`" + member.name + "` is not offered for `";
  if (std::find(member.dtypes.begin(), member.dtypes.end(), type) == member.dtypes.end()) {
    const std::vector<DType> &declared = member.algorithm->dtypes;
    bool isDeclared = std::find(declared.begin(), declared.end(), type) != declared.end();
    auto why = isDeclared ? refusal(member, type) : std::nullopt;
    diagnostics
        .error(why ? why->kind : DiagnosticKind::NotOffered, where,
               subject + std::string(keyword(type)) + "`" + (why ? ": " + why->reason : ""))
        .help("it is offered for " + names(member.dtypes));
    return false;
  }
  if (!op || member.ops.empty()) return true;
  if (std::find(member.ops.begin(), member.ops.end(), *op) == member.ops.end()) {
    diagnostics.error(DiagnosticKind::NotOffered, where, subject + std::string(keyword(*op)) + "`")
        .help("it is offered for " + names(member.ops));
    return false;
  }
  if (*op == ReduceOp::Avg && !isFloat(type)) {
    diagnostics.error(DiagnosticKind::NotOffered, where, subject + "avg` of `" + std::string(keyword(type)) + "`")
        .help("`avg` is for floats");
    return false;
  }
  return true;
}

const Member *Program::find(std::string_view name) const {
  const Member *found = nullptr;
  unsigned matches = 0;
  for (const Member &member : members) {
    if (member.name == name) return &member;
    std::string algorithm = member.algorithm->decl->name.text;
    bool matched =
        member.local == name || algorithm == name || member.algorithm->collective->name + "." + algorithm == name;
    if (!matched) continue;
    found = &member;
    ++matches;
  }
  return matches == 1 ? found : nullptr;
}

} // namespace coll::sema
