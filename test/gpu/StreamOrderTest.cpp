// Launches of a rank on several streams, against a driver of the test's own that knows what follows what: each launch
// must come after all before it, eager ones and those of a capture apart. No GPU is needed.
#include "context/StreamOrder.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

using namespace coll;

namespace {

/// A stream of the driver, or what an event has of one.
struct Queue {
  unsigned long long id = 0;
  cuuint64_t capture = 0;
  std::set<int> launches; ///< that end before whatever comes next
};

/// The machine: streams and events by their handles.
struct Machine {
  std::map<CUstream, Queue> streams;
  std::map<CUevent, Queue> events;
  unsigned long long ids = 0;
  int made = 0, recorded = 0, waits = 0, queries = 0;
  std::set<CUstream> busy;
} machine;

CUstream handle(std::uintptr_t number) { return reinterpret_cast<CUstream>(0x1000 + number); }

void open(CUstream stream) { machine.streams[stream] = {++machine.ids, 0, {}}; }

CUresult record(CUevent event, CUstream stream) {
  const auto its = machine.streams.find(stream);
  if (its == machine.streams.end()) return CUDA_ERROR_INVALID_HANDLE;
  machine.events[event] = its->second;
  return ++machine.recorded, CUDA_SUCCESS;
}

/// As CUDA has it: a stream that waits for a capture becomes part of it, and a capture must not wait for what is not.
CUresult wait(CUstream stream, CUevent event, unsigned) {
  const Queue &before = machine.events.at(event);
  Queue &its = machine.streams.at(stream);
  if (its.capture && before.capture != its.capture) return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  its.capture = before.capture;
  its.launches.insert(before.launches.begin(), before.launches.end());
  return ++machine.waits, CUDA_SUCCESS;
}

const Cuda &fakeCuda() {
  static const Cuda api = [] {
    Cuda cuda;
    cuda.cuCtxGetCurrent = [](CUcontext *context) { return *context = nullptr, CUDA_SUCCESS; };
    cuda.cuCtxSetCurrent = [](CUcontext) { return CUDA_SUCCESS; };
    cuda.cuEventCreate = [](CUevent *event, unsigned) {
      return *event = reinterpret_cast<CUevent>(std::uintptr_t(++machine.made)), CUDA_SUCCESS;
    };
    cuda.cuEventDestroy = [](CUevent) { return --machine.made, CUDA_SUCCESS; };
    cuda.cuEventRecord = record;
    cuda.cuEventQuery = [](CUevent) { return ++machine.queries, CUDA_SUCCESS; };
    cuda.cuStreamWaitEvent = wait;
    cuda.cuStreamGetId = [](CUstream stream, unsigned long long *id) {
      const auto its = machine.streams.find(stream);
      if (its == machine.streams.end()) return CUDA_ERROR_INVALID_HANDLE;
      if (its->second.capture) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED; // as driver 580 has it
      return *id = its->second.id, CUDA_SUCCESS;
    };
    cuda.cuStreamGetCaptureInfo_v3 = [](CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *,
                                        const CUgraphNode **, const CUgraphEdgeData **, std::size_t *) {
      if (!machine.streams.count(stream)) return CUDA_ERROR_INVALID_HANDLE;
      *id = machine.streams.at(stream).capture;
      *status = *id ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
      return CUDA_SUCCESS;
    };
    cuda.cuStreamQuery = [](CUstream stream) {
      ++machine.queries;
      return machine.streams.at(stream).capture ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
             : machine.busy.count(stream)       ? CUDA_ERROR_NOT_READY
                                                : CUDA_SUCCESS;
    };
    return cuda;
  }();
  return api;
}

class StreamOrderTest : public testing::Test {
protected:
  StreamOrderTest() { machine = {}; }
  void SetUp() override {
    for (CUstream stream : {a, b, c}) open(stream);
    ASSERT_TRUE(order.create());
  }

  /// Launches, and returns the number of the launch.
  int launch(CUstream stream) {
    const auto waits = order.follow(stream);
    EXPECT_TRUE(waits) << waits.error().text;
    waited = waits && *waits;
    machine.streams.at(stream).launches.insert(++launches);
    EXPECT_TRUE(order.launched());
    return launches;
  }
  std::string refusal(CUstream stream) {
    const auto waits = order.follow(stream);
    return waits ? "" : waits.error().text;
  }
  static void capture(CUstream stream) { machine.streams.at(stream).capture = ++machine.ids; }
  /// What EndCapture does: all streams of the capture are what they were.
  static void endCapture(CUstream stream) {
    const cuuint64_t ended = machine.streams.at(stream).capture;
    for (auto &[handle, its] : machine.streams)
      if (its.capture == ended) its.capture = 0;
  }
  static const std::set<int> &on(CUstream stream) { return machine.streams.at(stream).launches; }

  const CUstream a = handle(1), b = handle(2), c = handle(3);
  Gpu gpu;
  StreamOrder order{fakeCuda(), gpu, 3};
  int launches = 0;
  bool waited = false;
};

TEST_F(StreamOrderTest, ThreeInFlightOnThreeStreams) {
  launch(a), launch(b), launch(c);
  EXPECT_EQ(on(c), (std::set<int>{1, 2, 3}));
  EXPECT_TRUE(waited);
  launch(a);
  EXPECT_EQ(on(a), (std::set<int>{1, 2, 3, 4}));
}

TEST_F(StreamOrderTest, AreInNoOrderWithoutIt) {
  order.enabled = false;
  launch(a), launch(b), launch(c);
  EXPECT_EQ(on(c), std::set<int>{3});
  EXPECT_FALSE(waited);
}

TEST_F(StreamOrderTest, CostsNothingOnOneStream) {
  for (int i = 0; i < 5; ++i) launch(a);
  EXPECT_EQ(machine.recorded + machine.waits, 0);
  EXPECT_FALSE(waited);
}

// A capture in flight elsewhere leaves the launches that run as they are, and is not drawn into them.
TEST_F(StreamOrderTest, CapturesAreApart) {
  launch(a);
  capture(b);
  const int first = launch(b);
  EXPECT_EQ(on(b), std::set<int>{first});
  const int eager = launch(a), later = launch(c);
  EXPECT_EQ(on(c), (std::set<int>{1, eager, later}));
  EXPECT_EQ(machine.streams.at(c).capture, 0u);
  const int second = launch(b);
  EXPECT_EQ(on(b), (std::set<int>{first, second}));
  endCapture(b);
  const int after = launch(b);
  EXPECT_EQ(on(b), (std::set<int>{1, first, eager, later, second, after}));
}

TEST_F(StreamOrderTest, WithinACaptureTheyFollowEachOther) {
  capture(a);
  launch(a);
  const Queue fork = machine.streams.at(a); // the caller's own event
  machine.streams.at(b).capture = fork.capture, machine.streams.at(c).capture = fork.capture;
  launch(b), launch(c);
  EXPECT_EQ(on(c), (std::set<int>{1, 2, 3}));
  EXPECT_TRUE(waited);
}

// Nobody asks whether a stream is captured as long as it stays the same.
TEST_F(StreamOrderTest, ACaptureThatBeganUnseenIsSeenWhenTheStreamChanges) {
  launch(a);
  capture(a);
  const int first = launch(a);
  machine.streams.at(b).capture = machine.streams.at(a).capture;
  const int second = launch(b);
  EXPECT_TRUE(on(b).count(first) && on(b).count(second));
  endCapture(a);
  const int third = launch(c);
  EXPECT_TRUE(on(c).count(1) && on(c).count(third));
}

TEST_F(StreamOrderTest, TwoCapturesAreNotJoined) {
  capture(a), capture(b);
  launch(a), launch(b);
  EXPECT_NE(machine.streams.at(a).capture, machine.streams.at(b).capture);
  EXPECT_EQ(on(b), std::set<int>{2});
}

TEST_F(StreamOrderTest, WhatIsBeingCapturedCannotBeWaitedFor) {
  launch(a);
  capture(a);
  EXPECT_NE(refusal(b).find("rank 3: its last launch was on a stream that is being captured now"), std::string::npos) << refusal(b);
  EXPECT_EQ(machine.streams.at(b).capture, 0u);
  const auto ended = order.finished();
  ASSERT_FALSE(ended);
  EXPECT_NE(ended.error().text.find("being captured now"), std::string::npos) << ended.error().text;
  EXPECT_EQ(machine.queries, 0) << "a query would end the capture";
  endCapture(a);
  launch(b);
  EXPECT_EQ(on(b), (std::set<int>{1, 2}));
}

TEST_F(StreamOrderTest, AfterSynchronizingThereIsNothingToWaitFor) {
  launch(a);
  machine.busy = {a};
  auto ended = order.finished();
  ASSERT_TRUE(ended);
  EXPECT_FALSE(*ended);
  machine.busy = {};
  ended = order.finished();
  ASSERT_TRUE(ended);
  EXPECT_TRUE(*ended);
  machine.streams.erase(a); // which the caller may now
  launch(b);
  EXPECT_FALSE(waited);
  capture(b);
  EXPECT_NE(refusal(c), "");
}

// Of a capture that goes on the order stays, whatever is waited for meanwhile.
TEST_F(StreamOrderTest, ACaptureOutlivesSynchronizing) {
  capture(a);
  launch(a);
  const auto ended = order.finished();
  EXPECT_TRUE(ended && *ended);
  machine.streams.at(b).capture = machine.streams.at(a).capture;
  launch(b);
  EXPECT_EQ(on(b), (std::set<int>{1, 2}));
}

TEST_F(StreamOrderTest, AHandleUsedAgainIsAnotherStream) {
  launch(a);
  machine.streams.erase(a), open(a);
  for (CUstream next : {a, b}) {
    const std::string text = refusal(next);
    EXPECT_NE(text.find("the stream of its last launch has been destroyed"), std::string::npos) << text;
  }
  EXPECT_FALSE(order.finished());
  launch(b); // said once, by whoever waits
}

// The handle is the same in every thread, and the stream is not.
TEST_F(StreamOrderTest, EachThreadHasADefaultStreamOfItsOwn) {
  const CUstream mine = CU_STREAM_PER_THREAD;
  open(mine);
  launch(mine), launch(mine);
  EXPECT_FALSE(waited);
  open(mine); // that of another thread
  launch(mine);
  EXPECT_TRUE(waited);
  EXPECT_EQ(on(mine), (std::set<int>{1, 2, 3}));
  launch(b);
  EXPECT_EQ(on(b), (std::set<int>{1, 2, 3, 4}));
  launch(mine);
  machine.streams.erase(mine);
  const auto ended = order.finished();
  EXPECT_TRUE(ended && *ended);
}

TEST_F(StreamOrderTest, LeavesNoEvents) {
  { StreamOrder other(fakeCuda(), gpu, 0); ASSERT_TRUE(other.create()); }
  EXPECT_EQ(machine.made, 2); // of the test's own
}

} // namespace
