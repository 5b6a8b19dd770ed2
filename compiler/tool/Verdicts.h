// What `coll check` found of each instance, as text, as messages and as JSON.
#pragma once

#include "coll/Compiler.h"
#include "tool/Failure.h"

namespace coll::tool {

/// What was asked about one instance, and the answer.
struct Verdict {
  const Member *member;
  Instance instance;
  const Workspace *workspace = nullptr; ///< whose members these are together, if it is not one of them
  /// Instances that look the same to the checker, but for the size of their elements.
  std::vector<Instance> standsFor = {};
  std::optional<CheckResult> result = {}; ///< empty where it could not be checked at all
  Diagnostics diagnostics = {};

  bool proved() const { return result && result->proved; }
};

/// The verdicts in lines; those that say the same share them. Verdicts of one member follow each other, by types and then
/// by numbers of ranks.
std::string verdictLines(const std::vector<Verdict> &verdicts);

std::string verdictsAsJson(const std::vector<Verdict> &verdicts, bool strict);

/// A file with errors has no members to give verdicts on: one entry with what is wrong.
std::string notParsedAsJson(const Diagnostics &diagnostics);
/// The same of a file that is not there, or a request that makes no sense, and what else was said by then.
std::string failureAsJson(const Failure &failure, Diagnostics said = {});

/// The messages of each member for the first number of ranks that has any: others say it again with more ranks. What
/// several members have in common, such as the modes of an algorithm, is said once; what is left out is not.
void printDiagnostics(const std::vector<Verdict> &verdicts);

} // namespace coll::tool
