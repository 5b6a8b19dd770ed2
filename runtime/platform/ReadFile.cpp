#include "platform/ReadFile.h"

#include <algorithm>
#include <fstream>

namespace coll {

std::optional<std::string> readFile(const std::filesystem::path &path, std::size_t most) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  // Through the stream, not by iterators of its buffer: that of a folder opens, and throws when it is read.
  std::string content;
  char piece[1 << 14];
  while (content.size() < most && (file.read(piece, sizeof piece) || file.gcount() > 0))
    content.append(piece, std::min(std::size_t(file.gcount()), most - content.size()));
  if (file.bad()) return std::nullopt;
  return content;
}

} // namespace coll
