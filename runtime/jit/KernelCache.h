// Compiled kernels on disk. A cache that cannot be read or written costs time, never an error.
#pragma once

#include "coll/Result.h"

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace coll {

/// A folder of entries, each a file named by its key. Safe with any number of threads and processes: an entry appears
/// by a rename, whole, and one that is damaged is not there. What was not used for longest goes when it grows too large.
class KernelCache {
public:
  static constexpr std::uint64_t kMostBytes = 1ull << 30; ///< some 20,000 kernels

  /// The cache of COLL_CACHE_DIR, XDG_CACHE_HOME or HOME; one that keeps nothing where it is "off" or none is set.
  static KernelCache standard();
  explicit KernelCache(std::filesystem::path folder, std::uint64_t mostBytes = kMostBytes)
      : folder(std::move(folder)), mostBytes(mostBytes) {}

  /// The key of whatever has these parts: a SHA-256 over the parts and their lengths, in hexadecimal.
  static std::string key(std::initializer_list<std::string_view> parts);

  std::optional<std::string> find(const std::string &key) const;
  /// False if it could not be kept; the caller may ignore that.
  bool store(const std::string &key, std::string_view binary) const;

  struct Contents {
    std::uint64_t entries = 0, bytes = 0;
  };
  Contents contents() const;
  /// Removes the entries, and nothing else that may lie in the folder. How many there were.
  Result<std::uint64_t> clear() const;
  /// Empty if it keeps nothing.
  const std::filesystem::path &path() const { return folder; }

private:
  void trim() const;

  std::filesystem::path folder;
  std::uint64_t mostBytes;
};

} // namespace coll
