#include "platform/DynamicLibrary.h"

#include <dlfcn.h>
#include <link.h>

namespace fs = std::filesystem;

namespace coll {
namespace {

/// The file behind an open library; `name` if the loader does not say.
std::string fileOf(void *handle, const std::string &name) {
  link_map *map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && *map->l_name) return map->l_name;
  return name;
}

void *tryOpen(const std::string &name, std::string &why) {
  void *handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    if (const char *text = dlerror()) why = text;
  return handle;
}

/// Tries every name in a folder. Files that are there but do not open leave their reason in `why`.
void *tryFolder(const fs::path &folder, const LibraryQuery &query, std::string &why) {
  std::error_code ignored;
  for (const std::string &name : query.names)
    if (fs::exists(folder / name, ignored))
      if (void *handle = tryOpen((folder / name).string(), why)) return handle;
  return nullptr;
}

void *tryWheels(const std::vector<fs::path> &packages, const LibraryQuery &query, std::string &why) {
  for (const fs::path &package : packages)
    for (const std::string &wheel : query.wheels)
      if (void *handle = tryFolder(package / wheel, query, why)) return handle;
  return nullptr;
}

} // namespace

Result<DynamicLibrary> DynamicLibrary::open(const LibraryQuery &query, const std::string &path) {
  DynamicLibrary library;
  std::string why;
  const auto take = [&](void *handle, const std::string &name) {
    library.handle = handle;
    library.file = fileOf(handle, name);
    return library;
  };

  if (query.onlyOne)
    for (const std::string &name : query.names)
      if (void *handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) return take(handle, name);

  std::string named = path, namedBy = "the path given";
  if (const auto value = env::get(query.variable); named.empty() && value)
    named = *value, namedBy = env::name(query.variable);
  if (!named.empty()) {
    std::error_code ignored;
    void *handle = fs::is_directory(named, ignored) ? tryFolder(named, query, why) : tryOpen(named, why);
    if (handle) return take(handle, named);
    if (why.empty()) why = "there is no " + query.names.front() + " in it";
    return Error{Error::Code::MachineLacks,
                 query.what + " cannot be opened from `" + named + "` (" + namedBy + "): " + why};
  }

  for (const std::string &name : query.names)
    if (void *handle = tryOpen(name, why)) return take(handle, name);
  const std::string loaderSays = why;
  why.clear();
  for (const std::string &folder : query.folders)
    if (void *handle = tryFolder(folder, query, why)) return take(handle, folder);
  if (!query.wheels.empty()) {
    if (void *handle = tryWheels(pythonPackageFolders(), query, why)) return take(handle, query.names.front());
    if (void *handle = tryWheels(askPythonForPackageFolders(), query, why)) return take(handle, query.names.front());
  }
  return Error{Error::Code::MachineLacks, query.what + " was not found: " + (why.empty() ? loaderSays : why) + "\n" +
                                              query.advice + ", or set " + env::name(query.variable)};
}

void *DynamicLibrary::symbol(const char *name) const {
  return dlsym(handle, name);
}

} // namespace coll
