#include "bench/NcclRivals.h"

#include "context/NcclCall.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>

extern "C" char **environ;

namespace coll::bench {
namespace {

constexpr int kWindowSymmetric = 1;        // NCCL_WIN_COLL_SYMMETRIC
constexpr std::uint64_t kAlignment = 4096; // NCCL_WIN_REQUIRED_ALIGNMENT
/// From this version on, symmetric kernels wait for what they depend on.
constexpr int kWaits = 23007;

constexpr const char *kLogVariables[] = {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"};

/// Communicators of all ranks, shared by the rivals.
class Team {
public:
  Team(const Gpus &gpus, const Nccl &nccl) : gpus(gpus), nccl(nccl), comms(gpus.list.size()) {}
  ~Team() {
    for (std::size_t rank = 0; rank < windows.size(); ++rank) {
      Current current(gpus.cuda, gpus.list[rank]);
      if (windows[rank] && comms[rank]) nccl.commWindowDeregister(comms[rank], windows[rank]);
    }
    for (std::size_t rank = 0; rank < buffers.size(); ++rank) {
      Current current(gpus.cuda, gpus.list[rank]);
      if (buffers[rank]) nccl.memFree(buffers[rank]);
    }
    for (NcclComm comm : comms)
      if (comm) nccl.commDestroy(comm);
  }
  Team(const Team &) = delete;
  Team &operator=(const Team &) = delete;

  Result<void> connect() {
    std::vector<int> devices;
    for (const Gpu &gpu : gpus.list) devices.push_back(gpu.ordinal);
    return nccl.check(nccl.commInitAll(comms.data(), int(comms.size()), devices.data()), "ncclCommInitAll");
  }

  /// One for every rank, or all of them hang: nothing waits for a communicator that is gone.
  void abort() {
    for (NcclComm &comm : comms)
      if (comm) nccl.commAbort(comm), comm = nullptr;
  }

  /// Memory in symmetric windows.
  Result<std::vector<void *>> allocate(std::uint64_t bytes);

  const Gpus &gpus;
  const Nccl &nccl;
  std::vector<NcclComm> comms;

private:
  std::vector<void *> buffers;
  std::vector<NcclWindow> windows;
};

Result<std::vector<void *>> Team::allocate(std::uint64_t bytes) {
  const std::uint64_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  buffers.assign(comms.size(), nullptr);
  windows.assign(comms.size(), nullptr);
  for (std::size_t rank = 0; rank < comms.size(); ++rank) {
    Current current(gpus.cuda, gpus.list[rank]);
    if (auto done = nccl.check(nccl.memAlloc(&buffers[rank], whole), "ncclMemAlloc"); !done) return done.error();
  }
  // Collective and blocking: outside a group the first would wait for the second for ever.
  if (auto done = nccl.check(nccl.groupStart(), "ncclGroupStart"); !done) return done.error();
  Result<void> registered;
  for (std::size_t rank = 0; rank < comms.size() && registered; ++rank) {
    Current current(gpus.cuda, gpus.list[rank]);
    registered =
        nccl.check(nccl.commWindowRegister(comms[rank], buffers[rank], whole, &windows[rank], kWindowSymmetric),
                   "ncclCommWindowRegister");
  }
  auto ended = nccl.check(nccl.groupEnd(), "ncclGroupEnd of ncclCommWindowRegister");
  if (!registered) return registered.error();
  if (!ended) return ended.error();
  return buffers;
}

class NcclRival final : public Rival {
public:
  NcclRival(std::shared_ptr<Team> team, const Manifest &manifest, NcclCall call, int root, const Stopwatch &watch,
            Context &context, NcclSettings &settings, bool symmetric)
      : team(std::move(team)), manifest(manifest), call(call), root(root), watch(watch), context(context),
        settings(settings), symmetric(symmetric) {}

  std::string name() const override { return symmetric ? "nccl-symmetric" : "nccl"; }
  std::string version() const override { return team->nccl.versionText(); }
  Traffic traffic() const override { return Traffic::Least; }
  bool exact() const override { return manifest.ranks <= 2; }
  bool takes(std::uint64_t) const override { return true; }
  void abort() override { team->abort(); }

  Result<std::vector<void *>> memory(std::uint64_t bytes) override {
    if (symmetric) return team->allocate(bytes);
    std::vector<void *> all;
    for (int rank = 0; rank < manifest.ranks; ++rank) {
      auto part = context.allocate(rank, bytes);
      if (!part) return part.error();
      all.push_back(*part);
    }
    return all;
  }

  Result<void> enqueue(const Operation &operation) override {
    const Nccl &nccl = team->nccl;
    if (auto done = nccl.check(nccl.groupStart(), "ncclGroupStart"); !done) return done;
    int result = 0;
    for (int rank = 0; rank < manifest.ranks && result == 0; ++rank) {
      Current current(team->gpus.cuda, team->gpus.list[std::size_t(rank)]);
      result = call.enqueue(nccl, team->comms[std::size_t(rank)], operation.pointers[std::size_t(rank)],
                            operation.extents, root, watch.stream(rank));
    }
    // A group that was begun must end, whatever went wrong.
    const int ended = nccl.groupEnd();
    return nccl.check(result ? result : ended, "a collective");
  }

  std::string note() override {
    const NcclChoice choice = lastChoice(settings.newLog());
    if (!symmetric) return choice.found ? choice.what : "";
    if (!choice.found) return "symmetric kernel not confirmed";
    if (!choice.symmetric) return "fell back to " + choice.what;
    return choice.what + (team->nccl.version < kWaits ? " (does not wait for its predecessor)" : "");
  }

private:
  std::shared_ptr<Team> team;
  const Manifest manifest;
  NcclCall call;
  int root;
  const Stopwatch &watch;
  Context &context;
  NcclSettings &settings;
  bool symmetric;
};

} // namespace

NcclSettings::NcclSettings(bool log) {
  setenv("NCCL_NVLS_ENABLE", "0", /*overwrite=*/0);
  setenv("NCCL_GRAPH_MIXING_SUPPORT", "0", /*overwrite=*/0);
  if (!log || std::any_of(std::begin(kLogVariables), std::end(kLogVariables), [](auto name) { return getenv(name); }))
    return;
  std::error_code failed;
  std::string name = (std::filesystem::temp_directory_path(failed) / "coll-bench-nccl-XXXXXX").string();
  const int file = failed ? -1 : mkstemp(name.data());
  if (file < 0) return; // then nothing is confirmed
  close(file);
  logFile = name;
  setenv("NCCL_DEBUG", "INFO", 1);
  setenv("NCCL_DEBUG_SUBSYS", "TUNING", 1);
  setenv("NCCL_DEBUG_FILE", logFile.c_str(), 1);
}

NcclSettings::~NcclSettings() {
  if (!logFile.empty()) unlink(logFile.c_str());
}

std::vector<std::pair<std::string, std::string>> NcclSettings::variables() const {
  std::vector<std::pair<std::string, std::string>> found;
  for (char **entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (text.rfind("NCCL_", 0) != 0 || equals == std::string::npos) continue;
    const std::string name = text.substr(0, equals);
    if (name == "NCCL_VERSION") continue; // of containers: what they were built with, which NCCL does not read
    const bool ofLog = std::find(std::begin(kLogVariables), std::end(kLogVariables), name) != std::end(kLogVariables);
    if (!ofLog || logFile.empty()) found.emplace_back(name, text.substr(equals + 1));
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string NcclSettings::newLog() {
  if (logFile.empty()) return "";
  std::ifstream file(logFile, std::ios::binary);
  file.seekg(std::streamoff(read));
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  read += text.size();
  return text;
}

Result<std::vector<std::unique_ptr<Rival>>> ncclRivals(const Manifest &manifest, const Gpus &gpus,
                                                       const Stopwatch &watch, Context &context, int root,
                                                       NcclSettings &settings) {
  const auto call = NcclCall::of(manifest);
  if (!call) return Error{Error::Code::BadInput, "NCCL has no `" + manifest.collective + "`"};
  auto nccl = Nccl::get();
  if (!nccl) return nccl.error();
  if (!call->availableIn(**nccl))
    return Error{Error::Code::MachineLacks, "NCCL " + (*nccl)->versionText() + " has no all-to-all"};
  auto team = std::make_shared<Team>(gpus, **nccl);
  if (auto done = team->connect(); !done) return done.error();
  std::vector<std::unique_ptr<Rival>> rivals;
  for (bool symmetric : {false, true})
    rivals.push_back(std::make_unique<NcclRival>(team, manifest, *call, root, watch, context, settings, symmetric));
  return rivals;
}

} // namespace coll::bench
