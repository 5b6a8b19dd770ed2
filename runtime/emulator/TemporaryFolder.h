// Where kernels are compiled. A process that a signal ends leaves none of them behind, if it asks for that.
#pragma once

#include <atomic>
#include <filesystem>
#include <sys/types.h>

namespace coll::emu {

/// A folder of its own under the system's temporary folder, removed with what is in it.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  std::filesystem::path path; ///< empty if none could be made
  /// The program that is at work in it, to be ended before the folder goes; 0: none.
  std::atomic<pid_t> &worker();

private:
  int place = -1; ///< in the list of those that there are
};

/// Ends the compilers of this process and removes its folders, in a handler of a signal that is about to end it: makes
/// system calls alone.
void leaveNothingBehind() noexcept;

} // namespace coll::emu
