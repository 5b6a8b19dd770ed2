#include "sema/Scope.h"

#include <llvm/ADT/StringRef.h>

namespace coll::sema {

using ast::Builtin;

std::optional<Builtin> builtinNamed(std::string_view name, DType *dtype, ReduceOp *op) {
  static const std::map<std::string, Builtin, std::less<>> words = {
      {"N", Builtin::N},         {"me", Builtin::Me},     {"ranks", Builtin::Ranks}, {"all", Builtin::All},
      {"bytes", Builtin::Bytes}, {"true", Builtin::True}, {"false", Builtin::False}, {"rank", Builtin::Rank}};
  if (auto found = words.find(name); found != words.end()) return found->second;
  if (auto type = parseDType(name)) {
    if (dtype) *dtype = *type;
    return Builtin::DType;
  }
  if (auto operation = parseReduceOp(name)) {
    if (op) *op = *operation;
    return Builtin::Op;
  }
  return std::nullopt;
}

std::string nearest(std::string_view name, const std::vector<std::string> &candidates) {
  std::string best;
  unsigned limit = name.size() < 3 ? 1 : static_cast<unsigned>(name.size() / 3) + 1;
  for (const std::string &candidate : candidates) {
    unsigned distance = llvm::StringRef(name.data(), name.size()).edit_distance(candidate, true, limit);
    if (distance >= candidate.size() || distance > limit || (!best.empty() && distance >= limit)) continue;
    limit = distance;
    best = candidate;
  }
  return best;
}

std::string listed(const std::vector<std::string> &names, std::string_view last) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? " " + std::string(last) + " " : ", ";
    out += "`" + names[i] + "`";
  }
  return out;
}

void Scope::declare(const ast::Name &name, ast::Ref ref) {
  if (builtinNamed(name.text)) {
    diagnostics.error(DiagnosticKind::DuplicateName, name.span, "`" + name.text + "` is a name of the language")
        .help("choose another name");
    return;
  }
  if (const Entry *other = find(name.text))
    diagnostics.error(DiagnosticKind::DuplicateName, name.span, "`" + name.text + "` is declared already")
        .note(other->span, "first declared here");
  // Taken as meant all the same, so that its uses are not reported too.
  levels.back()[name.text] = {std::move(ref), name.span};
}

const Scope::Entry *Scope::find(std::string_view name) const {
  for (auto level = levels.rbegin(); level != levels.rend(); ++level)
    if (auto found = level->find(name); found != level->end()) return &found->second;
  return nullptr;
}

void Scope::reportUnknown(std::string_view name, ast::Span span, std::string_view what) const {
  if (diagnostics.full()) return; // looking for the name that is meant takes time
  std::vector<std::string> candidates = {"N", "me", "ranks"};
  for (const auto &level : levels)
    for (const auto &entry : level) candidates.push_back(entry.first);
  std::string meant = nearest(name, candidates);
  auto report = diagnostics.error(DiagnosticKind::UnknownName, span,
                                  "unknown " + std::string(what) + " `" + std::string(name) + "`");
  if (meant.empty()) return;
  report.help("did you mean `" + meant + "`?");
  if (const Entry *entry = find(meant)) report.note(entry->span, "`" + meant + "` declared here");
}

} // namespace coll::sema
