// The command line of one verb: which options there are, what was given, and the page that --help prints.
#pragma once

#include "tool/Failure.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace coll::tool {

/// One option. Given as `--name value` or `--name=value`; a flag where `value` is empty.
struct Option {
  std::string_view name;
  std::string_view value; ///< what stands for the value in --help: `A`, `cpu|gpu`
  std::string_view help;
};

class Arguments;

/// A verb of the tool. Each is defined in a file of its own and listed in Verbs.def.
struct Verb {
  std::string_view name;
  std::string_view operands; ///< `WHAT`, or empty where the verb takes none
  std::string_view summary;
  std::vector<Option> options;
  std::string_view example; ///< lines to type, each explained
  Exit (*run)(const Arguments &);

  std::string help() const;
};

/// What was given to a verb. The getters throw Failure (bad usage) where a value makes no sense, naming what would.
class Arguments {
public:
  Arguments(const Verb &verb, const std::vector<std::string> &words);

  bool help = false; ///< --help was given; nothing else was looked at

  /// The operand; a failure where there is none.
  const std::string &what() const;
  bool hasOperand() const { return !operands.empty(); }

  bool has(std::string_view option) const { return values.count(std::string(option)) != 0; }
  std::string text(std::string_view option, std::string_view otherwise = "") const;
  std::uint64_t number(std::string_view option, std::uint64_t otherwise, std::uint64_t low, std::uint64_t high) const;
  /// `1,64Ki,4M`: numbers with commas between them.
  std::vector<std::uint64_t> numbers(std::string_view option, std::uint64_t low, std::uint64_t high) const;
  /// Words with commas between them.
  std::vector<std::string> words(std::string_view option) const;
  double seconds(std::string_view option, double otherwise) const;
  /// One of `choices`; the first where the option was not given.
  std::string choice(std::string_view option, const std::vector<std::string> &choices) const;

private:
  const Verb &verb;
  std::vector<std::string> operands;
  std::map<std::string, std::string> values;
};

/// `4096`, `64Ki`, `64K` or `64k` (the same, as in nccl-tests), `2Mi`, `1G`. Empty if it is no such number or does not fit.
std::optional<std::uint64_t> parseCount(std::string_view text);
/// How units are written, for what is a number with another; empty for anything else.
std::string helpWithCount(std::string_view text);

/// The word of `offered` nearest to `given`, if it is near enough to be meant.
std::string nearest(std::string_view given, const std::vector<std::string> &offered);
/// `did you mean `x`?` or, where nothing is near, what is offered.
std::string suggest(std::string_view given, const std::vector<std::string> &offered);
std::string join(const std::vector<std::string> &words, std::string_view between = ", ");
/// A word as a shell reads it: in quotes where it has to be.
std::string forShell(const std::string &word);

} // namespace coll::tool
