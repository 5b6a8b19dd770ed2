// Microseconds an operation of one instance takes in a CUDA graph, on as many GPUs as ranks. A measuring program, not a
// test: run it by hand, on an idle machine, beside what it is to be compared with.
//
//   latency FILE MEMBER DTYPE BYTES...     graph of 50 launches a rank, replayed; median of 15 replays after 5, and
//                                          of each replay the smallest over the ranks
#include "coll/coll.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <dlfcn.h>
#include <string>
#include <vector>

namespace {

constexpr int kLaunches = 50, kWarmUp = 5, kReplays = 15;

[[noreturn]] void fail(const std::string &what) {
  std::fprintf(stderr, "latency: %s\n", what.c_str());
  std::exit(1);
}

template <class T>
T orFail(coll::Result<T> result) {
  if (!result) fail(result.error().text);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

#define STRING(name) STRING_(name)
#define STRING_(name) #name
void *symbolNamed(const char *name) {
  static void *library = dlopen("libcuda.so.1", RTLD_NOW);
  void *address = library ? dlsym(library, name) : nullptr;
  if (!address) fail(std::string("the driver has no ") + name);
  return address;
}
#define CALL(function, ...)                                                                                            \
  do {                                                                                                                 \
    static const auto call = reinterpret_cast<decltype(&::function)>(symbolNamed(STRING(function)));                  \
    if (const CUresult code = call(__VA_ARGS__)) fail(std::string(STRING(function)) + " failed: " + std::to_string(code)); \
  } while (false)

struct Rank {
  CUcontext context;
  CUstream stream;
  CUevent begin, end;
  CUgraphExec graph;
  void *x, *y;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void capture(const coll::Collective &collective, int number, Rank &rank, std::uint64_t count) {
  CALL(cuCtxSetCurrent, rank.context);
  CALL(cuStreamBeginCapture, rank.stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  for (int launch = 0; launch < kLaunches; ++launch)
    orFail(collective.launch(number, {rank.x, rank.y}, {count}, {}, rank.stream));
  CUgraph graph;
  CALL(cuStreamEndCapture, rank.stream, &graph);
  CALL(cuGraphInstantiateWithFlags, &rank.graph, graph, 0);
  CALL(cuGraphDestroy, graph);
}

double replay(std::vector<Rank> &ranks) {
  for (Rank &rank : ranks) {
    CALL(cuCtxSetCurrent, rank.context);
    CALL(cuEventRecord, rank.begin, rank.stream);
    CALL(cuGraphLaunch, rank.graph, rank.stream);
    CALL(cuEventRecord, rank.end, rank.stream);
  }
  float best = 1e9f;
  for (Rank &rank : ranks) {
    CALL(cuCtxSetCurrent, rank.context);
    CALL(cuStreamSynchronize, rank.stream);
    float milliseconds;
    CALL(cuEventElapsedTime, &milliseconds, rank.begin, rank.end);
    best = std::min(best, milliseconds);
  }
  return best * 1e3 / kLaunches;
}

std::vector<Rank> makeRanks(coll::Context &context, std::uint64_t bytes) {
  std::vector<Rank> ranks(std::size_t(context.ranks()));
  for (int r = 0; r < context.ranks(); ++r) {
    Rank &rank = ranks[std::size_t(r)];
    CUdevice device;
    CALL(cuDeviceGet, &device, r);
    CALL(cuDevicePrimaryCtxRetain, &rank.context, device);
    rank.stream = static_cast<CUstream>(context.stream(r));
    rank.x = orFail(context.allocate(r, bytes));
    rank.y = orFail(context.allocate(r, bytes));
    CALL(cuCtxSetCurrent, rank.context);
    CALL(cuMemsetD8, reinterpret_cast<CUdeviceptr>(rank.x), 0x3f, bytes);
    CALL(cuCtxSynchronize);
    CALL(cuEventCreate, &rank.begin, CU_EVENT_DEFAULT);
    CALL(cuEventCreate, &rank.end, CU_EVENT_DEFAULT);
  }
  return ranks;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 5) fail("usage: latency FILE MEMBER DTYPE BYTES...");
  coll::Diagnostics diagnostics;
  auto program = coll::Program::parse(orFail(coll::readSource(argv[1])), argv[1], diagnostics);
  if (!program) fail(diagnostics.render());
  auto context = orFail(coll::Context::create({.ranks = 2, .fabric = coll::FabricKind::Nccl}));
  const auto dtype = coll::parseDType(argv[3]);
  if (!dtype) fail("no such type");
  auto collective = orFail(context.load(*program, {argv[2], context.ranks(), *dtype, coll::ReduceOp::Sum}));
  std::vector<Rank> ranks = makeRanks(context, 64u << 20);
  std::printf("%-28s %s\n", argv[2], context.describe().c_str());
  for (int arg = 4; arg < argc; ++arg) {
    const std::uint64_t bytes = std::strtoull(argv[arg], nullptr, 10);
    for (int r = 0; r < context.ranks(); ++r) capture(collective, r, ranks[std::size_t(r)], bytes / coll::sizeOf(*dtype));
    std::vector<double> times;
    for (int n = 0; n < kWarmUp + kReplays; ++n)
      if (const double t = replay(ranks); n >= kWarmUp) times.push_back(t);
    orFail(context.synchronize());
    std::printf("  %8llu B  %.3f us  (%.3f to %.3f)\n", static_cast<unsigned long long>(bytes), median(times),
                *std::min_element(times.begin(), times.end()), *std::max_element(times.begin(), times.end()));
  }
}
