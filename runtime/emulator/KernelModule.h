// Generated CUDA text compiled for the CPU with the system's C++ compiler, and loaded.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace coll::emu {

/// Why there is no module.
struct CompileError {
  bool noCompiler = false; ///< the machine has no C++ compiler, or no room (exit code 3); otherwise the text was refused
  std::string message;     ///< for a person; the compiler's own output included
};

/// A loaded kernel; unloaded with its last owner.
class KernelModule {
public:
  /// An entry point as the emulator calls it: with the bytes of the kernel's parameter.
  struct Entry {
    void (*call)(const void *parameter) = nullptr;
    std::uint64_t parameterBytes = 0;
  };

  enum class For { ManyRuns, FewRuns }; ///< with few, it is the compiler's time that counts

  /// Compiles `cuda` and looks up `entries`. Null with `error` set if that fails. Equal texts are compiled once per
  /// process, as long as a module of them is alive or among the last few made. Safe to call from several threads.
  static std::shared_ptr<const KernelModule> compile(const std::string &cuda, std::span<const std::string> entries,
                                                     CompileError &error, For use = For::ManyRuns);
  ~KernelModule();

  /// Null if the module was not compiled with that entry.
  const Entry *find(const std::string &entry) const;
  double compileMilliseconds() const { return milliseconds; }

private:
  KernelModule() = default;
  void *library = nullptr;
  std::map<std::string, Entry> entries;
  double milliseconds = 0;
};

/// The compiler used: the first of $CXX, c++, g++ and clang++ that can be started. Empty if there is none.
std::vector<std::string> hostCompiler();

} // namespace coll::emu
