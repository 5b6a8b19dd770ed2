// Kernel text to loaded library: the system's compiler on the text, the device headers and one trampoline per entry.
#include "emulator/KernelModule.h"

#include "embed/Embedded.h"
#include "emulator/Engine.h"
#include "emulator/TemporaryFolder.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <list>
#include <mutex>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace coll::emu;

namespace coll::embedded {
std::span<const EmbeddedFile> emulatorDeviceHeaders();
}

namespace {

namespace fs = std::filesystem;

bool writeFile(const fs::path &path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  return bool(file.flush());
}

std::string readFile(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Runs a program with all its output going to the file `output`. Its exit status, or -1 if it could not be started.
int runProgram(const std::vector<std::string> &words, TemporaryFolder &folder) {
  const fs::path output = folder.path / "output";
  std::vector<char *> arguments;
  for (const auto &word : words) arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  // A signal that ends this process comes before there is a child, or when the folder knows of it.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &before);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child;
  const int failed = posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(), environ);
  if (!failed) folder.worker() = child;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  const bool ended = !failed && waitpid(child, &status, 0) == child;
  folder.worker() = 0;
  if (!ended || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status) == 127 ? -1 : WEXITSTATUS(status);
}

bool isOnPath(const std::string &program) {
  if (program.find('/') != std::string::npos) return access(program.c_str(), X_OK) == 0;
  std::istringstream folders(std::getenv("PATH") ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  return false;
}

/// What the emulator adds to the text: how it calls each entry point, and where it leaves the table.
std::string withTrampolines(const std::string &cuda, std::span<const std::string> entries) {
  const std::string visible = "extern \"C\" __attribute__((visibility(\"default\"))) ";
  std::string text = cuda + "\n// Added by the emulator.\n" + visible +
                     "void coll_bind(const coll::emulated::Table *t) { coll::emulated::table = t; }\n";
  for (const auto &entry : entries) {
    text += visible + "void coll_call_" + entry + "(const void *p) { coll::emulated::call(" + entry + ", p); }\n";
    text += visible + "unsigned long long coll_bytes_" + entry + "() { return coll::emulated::parameterBytes(" + entry +
            "); }\n";
  }
  return text;
}

// With -O0 a kernel runs several times slower, -O2 takes longer to compile than it saves; -Og takes two thirds of the time
// of -O1 to compile, and a tenth more to run. No contraction, no fast math: results are compared bit by bit with the GPU's.
// Of libraries a kernel may need the one for square roots; what it needs of C is there already.
const char *optimisation(KernelModule::For use) { return use == KernelModule::For::FewRuns ? "-Og" : "-O1"; }
const std::vector<std::string> kFlags = {"-x",
                                         "c++",
                                         "-std=c++17",
                                         "-w",
                                         "-fPIC",
                                         "-shared",
                                         "-fvisibility=hidden",
                                         "-nostdinc",
                                         "-nostdinc++",
                                         "-fno-rtti",
                                         "-fno-exceptions",
                                         "-ffp-contract=off",
                                         "-fno-fast-math",
                                         "-fno-strict-aliasing",
                                         "-fno-stack-protector",
                                         "-nostdlib"};

bool build(TemporaryFolder &temporary, const std::string &text, const char *level, CompileError &error) {
  const fs::path &folder = temporary.path;
  const std::vector<std::string> compiler = hostCompiler();
  if (compiler.empty()) {
    error = {true, "running a kernel on the CPU needs a C++ compiler, and none was found: set CXX or install one as "
                   "c++, g++ or clang++"};
    return false;
  }
  bool written = !folder.empty() && fs::create_directories(folder / "coll") && writeFile(folder / "kernel.cu", text);
  for (const auto &header : coll::embedded::emulatorDeviceHeaders())
    written = written && writeFile(folder / header.name, header.text);
  if (!written) {
    error = {true, "cannot write the kernel's source to a temporary folder"};
    return false;
  }
  std::vector<std::string> words = compiler;
  words.insert(words.end(), kFlags.begin(), kFlags.end());
  words.insert(words.end(), {level, "-I", folder.string(), (folder / "kernel.cu").string(), "-x", "none", "-lm", "-o",
                             (folder / "kernel.so").string()});
  const int status = runProgram(words, temporary);
  if (status == 0) return true;
  if (status < 0)
    error = {true, "the C++ compiler `" + compiler[0] + "` could not be started"};
  else
    error = {false, "`" + compiler[0] + "` refused the kernel:\n" + readFile(folder / "output")};
  return false;
}

/// Modules by what they were made of. Keeps the last few alive, so that running one kernel again and again does
/// not compile it each time.
struct Cache {
  static constexpr std::size_t kKept = 16;
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<const KernelModule>> byText;
  std::list<std::shared_ptr<const KernelModule>> recent;

  std::shared_ptr<const KernelModule> find(const std::string &text) {
    std::lock_guard lock(mutex);
    const auto it = byText.find(text);
    return it == byText.end() ? nullptr : it->second.lock();
  }
  void keep(const std::string &text, const std::shared_ptr<const KernelModule> &module) {
    std::lock_guard lock(mutex);
    std::erase_if(byText, [](const auto &entry) { return entry.second.expired(); });
    byText[text] = module;
    recent.push_front(module);
    if (recent.size() > kKept) recent.pop_back();
  }
};

Cache &cache() {
  static Cache cache;
  return cache;
}

} // namespace

std::vector<std::string> coll::emu::hostCompiler() {
  if (const char *chosen = std::getenv("CXX"); chosen && *chosen) {
    std::istringstream stream(chosen); // may be a launcher and a compiler: "ccache g++"
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    if (!words.empty() && isOnPath(words[0])) return words;
  }
  for (const char *name : {"c++", "g++", "clang++"})
    if (isOnPath(name)) return {name};
  return {};
}

std::shared_ptr<const KernelModule> KernelModule::compile(const std::string &cuda, std::span<const std::string> entries,
                                                          CompileError &error, For use) {
  const std::string text = withTrampolines(cuda, entries), level = optimisation(use), key = level + "\n" + text;
  if (auto known = cache().find(key)) return known;
  const auto begin = std::chrono::steady_clock::now();

  TemporaryFolder folder;
  if (!build(folder, text, level.c_str(), error)) return nullptr;
  std::shared_ptr<KernelModule> module(new KernelModule);
  module->library = dlopen((folder.path / "kernel.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!module->library) {
    error = {false, std::string("cannot load the compiled kernel: ") + dlerror()};
    return nullptr;
  }
  reinterpret_cast<void (*)(const emulated::Table *)>(dlsym(module->library, "coll_bind"))(&table);
  for (const auto &entry : entries) {
    Entry &made = module->entries[entry];
    made.call = reinterpret_cast<void (*)(const void *)>(dlsym(module->library, ("coll_call_" + entry).c_str()));
    made.parameterBytes =
        reinterpret_cast<unsigned long long (*)()>(dlsym(module->library, ("coll_bytes_" + entry).c_str()))();
  }
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
  module->milliseconds = spent.count();
  cache().keep(key, module);
  return module;
}

KernelModule::~KernelModule() {
  if (library) dlclose(library);
}

const KernelModule::Entry *KernelModule::find(const std::string &entry) const {
  const auto it = entries.find(entry);
  return it == entries.end() ? nullptr : &it->second;
}
