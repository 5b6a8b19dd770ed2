#include "tool/Mixture.h"

#include "tool/Source.h"

#include "llvm/ADT/STLExtras.h"

using namespace coll;
using namespace coll::tool;

std::vector<Instance> Subject::instances(const Arguments &arguments) const {
  std::vector<Instance> list;
  for (const Member *member : members) {
    if (members.size() == 1) return {pickInstance(*member, arguments)};
    Instance instance{member->name, pickRanks(*member, arguments)};
    const auto dtype = parseDType(arguments.text("--dtype", "f32"));
    const auto op = parseReduceOp(arguments.text("--op", "sum"));
    instance.dtype = dtype && llvm::is_contained(member->dtypes, *dtype) ? *dtype
                     : member->dtypes.empty()                           ? DType::F32
                                                                        : member->dtypes.front();
    instance.op = op && llvm::is_contained(member->ops, *op) ? *op
                  : member->ops.empty()                      ? ReduceOp::Sum
                                                             : member->ops.front();
    list.push_back(instance);
  }
  return list;
}

std::string Subject::describe(const Arguments &arguments) const {
  if (members.size() == 1) return tool::describe(*members.front(), pickInstance(*members.front(), arguments));
  return std::to_string(members.size()) + " members mixed, " + std::to_string(pickRanks(*members.front(), arguments)) +
         " ranks";
}

/// `allgather.direct.flag` and `mine.coll:oneshot.ll` as the program's name and the member's.
static std::pair<std::string, std::string> split(const std::string &word) {
  const std::size_t colon = word.rfind(':');
  if (colon != std::string::npos) return {word.substr(0, colon), word.substr(colon + 1)};
  return {word.substr(0, word.find('.')), word};
}

Subject coll::tool::pickMixture(const Arguments &arguments) {
  if (arguments.hasOperand() || arguments.has("--algo"))
    throw Failure{Exit::BadInput, "`--mixed` names the members that are run; leave out " +
                                      (arguments.hasOperand() ? "`" + arguments.what() + "`" : "`--algo`")};
  for (const char *sizes : {"--count", "--bytes", "--set"})
    if (arguments.has(sizes)) throw Failure{Exit::BadInput, "the sizes of mixed launches are random; leave out `" + std::string(sizes) + "`"};
  Subject subject;
  std::map<std::string, std::shared_ptr<const Program>> loaded;
  for (const std::string &word : arguments.words("--mixed")) {
    const auto [source, name] = split(word);
    std::shared_ptr<const Program> &program = loaded[source];
    if (!program) program = loadProgram(source);
    const Member *found = nullptr;
    std::vector<std::string> names;
    for (const Member &member : program->members()) {
      names.push_back(member.name);
      if (member.name == name || member.algorithm == name) found = &member;
    }
    if (!found) throw Failure{Exit::BadInput, "`" + source + "` has no member `" + name + "`", suggest(name, names)};
    subject.programs.push_back(program);
    subject.members.push_back(found);
  }
  return subject;
}
