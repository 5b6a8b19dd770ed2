#include "bench/MeasureFloors.h"

#include "bench/Statistics.h"
#include "fabric/Fabric.h"

#include <algorithm>

namespace coll::bench {
namespace {

constexpr unsigned kNodes = 100, kReplays = 20, kWarmUp = 5;
constexpr unsigned kRounds = 2064, kGames = 5;
constexpr std::uint64_t kCopied = 256ull << 20;

CUdeviceptr addressOf(void *pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

class Measuring {
public:
  Measuring(const Gpus &gpus, const Kernels &kernels, Stopwatch &watch)
      : gpus(gpus), cuda(gpus.cuda), kernels(kernels), watch(watch) {}

  Result<Floors> all();

private:
  Result<double> node(bool dependent);
  Result<double> oneWay();
  Result<std::optional<double>> game(unsigned inFlight);
  /// Where a rank's ping-pong leaves its result; the line is at the start of the region.
  CUdeviceptr resultOf(int rank) const { return addressOf(region->address(rank, rank)) + 256; }
  Result<double> bandwidth(const std::function<Result<void>()> &copy);
  Result<void> copyByKernel();
  Result<void> copyByEngine();

  const Gpus &gpus;
  const Cuda &cuda;
  const Kernels &kernels;
  Stopwatch &watch;
  std::unique_ptr<SymmetricRegion> region;
  unsigned flags = 0; ///< used up in ping-pongs
};

/// As operations are timed: a graph of nodes, of each replay the fastest rank, the median of replays.
Result<double> Measuring::node(bool dependent) {
  auto graphs = watch.capture([&]() -> Result<void> {
    for (int rank = 0; rank < watch.ranks(); ++rank)
      for (unsigned i = 0; i < kNodes; ++i)
        if (auto done = kernels.launch(std::size_t(rank), watch.stream(rank), "emptyNode", {1, 32, dependent}); !done)
          return done;
    return {};
  });
  if (!graphs) return graphs.error();
  std::vector<double> samples;
  for (unsigned replay = 0; replay < kWarmUp + kReplays; ++replay) {
    auto times = watch.time(
        nullptr, [&] { return watch.replay(**graphs); }, /*gated=*/true);
    if (!times) return times.error();
    if (replay >= kWarmUp) samples.push_back(*std::min_element(times->begin(), times->end()) / kNodes);
  }
  return median(samples);
}

/// Microseconds one way, or nothing if a line did not come.
Result<std::optional<double>> Measuring::game(unsigned inFlight) {
  struct {
    std::uint64_t nanoseconds, rounds;
  } result = {};
  for (std::size_t rank = 0; rank < 2; ++rank) {
    Current current(cuda, gpus.list[rank]);
    if (auto done = cuda.check(cuda.cuMemsetD8(resultOf(int(rank)), 0, sizeof result), "cuMemsetD8"); !done)
      return done.error();
    if (auto done = cuda.check(cuda.cuCtxSynchronize(), "cuCtxSynchronize"); !done) return done.error();
  }
  for (int me = 0; me < 2; ++me) {
    const CUdeviceptr mine = addressOf(region->address(me, me)), theirs = addressOf(region->address(me, 1 - me));
    const unsigned serves = me == 0;
    if (auto done = kernels.launch(std::size_t(me), watch.stream(me), "pingPong", {1, 1}, mine, theirs, flags, kRounds,
                                   serves, inFlight, resultOf(me));
        !done)
      return done.error();
  }
  flags += kRounds;
  if (auto done = watch.wait(); !done) return done.error();
  Current current(cuda, gpus.list[0]);
  if (auto done = cuda.check(cuda.cuMemcpyDtoH(&result, resultOf(0), sizeof result), "cuMemcpyDtoH"); !done)
    return done.error();
  if (result.rounds == 0) return std::optional<double>();
  return std::optional(double(result.nanoseconds) / 1e3 / double(result.rounds) / 2);
}

Result<double> Measuring::oneWay() {
  double best = 0;
  for (unsigned i = 0; i < kGames; ++i)
    for (unsigned inFlight : {1u, 2u}) {
      auto time = game(inFlight);
      if (!time) return time.error();
      if (!*time)
        return Error{Error::Code::Failed, "a store of GPU " + std::to_string(gpus.list[0].ordinal) +
                                              " is not seen by GPU " + std::to_string(gpus.list[1].ordinal)};
      best = best > 0 ? std::min(best, **time) : **time;
    }
  return best;
}

Result<void> Measuring::copyByKernel() {
  const std::uint64_t units = kCopied / 16;
  return kernels.launch(0, watch.stream(0), "copyUnits", {gpus.list[0].multiprocessors * 2, 512},
                        addressOf(region->address(0, 1)) + kCopied, addressOf(region->address(0, 0)), units);
}

Result<void> Measuring::copyByEngine() {
  Current current(cuda, gpus.list[0]);
  return cuda.check(cuda.cuMemcpyDtoDAsync(addressOf(region->address(0, 1)) + kCopied, addressOf(region->address(0, 0)),
                                           kCopied, watch.stream(0)),
                    "cuMemcpyDtoDAsync");
}

/// Bytes per microsecond from GPU 0 to GPU 1, the best of some copies.
Result<double> Measuring::bandwidth(const std::function<Result<void>()> &copy) {
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    auto times = watch.time(nullptr, copy, /*gated=*/true);
    if (!times) return times.error();
    best = std::max(best, double(kCopied) / times->front());
  }
  return best;
}

Result<Floors> Measuring::all() {
  Floors floors;
  auto dependent = node(true);
  if (!dependent) return dependent.error();
  auto plain = node(false);
  if (!plain) return plain.error();
  floors.emptyNode = *dependent, floors.plainNode = *plain;
  if (watch.ranks() < 2) return floors;

  auto fabric = createLocalFabric(gpus, watch.ranks());
  if (!fabric) return fabric.error();
  auto memory = (*fabric)->allocate(2 * kCopied);
  if (!memory) return memory.error();
  region = std::move(*memory);
  auto way = oneWay();
  if (!way) return way.error();
  floors.oneWay = *way;
  auto byKernel = bandwidth([&] { return copyByKernel(); });
  if (!byKernel) return byKernel.error();
  auto byEngine = bandwidth([&] { return copyByEngine(); });
  if (!byEngine) return byEngine.error();
  floors.bytesPerMicrosecond = std::max(*byKernel, *byEngine);
  floors.bandwidthBy = *byKernel >= *byEngine ? "stores of a kernel" : "copy engine";
  region.reset();
  return floors;
}

} // namespace

Result<Floors> measureFloors(const Gpus &gpus, const Kernels &kernels, Stopwatch &watch) {
  return Measuring(gpus, kernels, watch).all();
}

} // namespace coll::bench
