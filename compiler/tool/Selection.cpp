#include "tool/Selection.h"

#include "ir/Program.h"
#include "tool/Output.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cctype>
#include <map>

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

/// What others call types and operators, in the words of the language.
static std::string inOurWords(std::string given) {
  std::transform(given.begin(), given.end(), given.begin(), [](unsigned char c) { return std::tolower(c); });
  static const std::map<std::string, std::string> words = {
      {"fp8", "fp8e4m3"},  {"half", "f16"},    {"float16", "f16"}, {"bfloat16", "bf16"}, {"float", "f32"}, {"float32", "f32"},
      {"double", "f64"},   {"float64", "f64"}, {"int", "i32"},     {"int32", "i32"},     {"int64", "i64"}, {"int8", "i8"},
      {"uint8", "u8"},     {"mean", "avg"},    {"average", "avg"}, {"add", "sum"},       {"mul", "prod"},  {"product", "prod"}};
  const auto known = words.find(given);
  return known == words.end() ? given : known->second;
}

/// The value that `given` spells among those offered.
template <class Value>
static Value pickOffered(const Member &member, std::string_view option, const std::string &given,
                         const std::vector<Value> &offered, std::optional<Value> parsed, const char *sort) {
  if (parsed && llvm::is_contained(offered, *parsed)) return *parsed;
  const std::vector<std::string> words = keywords(offered);
  if (parsed)
    throw Failure{Exit::BadInput, "`" + member.name + "` is not offered for `" + given + "`",
                  "it is offered for " + join(words)};
  const std::string near = nearest(inOurWords(given), words);
  throw Failure{Exit::BadInput, "`" + std::string(option) + " " + given + "` is no " + sort,
                (near.empty() ? "" : "did you mean `" + near + "`? ") + ("`" + member.name) + "` is offered for " +
                    join(words)};
}

static DType defaultDType(const Member &member) {
  const auto &offered = member.dtypes;
  return offered.empty() || llvm::is_contained(offered, DType::F32) ? DType::F32 : offered.front();
}

static ReduceOp defaultOp(const Member &member) {
  const auto &offered = member.ops;
  return offered.empty() || llvm::is_contained(offered, ReduceOp::Sum) ? ReduceOp::Sum : offered.front();
}

DType coll::tool::pickDType(const Member &member, const Arguments &arguments) {
  if (!arguments.has("--dtype")) return defaultDType(member);
  const std::string given = arguments.text("--dtype");
  return pickOffered(member, "--dtype", given, member.dtypes, parseDType(given), "element type");
}

ReduceOp coll::tool::pickOp(const Member &member, const Arguments &arguments) {
  if (!arguments.has("--op")) return defaultOp(member);
  const std::string given = arguments.text("--op");
  if (member.ops.empty())
    throw Failure{Exit::BadInput, "`" + member.collective + "` has no reduction operator", "leave out --op"};
  return pickOffered(member, "--op", given, member.ops, parseReduceOp(given), "reduction operator");
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

std::string coll::tool::meaningless(const Kernel &kernel, const Arguments &arguments) {
  if (arguments.has("--inplace") && kernel.manifest.inplace.empty())
    return "it is not for `--inplace`: no two of its arguments may be the same memory";
  if (arguments.has("--counts") && !kernel.program->hasCounts())
    return "`--counts` says nothing of it: it has no messages that say how long they are";
  return "";
}

void coll::tool::askForMeaning(const Kernel &kernel, const Arguments &arguments) {
  if (const std::string why = meaningless(kernel, arguments); !why.empty())
    throw Failure{Exit::BadInput, "`" + kernel.manifest.member + "`: " + why, "leave the option out"};
}

/// Why an instance cannot be emitted, or not be run as is asked for; empty if it can be.
static std::string reasonAgainst(const Program &program, const Instance &instance, const Arguments *arguments = nullptr) {
  CompileOptions options;
  options.unchecked = true; // what the checker says of it is another matter
  Diagnostics said;
  if (const auto kernel = program.compile(instance, options, said))
    return arguments ? meaningless(*kernel, *arguments) : "";
  for (const Diagnostic &each : said.list)
    if (each.severity == Severity::Error) return each.message;
  return "it cannot be emitted";
}

bool coll::tool::canEmit(const Program &program, const Member &member) {
  DType type = defaultDType(member);
  const std::vector<DType> &emittable = program.emittable(member);
  if (!emittable.empty() && !llvm::is_contained(emittable, type)) type = emittable.front();
  return reasonAgainst(program, {member.name, member.minRanks, type, defaultOp(member)}).empty();
}

std::vector<const Member *> coll::tool::pickMembersToRun(const Program &program, const Arguments &arguments) {
  const std::vector<const Member *> named = pickMembers(program, arguments);
  if (named.size() == 1) return named;
  std::vector<const Member *> members;
  std::optional<Failure> reason;
  std::string leftOut;
  for (const Member *member : named) {
    try {
      const std::string against = reasonAgainst(program, pickInstance(*member, arguments), &arguments);
      if (against.empty()) members.push_back(member);
      else leftOut += "note: `" + member->name + "` is left out: " + against + "\n";
    } catch (const Failure &failure) { // not offered for this type, operator or number of ranks
      reason = failure;
    }
  }
  if (!members.empty()) return printMessage(leftOut), members;
  if (reason) throw *reason;
  return named; // to say of each what stands in its way
}
