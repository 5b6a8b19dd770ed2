#include "litmus/Litmus.h"

#include "bench/Kernels.h"
#include "fabric/Fabric.h"

#include <algorithm>

namespace coll::litmus {
namespace {

using bench::Kernels;

constexpr std::uint64_t kRegionBytes = 4 << 20, kResult = 3 << 20;
constexpr unsigned kCtas = 32;
constexpr unsigned kCounters = 4;
using Counters = std::array<std::uint64_t, kCounters>;

CUdeviceptr addressOf(void *pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

/// Two GPUs, or one that is both: rank 0 writes into the memory of rank 1, which looks.
class Pair {
public:
  Pair(const Gpus &gpus, const Kernels &kernels, const Limits &limits) : gpus(gpus), cuda(gpus.cuda), kernels(kernels), limits(limits) {}
  ~Pair() {
    for (std::size_t s = 0; s < streams.size(); ++s) {
      Current current(cuda, gpus.list[gpuOf(int(s))]);
      cuda.cuStreamDestroy(streams[s]);
    }
  }

  Result<void> prepare();
  Result<std::uint64_t> run(const Test &test, Finding &finding);

private:
  std::size_t gpuOf(int rank) const { return std::min<std::size_t>(std::size_t(std::min(rank, 1)), gpus.list.size() - 1); }
  Result<void> clear();
  Result<Counters> wait();
  Result<void> launch(const Test &test);

  const Gpus &gpus;
  const Cuda &cuda;
  const Kernels &kernels;
  const Limits &limits;
  std::unique_ptr<Fabric> fabric;
  std::unique_ptr<SymmetricRegion> region;
  std::vector<CUstream> streams; ///< of the writer, of the reader, and of a second writer beside it
};

Result<void> Pair::prepare() {
  auto made = createLocalFabric(gpus, 2);
  if (!made) return made.error();
  fabric = std::move(*made);
  auto memory = fabric->allocate(kRegionBytes);
  if (!memory) return memory.error();
  region = std::move(*memory);
  for (int s = 0; s < 3; ++s) {
    Current current(cuda, gpus.list[gpuOf(s)]);
    CUstream stream = nullptr;
    if (auto done = cuda.check(cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate"); !done) return done;
    streams.push_back(stream);
  }
  return {};
}

Result<void> Pair::clear() {
  for (int rank = 0; rank < 2; ++rank) {
    Current current(cuda, gpus.list[gpuOf(rank)]);
    if (auto done = cuda.check(cuda.cuMemsetD8(addressOf(region->address(rank, rank)), 0, kRegionBytes), "cuMemsetD8"); !done)
      return done;
    if (auto done = cuda.check(cuda.cuCtxSynchronize(), "cuCtxSynchronize"); !done) return done;
  }
  return {};
}

/// What all have counted. Kernels end by themselves.
Result<Counters> Pair::wait() {
  for (std::size_t s = 0; s < streams.size(); ++s) {
    Current current(cuda, gpus.list[gpuOf(int(s))]);
    if (auto done = cuda.check(cuda.cuStreamSynchronize(streams[s]), "a litmus test"); !done) return done.error();
  }
  Counters sum = {};
  for (int rank = 0; rank < 2; ++rank) {
    Current current(cuda, gpus.list[gpuOf(rank)]);
    Counters part = {};
    if (auto done = cuda.check(cuda.cuMemcpyDtoH(part.data(), addressOf(region->address(rank, rank)) + kResult, sizeof part), "cuMemcpyDtoH");
        !done)
      return done.error();
    for (unsigned i = 0; i < kCounters; ++i) sum[i] += part[i];
  }
  return sum;
}

Result<void> Pair::launch(const Test &test) {
  const auto rounds = unsigned(std::min<std::uint64_t>(limits.rounds, 1u << 30));
  const auto limit = std::uint64_t(limits.seconds * 1e9);
  const unsigned lanes = test.name.ends_with("128") ? 8 : 1, writers = 2;
  const bool adds = test.name.starts_with("sums");
  const int last = adds ? 2 : 1; // the stream of the last writer
  // The reader first, so that it looks from the first store on.
  for (const int s : {1, 0, 2}) {
    if (s > last) continue;
    const int rank = std::min(s, 1);
    const unsigned writes = s != 1;
    const CUdeviceptr lines = addressOf(region->address(rank, 1)), own = addressOf(region->address(rank, rank));
    const CUdeviceptr other = addressOf(region->address(rank, 0)) + (2 << 20), result = own + kResult;
    const Kernels::Shape shape{kCtas, 32};
    const auto done =
        adds                    ? kernels.launch(gpuOf(s), streams[std::size_t(s)], "sums", shape, lines, result, rounds, limit, writes, lanes, writers)
        : test.name == "answers" ? kernels.launch(gpuOf(s), streams[std::size_t(s)], "answers", shape, lines, other, result, rounds, limit, writes)
                                 : kernels.launch(gpuOf(s), streams[std::size_t(s)], "stores", shape, lines, result, rounds, limit, writes, lanes);
    if (!done) return done;
  }
  return {};
}

Result<std::uint64_t> Pair::run(const Test &test, Finding &finding) {
  if (auto done = clear(); !done) return done.error();
  if (auto done = launch(test); !done) return done.error();
  auto counted = wait();
  if (!counted) return counted.error();
  const Counters &c = *counted;
  finding.rounds = c[0];
  // stores: torn, flag ahead; answers: overtaken, (stale is allowed), early; sums: wrong.
  finding.surprises = test.name == "flags128" ? c[2] : test.name == "answers" ? c[1] + c[3] : c[1];
  return c[0];
}

} // namespace

Result<std::vector<Finding>> run(const Limits &limits, const std::function<void(const Finding &)> &each) {
  std::vector<Finding> findings;
  auto all = Gpus::open({});
  if (!all) return all.error();
  auto jit = Jit::create();
  if (!jit) return jit.error();
  std::vector<std::vector<int>> pairs = {{(*all)->list.front().ordinal}};
  for (const Gpu &from : (*all)->list)
    for (const Gpu &to : (*all)->list)
      if (from.ordinal != to.ordinal) pairs.push_back({from.ordinal, to.ordinal});
  for (const std::vector<int> &ordinals : pairs) {
    auto gpus = Gpus::open(ordinals);
    if (!gpus) return gpus.error();
    auto kernels = Kernels::load(**gpus, *jit, text(), names());
    if (!kernels) return kernels.error();
    Pair pair(**gpus, **kernels, limits);
    if (auto done = pair.prepare(); !done) {
      if (done.error().code == Error::Code::MachineLacks) continue; // GPUs that do not reach each other
      return done.error();
    }
    const Gpu &from = (*gpus)->list.front(), &to = (*gpus)->list.back();
    for (const Test &test : tests()) {
      Finding finding{&test, from.ordinal, to.ordinal, to.name, std::min(from.arch, to.arch), (*gpus)->link(from, to)};
      if (test.name.starts_with("sums") && finding.arch < 90) continue; // which has no such additions
      auto rounds = pair.run(test, finding);
      if (!rounds) return rounds.error();
      each(finding);
      findings.push_back(std::move(finding));
    }
  }
  return findings;
}

} // namespace coll::litmus
