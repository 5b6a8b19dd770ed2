#include "tool/Output.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace coll::tool;

void coll::tool::prepareStreams() {
  std::signal(SIGPIPE, SIG_IGN);
  // A file opened later must not become standard output by taking its number. Opened the wrong way round, the
  // stand-in makes every use fail as the closed one would.
  for (int fd = 0; fd < 3; ++fd)
    if (fcntl(fd, F_GETFD) < 0) (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

/// 0 or the error.
static int writeAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = write(fd, text.data(), text.size());
    if (done < 0 && errno != EINTR) return errno;
    if (done > 0) text.remove_prefix(static_cast<std::size_t>(done));
  }
  return 0;
}

void coll::tool::print(std::string_view text) {
  static bool unread = false; // who reads has gone: what is left to say is the exit code
  if (unread) return;
  const int error = writeAll(STDOUT_FILENO, text);
  if (error == EPIPE) {
    unread = true;
    return;
  }
  if (error) throw Failure{Exit::BadInput, std::string("cannot write to standard output: ") + std::strerror(error)};
}

void coll::tool::printMessage(std::string_view text) {
  (void)writeAll(STDERR_FILENO, text);
}

void coll::tool::printFailure(const Failure &failure) {
  if (failure.message.empty()) return;
  printMessage("coll: error: " + failure.message + "\n" + (failure.help.empty() ? "" : "help: " + failure.help + "\n"));
}

[[noreturn]] static void failToWrite(const std::string &file, int error) {
  throw Failure{Exit::BadInput, "cannot write `" + file + "`: " + std::strerror(error)};
}

void coll::tool::writeResult(const std::string &file, std::string_view content) {
  if (file.empty() || file == "-") return print(content);

  // A device or pipe has no half-written state to protect and must not be replaced by a file; a link keeps its target.
  struct stat status;
  const bool exists = stat(file.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) failToWrite(file, EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    const int fd = open(file.c_str(), O_WRONLY | O_CLOEXEC);
    const int error = fd < 0 ? errno : writeAll(fd, content);
    if (fd >= 0) close(fd);
    if (error) failToWrite(file, error);
    return;
  }
  if (exists && access(file.c_str(), W_OK) != 0) failToWrite(file, errno);

  std::string target = file;
  if (char *resolved = exists ? realpath(file.c_str(), nullptr) : nullptr) target = resolved, std::free(resolved);
  std::string temporary = target + ".XXXXXX";
  const int fd = mkstemp(temporary.data());
  if (fd < 0) failToWrite(file, errno);
  const mode_t mask = umask(0);
  umask(mask);
  int error = writeAll(fd, content);
  if (!error && fchmod(fd, exists ? status.st_mode & 0777 : 0666 & ~mask) != 0) error = errno;
  if (close(fd) != 0 && !error) error = errno;
  if (!error && std::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (!error) return;
  unlink(temporary.c_str());
  failToWrite(file, error);
}

bool coll::tool::outputIsTerminal() {
  return isatty(STDOUT_FILENO);
}

Progress::Progress() : terminal(isatty(STDERR_FILENO)) {}

void Progress::show(std::string_view text) {
  using namespace std::chrono;
  if (!terminal) return;
  const long long now = duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
  if (now - last < 100) return;
  last = now;
  shown = true;
  printMessage("\r\033[K" + std::string(text));
}

void Progress::clear() {
  if (shown) printMessage("\r\033[K");
  shown = false;
}
