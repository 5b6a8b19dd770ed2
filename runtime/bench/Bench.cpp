#include "bench/Bench.h"

#include "bench/SizeRun.h"

namespace coll::bench {

namespace {

void noteGates(const Stage &stage) {
  if (stage.request.graph && !stage.watch->gatesWork())
    stage.report.notes.push_back(
        "the ranks' replays did not begin together: the driver does not queue behind a waiting kernel");
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
  return {};
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
