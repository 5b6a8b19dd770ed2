// Libraries that are opened when they are first needed, so that everything else works where they are missing.
#pragma once

#include "coll/Result.h"
#include "platform/Env.h"

#include <filesystem>

namespace coll {

/// What to look for, and where.
struct LibraryQuery {
  std::string what;                 ///< as messages call it: "NVRTC"
  env::Variable variable;           ///< names a file or a folder; then nothing else is tried
  std::vector<std::string> names;   ///< file names, newest first
  bool onlyOne = false; ///< one that the process has open already is taken before all else: its objects are the caller's
  std::vector<std::string> folders; ///< tried after the loader's own search
  std::vector<std::string> wheels;  ///< folders below Python's site-packages: "nvidia/nccl/lib"
  std::string advice;               ///< how to get it; ends the message that it is missing
};

/// A shared library that stays open to the end of the process: its functions may be in use on any thread.
class DynamicLibrary {
public:
  /// Opens the first that there is: `path` (file or folder) if it is not empty, the variable's, the loader's, the
  /// folders', Python's. Error::MachineLacks with the places looked at if there is none.
  static Result<DynamicLibrary> open(const LibraryQuery &query, const std::string &path = "");

  /// Null if it has no such symbol.
  void *symbol(const char *name) const;
  /// The file it came from, or the name given to the loader where that is all there is.
  const std::string &path() const { return file; }

private:
  void *handle = nullptr;
  std::string file;
};

/// The site-packages folders of the Python installations that a user would mean, nearest first, without running
/// Python: the active virtual environment, then each `python3` on PATH, then the user's and the system's.
std::vector<std::filesystem::path> pythonPackageFolders();

/// The same by asking `python3` itself. Takes some 20 ms.
std::vector<std::filesystem::path> askPythonForPackageFolders();

} // namespace coll
