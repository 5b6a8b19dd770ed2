#include "bench/Stage.h"

#include "bench/Chain.h"
#include "bench/HandRival.h"
#include "bench/MeasureFloors.h"
#include "bench/MemberRival.h"
#include "context/NcclCall.h"
#include "context/Parameters.h"
#include "context/RunLayout.h"
#include "platform/Machine.h"
#include "platform/Nccl.h"

#include <algorithm>
#include <ctime>
#include <fstream>

namespace coll::bench {
namespace {

std::string driverVersion() {
  std::ifstream file("/proc/driver/nvidia/version");
  for (std::string word; file >> word;)
    if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos) return word;
  return "unknown";
}

} // namespace

Result<void> Stage::prepare() {
  auto machine = machineGpus();
  if (!machine) return machine.error();
  if (int(machine->gpus.size()) < manifest.ranks)
    return Error{Error::Code::MachineLacks,
                 std::to_string(manifest.ranks) + " ranks are timed on a GPU each, and there " +
                     (machine->gpus.size() == 1 ? "is 1" : "are " + std::to_string(machine->gpus.size()))};
  ContextOptions options;
  options.ranks = manifest.ranks;
  options.timeoutSeconds = request.timeoutSeconds * 0.6; // before the stopwatch gives up
  for (int gpu = 0; gpu < manifest.ranks; ++gpu) options.gpus.push_back(gpu);
  auto opened = Gpus::open(options.gpus);
  if (!opened) return opened.error();
  gpus = std::move(*opened);
  auto jit = Jit::create();
  if (!jit) return jit.error();
  auto loaded = Kernels::load(*gpus, *jit);
  if (!loaded) return loaded.error();
  kernels = std::move(*loaded);
  auto made = Stopwatch::create(*gpus, *kernels, request.timeoutSeconds);
  if (!made) return made.error();
  watch = std::move(*made);

  progress("floors");
  auto floors = measureFloors(*gpus, *kernels, *watch);
  if (!floors) return floors.error();
  report.floors = *floors;
  progress("connecting the ranks");
  auto created = Context::create(options);
  if (!created) return created.error();
  if (created->fabric() == FabricKind::Emulated)
    return Error{Error::Code::MachineLacks, "COLL_FABRIC asks for emulated ranks"};
  context.emplace(std::move(*created));
  if (auto done = loadMembers(); !done) return done;
  if (request.nccl)
    if (auto done = loadNccl(); !done) return done;
  if (auto done = loadHandWritten(*jit); !done) return done;
  if (auto done = allocate(); !done) return done;
  describe(*jit);
  if (request.onStart) request.onStart(report);
  return {};
}

void Stage::describe(const Jit &jit) {
  report.collective = manifest.collective, report.dtype = keyword(manifest.dtype);
  report.op = manifest.op ? keyword(*manifest.op) : "";
  report.extents = {request.fixed.begin(), request.fixed.end()};
  report.ranks = manifest.ranks, report.graph = request.graph, report.inplace = request.inplace;
  report.machine = gpus->describe(), report.driver = driverVersion();
  report.cuda = cudaVersionText(gpus->cuda.version), report.nvrtc = jit.nvrtc().versionText();
  if (auto nccl = Nccl::get()) report.nccl = (*nccl)->versionText();
  report.environment = settings.variables();
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  char text[32] = "";
  if (gmtime_r(&now, &parts)) std::strftime(text, sizeof text, "%Y-%m-%d %H:%MZ", &parts);
  report.date = text;
}

Result<void> Stage::loadMembers() {
  const std::map<std::string, std::string> texts = scalarTexts();
  for (const Manifest::Scalar &scalar : manifest.scalars)
    scalars.push_back(parseScalar(texts.at(scalar.name), scalar.type));
  progress("loading members");
  auto members = context->load(request.kernels);
  if (!members) return members.error();
  for (const Collective &member : *members) rivals.push_back(memberRival(member, *context, *watch, scalars));
  return {};
}

Result<void> Stage::loadNccl() {
  if (!NcclCall::of(manifest)) {
    report.notes.push_back("NCCL has no `" + manifest.collective + "` with these arguments: it is not among the rivals");
    return {};
  }
  progress("NCCL");
  const auto root = request.scalars.find("root");
  auto more = ncclRivals(manifest, *gpus, *watch, *context,
                         root == request.scalars.end() ? 0 : std::atoi(root->second.c_str()), settings);
  if (!more) return more.error();
  for (auto &rival : *more) rivals.push_back(std::move(rival));
  return {};
}

/// Bytes of the largest size, but no more than what the hand-written forms are made for.
std::uint64_t Stage::mostBytes() const {
  constexpr std::uint64_t kHandWritten = 4ull << 20;
  std::uint64_t most = 16;
  for (const auto &[bytes, extents] : request.sizes) most = std::max(most, bytes);
  return std::min(most, kHandWritten);
}

Result<void> Stage::loadHandWritten(const Jit &jit) {
  for (const HandWritten &source : request.handWritten) {
    progress("hand-written kernels");
    auto more = handRivals(source, manifest, *gpus, jit, *watch, *context, mostBytes());
    if (!more) return more.error();
    for (auto &rival : *more) rivals.push_back(std::move(rival));
  }
  return {};
}

/// All operations have the same; what is not given is 0.
std::map<std::string, std::string> Stage::scalarTexts() const {
  std::map<std::string, std::string> texts = request.scalars;
  for (const Manifest::Scalar &scalar : manifest.scalars) texts.try_emplace(scalar.name, "0");
  return texts;
}

RunRequest Stage::sizeRequest(const Extents &extents) const {
  RunRequest run;
  run.extents = extents;
  run.scalars = scalarTexts();
  run.inplace = request.inplace;
  run.counts = request.counts;
  return run;
}

std::vector<std::uint64_t> Stage::argumentBytes(const Extents &extents) const {
  std::vector<std::uint64_t> bytes;
  for (const Manifest::Argument &argument : manifest.arguments)
    bytes.push_back(manifest.elements(argument, extents) * sizeOf(argument.dtype));
  return bytes;
}

/// Memory for the largest size, once: members share theirs, as only one rival runs at a time.
Result<void> Stage::allocate() {
  std::uint64_t most = 0;
  for (const auto &[bytes, extents] : request.sizes) {
    const Chain chain(manifest, argumentBytes(extents), request.inplace);
    for (const Chain::Start &part : chain.starts()) startBytes = std::max(startBytes, part.bytes);
    const RunRequest run = sizeRequest(extents);
    auto layout = RunLayout::create(manifest, run, 0);
    if (!layout) return layout.error();
    for (unsigned i = 0; i < verifiedOperations(bytes); ++i) layout->next(i);
    most = std::max({most, chain.bytes(), layout->bytes()});
  }
  for (std::size_t i = 0; i < rivals.size(); ++i) {
    const bool shared = i > 0 && i < request.kernels.size();
    auto part = shared ? Result<std::vector<void *>>(memory.front()) : rivals[i]->memory(most);
    if (!part) return part.error();
    memory.push_back(std::move(*part));
  }
  for (int rank = 0; rank < manifest.ranks; ++rank) {
    auto part = context->allocate(rank, startBytes);
    if (!part) return part.error();
    start.push_back(*part);
  }
  return {};
}

Result<void> Stage::fillStart(unsigned operations) {
  if (startOperations == operations) return {};
  const ChainValues values(manifest, operations);
  const std::uint64_t size = sizeOf(manifest.dtype), piece = std::min<std::uint64_t>(startBytes, 64 << 20);
  std::vector<std::byte> bytes(piece);
  for (std::uint64_t at = 0; at + size <= piece; at += size) {
    const std::uint64_t element = values.atStart(at / size);
    std::copy_n(reinterpret_cast<const std::byte *>(&element), size, bytes.begin() + std::ptrdiff_t(at));
  }
  // Pieces are a multiple of the period of the values.
  for (int rank = 0; rank < manifest.ranks; ++rank)
    for (std::uint64_t at = 0; at < startBytes; at += piece)
      if (auto done = context->upload(rank, static_cast<char *>(start[std::size_t(rank)]) + at, bytes.data(),
                                      std::min(piece, startBytes - at));
          !done)
        return done;
  startOperations = operations;
  return {};
}

} // namespace coll::bench
