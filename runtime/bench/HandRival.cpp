#include "bench/HandRival.h"

#include "context/LaunchPlan.h"
#include "fabric/Fabric.h"

#include <algorithm>

namespace coll::bench {
namespace {

constexpr std::uint64_t kFlags = 64 << 10, kEpochs = 4096, kAlign = 256;

/// The device's struct of rival.cuh.
struct HandCall {
  CUdeviceptr input[kHandRanks], output, scratch[kHandRanks], epoch;
  std::uint64_t room, flags, bytes, me;
};

CUdeviceptr addressOf(const void *pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

/// What the kernels of one file share.
struct Bundle {
  std::unique_ptr<Kernels> kernels;
  std::unique_ptr<Fabric> fabric;
};

class HandRival final : public Rival {
public:
  HandRival(std::shared_ptr<Bundle> bundle, const HandKernel &kernel, const Manifest &manifest, const Gpus &gpus,
            const Stopwatch &watch, Context &context, std::uint64_t most)
      : bundle(std::move(bundle)), kernel(kernel), manifest(manifest), gpus(gpus), watch(watch), context(context),
        room(((most + kernel.packet - 1) / kernel.packet * kernel.area + kAlign - 1) / kAlign * kAlign) {}

  std::string name() const override { return "hand-" + kernel.name; }
  Traffic traffic() const override { return Traffic::OneShot; }
  bool foreign() const override { return true; }
  bool exact() const override { return manifest.ranks <= 2; }
  bool takes(std::uint64_t elements) const override {
    const std::uint64_t bytes = elements * sizeOf(manifest.dtype);
    return bytes % 16 == 0 && (bytes + kernel.packet - 1) / kernel.packet * kernel.area <= room;
  }
  void abort() override {} // its waits end by themselves

  Result<void> allocate() {
    auto memory = bundle->fabric->allocate(flagsAt() + kFlags + kEpochs);
    if (!memory) return memory.error();
    region = std::move(*memory);
    return {};
  }

  /// Grids change from size to size, and epochs are counted by CTA.
  Result<void> prepare() override {
    for (std::size_t rank = 0; rank < gpus.list.size(); ++rank) {
      Current current(gpus.cuda, gpus.list[rank]);
      const CUdeviceptr to = addressOf(region->address(int(rank), int(rank)));
      const Cuda &cuda = gpus.cuda;
      if (auto done = cuda.check(cuda.cuMemsetD32(to, kernel.fillFor(manifest.dtype), flagsAt() / 4), "cuMemsetD32"); !done) return done;
      if (auto done = cuda.check(cuda.cuMemsetD8(to + flagsAt(), 0, kFlags + kEpochs), "cuMemsetD8"); !done)
        return done;
      if (auto done = cuda.check(cuda.cuCtxSynchronize(), "cuCtxSynchronize"); !done) return done;
    }
    return {};
  }

  Result<std::vector<void *>> memory(std::uint64_t bytes) override {
    std::vector<void *> all;
    for (int rank = 0; rank < manifest.ranks; ++rank) {
      auto part = context.allocate(rank, bytes);
      if (!part) return part.error();
      all.push_back(*part);
    }
    return all;
  }

  Result<void> enqueue(const Operation &operation) override {
    const std::uint64_t bytes = operation.extents[0] * sizeOf(manifest.dtype);
    ShapeLimits limits;
    limits.resident.fill(kResident);
    const std::uint64_t threads = (bytes + kernel.packet - 1) / kernel.packet * kernel.threads;
    const LaunchShape shape = chooseShape(threads, limits, operation.shape, kernel.ctas);
    for (int rank = 0; rank < manifest.ranks; ++rank) {
      HandCall call{};
      for (int other = 0; other < manifest.ranks; ++other) {
        call.input[other] = addressOf(operation.pointers[std::size_t(other)][0]);
        call.scratch[other] = addressOf(region->address(rank, other));
      }
      call.output = addressOf(operation.pointers[std::size_t(rank)][1]);
      call.epoch = call.scratch[rank] + flagsAt() + kFlags;
      call.room = room, call.flags = flagsAt(), call.bytes = bytes, call.me = std::uint64_t(rank);
      if (auto done = bundle->kernels->launch(std::size_t(rank), watch.stream(rank), kernel.name.c_str(),
                                              {shape.grid, shape.block, /*dependent=*/true}, call);
          !done)
        return done;
    }
    return {};
  }

private:
  /// CTAs of any size of which two launches fit on a GPU of today together.
  static constexpr unsigned kResident = 128;
  std::uint64_t flagsAt() const { return kernel.copies * std::uint64_t(manifest.ranks) * room; }

  std::shared_ptr<Bundle> bundle;
  const HandKernel kernel;
  const Manifest manifest;
  const Gpus &gpus;
  const Stopwatch &watch;
  Context &context;
  const std::uint64_t room; ///< bytes for one rank in one copy
  std::unique_ptr<SymmetricRegion> region;
};

} // namespace

Result<std::vector<std::unique_ptr<Rival>>> handRivals(const HandWritten &source, const Manifest &manifest,
                                                       const Gpus &gpus, const Jit &jit, const Stopwatch &watch,
                                                       Context &context, std::uint64_t most) {
  const auto bad = [&](const std::string &text) { return Error{Error::Code::BadInput, "`" + source.file + "` " + text}; };
  if (source.collective != manifest.collective) return bad("is for `" + source.collective + "`");
  if (std::find(source.types.begin(), source.types.end(), manifest.dtype) == source.types.end())
    return bad("is not for `" + std::string(keyword(manifest.dtype)) + "`");
  if (manifest.op && *manifest.op != ReduceOp::Sum) return bad("has sums alone");
  if (manifest.ranks > kHandRanks) return bad("is for up to " + std::to_string(kHandRanks) + " ranks");
  auto bundle = std::make_shared<Bundle>();
  auto kernels = Kernels::load(gpus, jit, source.compileable(manifest.dtype, manifest.ranks), source.names());
  if (!kernels) return kernels.error();
  bundle->kernels = std::move(*kernels);
  auto fabric = createLocalFabric(gpus, manifest.ranks);
  if (!fabric) return fabric.error();
  bundle->fabric = std::move(*fabric);
  std::vector<std::unique_ptr<Rival>> rivals;
  for (const HandKernel &kernel : source.kernels) {
    auto rival = std::make_unique<HandRival>(bundle, kernel, manifest, gpus, watch, context, most);
    if (auto done = rival->allocate(); !done) return done.error();
    rivals.push_back(std::move(rival));
  }
  return rivals;
}

} // namespace coll::bench
