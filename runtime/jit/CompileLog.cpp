#include "jit/CompileLog.h"

#include <cstdlib>
#include <sstream>

namespace coll {

unsigned sourceLine(const Manifest &manifest, unsigned cudaLine) {
  // A statement's text runs from the line it is mapped at to the next one that is mapped.
  unsigned best = 0, found = 0;
  for (const auto &[cuda, coll] : manifest.sourceMap)
    if (cuda <= cudaLine && cuda >= best) best = cuda, found = coll;
  return found;
}

std::string withSourceLines(const std::string &log, const std::string &fileName, const Manifest &manifest) {
  std::istringstream lines(log);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    text += line + "\n";
    // "name.cu(12): error: …"
    if (line.rfind(fileName + "(", 0) != 0) continue;
    const unsigned cudaLine = std::strtoul(line.c_str() + fileName.size() + 1, nullptr, 10);
    if (const unsigned from = sourceLine(manifest, cudaLine))
      text += "  from " + manifest.sourceFile + ":" + std::to_string(from) + "\n";
  }
  return text;
}

} // namespace coll
