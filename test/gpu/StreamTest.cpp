// Operations in flight on several streams, on real GPUs, every element of each compared: those of one context follow each
// other, which is needed; those of two contexts overlap, and are right. Skipped without a GPU; with fewer GPUs than ranks
// they share. Which events lead where is in StreamOrderTest.cpp.
#include "InlinedHeaders.h"
#include "context/Backend.h"
#include "platform/Cuda.h"
#include "platform/Machine.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace coll;

namespace {

constexpr int kStreams = 3, kOperations = 30;
constexpr std::uint64_t kMost = 6000;

std::uint64_t countOf(int operation) { return kMost - std::uint64_t(operation % 5) * 777; }
float valueOf(int operation, int rank, std::uint64_t i) { return float((i * 7 + std::uint64_t(operation * 31 + rank * 5)) % 61); }

/// The kernel with every launch slow to begin, so that launches which may overlap do: 0.1 ms or more.
Kernel delayed(Kernel kernel) {
  const std::string begun = "  coll::Launch<N> launch(a.team);\n";
  kernel.cuda = test::replaced(test::withHeaders(kernel.cuda), begun,
                               "  for (const long long from = clock64(); clock64() - from < 200000;);\n" + begun);
  return kernel;
}

Kernel compiled(const std::string &member, int ranks) {
  Diagnostics diagnostics;
  const auto program = Program::parse(*standardLibraryText("allreduce"), "allreduce.coll", diagnostics);
  EXPECT_TRUE(program) << diagnostics.render();
  const auto kernel = program->compile({member, ranks, DType::F32, ReduceOp::Sum}, {}, diagnostics);
  EXPECT_TRUE(kernel) << diagnostics.render();
  return *kernel;
}

/// Sums of a context, each with inputs and outputs of its own.
class Sums {
public:
  Sums(Context &context) : context(context), ranks(context.ranks()) {
    for (int rank = 0; rank < ranks; ++rank) {
      const auto memory = context.allocate(rank, 2 * kOperations * kMost * 4);
      EXPECT_TRUE(memory) << memory.error().text;
      memories.push_back(static_cast<float *>(*memory));
    }
    for (int operation = 0; operation < kOperations; ++operation) fill(operation);
  }
  Result<void> launch(const Collective &allreduce, int operation, int rank, CUstream stream) const {
    return allreduce.launch(rank, {x(operation, rank), y(operation, rank)}, {countOf(operation)}, {}, stream);
  }
  /// Elements that are not the sum, over all operations and ranks.
  std::uint64_t wrong() const {
    std::uint64_t sum = 0;
    for (int operation = 0; operation < kOperations; ++operation)
      for (int rank = 0; rank < ranks; ++rank) {
        std::vector<float> values(countOf(operation));
        EXPECT_TRUE(context.download(rank, values.data(), y(operation, rank), values.size() * 4));
        for (std::uint64_t i = 0; i < values.size(); ++i) {
          float want = 0;
          for (int r = 0; r < ranks; ++r) want += valueOf(operation, r, i);
          sum += values[i] != want;
        }
      }
    return sum;
  }

private:
  float *x(int operation, int rank) const { return memories[std::size_t(rank)] + std::uint64_t(operation) * kMost; }
  float *y(int operation, int rank) const { return x(operation + kOperations, rank); }
  void fill(int operation) const {
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<float> values(kMost);
      for (std::uint64_t i = 0; i < kMost; ++i) values[i] = valueOf(operation, rank, i);
      EXPECT_TRUE(context.upload(rank, x(operation, rank), values.data(), kMost * 4));
      std::fill(values.begin(), values.end(), -1.f);
      EXPECT_TRUE(context.upload(rank, y(operation, rank), values.data(), kMost * 4));
    }
  }
  Context &context;
  const int ranks;
  std::vector<float *> memories; ///< [rank]
};

class Streams : public testing::TestWithParam<int> {
protected:
  void SetUp() override {
    const auto machine = machineGpus();
    if (!machine || machine->gpus.empty()) GTEST_SKIP() << "there is no GPU";
    auto opened = Gpus::open({});
    ASSERT_TRUE(opened) << opened.error().text;
    gpus = std::move(*opened);
    for (int rank = 0; rank < ranks; ++rank) {
      Current current(gpus->cuda, gpuOf(rank));
      for (CUstream &stream : streams.emplace_back(kStreams))
        ASSERT_EQ(gpus->cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    }
  }
  void TearDown() override {
    for (int rank = 0; rank < int(streams.size()); ++rank) {
      Current current(gpus->cuda, gpuOf(rank));
      for (CUstream stream : streams[std::size_t(rank)]) gpus->cuda.cuStreamDestroy(stream);
    }
  }
  const Gpu &gpuOf(int rank) const { return gpus->list[std::size_t(rank) % std::min(gpus->list.size(), std::size_t(ranks))]; }

  Result<Context> context(double timeoutSeconds = 10, int contextsPerGpu = 1) const {
    return Context::create({.ranks = ranks, .timeoutSeconds = timeoutSeconds, .contextsPerGpu = contextsPerGpu});
  }
  /// All operations, by turns of these collectives and of the streams.
  Result<void> launchAll(const Sums &sums, const std::vector<Collective> &collectives) const {
    for (int operation = 0; operation < kOperations; ++operation)
      for (int rank = 0; rank < ranks; ++rank)
        if (auto done = sums.launch(collectives[std::size_t(operation) % collectives.size()], operation, rank,
                                    streams[std::size_t(rank)][std::size_t(operation % kStreams)]);
            !done)
          return done;
    return {};
  }
  Result<CUgraphExec> captureAll(const Sums &sums, const Collective &allreduce, int rank) const;

  const int ranks = GetParam();
  std::unique_ptr<Gpus> gpus;
  std::vector<std::vector<CUstream>> streams; ///< [rank][]
};

TEST_P(Streams, OneCollectiveOnThreeStreams) {
  for (const char *member : {"allreduce.oneshot.ll", "allreduce.oneshot.sentinel", "allreduce.oneshot.barrier", "allreduce.twoshot.flag"}) {
    auto made = context();
    ASSERT_TRUE(made) << made.error().text;
    const auto allreduce = made->load(delayed(compiled(member, ranks)));
    ASSERT_TRUE(allreduce) << allreduce.error().text;
    const Sums sums(*made);
    const auto launched = launchAll(sums, {*allreduce});
    ASSERT_TRUE(launched) << launched.error().text;
    const auto ended = made->synchronize();
    ASSERT_TRUE(ended) << member << ": " << ended.error().text;
    EXPECT_EQ(sums.wrong(), 0u) << member;
  }
}

TEST_P(Streams, SeveralCollectivesOnThreeStreams) {
  auto made = context();
  ASSERT_TRUE(made) << made.error().text;
  std::vector<Collective> all;
  for (const char *member : {"allreduce.oneshot.ll", "allreduce.twoshot.flag", "allreduce.oneshot.sentinel", "allreduce.oneshot.barrier"}) {
    const auto allreduce = made->load(compiled(member, ranks));
    ASSERT_TRUE(allreduce) << allreduce.error().text;
    all.push_back(*allreduce);
  }
  const Sums sums(*made);
  ASSERT_TRUE(launchAll(sums, all));
  const auto ended = made->synchronize();
  ASSERT_TRUE(ended) << ended.error().text;
  EXPECT_EQ(sums.wrong(), 0u);
}

// Launches that overlap find the same epoch, and take each other's slots. (Those with barriers may meet in step by luck.)
TEST_P(Streams, WithoutTheOrderTheyGoWrong) {
  for (const char *member : {"allreduce.oneshot.ll"}) {
    auto made = context(/*timeoutSeconds=*/1);
    ASSERT_TRUE(made) << made.error().text;
    const auto allreduce = made->load(delayed(compiled(member, ranks)));
    ASSERT_TRUE(allreduce) << allreduce.error().text;
    backendOf(*made).orderStreams(false);
    const Sums sums(*made);
    const auto launched = launchAll(sums, {*allreduce});
    ASSERT_TRUE(launched) << launched.error().text;
    // The context knows no stream that it does not order.
    for (int rank = 0; rank < ranks; ++rank) {
      Current current(gpus->cuda, gpuOf(rank));
      ASSERT_EQ(gpus->cuda.cuCtxSynchronize(), CUDA_SUCCESS);
    }
    EXPECT_TRUE(!made->check() || sums.wrong() > 0) << member;
  }
}

/// A graph of all operations, on three streams that the caller has joined to the capture at its beginning.
Result<CUgraphExec> Streams::captureAll(const Sums &sums, const Collective &allreduce, int rank) const {
  const Cuda &cuda = gpus->cuda;
  Current current(cuda, gpuOf(rank));
  const std::vector<CUstream> &mine = streams[std::size_t(rank)];
  CUevent fork = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  auto good = cuda.check(cuda.cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  if (good) good = cuda.check(cuda.cuStreamBeginCapture(mine[0], CU_STREAM_CAPTURE_MODE_RELAXED), "cuStreamBeginCapture");
  if (!good) return good.error();
  cuda.cuEventRecord(fork, mine[0]);
  for (int s = 1; s < kStreams; ++s) cuda.cuStreamWaitEvent(mine[std::size_t(s)], fork, 0);
  // The last on stream 0, which then has waited for all others, as the end of the capture requires.
  for (int operation = 0; operation < kOperations && good; ++operation)
    good = sums.launch(allreduce, operation, rank, mine[std::size_t((kOperations - 1 - operation) % kStreams)]);
  const auto ended = cuda.check(cuda.cuStreamEndCapture(mine[0], &graph), "cuStreamEndCapture");
  cuda.cuEventDestroy(fork);
  if (!good || !ended) return (good ? ended : good).error();
  good = cuda.check(cuda.cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiate");
  cuda.cuGraphDestroy(graph);
  if (good) good = cuda.check(cuda.cuGraphUpload(exec, mine[0]), "cuGraphUpload");
  if (good) good = cuda.check(cuda.cuStreamSynchronize(mine[0]), "cuStreamSynchronize");
  if (!good) return good.error();
  return exec;
}

TEST_P(Streams, WithinAGraph) {
  auto made = context();
  ASSERT_TRUE(made) << made.error().text;
  const auto allreduce = made->load(delayed(compiled("allreduce.oneshot.ll", ranks)));
  ASSERT_TRUE(allreduce) << allreduce.error().text;
  const Sums sums(*made);
  std::vector<CUgraphExec> graphs;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto graph = captureAll(sums, *allreduce, rank);
    ASSERT_TRUE(graph) << graph.error().text;
    graphs.push_back(*graph);
  }
  for (int replay = 0; replay < 5; ++replay)
    for (int rank = 0; rank < ranks; ++rank) {
      Current current(gpus->cuda, gpuOf(rank));
      ASSERT_EQ(gpus->cuda.cuGraphLaunch(graphs[std::size_t(rank)], streams[std::size_t(rank)][0]), CUDA_SUCCESS);
    }
  const auto ended = made->synchronize();
  ASSERT_TRUE(ended) << ended.error().text;
  EXPECT_EQ(sums.wrong(), 0u);
  for (int rank = 0; rank < ranks; ++rank) {
    Current current(gpus->cuda, gpuOf(rank));
    gpus->cuda.cuGraphExecDestroy(graphs[std::size_t(rank)]);
  }
}

// An eager launch cannot wait for what a stream did before its capture began, and must not be drawn into the capture.
TEST_P(Streams, BesideACaptureAreRefused) {
  const Cuda &cuda = gpus->cuda;
  auto made = context();
  ASSERT_TRUE(made) << made.error().text;
  const auto allreduce = made->load(compiled("allreduce.oneshot.ll", ranks));
  ASSERT_TRUE(allreduce) << allreduce.error().text;
  const Sums sums(*made);
  for (int rank = 0; rank < ranks; ++rank) ASSERT_TRUE(sums.launch(*allreduce, 0, rank, streams[std::size_t(rank)][0]));
  Current current(cuda, gpuOf(0));
  CUgraph graph = nullptr;
  ASSERT_EQ(cuda.cuStreamBeginCapture(streams[0][0], CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  const auto refused = sums.launch(*allreduce, 1, 0, streams[0][1]);
  const auto notWaited = made->synchronize();
  ASSERT_EQ(cuda.cuStreamEndCapture(streams[0][0], &graph), CUDA_SUCCESS);
  cuda.cuGraphDestroy(graph);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Error::Code::BadInput);
  ASSERT_FALSE(notWaited);
  for (int operation = 1; operation < kOperations; ++operation)
    for (int rank = 0; rank < ranks; ++rank)
      ASSERT_TRUE(sums.launch(*allreduce, operation, rank, streams[std::size_t(rank)][1]));
  const auto ended = made->synchronize();
  ASSERT_TRUE(ended) << ended.error().text;
  EXPECT_EQ(sums.wrong(), 0u);
}

// A02 of the public defects: two micro-batches, each with a context and a stream of its own, in flight together.
TEST_P(Streams, TwoContextsOverlap) {
  auto one = context(10, 2), other = context(10, 2);
  ASSERT_TRUE(one) << one.error().text;
  ASSERT_TRUE(other) << other.error().text;
  const Kernel kernel = delayed(compiled("allreduce.oneshot.ll", ranks));
  const auto first = one->load(kernel), second = other->load(kernel);
  ASSERT_TRUE(first) << first.error().text;
  ASSERT_TRUE(second) << second.error().text;
  const Sums ofOne(*one), ofOther(*other);
  for (int operation = 0; operation < kOperations; ++operation)
    for (int rank = 0; rank < ranks; ++rank) {
      ASSERT_TRUE(ofOne.launch(*first, operation, rank, streams[std::size_t(rank)][0]));
      ASSERT_TRUE(ofOther.launch(*second, operation, rank, streams[std::size_t(rank)][1]));
    }
  for (Context *each : {&*one, &*other}) {
    const auto ended = each->synchronize();
    ASSERT_TRUE(ended) << ended.error().text;
  }
  EXPECT_EQ(ofOne.wrong() + ofOther.wrong(), 0u);
}

// M11 of the public defects: dependent launches, and a stream of one rank's that has other work.
TEST_P(Streams, BesideABusyStream) {
  constexpr std::uint64_t kWork = 256 << 20;
  auto made = context();
  ASSERT_TRUE(made) << made.error().text;
  const auto allreduce = made->load(compiled("allreduce.oneshot.ll", ranks));
  ASSERT_TRUE(allreduce) << allreduce.error().text;
  const auto from = made->allocate(0, kWork), to = made->allocate(0, kWork);
  ASSERT_TRUE(from && to);
  const Sums sums(*made);
  const auto address = [](void *memory) { return reinterpret_cast<CUdeviceptr>(memory); };
  for (int operation = 0; operation < kOperations; ++operation) {
    {
      Current current(gpus->cuda, gpuOf(0));
      ASSERT_EQ(gpus->cuda.cuMemcpyDtoDAsync(address(*to), address(*from), kWork, streams[0][2]), CUDA_SUCCESS);
    }
    for (int rank = 0; rank < ranks; ++rank)
      ASSERT_TRUE(sums.launch(*allreduce, operation, rank, streams[std::size_t(rank)][std::size_t(operation % 2)]));
  }
  const auto ended = made->synchronize();
  ASSERT_TRUE(ended) << ended.error().text;
  EXPECT_EQ(sums.wrong(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Gpu, Streams, testing::Values(2, 4));

} // namespace
