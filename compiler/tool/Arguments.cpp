#include "tool/Arguments.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

using namespace coll::tool;
using llvm::StringRef;

static StringRef view(std::string_view text) {
  return {text.data(), text.size()};
}

std::string coll::tool::join(const std::vector<std::string> &words, std::string_view between) {
  return llvm::join(words, view(between));
}

std::string coll::tool::forShell(const std::string &word) {
  const auto isPlain = [](char c) { return llvm::isAlnum(c) || StringRef("_-./,:=+@%").contains(c); };
  if (!word.empty() && llvm::all_of(word, isPlain)) return word;
  std::string quoted = "'";
  for (char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string coll::tool::nearest(std::string_view given, const std::vector<std::string> &offered) {
  std::string best;
  unsigned bestDistance = 1 + static_cast<unsigned>(given.size()) / 3;
  for (const std::string &word : offered) {
    const unsigned distance = view(given).edit_distance(word, /*AllowReplacements=*/true, bestDistance + 1);
    if (distance < bestDistance + (best.empty() ? 1 : 0)) best = word, bestDistance = distance;
  }
  return best;
}

std::string coll::tool::suggest(std::string_view given, const std::vector<std::string> &offered) {
  const std::string best = nearest(given, offered);
  if (!best.empty()) return "did you mean `" + best + "`?";
  return offered.empty() ? "" : "there is " + join(offered);
}

std::optional<std::uint64_t> coll::tool::parseCount(std::string_view text) {
  StringRef rest = view(text);
  unsigned shift = 0;
  rest.consume_back("B");
  rest.consume_back("i");
  if (rest.consume_back("K") || rest.consume_back("k"))
    shift = 10;
  else if (rest.consume_back("M") || rest.consume_back("m"))
    shift = 20;
  else if (rest.consume_back("G") || rest.consume_back("g"))
    shift = 30;
  else if (rest.size() != text.size())
    return std::nullopt;
  std::uint64_t value = 0;
  if (rest.empty() || rest.getAsInteger(10, value) || value > (UINT64_MAX >> shift)) return std::nullopt;
  return value << shift;
}

std::string coll::tool::helpWithCount(std::string_view text) {
  const bool hasUnit = !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) &&
                       llvm::any_of(text, [](unsigned char c) { return std::isalpha(c); });
  return hasUnit ? "64Ki, 64K and 64KiB are 65536; Mi and Gi likewise" : "";
}

/// The words of a list, empty ones included so that `2,,4` is refused and not passed over.
static std::vector<std::string> split(const std::string &list) {
  std::vector<std::string> result;
  for (StringRef rest = list;;) {
    auto [word, tail] = rest.split(',');
    result.push_back(word.str());
    if (word.size() == rest.size()) return result;
    rest = tail;
  }
}

static std::string inBackticks(std::string_view option, std::string_view value) {
  return "`" + std::string(option) + " " + std::string(value) + "`";
}

Arguments::Arguments(const Verb &verb, const std::vector<std::string> &given) : verb(verb) {
  if (llvm::any_of(given, [](auto &word) { return word == "--help" || word == "-h"; })) {
    help = true;
    return;
  }
  std::vector<std::string> known{"--help"};
  for (const Option &option : verb.options) known.emplace_back(option.name);

  bool optionsEnded = false;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string &word = given[i];
    if (word == "--" && !optionsEnded) {
      optionsEnded = true;
      continue;
    }
    if (optionsEnded || word.size() < 2 || word[0] != '-') {
      operands.push_back(word);
      continue;
    }
    const auto [name, value] = view(word).split('=');
    const auto option = llvm::find_if(verb.options, [name = name](auto &o) { return view(o.name) == name; });
    if (option == verb.options.end())
      throw Failure{Exit::BadInput, "unknown option `" + name.str() + "`", suggest(std::string_view(name), known)};
    const bool joined = name.size() != word.size();
    std::string text = value.str();
    if (option->value.empty() && joined) throw Failure{Exit::BadInput, "`" + name.str() + "` takes no value"};
    if (!option->value.empty() && !joined) {
      if (i + 1 == given.size())
        throw Failure{Exit::BadInput, inBackticks(option->name, option->value) + " lacks its value"};
      text = given[++i];
    }
    if (text.empty() && view(option->value).startswith("F"))
      throw Failure{Exit::BadInput, inBackticks(option->name, option->value) + " lacks the name of its file"};
    if (!values.emplace(name.str(), text).second) throw Failure{Exit::BadInput, "`" + name.str() + "` is given twice"};
  }
  if (operands.size() > (verb.operands.empty() ? 0u : 1u)) {
    const std::string &extra = operands.back();
    throw Failure{Exit::BadInput, "unexpected argument `" + extra + "`"};
  }
}

const std::string &Arguments::what() const {
  if (operands.empty())
    throw Failure{Exit::BadInput, "nothing to work on",
                  "name a .coll file or a collective of the standard library: coll " + std::string(verb.name) +
                      " allreduce"};
  return operands.front();
}

std::string Arguments::text(std::string_view option, std::string_view otherwise) const {
  const auto found = values.find(std::string(option));
  return found == values.end() ? std::string(otherwise) : found->second;
}

static std::uint64_t checkedNumber(std::string_view option, const std::string &text, std::uint64_t low,
                                   std::uint64_t high) {
  const auto value = parseCount(text);
  if (value && *value >= low && *value <= high) return *value;
  std::string range = high == UINT64_MAX ? "a number from " + std::to_string(low)
                                         : "a number from " + std::to_string(low) + " to " + std::to_string(high);
  throw Failure{Exit::BadInput, inBackticks(option, text) + " is not " + range, value ? "" : helpWithCount(text)};
}

std::uint64_t Arguments::number(std::string_view option, std::uint64_t otherwise, std::uint64_t low,
                                std::uint64_t high) const {
  return has(option) ? checkedNumber(option, text(option), low, high) : otherwise;
}

std::vector<std::uint64_t> Arguments::numbers(std::string_view option, std::uint64_t low, std::uint64_t high) const {
  std::vector<std::uint64_t> result;
  if (has(option))
    for (const std::string &word : split(text(option))) {
      if (word.empty())
        throw Failure{Exit::BadInput, inBackticks(option, text(option)) + " has a comma without a number beside it"};
      result.push_back(checkedNumber(option, word, low, high));
    }
  return result;
}

std::vector<std::string> Arguments::words(std::string_view option) const {
  return has(option) ? split(text(option)) : std::vector<std::string>();
}

double Arguments::seconds(std::string_view option, double otherwise) const {
  if (!has(option)) return otherwise;
  double value = 0;
  const std::string given = text(option);
  if (StringRef(given).getAsDouble(value) || !(value > 0 && value < 1e6))
    throw Failure{Exit::BadInput, inBackticks(option, given) + " is not a number of seconds"};
  return value;
}

std::string Arguments::choice(std::string_view option, const std::vector<std::string> &choices) const {
  if (!has(option)) return choices.front();
  const std::string given = text(option);
  if (!llvm::is_contained(choices, given))
    throw Failure{Exit::BadInput, inBackticks(option, given) + " is not one of " + join(choices),
                  nearest(given, choices).empty() ? "" : suggest(given, choices)};
  return given;
}

std::string Verb::help() const {
  std::string result;
  llvm::raw_string_ostream os(result);
  os << "coll " << view(name) << (operands.empty() ? "" : " ") << view(operands)
     << (options.empty() ? "" : " [options]") << "\n  " << view(summary) << "\n";
  if (!operands.empty())
    os << "\n  WHAT is a .coll file, or a collective of the standard library such as `allreduce`.\n";
  if (!options.empty()) os << "\noptions:\n";
  for (const Option &option : options) {
    std::string left = std::string(option.name) + (option.value.empty() ? "" : " ") + std::string(option.value);
    os << "  " << left;
    // An explanation of several lines stays in its column.
    StringRef rest = view(option.help);
    std::size_t at = 2 + left.size();
    constexpr std::size_t column = 22;
    while (!rest.empty()) {
      auto [line, tail] = rest.split('\n');
      if (at >= column) os << "\n", at = 0;
      os.indent(static_cast<unsigned>(column - at)) << line << "\n";
      at = 0;
      rest = tail;
    }
  }
  os << "\nexample:\n";
  for (StringRef rest = view(example); !rest.empty();) {
    auto [line, tail] = rest.split('\n');
    os << "  " << line << "\n";
    rest = tail;
  }
  return result;
}
