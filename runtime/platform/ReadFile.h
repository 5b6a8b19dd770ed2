// Whole files, as text or bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace coll {

/// What is in a file, at most its first `most` bytes; nothing if it cannot be read, as what is a folder. Does not throw.
std::optional<std::string> readFile(const std::filesystem::path &path, std::size_t most = SIZE_MAX);

} // namespace coll
