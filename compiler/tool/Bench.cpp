// `coll bench`: how long members take on the GPUs here, over sizes, beside NCCL and the least that is possible.
#include "bench/Bench.h"
#include "tool/OrFail.h"
#include "tool/Output.h"
#include "tool/Selection.h"
#include "tool/Sizes.h"
#include "tool/Source.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace coll;
using namespace coll::tool;

/// The command as it was typed, less what does not matter: for the records.
static std::string commandText(const Verb &verb, const Arguments &arguments) {
  std::string text = "coll " + std::string(verb.name) + " " + arguments.what();
  for (const Option &option : verb.options)
    if (arguments.has(option.name))
      text += " " + std::string(option.name) + (option.value.empty() ? "" : " " + arguments.text(option.name));
  return text;
}

/// From MIN to MAX, each FACTOR times the one before, as bytes of the largest argument.
static std::vector<std::uint64_t> pickBytes(const Arguments &arguments) {
  const std::uint64_t least = arguments.number("-b", 8, 1, 1ull << 40);
  const std::uint64_t most = arguments.number("-e", std::max<std::uint64_t>(least, 1 << 20), 1, 1ull << 40);
  const std::uint64_t factor = arguments.number("-f", 2, 2, 1 << 20);
  if (most < least)
    throw Failure{Exit::BadInput,
                  "`-e " + arguments.text("-e") + "` is less than `-b " + arguments.text("-b", "8") + "`"};
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = least; bytes <= most; bytes *= factor) sizes.push_back(bytes);
  return sizes;
}

/// The sizes as extents; each rounded down to whole elements of the one extent that is not set.
static std::vector<std::pair<std::uint64_t, Extents>> pickExtents(const Manifest &manifest, const Sizes &given,
                                                                  const std::vector<std::uint64_t> &sizes) {
  const std::vector<std::string> open = openExtents(manifest, given);
  if (open.size() != 1)
    throw Failure{Exit::BadInput, "`-b` and `-e` need exactly one extent that is not set",
                  open.empty() ? "all are set already" : "set all but one of " + join(open) + " with --set"};
  const std::uint64_t unit = bytesPerElement(manifest, given.extents);
  std::vector<std::pair<std::uint64_t, Extents>> result;
  for (std::uint64_t bytes : sizes) {
    const std::uint64_t count = bytes / unit;
    if (count == 0 || (!result.empty() && result.back().first == count * unit)) continue;
    result.emplace_back(count * unit, given.extents);
    result.back().second[open.front()] = count;
  }
  if (result.empty())
    throw Failure{Exit::BadInput,
                  "no size from `-b` to `-e` has an element: one is " + std::to_string(unit) + " bytes"};
  return result;
}

/// Drops what has no in-place form, and what does not belong together.
static std::vector<Kernel> pickKernels(const Program &program, const Arguments &arguments) {
  CompileOptions options;
  options.unchecked = arguments.has("--unchecked");
  std::vector<Kernel> kernels;
  for (const Member *member : pickMembersToRun(program, arguments)) {
    if (!kernels.empty() && member->collective != kernels.front().manifest.collective)
      throw Failure{Exit::BadInput, "`" + arguments.what() + "` has more than one collective",
                    "pick the members of one with --algo: " + kernels.front().manifest.member + ", " + member->name};
    Kernel kernel = compileInstance(program, pickInstance(*member, arguments), options);
    if (!kernels.empty() && (kernel.manifest.ranks != kernels.front().manifest.ranks ||
                             kernel.manifest.dtype != kernels.front().manifest.dtype))
      throw Failure{Exit::BadInput,
                    "`" + kernels.front().manifest.member + "` and `" + member->name +
                        "` are not offered for the same ranks and types",
                    "give -n and --dtype"};
    if (arguments.has("--inplace") && kernel.manifest.inplace.empty()) continue;
    kernels.push_back(std::move(kernel));
  }
  if (kernels.empty()) throw Failure{Exit::BadInput, "no member picked can be run in place"};
  return kernels;
}

static bench::Request requestFrom(const Program &program, const Arguments &arguments) {
  bench::Request request;
  if (arguments.has("--graph") && arguments.has("--eager"))
    throw Failure{Exit::BadInput, "`--graph` and `--eager` exclude each other"};
  request.graph = !arguments.has("--eager");
  request.inplace = arguments.has("--inplace");
  request.nccl = arguments.has("--against") && arguments.choice("--against", {"nccl"}) == "nccl";
  request.operations = static_cast<unsigned>(arguments.number("--ops", request.operations, 50, 1000));
  request.replays = static_cast<unsigned>(arguments.number("--replays", request.replays, 20, 100'000));
  request.timeoutSeconds = arguments.seconds("--timeout", request.timeoutSeconds);
  const std::vector<std::uint64_t> sizes = pickBytes(arguments);
  request.kernels = pickKernels(program, arguments);
  const Manifest &manifest = request.kernels.front().manifest;
  const Sizes given = pickSizes(manifest, arguments);
  request.scalars = given.scalars;
  request.sizes = pickExtents(manifest, given, sizes);
  return request;
}

namespace coll::tool {
extern const Verb benchVerb;
} // namespace coll::tool

/// Writes what was asked for; also what there is when the run ended early.
static void writeFiles(const bench::Report &report, const Arguments &arguments) {
  if (arguments.has("--json")) writeResult(arguments.text("--json"), bench::toJson(report));
  if (arguments.has("--csv")) writeResult(arguments.text("--csv"), bench::toCsv(report));
  if (arguments.has("--plot")) writeResult(arguments.text("--plot"), bench::toSvg(bench::plotOf(report)));
}

static Exit benchAll(const Arguments &arguments) {
  const auto program = loadProgram(arguments.what());
  bench::Request request = requestFrom(*program, arguments);
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
                  "times are taken on GPUs alone; those of emulated ranks would mean nothing"};
  if (!report.rows.empty()) {
    writeFiles(report, arguments);
    print("\n" + bench::summary(report));
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
     {"--against", "nccl", "measure NCCL in the same run, with ordinary memory and with symmetric windows"},
     {"--ops", "K", "operations timed together; 50 if not given, fewer above 4 MiB"},
     {"--replays", "R", "how often; 40 if not given"},
     {"--timeout", "SECONDS", "how long anything is waited for; 15 if not given"},
     {"--json", "F", "write everything as JSON to F"},
     {"--csv", "F", "the table as CSV"},
     {"--plot", "F.svg", "latency over size as a picture"},
     {"--unchecked", "", "members, too, that the checker refutes"}},
    "coll bench allreduce -n 2 --against nccl --plot allreduce.svg\n"
    "coll bench allreduce -n 2 --algo oneshot.ll --dtype bf16 -b 16 -e 64Ki -f 4\n",
    benchAll};
} // namespace coll::tool
