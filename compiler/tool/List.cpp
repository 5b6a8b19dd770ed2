// `coll list`: what members there are.
#include "tool/Output.h"
#include "tool/Selection.h"
#include "tool/Source.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace coll;
using namespace coll::tool;

template <class Value>
static std::vector<std::string> keywords(const std::vector<Value> &values) {
  std::vector<std::string> result;
  for (Value value : values) result.emplace_back(keyword(value));
  return result;
}

/// 256 KiB, 8 MiB, 100 bytes: in the largest unit that it is a whole number of.
static std::string sizeText(std::uint64_t bytes) {
  static const char *const units[] = {" bytes", " KiB", " MiB", " GiB"};
  unsigned unit = 0;
  while (unit < 3 && bytes >= 1024 && bytes % 1024 == 0) bytes /= 1024, ++unit;
  return std::to_string(bytes) + units[unit];
}

/// The types a member can be emitted for; of one that cannot be, those it is offered for.
static const std::vector<DType> &typesOf(const Program &program, const Member &member) {
  const std::vector<DType> &emittable = program.emittable(member);
  return emittable.empty() ? member.dtypes : emittable;
}

/// The types that a member is offered for and has an error with.
static std::string withErrors(const Program &program, const Member &member) {
  std::vector<DType> missing = member.dtypes;
  llvm::erase_if(missing, [&](DType type) { return llvm::is_contained(typesOf(program, member), type); });
  return missing.empty() ? "" : "; with errors " + join(keywords(missing), " ");
}

static std::string memberLine(const Program &program, const Member &member, bool canEmit, std::size_t width) {
  const std::string ranks = std::to_string(member.minRanks) + ".." + std::to_string(member.maxRanks) + " ranks";
  std::string name = member.name;
  name.resize(std::max(width, name.size()), ' ');
  return llvm::formatv(
             "{0} {1,-13} {2,-15} {3}{4}{5}{6}\n", name, ranks,
             member.maxBytes ? "to " + sizeText(member.maxBytes) : "any size", join(keywords(typesOf(program, member)), " "),
             member.ops.empty() ? "" : "; " + join(keywords(member.ops), " "),
             member.usesMulticast ? "; uses multicast" : "", canEmit ? withErrors(program, member) : "; with errors")
      .str();
}

static llvm::json::Value toJson(const std::string &source, const Program &program, const Member &member, bool canEmit) {
  return llvm::json::Object{{"source", llvm::json::fixUTF8(source)},
                            {"member", member.name},
                            {"collective", member.collective},
                            {"algorithm", member.algorithm},
                            {"minRanks", member.minRanks},
                            {"maxRanks", member.maxRanks},
                            {"dtypes", llvm::json::Array(keywords(typesOf(program, member)))},
                            {"ops", llvm::json::Array(keywords(member.ops))},
                            {"maxBytes", static_cast<std::int64_t>(member.maxBytes)},
                            {"usesMulticast", member.usesMulticast},
                            {"emitted", canEmit}};
}

static Exit list(const Arguments &arguments) {
  const std::vector<std::string> sources =
      arguments.hasOperand() ? std::vector<std::string>{arguments.what()} : standardLibrary();
  std::string text;
  llvm::json::Array array;
  std::vector<std::shared_ptr<const Program>> programs;
  std::size_t width = 35;
  for (const std::string &source : sources) {
    programs.push_back(loadProgram(source));
    for (const Member &member : programs.back()->members()) width = std::max(width, member.name.size());
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::string &source = sources[i];
    const auto &program = programs[i];
    for (const Member &member : program->members()) {
      const bool emitted = canEmit(*program, member);
      text += memberLine(*program, member, emitted, width);
      array.push_back(toJson(source, *program, member, emitted));
    }
  }
  if (array.empty() && !arguments.has("--json")) text = "`" + arguments.what() + "` has no algorithm\n";
  print(arguments.has("--json") ? llvm::formatv("{0:2}\n", llvm::json::Value(std::move(array))).str() : text);
  return Exit::Good;
}

namespace coll::tool {

extern const Verb listVerb;

const Verb listVerb{"list",
                    "[WHAT]",
                    "what the standard library, or a file, offers",
                    {{"--json", "", "as JSON"}},
                    "coll list              every member, for which ranks, sizes, types and operators\n"
                    "coll list mine.coll    those of a file\n",
                    list};

} // namespace coll::tool
