// Finds Python's package folders, where wheels such as nvidia-nccl-cu13 put the libraries of CUDA.
#include "platform/DynamicLibrary.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace fs = std::filesystem;

namespace coll {
namespace {

void append(std::vector<fs::path> &list, const fs::path &folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) return;
  const fs::path real = fs::canonical(folder, ignored);
  if (std::find(list.begin(), list.end(), real) == list.end()) list.push_back(real);
}

/// Adds the package folders of the installation with this prefix, newest version of Python first.
void appendPrefix(std::vector<fs::path> &list, const fs::path &prefix) {
  std::error_code ignored;
  std::vector<fs::path> versions;
  for (const auto &entry : fs::directory_iterator(prefix / "lib", ignored))
    if (entry.path().filename().string().rfind("python3", 0) == 0) versions.push_back(entry.path());
  std::sort(versions.rbegin(), versions.rend());
  for (const fs::path &version : versions) {
    append(list, version / "site-packages");
    append(list, version / "dist-packages");
  }
}

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

} // namespace

std::vector<fs::path> pythonPackageFolders() {
  std::vector<fs::path> list;
  for (const char *name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const std::string prefix = variable(name); !prefix.empty()) appendPrefix(list, prefix);

  std::istringstream path(variable("PATH"));
  std::error_code ignored;
  for (std::string folder; std::getline(path, folder, ':');) {
    const fs::path python = fs::path(folder) / "python3";
    if (folder.empty() || !fs::exists(python, ignored)) continue;
    // A virtual environment's python3 is a link to the one it was made from: both may have the package.
    appendPrefix(list, fs::path(folder).parent_path());
    appendPrefix(list, fs::canonical(python, ignored).parent_path().parent_path());
  }
  if (const std::string home = variable("HOME"); !home.empty()) appendPrefix(list, fs::path(home) / ".local");
  appendPrefix(list, "/usr/local");
  append(list, "/usr/lib/python3/dist-packages");
  return list;
}

std::vector<fs::path> askPythonForPackageFolders() {
  std::vector<fs::path> list;
  FILE *pipe = popen("python3 -c 'import sys; print(\"\\n\".join(p for p in sys.path if p))' 2>/dev/null", "r");
  if (!pipe) return list;
  std::string text;
  char part[4096];
  for (size_t got; (got = fread(part, 1, sizeof part, pipe)) > 0;) text.append(part, got);
  pclose(pipe);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) append(list, line);
  return list;
}

} // namespace coll
