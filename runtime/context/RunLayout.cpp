#include "context/RunLayout.h"

#include "coll/Extent.h"

#include "context/Parallel.h"
#include "context/Parameters.h"
#include "context/Values.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace coll {
namespace {

constexpr std::uint64_t kAlignment = 256;
constexpr std::uint64_t kGuard = 64; ///< at least so many bytes behind a buffer hold kFill

std::string baseOf(const std::string &name) {
  return name.substr(0, name.find('['));
}

/// Most random sizes are at most this: a race shows at any size, and small launches are many in a second.
constexpr std::uint64_t kUsualElements = 32768;

/// A size between 0 and `most`: any order of magnitude alike, small ones and whole multiples often.
std::uint64_t randomSize(std::uint64_t random, std::uint64_t most) {
  if (random % 4 == 0) return std::min<std::uint64_t>(random / 4 % 34, most);
  if (random / 4 % 16) most = std::min(most, kUsualElements);
  const double exponent = double(random >> 11) * 0x1p-53 * std::log2(double(most) + 1);
  const auto size = std::uint64_t(std::exp2(exponent));
  // For the path of one whole packet a thread.
  return std::min(random % 4 != 1 && size >= 64 ? size / 64 * 64 : size, most);
}

} // namespace

Result<RunLayout> RunLayout::create(const Manifest &manifest, const RunRequest &request, std::uint64_t maxElements,
                                    std::shared_ptr<const ScalarDraw> draw) {
  RunLayout layout(manifest, request);
  layout.draw = draw ? std::move(draw) : std::make_shared<const ScalarDraw>(manifest, nullptr);
  layout.maxElements = manifest.capacity ? std::min(maxElements, manifest.capacity) : maxElements;
  for (const std::string &extent : manifest.extents)
    if (!request.extents.count(extent)) layout.open.push_back(extent);
  if (!layout.open.empty() && !request.randomCounts)
    return Error{Error::Code::BadInput,
                 "the extent `" + layout.open.front() + "` of `" + manifest.collective + "` has no value"};
  for (const auto &[name, value] : request.extents)
    if (std::find(manifest.extents.begin(), manifest.extents.end(), name) == manifest.extents.end())
      return Error{Error::Code::BadInput, "`" + manifest.collective + "` has no extent `" + name + "`"};
  if (layout.open.empty()) {
    std::vector<std::uint64_t> extents;
    for (const std::string &name : manifest.extents) extents.push_back(request.extents.at(name));
    if (auto good = layout.checkSize(extents); !good) return good.error();
  }
  for (const auto &[name, text] : request.scalars)
    for (const Manifest::Scalar &scalar : manifest.scalars)
      if (scalar.name == name && !isScalar(text, scalar.type))
        return Error{Error::Code::BadInput, "`" + name + "` is no " + scalar.type + ": " + text};
  for (const Manifest::Scalar &scalar : manifest.scalars)
    if (const auto given = request.scalars.find(scalar.name); given != request.scalars.end())
      if (const Scalar value = parseScalar(given->second, scalar.type); !isAllowed(scalar, value))
        return Error{Error::Code::BadInput, scalarBeyond(manifest, scalar, value)};
  return layout;
}

/// A size that cannot be run is refused before its inputs are made.
Result<void> RunLayout::checkSize(std::span<const std::uint64_t> extents) const {
  constexpr std::uint64_t kMostElements = 1ull << 34;
  const LaunchPlan plan(manifest);
  std::uint64_t most = plan.mostElements(extents);
  if (auto good = plan.checkCapacity(extents); !good) return good;
  for (std::size_t i = 0; i < manifest.arguments.size(); ++i)
    most = std::max(most, plan.argumentElements(i, extents));
  if (most > kMostElements)
    return Error{Error::Code::BadInput, "`" + manifest.member + "`: " + std::to_string(most) +
                                            " elements are more than can be run here"};
  return {};
}

static bool isIn(const std::vector<std::string> &domain, const std::string &name) {
  return std::any_of(domain.begin(), domain.end(), [&](const std::string &extent) { return mentions(extent, name); });
}

/// Where extents are worked out of others, or short rows take whole packets each, `roomFor` may give them too much: halves
/// the largest until all vectors fit.
void RunLayout::makeFit(Extents &extents) const {
  const LaunchPlan plan(manifest);
  const auto fits = [&] {
    std::vector<std::uint64_t> values;
    for (const std::string &name : manifest.extents) values.push_back(extents.at(name));
    return plan.checkExtents(values) && plan.mostElements(values) <= maxElements;
  };
  while (!fits()) {
    const auto largest = std::max_element(open.begin(), open.end(), [&](const std::string &a, const std::string &b) {
      return extents.at(a) < extents.at(b);
    });
    if (largest == open.end() || extents[*largest] == 0) return;
    extents[*largest] /= 2;
    if (manifest.domain.rows && mentions(manifest.domain.extents.back(), *largest))
      extents[*largest] -= extents[*largest] % std::max<std::uint64_t>(1, manifest.rowUnit); // whole groups
  }
}

/// What the extents chosen so far leave of a domain, shared out evenly among those to come: the least of all that the
/// extent is in.
double RunLayout::roomFor(std::size_t extent, const Extents &chosen) const {
  const auto roomIn = [&](const std::vector<std::string> &domain, double most, bool only) {
    const Manifest::Argument vector{"", Direction::In, manifest.dtype, domain};
    const auto rest = std::count_if(open.begin() + long(extent), open.end(), [&](const std::string &name) {
      return !only || isIn(domain, name);
    });
    return std::pow(most / double(std::max<std::uint64_t>(1, manifest.elements(vector, chosen))), 1.0 / double(rest));
  };
  if (manifest.otherDomains.empty()) return roomIn(manifest.domain.extents, double(maxElements), false);
  double least = double(maxElements);
  const auto within = [&](const std::vector<std::string> &domain, double most) {
    if (isIn(domain, open[extent])) least = std::min(least, roomIn(domain, most, true));
  };
  within(manifest.domain.extents, least);
  for (const Manifest::OtherDomain &other : manifest.otherDomains)
    within(other.extents, other.capacity ? std::min(double(maxElements), double(other.capacity)) : double(maxElements));
  return least;
}

Extents RunLayout::chooseExtents(std::uint64_t number) const {
  // Empty vectors now and then: who sends nothing waits for nobody. More often where others are not empty then.
  // For as many launches in a row as may lie between two uses of a slot, which its copies say.
  const std::uint64_t rarity = manifest.otherDomains.empty() ? 16 : 8, inARow = 1 + mix(request.seed, 0xe3b6) % 8;
  Extents extents = request.extents;
  for (const std::string &name : manifest.extents) extents.try_emplace(name, 1);
  for (std::size_t i = 0; i < open.size(); ++i) {
    extents[open[i]] = randomSize(mix(mix(request.seed, number), i + 1), std::uint64_t(std::max(1.0, roomFor(i, extents))));
    const auto fitRow = [&](bool rows, const std::string &length, unsigned unit) {
      if (!rows || !mentions(length, open[i])) return;
      extents[open[i]] = std::min(extents[open[i]], LaunchPlan(manifest).mostRowElements());
      if (unit > 1) extents[open[i]] = std::max<std::uint64_t>(1, extents[open[i]] / unit) * unit; // whole groups
    };
    fitRow(manifest.domain.rows, manifest.domain.extents.back(), manifest.rowUnit);
    for (const Manifest::OtherDomain &other : manifest.otherDomains) fitRow(other.rows, other.extents.back(), other.rowUnit);
  }
  const auto computed = [](const Manifest::Argument &argument) {
    return std::any_of(argument.extents.begin(), argument.extents.end(), [](const std::string &e) { return isComputed(e); });
  };
  const auto byRows = [](const Manifest::OtherDomain &other) { return other.rows; };
  if (manifest.domain.rows || std::any_of(manifest.arguments.begin(), manifest.arguments.end(), computed) ||
      std::any_of(manifest.otherDomains.begin(), manifest.otherDomains.end(), byRows))
    makeFit(extents);
  for (std::size_t i = 0; i < open.size(); ++i)
    if (mix(mix(request.seed, number / inARow), 0xe3b7 + i) % rarity == 0) extents[open[i]] = 0;
  return extents;
}

PlannedLaunch RunLayout::next(std::uint64_t number) {
  PlannedLaunch launch;
  launch.number = number;
  launch.sizes = {chooseExtents(number), draw->at(request, number)};
  for (const Manifest::Scalar &scalar : manifest.scalars) launch.scalars.push_back(launch.sizes.scalars.at(scalar.name));
  for (const std::string &name : manifest.extents) launch.extents.push_back(launch.sizes.extents.at(name));
  for (const Manifest::Argument &argument : manifest.arguments)
    launch.bytes.push_back(manifest.elements(argument, launch.sizes.extents) * sizeOf(argument.dtype));
  place(launch);
  return launch;
}

void RunLayout::place(PlannedLaunch &launch) {
  const std::size_t count = manifest.arguments.size();
  launch.offsets.assign(manifest.ranks, std::vector<std::uint64_t>(count));
  const auto find = [&](const std::string &name) {
    std::size_t i = 0;
    while (i < count && manifest.arguments[i].name != name) ++i;
    return i;
  };
  // part[i]: the argument whose memory argument i is, or lies in, and whether it is rank me's row of it.
  std::vector<std::pair<std::size_t, bool>> part(count, {count, false});
  if (request.inplace)
    for (const auto &[left, right] : manifest.inplace) {
      const bool leftIsPart = left.find('[') != std::string::npos, rightIsPart = right.find('[') != std::string::npos;
      const std::size_t inner = find(baseOf(leftIsPart ? right : left)),
                        outer = find(baseOf(leftIsPart ? left : right));
      if (inner < count && outer < count) part[inner] = {outer, leftIsPart || rightIsPart};
    }
  for (std::size_t i = 0; i < count; ++i) {
    if (part[i].first < count) continue;
    end = (end + kGuard + kAlignment - 1) / kAlignment * kAlignment;
    const std::uint64_t at = end + std::uint64_t(request.elementOffset) * sizeOf(manifest.arguments[i].dtype);
    for (auto &ofRank : launch.offsets) ofRank[i] = at;
    end = at + launch.bytes[i] + kGuard;
  }
  for (std::size_t i = 0; i < count; ++i)
    if (const auto [outer, row] = part[i]; outer < count)
      for (int rank = 0; rank < manifest.ranks; ++rank)
        launch.offsets[rank][i] = launch.offsets[rank][outer] + (row ? rank * launch.bytes[outer] / manifest.ranks : 0);
}

std::uint64_t chooseCount(Counted counts, std::uint64_t most, std::uint64_t random) {
  switch (counts) {
  case Counted::Most: return most;
  case Counted::Half: return most / 2;
  case Counted::None: return 0;
  case Counted::Random: break;
  }
  if (random % 4 < 2) return random % 4 ? most : 0;
  return random / 4 % (most + 1);
}

/// Of what a rank's argument holds at a launch.
std::uint64_t RunLayout::keyOf(const PlannedLaunch &launch, int rank, std::size_t argument) const {
  return mix(mix(mix(request.seed, launch.number), manifest.arguments[argument].replicated ? 0 : rank), argument);
}

std::vector<std::byte> RunLayout::counts(const PlannedLaunch &launch, int rank, std::size_t argument) const {
  const Manifest::Argument &declared = manifest.arguments[argument];
  const std::uint64_t most = manifest.elements({"", Direction::In, declared.dtype, declared.bound}, launch.sizes.extents);
  std::vector<std::byte> elements(launch.bytes[argument]);
  const std::uint64_t key = keyOf(launch, rank, argument);
  for (std::uint64_t i = 0, size = sizeOf(declared.dtype); i * size < elements.size(); ++i)
    writeElement(declared.dtype, elements.data() + i * size, chooseCount(request.counts, most, mix(key, i)));
  return elements;
}

std::vector<std::byte> RunLayout::input(const PlannedLaunch &launch, int rank, std::size_t argument) const {
  const DType type = manifest.arguments[argument].dtype;
  std::vector<std::byte> elements(launch.bytes[argument]);
  if (!manifest.arguments[argument].bound.empty()) return counts(launch, rank, argument);
  const std::uint64_t key = keyOf(launch, rank, argument);
  // The reference reduces in ascending order; another order has the same bits only where nothing is rounded.
  const bool exact = manifest.order != "ascending";
  const bool edges = manifest.order == "fixed"; // in no order at all it may be the memory or the network that combines
  const std::uint64_t size = sizeOf(type);
  forRanges(elements.size() / size, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i)
      writeElement(type, elements.data() + i * size,
                   exact ? exactElement(type, manifest.op, edges, mix(key, i)) : testElement(type, mix(key, i)));
  });
  return elements;
}

void RunLayout::fill(std::span<const PlannedLaunch> launches, int rank, std::span<std::byte> memory) const {
  std::fill(memory.begin(), memory.end(), kFill);
  for (const PlannedLaunch &launch : launches)
    for (std::size_t i = 0; i < manifest.arguments.size(); ++i)
      if (manifest.arguments[i].direction != Direction::Out) {
        const std::vector<std::byte> elements = input(launch, rank, i);
        std::copy(elements.begin(), elements.end(), memory.begin() + launch.offsets[rank][i]);
      }
}

} // namespace coll
