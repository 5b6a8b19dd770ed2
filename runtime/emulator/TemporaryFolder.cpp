#include "emulator/TemporaryFolder.h"

#include "embed/Embedded.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <unistd.h>

namespace coll::embedded {
std::span<const EmbeddedFile> emulatorDeviceHeaders();
}

namespace coll::emu {
namespace {

/// A folder as a signal handler can look at it: nothing that moves or is freed.
struct Place {
  std::atomic<bool> taken = false, holds = false;
  std::atomic<pid_t> worker = 0;
  char name[480] = {};
};
std::array<Place, 64> places; ///< as many as compile at a time; beyond, a signal leaves some behind

/// Calls what takes a path for a file of a folder. No memory is asked for.
template <class Call>
void inside(const Place &place, std::string_view file, const Call &call) {
  char path[512];
  const std::size_t length = std::strlen(place.name);
  if (length + 1 + file.size() >= sizeof path) return;
  std::memcpy(path, place.name, length);
  path[length] = '/';
  std::memcpy(path + length + 1, file.data(), file.size());
  path[length + 1 + file.size()] = 0;
  (void)call(path);
}

} // namespace

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  std::string name = (std::filesystem::temp_directory_path(error) / "coll-emulator-XXXXXX").string();
  for (std::size_t i = 0; i < places.size() && place < 0; ++i)
    if (name.size() < sizeof places[i].name && !places[i].taken.exchange(true)) place = int(i);
  if (!mkdtemp(name.data())) return;
  path = name;
  if (place < 0) return;
  std::memcpy(places[std::size_t(place)].name, name.c_str(), name.size() + 1);
  places[std::size_t(place)].holds = true;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path.empty()) std::filesystem::remove_all(path, ignored);
  if (place < 0) return;
  places[std::size_t(place)].holds = false;
  places[std::size_t(place)].taken = false;
}

std::atomic<pid_t> &TemporaryFolder::worker() {
  static std::atomic<pid_t> unlisted = 0;
  return place < 0 ? unlisted : places[std::size_t(place)].worker;
}

void leaveNothingBehind() noexcept {
  for (const Place &place : places) {
    if (!place.holds) continue;
    if (const pid_t worker = place.worker; worker > 0) kill(worker, SIGTERM);
    for (const char *file : {"kernel.cu", "kernel.so", "output"}) inside(place, file, unlink);
    for (const EmbeddedFile &header : embedded::emulatorDeviceHeaders()) inside(place, header.name, unlink);
    inside(place, "coll", rmdir);
    rmdir(place.name);
  }
}

} // namespace coll::emu
