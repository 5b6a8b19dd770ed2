#include "tool/SelectionOptions.h"

#include "coll/coll.h"
#include "platform/Env.h"
#include "selection/Table.h"
#include "tool/OrFail.h"

#include "llvm/ADT/STLExtras.h"

using namespace coll;
using namespace coll::tool;

SelectionOptions coll::tool::selectionOptions(const Arguments &arguments) {
  SelectionOptions options;
  std::string file = arguments.text("--table");
  if (file.empty()) file = env::get(env::Variable::Table).value_or("");
  if (!file.empty()) {
    options.table = orFail(readSource(file));
    orFail(selection::Table::parse(options.table, file)); // with the file's name in the message
  }
  options.gpu = arguments.text("--gpu");
  if (arguments.has("--order")) options.order = arguments.choice("--order", {"ascending", "fixed"});
  options.nccl = !arguments.has("--no-nccl");
  options.multicast = arguments.has("--multicast");
  options.symmetric = options.ncclSymmetric = !arguments.has("--ordinary");
  return options;
}

/// How the checker finds a member wanting; empty if it does not.
static std::string unproved(const Program &program, const Member &member, const Call &call, bool strict) {
  Diagnostics ignored; // `coll check` says why
  const auto verdict = program.check({member.name, call.ranks, call.dtype, call.op}, ignored, {strict, false});
  if (!verdict || verdict->proved) return {};
  return verdict->untried ? "not proved" : "refuted";
}

Ranking coll::tool::rankingOf(const Program &program, const std::string &collective, const std::vector<Choice> &ranked,
                              const Call &call, bool strict) {
  constexpr std::size_t kToProve = 2; // the choice and the second best
  Ranking ranking;
  for (const Choice &choice : ranked) {
    const auto member = llvm::find_if(program.members(), [&](const Member &each) {
      return each.collective == collective && each.algorithm == choice.name;
    });
    if (!choice) continue;
    const bool looked = member != program.members().end() && ranking.choices.size() < kToProve;
    if (const std::string how = looked ? unproved(program, *member, call, strict) : ""; !how.empty())
      ranking.unproved.push_back({&*member, how});
    else
      ranking.choices.push_back(choice);
  }
  return ranking;
}
