#include "bench/HandWritten.h"

#include "embed/Embedded.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace coll {

namespace embedded {
std::span<const EmbeddedFile> benchKernels();
}

namespace bench {
namespace {

/// The words of a comment line; empty if it is none. Commas and colons are spaces.
std::vector<std::string> commentWords(std::string line) {
  const std::size_t at = line.find_first_not_of(" \t");
  if (at == std::string::npos || line.compare(at, 2, "//") != 0) return {};
  std::replace_if(line.begin(), line.end(), [](char c) { return c == ',' || c == ':'; }, ' ');
  std::istringstream stream(line.substr(at + 2));
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// `packet 8 area 16 …` from words[2] on; false where a key is unknown or a value no number.
bool readKernel(const std::vector<std::string> &words, HandKernel &kernel) {
  kernel.name = words[1];
  for (std::size_t i = 2; i < words.size(); i += 2) {
    if (i + 1 == words.size()) return false;
    if (words[i] == "fill" && words[i + 1] == "-0.0") {
      kernel.fillNegativeZero = true;
      continue;
    }
    char *end = nullptr;
    const std::uint64_t value = std::strtoull(words[i + 1].c_str(), &end, 0);
    if (*end) return false;
    if (words[i] == "packet") kernel.packet = value;
    else if (words[i] == "area") kernel.area = value;
    else if (words[i] == "threads") kernel.threads = value;
    else if (words[i] == "ctas") kernel.ctas = unsigned(value);
    else if (words[i] == "copies") kernel.copies = value;
    else if (words[i] == "fill") kernel.fill = std::uint32_t(value);
    else return false;
  }
  return kernel.packet > 0 && kernel.ctas > 0 && kernel.area > 0 && kernel.threads > 0 && kernel.copies > 0;
}

} // namespace

Result<HandWritten> HandWritten::parse(const std::string &file, const std::string &text) {
  HandWritten result;
  result.file = file, result.text = text;
  std::istringstream lines(text);
  unsigned number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::vector<std::string> words = commentWords(line);
    const auto bad = [&](const std::string &why) {
      return Error{Error::Code::BadInput, file + ":" + std::to_string(number) + ": " + why};
    };
    if (words.size() >= 4 && words[0] == "collective" && words[2] == "types") {
      result.collective = words[1];
      for (std::size_t i = 3; i < words.size(); ++i) {
        const auto type = parseDType(words[i]);
        if (!type || (*type != DType::F32 && *type != DType::BF16))
          return bad("`" + words[i] + "` is no type of a hand-written kernel; there are f32, bf16");
        result.types.push_back(*type);
      }
    } else if (words.size() >= 4 && words[0] == "kernel") {
      HandKernel kernel;
      if (!readKernel(words, kernel))
        return bad("a kernel is `kernel NAME: packet BYTES, area BYTES, threads T, ctas C, copies K, fill WORD`");
      result.kernels.push_back(std::move(kernel));
    }
  }
  if (result.collective.empty() || result.kernels.empty())
    return Error{Error::Code::BadInput, "`" + file + "` does not say which kernels it has: it lacks comments such as "
                                        "`// collective allreduce, types f32` and `// kernel ll: packet 8, area 16`"};
  return result;
}

Kernel HandWritten::compileable(DType type, int ranks) const {
  Kernel kernel;
  kernel.cuda = "constexpr unsigned RANKS = " + std::to_string(ranks) + ";\n#define COLL_BF16 " +
                (type == DType::BF16 ? "1" : "0") + "\n";
  for (const EmbeddedFile &part : embedded::benchKernels())
    if (part.name == "rival.cuh") kernel.cuda += part.text;
  kernel.cuda += "#line 1 \"" + file.substr(file.rfind('/') + 1) + "\"\n" + text;
  kernel.manifest.member = "hand";
  kernel.manifest.sourceFile = file.substr(file.rfind('/') + 1);
  kernel.manifest.ranks = ranks;
  return kernel;
}

std::vector<std::string> HandWritten::names() const {
  std::vector<std::string> names;
  for (const HandKernel &kernel : kernels) names.push_back(kernel.name);
  return names;
}

} // namespace bench
} // namespace coll
