#include "context/StreamOrder.h"

namespace coll {
namespace {

/// A handle that means another stream in every thread, so that it is of no use to later launches.
bool isPerThread(CUstream stream) {
  return stream == CU_STREAM_PER_THREAD;
}

} // namespace

StreamOrder::~StreamOrder() {
  Current current(cuda, gpu);
  for (CUevent event : {runningEvent, capturedEvent})
    if (event) cuda.cuEventDestroy(event);
}

Result<void> StreamOrder::create() {
  for (CUevent *event : {&runningEvent, &capturedEvent})
    if (auto done = cuda.check(cuda.cuEventCreate(event, CU_EVENT_DISABLE_TIMING), "cuEventCreate"); !done) return done;
  return {};
}

/// What a stream is now. The id is asked for last, as CUDA does not tell it of a stream that is being captured.
Result<StreamOrder::Latest> StreamOrder::look(CUstream stream) const {
  const auto capture = captureOf(stream);
  if (!capture) return capture.error();
  unsigned long long id = 0;
  if (*capture == 0)
    if (auto done = cuda.check(cuda.cuStreamGetId(stream, &id), "cuStreamGetId"); !done) return done.error();
  return Latest{stream, std::uint64_t(id), *capture, false};
}

/// The stream of a launch, as it is now; none if it is gone, and another perhaps has its handle.
std::optional<StreamOrder::Latest> StreamOrder::lookAgain(const Latest &launch) const {
  const auto now = look(launch.stream);
  if (!now || (now->id != 0 && launch.id != 0 && now->id != launch.id)) return {};
  return *now;
}

/// The id of the capture that a stream takes part in; 0 if none.
Result<std::uint64_t> StreamOrder::captureOf(CUstream stream) const {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  const CUresult asked = cuda.cuStreamGetCaptureInfo_v3(stream, &status, &id, nullptr, nullptr, nullptr, nullptr);
  if (auto done = cuda.check(asked, "cuStreamGetCaptureInfo"); !done) return done.error();
  return status == CU_STREAM_CAPTURE_STATUS_NONE ? 0 : std::uint64_t(id);
}

Error StreamOrder::gone() const {
  return {Error::Code::BadInput, "rank " + std::to_string(rank) + ": the stream of its last launch has been destroyed, so "
                                 "that no other can wait for it; keep it to the next synchronize(), or to a launch on "
                                 "another stream"};
}

/// A stream that launches ran on may have begun a capture, which nobody asked while it stayed the same.
void StreamOrder::noteCapture() {
  if (!latest || latest->capture || isPerThread(latest->stream)) return;
  const auto now = lookAgain(*latest);
  if (now && now->capture) captured = *now; // one that is gone matters only if somebody must wait for it
}

/// Makes the next launch's stream wait for that of the one before, if it is another.
Result<bool> StreamOrder::follow(const Latest &before, const Latest &next, CUevent event) {
  if (before.stream == next.stream && before.id == next.id) return false;
  if (!before.recorded) {
    const auto now = lookAgain(before);
    if (!now) return gone();
    if (now->capture != next.capture)
      return Error{Error::Code::BadInput,
                   "rank " + std::to_string(rank) + ": its last launch was on a stream that is being captured now, so that a "
                   "launch on another stream, which is not, cannot wait for it; call synchronize() before the capture, or "
                   "launch when it has ended"};
    if (auto done = cuda.check(cuda.cuEventRecord(event, before.stream), "cuEventRecord"); !done) return done.error();
  }
  if (auto done = cuda.check(cuda.cuStreamWaitEvent(next.stream, event, 0), "cuStreamWaitEvent"); !done) return done.error();
  return true;
}

Result<bool> StreamOrder::follow(CUstream stream) {
  if (!enabled) return false;
  const auto now = look(stream);
  if (!now) return now.error();
  const Latest next = *now;
  if (latest && latest->id == next.id && latest->capture == 0 && next.capture == 0 && !isPerThread(stream)) return false;

  noteCapture();
  auto &before = next.capture ? captured : running;
  bool waits = false;
  if (before && (!next.capture || before->capture == next.capture)) {
    const auto followed = follow(*before, next, next.capture ? capturedEvent : runningEvent);
    if (!followed) return followed.error();
    waits = *followed;
  }
  before = next;
  latest = next;
  return waits;
}

Result<void> StreamOrder::launched() {
  if (!enabled || !latest || !isPerThread(latest->stream)) return {};
  const CUevent event = latest->capture ? capturedEvent : runningEvent;
  if (auto done = cuda.check(cuda.cuEventRecord(event, latest->stream), "cuEventRecord"); !done) return done;
  (latest->capture ? captured : running)->recorded = true;
  return {};
}

Result<bool> StreamOrder::ended(const Latest launch, CUevent event) {
  CUresult result = CUDA_SUCCESS;
  if (launch.recorded) {
    result = cuda.cuEventQuery(event);
  } else {
    const auto now = lookAgain(launch);
    if (!now) {
      running.reset(), latest.reset(); // or nothing could ever be launched or waited for again
      return gone();
    }
    if (now->capture && launch.capture) return true; // nothing of it runs yet
    if (now->capture)
      return Error{Error::Code::BadInput, "rank " + std::to_string(rank) + ": the stream of its last launch is being captured "
                                          "now, and cannot be waited for until that has ended"};
    result = cuda.cuStreamQuery(launch.stream);
  }
  if (result == CUDA_ERROR_NOT_READY) return false;
  if (auto done = cuda.check(result, "a launch"); !done) return done.error();
  return true;
}

Result<bool> StreamOrder::finished() {
  Result<bool> all = true;
  if (running) all = ended(*running, runningEvent);
  // Its graph may have been replayed where it was captured.
  if (all && *all && latest && latest->capture && !isPerThread(latest->stream)) all = ended(*latest, capturedEvent);
  if (all && *all) running.reset(), latest.reset();
  return all;
}

} // namespace coll
