#include "bench/Bench.h"

#include "bench/SizeRun.h"

namespace coll::bench {

namespace {

void noteGates(const Stage &stage) {
  if (stage.request.graph && !stage.watch->gatesWork())
    stage.report.notes.push_back(
        "the ranks' replays did not begin together: the driver does not queue behind a waiting kernel");
}

/// After everything that is timed: kernels with stamps are slower.
Result<void> traceAll(Stage &stage) {
  std::vector<Collective> traced;
  for (const Kernel &kernel : stage.request.traced) {
    stage.progress("loading " + kernel.manifest.member + ", traced");
    auto loaded = stage.context->load(kernel);
    if (!loaded) return loaded.error();
    traced.push_back(*loaded);
  }
  if (traced.empty()) return {};
  for (const auto &[bytes, extents] : stage.request.sizes)
    if (auto done = SizeRun(stage, bytes, extents).trace(traced); !done) return done;
  return {};
}

} // namespace

Result<void> run(const Request &request, Report &report) {
  Stage stage(request, report);
  if (auto done = stage.prepare(); !done) return done;
  for (const auto &[bytes, extents] : request.sizes) {
    if (auto done = SizeRun(stage, bytes, extents).measure(); !done) return done;
    if (request.select) report.selected[bytes] = request.select(bytes, report.machine);
  }
  noteGates(stage);
  return traceAll(stage);
}

Result<void> tune(const Request &request, const std::vector<TuneSpace> &spaces, Report &report) {
  Stage stage(request, report);
  if (auto done = stage.prepare(); !done) return done;
  for (const auto &[bytes, extents] : request.sizes)
    if (auto done = SizeRun(stage, bytes, extents).tune(spaces); !done) return done;
  noteGates(stage);
  return {};
}

} // namespace coll::bench
