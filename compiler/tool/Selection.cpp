#include "tool/Selection.h"

#include <algorithm>

using namespace coll;
using namespace coll::tool;

static std::vector<std::string> memberNames(const Program &program) {
  std::vector<std::string> names;
  for (const Member &member : program.members()) names.push_back(member.algorithm);
  return names;
}

/// Whether `given` names the member or a whole of which it is part: `allreduce.oneshot.ll`, `oneshot.ll`, `oneshot`.
static bool isNamedBy(const Member &member, const std::string &given) {
  return member.name == given || member.algorithm == given || member.algorithm.rfind(given + ".", 0) == 0 ||
         member.name.rfind(given + ".", 0) == 0;
}

std::vector<const Member *> coll::tool::pickMembers(const Program &program, const Arguments &arguments) {
  std::vector<const Member *> picked;
  const std::string given = arguments.text("--algo");
  for (const Member &member : program.members())
    if (!arguments.has("--algo") || isNamedBy(member, given)) picked.push_back(&member);
  if (!picked.empty()) return picked;
  if (program.members().empty()) throw Failure{Exit::BadInput, "`" + arguments.what() + "` has no algorithm"};
  const std::vector<std::string> names = memberNames(program);
  throw Failure{Exit::BadInput, "`" + arguments.what() + "` has no member `" + given + "`",
                nearest(given, names).empty() ? "it has " + join(names)
                                              : suggest(given, names) + " It has " + join(names)};
}

const Member &coll::tool::pickMember(const Program &program, const Arguments &arguments) {
  const auto picked = pickMembers(program, arguments);
  if (picked.size() == 1) return *picked.front();
  std::vector<std::string> names;
  for (const Member *member : picked) names.push_back(member->algorithm);
  throw Failure{Exit::BadInput,
                arguments.has("--algo") ? "`--algo " + arguments.text("--algo") + "` names more than one member"
                                        : "`" + arguments.what() + "` has more than one member",
                "pick one with --algo: " + join(names)};
}

template <class Value>
static std::vector<std::string> keywords(const std::vector<Value> &values) {
  std::vector<std::string> result;
  for (Value value : values) result.emplace_back(keyword(value));
  return result;
}

/// The value that `given` spells among those offered.
template <class Value>
static Value pickOffered(const Member &member, std::string_view option, const std::string &given,
                         const std::vector<Value> &offered, std::optional<Value> parsed, const char *sort) {
  if (parsed && std::count(offered.begin(), offered.end(), *parsed)) return *parsed;
  const std::vector<std::string> words = keywords(offered);
  if (parsed)
    throw Failure{Exit::BadInput, "`" + member.name + "` is not offered for `" + given + "`",
                  "it is offered for " + join(words)};
  const std::string near = nearest(given, words);
  throw Failure{Exit::BadInput, "`" + std::string(option) + " " + given + "` is no " + sort,
                (near.empty() ? "" : "did you mean `" + near + "`? ") + ("`" + member.name) + "` is offered for " +
                    join(words)};
}

DType coll::tool::pickDType(const Member &member, const Arguments &arguments) {
  const auto &offered = member.dtypes;
  if (arguments.has("--dtype")) {
    const std::string given = arguments.text("--dtype");
    return pickOffered(member, "--dtype", given, offered, parseDType(given), "element type");
  }
  return offered.empty() || std::count(offered.begin(), offered.end(), DType::F32) ? DType::F32 : offered.front();
}

ReduceOp coll::tool::pickOp(const Member &member, const Arguments &arguments) {
  const auto &offered = member.ops;
  if (arguments.has("--op")) {
    const std::string given = arguments.text("--op");
    if (offered.empty())
      throw Failure{Exit::BadInput, "`" + member.collective + "` has no reduction operator", "leave out --op"};
    return pickOffered(member, "--op", given, offered, parseReduceOp(given), "reduction operator");
  }
  return offered.empty() || std::count(offered.begin(), offered.end(), ReduceOp::Sum) ? ReduceOp::Sum : offered.front();
}

int coll::tool::pickRanks(const Member &member, const Arguments &arguments) {
  if (!arguments.has("-n")) return std::clamp(8, member.minRanks, member.maxRanks);
  const auto given = arguments.number("-n", 8, 1, 1 << 20);
  if (given < static_cast<unsigned>(member.minRanks) || given > static_cast<unsigned>(member.maxRanks))
    throw Failure{Exit::BadInput, "`" + member.name + "` is not offered for " + std::to_string(given) + " ranks",
                  "it is offered for " + std::to_string(member.minRanks) + " to " + std::to_string(member.maxRanks)};
  return static_cast<int>(given);
}

Instance coll::tool::pickInstance(const Member &member, const Arguments &arguments) {
  Instance instance;
  instance.member = member.name;
  instance.ranks = pickRanks(member, arguments);
  instance.dtype = pickDType(member, arguments);
  instance.op = pickOp(member, arguments);
  return instance;
}

std::string coll::tool::describeTypes(const Member &member, const Instance &instance) {
  return std::string(keyword(instance.dtype)) + (member.ops.empty() ? "" : " " + std::string(keyword(instance.op)));
}

std::string coll::tool::describe(const Member &member, const Instance &instance) {
  return member.name + ", " + std::to_string(instance.ranks) + " ranks, " + describeTypes(member, instance);
}

void coll::tool::requireLowered(const Member &member) {
  if (!member.lowered)
    throw Failure{Exit::BadInput, "`" + member.name + "` cannot be emitted by this version",
                  "`coll check` works for it"};
}

std::vector<const Member *> coll::tool::pickMembersToRun(const Program &program, const Arguments &arguments) {
  std::vector<const Member *> members = pickMembers(program, arguments);
  if (members.size() == 1) {
    requireLowered(*members.front());
    return members;
  }
  const auto ranks = static_cast<int>(arguments.number("-n", 8, 1, 1 << 20));
  const auto applies = [&](const Member *member) {
    return member->lowered && ranks >= member->minRanks && ranks <= member->maxRanks;
  };
  std::erase_if(members, [&](const Member *member) { return !applies(member); });
  if (members.empty())
    throw Failure{Exit::BadInput, "no member can be run with " + std::to_string(ranks) + " ranks",
                  "`coll explain " + arguments.what() + "` tells why"};
  return members;
}
