#include "jit/KernelFiles.h"

#include "platform/Env.h"
#include "platform/ReadFile.h"

#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;

namespace coll {
namespace {

Result<void> writeFile(const fs::path &path, const std::string &text) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return Error{Error::Code::BadInput, "`" + path.string() + "` cannot be written"};
  return {};
}

} // namespace

std::string kernelFileStem(const Manifest &manifest) {
  std::string stem =
      manifest.member + ".n" + std::to_string(manifest.ranks) + "." + std::string(keyword(manifest.dtype));
  if (manifest.op) stem += "." + std::string(keyword(*manifest.op));
  return stem;
}

Result<std::string> textToCompile(const Kernel &kernel) {
  const auto folder = env::get(env::Variable::OverrideDir);
  if (!folder) return kernel.cuda;
  if (auto edited = readFile(fs::path(*folder) / (kernelFileStem(kernel.manifest) + ".cu"))) return std::move(*edited);
  return kernel.cuda;
}

Result<void> dumpSources(const Kernel &kernel, const std::string &text) {
  const auto folder = env::get(env::Variable::DumpDir);
  if (!folder) return {};
  const std::string stem = (fs::path(*folder) / kernelFileStem(kernel.manifest)).string();
  if (const auto source = readFile(kernel.manifest.sourceFile))
    if (auto done = writeFile(stem + ".coll", *source); !done) return done;
  if (auto done = writeFile(stem + ".ir", kernel.ir); !done) return done;
  if (auto done = writeFile(stem + ".json", kernel.manifest.toJson()); !done) return done;
  return writeFile(stem + ".cu", text);
}

Result<void> dumpBinary(const Manifest &manifest, const std::string &suffix, const std::string &bytes) {
  const auto folder = env::get(env::Variable::DumpDir);
  if (!folder) return {};
  return writeFile(fs::path(*folder) / (kernelFileStem(manifest) + "." + suffix), bytes);
}

} // namespace coll
