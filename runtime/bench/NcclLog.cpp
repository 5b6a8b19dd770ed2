#include "bench/NcclLog.h"

namespace coll::bench {
namespace {

/// The word after `label`, without the comma or so that ends it; empty if there is none.
std::string wordAfter(std::string_view line, std::string_view label) {
  const std::size_t at = line.find(label);
  if (at == std::string_view::npos) return "";
  std::string_view rest = line.substr(at + label.size());
  rest = rest.substr(rest.find_first_not_of(' ') == std::string_view::npos ? rest.size() : rest.find_first_not_of(' '));
  return std::string(rest.substr(0, rest.find_first_of(" ,;\n")));
}

} // namespace

NcclChoice lastChoice(std::string_view log) {
  NcclChoice choice;
  for (std::size_t at = 0; at < log.size();) {
    const std::size_t end = std::min(log.find('\n', at), log.size());
    const std::string_view line = log.substr(at, end - at);
    at = end + 1;
    if (const std::string kernel = wordAfter(line, "-> Kernel "); !kernel.empty())
      choice = {true, line.find("[Symmetric]") != std::string_view::npos, kernel};
    else if (const std::string algorithm = wordAfter(line, "-> Algo "); !algorithm.empty())
      choice = {true, false, algorithm + " " + wordAfter(line, " proto ")};
  }
  return choice;
}

} // namespace coll::bench
