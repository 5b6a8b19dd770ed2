// Runs an instance many times in a row with fresh inputs and compares every element of every launch of every rank with
// a reference computed on the host. What `coll run` and the matrices of tests call.
#pragma once

#include "coll/coll.h"

namespace coll {

enum class Place { Auto, Cpu, Gpu };

/// What arguments hold that say how many elements there are: anything from none to the most, none and the most often; or
/// all the same.
enum class Counted { Random, Most, Half, None };

struct RunRequest {
  Instance instance;
  CompileOptions compile = {};

  Extents extents = {};                            ///< fixed ones by name; must have all unless randomCounts
  std::map<std::string, std::string> scalars = {}; ///< by name, as written: "2", "1e-6"; a missing rank, or
                                                   ///< whole number that decides anything, changes from launch to launch
                                                   ///< (ScalarDraw.h), others are 0
  bool randomCounts = false;                       ///< other values for the extents missing in `extents` at each launch
  std::uint64_t maxElements =
      0; ///< the most elements of the domain's vector with randomCounts; 0: its capacity, or 2048 on the CPU
  unsigned launches = 20; ///< back to back, without host synchronisation between them
  std::vector<Shape> shapes = {}; ///< of launches by turns, where that is not left to the rule of sizes
  bool graph = false;     ///< captured, graphLaunches at a time, and replayed with fresh inputs
  unsigned graphLaunches = 20;
  Counted counts = Counted::Random;
  bool multicast = true;      ///< as ContextOptions has it
  bool inplace = false;       ///< every pair that the contract allows uses the same memory
  unsigned elementOffset = 0; ///< of every buffer from 256-byte alignment
  std::uint64_t seed = 1;     ///< of inputs and counts
  std::uint32_t firstEpoch = 1; ///< the number of the first launch, at most LaunchPlan::lastEpoch() + 1

  Place place = Place::Auto; ///< Auto: GPUs where there are any, else the CPU
  int gpus = 0;              ///< how many to use; 0: all
  FabricKind fabric = FabricKind::Auto;
  double timeoutSeconds = 20;
};

struct RankReport {
  std::uint64_t checked = 0; ///< elements of outputs
  std::uint64_t wrong = 0;
  std::string firstWrong; ///< "launch 17, `y`[203] of 4096: is 1.5, should be 2.5"; empty if none
};

struct RunReport {
  bool passed = false;
  std::string place;     ///< Context::describe()
  std::string reference; ///< what the outputs were compared with, for a person
  unsigned launches = 0;
  unsigned batches = 1;    ///< the host synchronised between these; more than one only where memory asks for it
  double milliseconds = 0; ///< from the first launch to the end of the last, all batches
  double kernelCompileMilliseconds = 0;
  std::vector<RankReport> ranks;
};

/// Error if it could not be run or could not be compared; a run with wrong elements is a report with `passed` false.
Result<RunReport> run(const Program &program, const RunRequest &request);

/// The same with a kernel compiled by the caller; `request.instance` and `request.compile` are not used.
Result<RunReport> run(const Kernel &kernel, const RunRequest &request);

/// What runs of several kernels share, where making it takes long: on GPUs contexts of the driver and communicators. Made
/// at the first run, and anew for another number of ranks; a run that fails leaves nothing behind.
class RunSeries {
public:
  RunSeries();
  ~RunSeries();
  /// As `run`, for requests that ask for the same place.
  Result<RunReport> run(const Kernel &kernel, const RunRequest &request);

private:
  std::unique_ptr<Context> context;
};

/// Launches of several kernels, all for as many ranks, one after the other in random order, sizes and scalars changing.
/// With `graph` from four graphs for each rank, of 1, 2, 3 and 5 launches, replayed in random order with single launches
/// between. Sizes of the request are not used but for maxElements.
Result<RunReport> runMixed(std::span<const Kernel> kernels, const RunRequest &request);

} // namespace coll
