#include "tool/BenchRequest.h"

#include "tool/OrFail.h"
#include "tool/Selection.h"
#include "tool/Sizes.h"
#include "tool/Source.h"

#include <llvm/ADT/StringRef.h>

#include <algorithm>

using namespace coll;
using namespace coll::tool;

/// Whose values are files that are written.
static bool isOutput(std::string_view option) {
  return option == "--json" || option == "--csv" || option == "--plot" || option == "--trace" || option == "-o";
}

/// Files without their folders, which mean nothing elsewhere.
static std::string withoutFolders(const std::string &list) {
  std::string text;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    const std::string word = list.substr(at, comma - at);
    text += (at ? "," : "") + word.substr(word.rfind('/') + 1);
    at = comma + 1;
  }
  return text;
}

std::string coll::tool::commandText(const Verb &verb, const Arguments &arguments) {
  std::string text = "coll " + std::string(verb.name) + " " + withoutFolders(arguments.what());
  for (const Option &option : verb.options)
    if (arguments.has(option.name) && !isOutput(option.name))
      text += " " + std::string(option.name) + (option.value.empty() ? "" : " " + withoutFolders(arguments.text(option.name)));
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

/// CTAS x THREADS.
static Shape pickShape(const Arguments &arguments) {
  const std::string text = arguments.text("--shape", "");
  if (text.empty()) return {};
  unsigned ctas = 0, threads = 0;
  const auto [c, t] = llvm::StringRef(text).split('x');
  if (c.getAsInteger(10, ctas) || t.getAsInteger(10, threads) || ctas < 1 || threads < 32 || threads > 1024)
    throw Failure{Exit::BadInput, "`--shape " + text + "` is not a number of CTAs and one of threads from 32 to 1024",
                  "write it as 32x512"};
  return {ctas, threads, 0};
}

/// The sizes as extents; each rounded down to whole elements of the one extent that is not set.
static std::vector<std::pair<std::uint64_t, Extents>> pickExtents(const Manifest &manifest, const Sizes &given,
                                                                  const std::vector<std::uint64_t> &sizes) {
  const std::vector<std::string> open = openExtents(manifest, given);
  if (open.size() != 1)
    throw Failure{Exit::BadInput, "`-b` and `-e` need exactly one extent that is not set",
                  open.empty() ? "all are set already" : "set all but one of " + join(open) + " with --set"};
  std::vector<std::pair<std::uint64_t, Extents>> result;
  for (std::uint64_t bytes : sizes) {
    Extents extents = given.extents;
    const std::uint64_t count = countWithin(manifest, given.extents, open.front(), bytes);
    extents[open.front()] = count;
    const std::uint64_t exact = bytesOf(manifest, extents);
    if (count == 0 || (!result.empty() && result.back().first == exact)) continue;
    result.emplace_back(exact, extents);
  }
  if (result.empty())
    throw Failure{Exit::BadInput,
                  "no size from `-b` to `-e` has an element: one is " + std::to_string(bytesOf(manifest, given.extents)) + " bytes"};
  return result;
}

/// Drops what has no in-place form, and what does not belong together.
static std::vector<Kernel> pickKernels(const Program &program, const Arguments &arguments) {
  CompileOptions options;
  options.unchecked = arguments.has("--unchecked");
  options.strict = arguments.has("--strict");
  std::vector<Kernel> kernels;
  const std::vector<const Member *> members = pickMembersToRun(program, arguments);
  // Without multicast, what uses it is loops that others have too.
  const bool all = arguments.has("--algo") ||
                   std::all_of(members.begin(), members.end(), [](const Member *m) { return m->usesMulticast; });
  for (const Member *member : members) {
    if (member->usesMulticast && !all) continue;
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
    askForMeaning(kernel, arguments);
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

/// The same with stamps.
static std::vector<Kernel> tracedKernels(const Program &program, const std::vector<Kernel> &kernels,
                                         const Arguments &arguments) {
  CompileOptions options;
  options.unchecked = arguments.has("--unchecked");
  options.strict = arguments.has("--strict");
  options.trace = true;
  std::vector<Kernel> traced;
  for (const Kernel &kernel : kernels)
    traced.push_back(
        compileInstance(program, pickInstance(*program.find(kernel.manifest.member), arguments), options));
  return traced;
}

bench::Request coll::tool::benchRequest(const Program &program, const Arguments &arguments) {
  bench::Request request;
  if (arguments.has("--graph") && arguments.has("--eager"))
    throw Failure{Exit::BadInput, "`--graph` and `--eager` exclude each other"};
  request.graph = !arguments.has("--eager");
  request.inplace = arguments.has("--inplace");
  request.shape = pickShape(arguments);
  request.counts = pickCounts(arguments, {"most", "half", "none"});
  request.nccl = arguments.has("--against") && arguments.choice("--against", {"nccl"}) == "nccl";
  for (const std::string &file : arguments.words("--rival"))
    request.handWritten.push_back(orFail(bench::HandWritten::parse(file, orFail(readSource(file)))));
  request.operations = static_cast<unsigned>(arguments.number("--ops", request.operations, 50, 1000));
  request.replays = static_cast<unsigned>(arguments.number("--replays", request.replays, 20, 100'000));
  request.timeoutSeconds = arguments.seconds("--timeout", request.timeoutSeconds);
  const std::vector<std::uint64_t> sizes = pickBytes(arguments);
  request.kernels = pickKernels(program, arguments);
  if (arguments.has("--trace")) request.traced = tracedKernels(program, request.kernels, arguments);
  const Manifest &manifest = request.kernels.front().manifest;
  const Sizes given = pickSizes(manifest, arguments);
  request.scalars = given.scalars, request.fixed = given.extents;
  request.sizes = pickExtents(manifest, given, sizes);
  return request;
}
