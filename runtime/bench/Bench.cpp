#include "bench/Bench.h"

#include "bench/SizeRun.h"

namespace coll::bench {

Result<void> run(const Request &request, Report &report) {
  Stage stage(request, report);
  if (auto done = stage.prepare(); !done) return done;
  for (const auto &[bytes, extents] : request.sizes)
    if (auto done = SizeRun(stage, bytes, extents).measure(); !done) return done;
  if (request.graph && !stage.watch->gatesWork())
    report.notes.push_back(
        "the ranks' replays did not begin together: the driver does not queue behind a waiting kernel");
  return {};
}

} // namespace coll::bench
