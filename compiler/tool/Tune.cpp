// `coll tune`: searches the shapes that members declare, on the GPUs here, and writes the table that selection reads; or
// makes that table from measurements that there are.
#include "bench/Tune.h"
#include "coll/coll.h"
#include "selection/FromReport.h"
#include "tool/BenchRequest.h"
#include "tool/OrFail.h"
#include "tool/Output.h"
#include "tool/Selection.h"
#include "tool/Sizes.h"
#include "tool/Source.h"

#include <filesystem>

using namespace coll;
using namespace coll::tool;

namespace coll::tool {
extern const Verb tuneVerb;
} // namespace coll::tool

/// The table that is to be added to: the file that is written, if it is one already.
static selection::Table oldTable(const Arguments &arguments) {
  const std::string file = arguments.text("-o");
  std::error_code error;
  if (file.empty() || !std::filesystem::exists(file, error)) return {};
  const std::string text = orFail(readSource(file));
  return text.empty() ? selection::Table{} : orFail(selection::Table::parse(text, file));
}

static Exit fromReports(const Arguments &arguments) {
  selection::Table table = oldTable(arguments);
  for (const std::string &file : arguments.words("--from")) {
    selection::Section section = orFail(selection::sectionOfJson(orFail(readSource(file)), file));
    if (section.collective != arguments.what())
      throw Failure{Exit::BadInput, "`" + file + "` measured `" + section.collective + "`, not `" + arguments.what() + "`"};
    selection::merge(table, std::move(section));
  }
  writeResult(arguments.text("-o"), table.toJson());
  return Exit::Good;
}

/// What members declare under `tune`, beside the shape rule.
static std::vector<bench::TuneSpace> spacesOf(const Program &program, const std::vector<Kernel> &kernels) {
  std::vector<bench::TuneSpace> spaces;
  for (const Kernel &kernel : kernels) {
    bench::TuneSpace space;
    for (const auto &[name, values] : program.find(kernel.manifest.member)->tune) {
      std::vector<unsigned> &axis = name == "ctas" ? space.ctas : space.threads;
      for (std::uint64_t value : values) axis.push_back(unsigned(std::min<std::uint64_t>(value, 1 << 20)));
    }
    spaces.push_back(std::move(space));
  }
  return spaces;
}

static std::string lineOf(const bench::Row &row) {
  char text[200];
  std::snprintf(text, sizeof text, "  %10llu  %-20s %9.3f us  %s\n", (unsigned long long)row.bytes, row.rival.c_str(),
                row.time.median,
                row.ctas ? (std::to_string(row.ctas) + " x " + std::to_string(row.threads)).c_str() : "");
  return text + (row.wrong ? "  WRONG: " + row.firstWrong + "\n" : std::string());
}

static Exit tune(const Arguments &arguments) {
  if (arguments.has("--from")) return fromReports(arguments);
  if (arguments.has("--on") && arguments.choice("--on", {"gpu", "cpu"}) == "cpu")
    throw Failure{Exit::Lacking, "times of emulated ranks would mean nothing: `tune` needs GPUs",
                  "make a table from measurements of another machine with --from"};
  selection::Table table = oldTable(arguments); // before minutes are spent
  const auto program = loadProgram(arguments.what());
  bench::Request request = benchRequest(*program, arguments);
  request.nccl = !arguments.has("--no-nccl");
  const std::vector<bench::TuneSpace> spaces = spacesOf(*program, request.kernels);

  Progress progress;
  request.progress = [&](const std::string &text) { progress.show("tune: " + text); };
  request.onStart = [&](const bench::Report &report) {
    progress.clear();
    printMessage(bench::heading(report));
  };
  request.onRow = [&](const bench::Row &row) {
    progress.clear();
    printMessage(lineOf(row));
  };
  bench::Report report;
  report.command = commandText(tuneVerb, arguments);
  const Result<void> done = bench::tune(request, spaces, report);
  progress.clear();
  if (!done && done.error().code == Error::Code::MachineLacks)
    throw Failure{Exit::Lacking, done.error().text,
                  std::string("make a table from measurements of another machine with --from") +
                      (arguments.has("-n") ? "" : ". With fewer than 8 GPUs say how many: `-n 2`")};
  orFail(done);
  if (arguments.has("--json")) writeResult(arguments.text("--json"), bench::toJson(report));
  if (!report.good()) {
    printMessage("coll: error: results are wrong, or figures below the floor; no table is written\n");
    return Exit::Refuted;
  }
  selection::merge(table, orFail(selection::sectionOf(report)));
  writeResult(arguments.text("-o"), table.toJson());
  return Exit::Good;
}

namespace coll::tool {
const Verb tuneVerb{
    "tune",
    "WHAT",
    "measure the shapes that members declare, and write the table that selection reads",
    {option::algo,
     option::ranks,
     option::dtype,
     option::op,
     {"-b", "MIN", "the least bytes of the largest argument; 8 if not given"},
     {"-e", "MAX", "the most; 1Mi if not given"},
     {"-f", "FACTOR", "from one size to the next; 2 if not given"},
     option::set,
     {"--inplace", "", "inputs and outputs in the same memory"},
     {"--on", "gpu|cpu", "gpu; times on the CPU would mean nothing"},
     {"--no-nccl", "", "leave NCCL out"},
     {"--replays", "R", "timings of each member's best shape; 40 if not given"},
     {"--timeout", "SECONDS", "how long anything is waited for; 15 if not given"},
     {"--from", "F,F,...", "no measurement: make the table from reports of `coll bench --json`"},
     {"-o", "F", "the table's file, which is added to if it exists; standard output if not given"},
     {"--json", "F", "also everything that was measured, as `coll bench` writes it"},
     {"--unchecked", "", "members, too, that the checker refutes"}},
    "coll tune allreduce -n 2 -o mine.json          then COLL_TABLE=mine.json\n"
    "coll tune allreduce --from a.json,b.json -o defaults.json\n",
    tune};
} // namespace coll::tool
