#include "jit/KernelCache.h"

#include "platform/Env.h"
#include "platform/ReadFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <unistd.h>
#include <vector>

namespace fs = std::filesystem;

namespace coll {
namespace {

constexpr std::string_view kSuffix = ".collbin";

/// Stands before the binary in an entry's file: a damaged or half-copied file shows by its length or digest.
struct EntryHeader {
  char magic[8] = {'C', 'O', 'L', 'L', 'B', 'I', 'N', '1'};
  std::uint64_t bytes = 0;
  std::uint8_t digest[32] = {};
};

EntryHeader headerFor(std::string_view binary) {
  EntryHeader header;
  header.bytes = binary.size();
  llvm::SHA256 hash;
  hash.update(llvm::StringRef(binary.data(), binary.size()));
  const llvm::StringRef digest = hash.final();
  std::memcpy(header.digest, digest.data(), sizeof header.digest);
  return header;
}

bool isEntry(const fs::directory_entry &entry) {
  const std::string name = entry.path().filename().string();
  return name.find(kSuffix) != std::string::npos;
}

} // namespace

KernelCache KernelCache::standard() {
  if (const auto folder = env::get(env::Variable::CacheDir))
    return KernelCache(*folder == "off" ? fs::path() : fs::path(*folder));
  if (const char *folder = std::getenv("XDG_CACHE_HOME"); folder && *folder)
    return KernelCache(fs::path(folder) / "coll");
  if (const char *home = std::getenv("HOME"); home && *home) return KernelCache(fs::path(home) / ".cache" / "coll");
  return KernelCache(fs::path());
}

std::string KernelCache::key(std::initializer_list<std::string_view> parts) {
  llvm::SHA256 hash;
  for (std::string_view part : parts) {
    // The lengths keep ("ab", "c") and ("a", "bc") apart.
    const std::string length = std::to_string(part.size()) + ":";
    hash.update(length);
    hash.update(llvm::StringRef(part.data(), part.size()));
  }
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

std::optional<std::string> KernelCache::find(const std::string &key) const {
  if (folder.empty()) return std::nullopt;
  auto binary = readFile(folder / (key + std::string(kSuffix)));
  EntryHeader header;
  if (!binary || binary->size() < sizeof header) return std::nullopt;
  std::memcpy(&header, binary->data(), sizeof header);
  binary->erase(0, sizeof header);
  const EntryHeader expected = headerFor(*binary);
  if (std::memcmp(&header, &expected, sizeof header) != 0) return std::nullopt;
  std::error_code ignored; // of a folder that may be read alone
  fs::last_write_time(folder / (key + std::string(kSuffix)), fs::file_time_type::clock::now(), ignored);
  return binary;
}

/// Removes entries, those that were not found or stored for longest first, until a quarter of the room is free.
void KernelCache::trim() const {
  struct Entry {
    fs::file_time_type used;
    fs::path path;
    std::uint64_t bytes;
  };
  std::vector<Entry> entries;
  std::uint64_t all = 0;
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(folder, error)) {
    if (!isEntry(entry)) continue;
    const std::uint64_t bytes = entry.file_size(error);
    if (error) continue; // gone meanwhile
    all += bytes;
    entries.push_back({entry.last_write_time(error), entry.path(), bytes});
  }
  if (all <= mostBytes) return;
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) { return a.used < b.used; });
  for (const Entry &entry : entries) {
    if (all <= mostBytes / 4 * 3) return;
    fs::remove(entry.path, error);
    all -= entry.bytes;
  }
}

bool KernelCache::store(const std::string &key, std::string_view binary) const {
  if (folder.empty()) return false;
  std::error_code error;
  fs::create_directories(folder, error);
  static std::atomic<unsigned> number{0};
  const fs::path entry = folder / (key + std::string(kSuffix));
  const fs::path temporary = entry.string() + "." + std::to_string(getpid()) + "." + std::to_string(number++);

  const EntryHeader header = headerFor(binary);
  std::ofstream file(temporary, std::ios::binary);
  file.write(reinterpret_cast<const char *>(&header), sizeof header);
  file.write(binary.data(), std::streamsize(binary.size()));
  file.close();
  if (file) fs::rename(temporary, entry, error);
  if (file && !error) {
    // A look at every entry takes milliseconds: at a process's first, and then when a sixteenth more has come.
    static std::atomic<std::uint64_t> since{UINT64_MAX / 2};
    if ((since += binary.size()) >= mostBytes / 16) since = 0, trim();
    return true;
  }
  fs::remove(temporary, error);
  return false;
}

KernelCache::Contents KernelCache::contents() const {
  Contents sum;
  std::error_code ignored;
  if (folder.empty()) return sum;
  for (const auto &entry : fs::directory_iterator(folder, ignored))
    if (isEntry(entry)) ++sum.entries, sum.bytes += entry.file_size(ignored);
  return sum;
}

Result<std::uint64_t> KernelCache::clear() const {
  std::uint64_t removed = 0;
  std::error_code error;
  if (folder.empty() || !fs::exists(folder, error)) return removed;
  for (const auto &entry : fs::directory_iterator(folder, error)) {
    if (!isEntry(entry)) continue;
    // Another process may clear at the same time, so an entry that is gone is no error.
    fs::remove(entry.path(), error);
    if (error)
      return Error{Error::Code::Failed, "`" + entry.path().string() + "` cannot be removed: " + error.message()};
    ++removed;
  }
  return removed;
}

} // namespace coll
