#include "bench/Stopwatch.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace coll::bench {
namespace {

using Clock = std::chrono::steady_clock;

/// A gate that the host forgot opens by itself.
constexpr unsigned long long kGateNanoseconds = 1'000'000'000;

} // namespace

Graphs::~Graphs() {
  for (std::size_t rank = 0; rank < list.size(); ++rank) {
    if (!list[rank]) continue;
    Current current(gpus.cuda, gpus.list[rank]);
    gpus.cuda.cuGraphExecDestroy(list[rank]);
  }
}

Result<std::unique_ptr<Stopwatch>> Stopwatch::create(const Gpus &gpus, const Kernels &kernels, double seconds) {
  std::unique_ptr<Stopwatch> watch(new Stopwatch(gpus, kernels, seconds));
  if (auto done = watch->prepare(); !done) return done.error();
  return watch;
}

Result<void> Stopwatch::prepare() {
  if (!cuda.cuEventElapsedTime)
    return Error{Error::Code::MachineLacks, "the driver is older than the CUDA headers that Coll was built with, and "
                                            "lacks their function to read timers; build with its own version's"};
  lanes.resize(gpus.list.size());
  for (std::size_t rank = 0; rank < lanes.size(); ++rank) {
    Current current(cuda, gpus.list[rank]);
    Lane &lane = lanes[rank];
    if (auto done = cuda.check(cuda.cuStreamCreate(&lane.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate"); !done)
      return done;
    for (CUevent *event : {&lane.begin, &lane.end})
      if (auto done = cuda.check(cuda.cuEventCreate(event, CU_EVENT_DEFAULT), "cuEventCreate"); !done) return done;
  }
  Current current(cuda, gpus.list[0]);
  void *memory = nullptr;
  if (auto done =
          cuda.check(cuda.cuMemHostAlloc(&memory, sizeof *opened, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
                     "cuMemHostAlloc");
      !done)
    return done;
  opened = new (memory) unsigned(0);
  return {};
}

Stopwatch::~Stopwatch() {
  for (std::size_t rank = 0; rank < lanes.size(); ++rank) {
    Current current(cuda, gpus.list[rank]);
    const Lane &lane = lanes[rank];
    for (CUevent event : {lane.begin, lane.end})
      if (event) cuda.cuEventDestroy(event);
    if (lane.stream) cuda.cuStreamDestroy(lane.stream);
  }
  if (opened) {
    Current current(cuda, gpus.list[0]);
    cuda.cuMemFreeHost(opened);
  }
}

Result<Grid> Stopwatch::largestGrid(CUgraph graph) const {
  std::size_t count = 0;
  if (auto done = cuda.check(cuda.cuGraphGetNodes(graph, nullptr, &count), "cuGraphGetNodes"); !done) return done.error();
  std::vector<CUgraphNode> nodes(count);
  if (auto done = cuda.check(cuda.cuGraphGetNodes(graph, nodes.data(), &count), "cuGraphGetNodes"); !done)
    return done.error();
  Grid largest;
  for (CUgraphNode node : nodes) {
    CUgraphNodeType type;
    if (auto done = cuda.check(cuda.cuGraphNodeGetType(node, &type), "cuGraphNodeGetType"); !done) return done.error();
    if (type != CU_GRAPH_NODE_TYPE_KERNEL) continue;
    CUDA_KERNEL_NODE_PARAMS kernel = {};
    if (auto done = cuda.check(cuda.cuGraphKernelNodeGetParams(node, &kernel), "cuGraphKernelNodeGetParams"); !done)
      return done.error();
    const Grid grid{kernel.gridDimX * kernel.gridDimY * kernel.gridDimZ,
                    kernel.blockDimX * kernel.blockDimY * kernel.blockDimZ};
    if (grid.ctas > largest.ctas) largest = grid;
  }
  return largest;
}

Result<std::unique_ptr<Graphs>> Stopwatch::capture(const Work &work) {
  Result<void> good;
  std::size_t begun = 0;
  for (; begun < lanes.size() && good; ++begun) {
    Current current(cuda, gpus.list[begun]);
    good = cuda.check(cuda.cuStreamBeginCapture(lanes[begun].stream, CU_STREAM_CAPTURE_MODE_RELAXED),
                      "cuStreamBeginCapture");
  }
  if (!good) --begun; // the last did not begin
  if (good) good = work();
  // Every stream that captures must end to, whatever went wrong.
  auto graphs = std::make_unique<Graphs>(gpus);
  std::vector<CUgraph> captured(lanes.size());
  for (std::size_t rank = 0; rank < begun; ++rank) {
    Current current(cuda, gpus.list[rank]);
    auto ended = cuda.check(cuda.cuStreamEndCapture(lanes[rank].stream, &captured[rank]), "cuStreamEndCapture");
    if (good) good = ended;
  }
  if (good) {
    Current current(cuda, gpus.list[0]);
    auto grid = largestGrid(captured[0]);
    if (grid) graphs->grid = *grid;
    else good = grid.error();
  }
  for (std::size_t rank = 0; rank < begun; ++rank) {
    Current current(cuda, gpus.list[rank]);
    if (good) {
      graphs->list.push_back(nullptr);
      good =
          cuda.check(cuda.cuGraphInstantiateWithFlags(&graphs->list.back(), captured[rank], 0), "cuGraphInstantiate");
    }
    // Uploading at the first replay could wait for kernels that wait for that replay.
    if (good) good = cuda.check(cuda.cuGraphUpload(graphs->list.back(), lanes[rank].stream), "cuGraphUpload");
    if (captured[rank]) cuda.cuGraphDestroy(captured[rank]);
  }
  if (auto idle = wait(); good && !idle) good = idle;
  if (!good) return good.error();
  return graphs;
}

Result<void> Stopwatch::replay(const Graphs &graphs) {
  for (std::size_t rank = 0; rank < lanes.size(); ++rank) {
    Current current(cuda, gpus.list[rank]);
    if (auto done = cuda.check(cuda.cuGraphLaunch(graphs.list[rank], lanes[rank].stream), "cuGraphLaunch"); !done)
      return done;
  }
  return {};
}

Result<void> Stopwatch::closeGates() {
  ++ticket;
  for (std::size_t rank = 0; rank < lanes.size(); ++rank) {
    Current current(cuda, gpus.list[rank]);
    CUdeviceptr word = 0;
    if (auto done = cuda.check(cuda.cuMemHostGetDevicePointer(&word, opened, 0), "cuMemHostGetDevicePointer"); !done)
      return done;
    if (auto done = kernels.launch(rank, lanes[rank].stream, "gate", {}, word, ticket, kGateNanoseconds); !done)
      return done;
  }
  return {};
}

void Stopwatch::openGates() {
  std::atomic_ref(*opened).store(ticket, std::memory_order_release);
}

Result<void> Stopwatch::queue(const Work &before, const Work &work, bool gated) {
  if (before)
    if (auto done = before(); !done) return done;
  if (gated)
    if (auto done = closeGates(); !done) return done;
  for (std::size_t rank = 0; rank < lanes.size(); ++rank) {
    Current current(cuda, gpus.list[rank]);
    if (auto done = cuda.check(cuda.cuEventRecord(lanes[rank].begin, lanes[rank].stream), "cuEventRecord"); !done)
      return done;
  }
  if (auto done = work(); !done) return done;
  for (std::size_t rank = 0; rank < lanes.size(); ++rank) {
    Current current(cuda, gpus.list[rank]);
    if (auto done = cuda.check(cuda.cuEventRecord(lanes[rank].end, lanes[rank].stream), "cuEventRecord"); !done)
      return done;
  }
  return {};
}

Result<std::vector<double>> Stopwatch::time(const Work &before, const Work &work, bool gated) {
  const auto start = Clock::now();
  auto queued = queue(before, work, gated && gatesOpenInTime);
  if (Clock::now() - start > std::chrono::nanoseconds(kGateNanoseconds / 2)) gatesOpenInTime = false;
  openGates();
  auto idle = wait();
  if (!queued) return queued.error();
  if (!idle) return idle.error();
  std::vector<double> result;
  for (std::size_t rank = 0; rank < lanes.size(); ++rank) {
    Current current(cuda, gpus.list[rank]);
    float milliseconds = 0;
    if (auto done = cuda.check(cuda.cuEventElapsedTime(&milliseconds, lanes[rank].begin, lanes[rank].end),
                               "cuEventElapsedTime");
        !done)
      return done.error();
    result.push_back(milliseconds * 1e3);
  }
  return result;
}

Result<void> Stopwatch::wait() {
  const auto start = Clock::now();
  for (std::size_t rank = 0; rank < lanes.size(); ++rank)
    for (;;) {
      CUresult result;
      {
        Current current(cuda, gpus.list[rank]);
        result = cuda.cuStreamQuery(lanes[rank].stream);
      }
      if (result == CUDA_SUCCESS) break;
      if (result != CUDA_ERROR_NOT_READY) return cuda.check(result, "cuStreamQuery");
      const auto waited = Clock::now() - start;
      if (waited > std::chrono::duration<double>(seconds))
        return Error{Error::Code::Failed, "what was queued on rank " + std::to_string(rank) + " has not ended for " +
                                              std::to_string(int(seconds)) + " s"};
      if (waited > std::chrono::milliseconds(1)) std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  return {};
}

} // namespace coll::bench
