// `coll bench`: how long members take on the GPUs here, over sizes, beside NCCL and the least that is possible.
#include "bench/Bench.h"
#include "tool/BenchRequest.h"
#include "tool/OrFail.h"
#include "tool/Output.h"
#include "tool/Selection.h"
#include "tool/SelectionOptions.h"
#include "tool/Sizes.h"
#include "tool/Source.h"

#include <algorithm>

using namespace coll;
using namespace coll::tool;

namespace coll::tool {
extern const Verb benchVerb;
} // namespace coll::tool

/// Writes what was asked for; also what there is when the run ended early.
static void writeFiles(const bench::Report &report, const Arguments &arguments) {
  if (arguments.has("--json")) writeResult(arguments.text("--json"), bench::toJson(report));
  if (arguments.has("--csv")) writeResult(arguments.text("--csv"), bench::toCsv(report));
  if (arguments.has("--trace")) writeResult(arguments.text("--trace"), bench::toChromeTrace(report.traced));
  if (arguments.has("--plot")) writeResult(arguments.text("--plot"), bench::toSvg(bench::plotOf(report)));
}

/// What selection takes for a size, NCCL only where it is measured.
static std::function<std::string(std::uint64_t, const std::string &)>
selectionOf(const Program &program, const Manifest &manifest, const Arguments &arguments) {
  SelectionOptions options = selectionOptions(arguments);
  options.nccl = arguments.has("--against");
  options.algorithm = arguments.text("--algo");
  Call call{0, manifest.dtype, manifest.ranks, arguments.has("--inplace"), manifest.op.value_or(ReduceOp::Sum)};
  return [&program, collective = manifest.collective, options, call](std::uint64_t bytes,
                                                                     const std::string &machine) mutable {
    if (options.gpu.empty()) options.gpu = machine.substr(std::min(machine.size(), machine.find(" x ") + 3));
    call.bytes = bytes;
    const auto selector = Selector::create(program, collective, options);
    return selector ? selector->choose(call).name : std::string();
  };
}

static Exit benchAll(const Arguments &arguments) {
  const auto program = loadProgram(arguments.what());
  bench::Request request = benchRequest(*program, arguments);
  request.select = selectionOf(*program, request.kernels.front().manifest, arguments);
  std::size_t width = 5;
  for (const std::string &name : bench::rivalNames(request)) width = std::max(width, name.size());

  Progress progress;
  request.progress = [&](const std::string &text) { progress.show("bench: " + text); };
  request.onStart = [&](const bench::Report &report) {
    progress.clear();
    print(bench::heading(report) + bench::tableHead(report, width));
  };
  request.onRow = [&](const bench::Row &row) {
    progress.clear();
    print(bench::tableRow(row, width));
  };
  bench::Report report;
  report.command = commandText(benchVerb, arguments);
  const Result<void> done = bench::run(request, report);
  progress.clear();
  if (!done && done.error().code == Error::Code::MachineLacks)
    throw Failure{Exit::Lacking, done.error().text,
                  std::string("times are taken on GPUs alone; those of emulated ranks would mean nothing") +
                      (arguments.has("-n") ? "" : ". With fewer than 8 GPUs say how many: `-n 2`")};
  if (!report.rows.empty()) {
    writeFiles(report, arguments);
    print("\n" + bench::summary(report) + bench::selectionText(report) + bench::traceText(report.traced));
    for (const std::string &note : report.notes) print("note: " + note + "\n");
  }
  orFail(done);
  if (report.good()) return Exit::Good;
  printMessage("coll: error: results are wrong, or figures below the floor; see the column `check`\n");
  return Exit::Refuted;
}

namespace coll::tool {
const Verb benchVerb{
    "bench",
    "WHAT",
    "latency tables over sizes, verified, beside NCCL and the least that is possible",
    {option::algo,
     option::ranks,
     option::dtype,
     option::op,
     {"-b", "MIN", "the least bytes of the largest argument, as in nccl-tests; 8 if not given"},
     {"-e", "MAX", "the most; 1Mi if not given"},
     {"-f", "FACTOR", "from one size to the next; 2 if not given"},
     option::set,
     {"--graph", "", "from replayed CUDA graphs; so if neither is given"},
     {"--eager", "", "launched one by one, the host's time included"},
     {"--inplace", "", "inputs and outputs in the same memory"},
     {"--counts", "most|half|none", "of messages that say how long they are; most if not given"},
     {"--against", "nccl", "measure NCCL in the same run, with ordinary memory and with symmetric windows"},
     {"--rival", "F.cu,...", "kernels written by hand, measured in the same run: test/perf/rivals"},
     {"--ops", "K", "operations timed together; 50 if not given, fewer above 4 MiB"},
     {"--replays", "R", "how often; 40 if not given. p99 of fewer than 100 is the maximum"},
     {"--timeout", "SECONDS", "how long anything is waited for; 15 if not given"},
     {"--json", "F", "write everything as JSON to F"},
     {"--csv", "F", "the table as CSV"},
     {"--trace", "F", "what happens within each kernel, as a Chrome trace: from a build with clock stamps"},
     {"--plot", "F.svg", "latency over size as a picture"},
     option::table,
     {"--shape", "CxT", "C CTAs of T threads for every size, as far as they fit; by the rule if not given"},
     {"--strict", "", "as `coll emit` has it: shows what the fences cost"},
     {"--unchecked", "", "members, too, that the checker refutes"}},
    "coll bench allreduce -n 2 --against nccl --plot allreduce.svg\n"
    "coll bench allreduce -n 2 --algo oneshot.ll --dtype bf16 -b 16 -e 64Ki -f 4\n",
    benchAll};
} // namespace coll::tool
