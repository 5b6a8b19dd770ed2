#include "context/Verify.h"

#include "context/Parameters.h"
#include "context/Values.h"
#include "platform/Parallel.h"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace coll {
namespace {

constexpr std::uint64_t kGuardChecked = 64;

/// The verification of one launch.
class LaunchCheck {
public:
  LaunchCheck(const Manifest &manifest, const Reference &reference, const RunLayout &layout,
              const PlannedLaunch &launch)
      : manifest(manifest), reference(reference), launch(launch), reports(manifest.ranks), inputs(manifest.ranks) {
    for (int rank = 0; rank < manifest.ranks; ++rank)
      for (std::size_t i = 0; i < manifest.arguments.size(); ++i)
        inputs[rank].push_back(manifest.arguments[i].direction == Direction::Out ? std::vector<std::byte>()
                                                                                 : layout.input(launch, rank, i));
  }

  void check(int rank, const std::vector<std::byte> &memory) {
    for (std::size_t i = 0; i < manifest.arguments.size(); ++i) {
      const Direction direction = manifest.arguments[i].direction;
      if (direction != Direction::In)
        compare(rank, i, outputOf(rank, i), memory);
      else if (direction == Direction::In && !shared(rank, i))
        compare(rank, i, inputs[rank][i], memory);
      checkGuards(rank, i, memory);
    }
  }

  const Manifest &manifest;
  const Reference &reference;
  const PlannedLaunch &launch;
  std::vector<RankReport> reports;

private:
  /// Where all ranks' outputs are equal they are computed once.
  const std::vector<std::byte> &outputOf(int rank, std::size_t argument) {
    if (!outputs.count(argument) || !reference.sameOnAllRanks())
      outputs[argument] =
          reference.expected(rank, argument, launch.sizes,
                             [&](int r, std::size_t a) -> const std::vector<std::byte> & { return inputs[r][a]; });
    return outputs[argument];
  }

  /// Whether an output lies in the memory of this input.
  bool shared(int rank, std::size_t input) const {
    const std::uint64_t begin = launch.offsets[rank][input], end = begin + launch.bytes[input];
    for (std::size_t i = 0; i < manifest.arguments.size(); ++i) {
      const std::uint64_t other = launch.offsets[rank][i];
      if (i != input && other < end && begin < other + launch.bytes[i]) return true;
    }
    return false;
  }

  void compare(int rank, std::size_t argument, const std::vector<std::byte> &expected,
               const std::vector<std::byte> &memory) {
    const Manifest::Argument &declared = manifest.arguments[argument];
    const std::byte *actual = memory.data() + launch.offsets[rank][argument];
    RankReport &report = reports[rank];
    const std::uint64_t size = sizeOf(declared.dtype), elements = expected.size() / size;
    if (declared.direction != Direction::In) report.checked += elements;
    if (elements == 0 || std::memcmp(actual, expected.data(), expected.size()) == 0) return;
    for (std::uint64_t i = 0; i < elements; ++i) {
      const std::uint64_t is = readElement(declared.dtype, actual + i * size);
      const std::uint64_t should = readElement(declared.dtype, expected.data() + i * size);
      if (sameElement(declared.dtype, is, should, manifest.keepsZeroSign())) continue;
      if (report.wrong++ == 0)
        report.firstWrong = "launch " + std::to_string(launch.number) + scalarsText() + ", `" + declared.name + "`[" +
                            std::to_string(i) + "] of " + std::to_string(elements) + ": is " +
                            elementText(declared.dtype, is) + ", should be " + elementText(declared.dtype, should);
    }
  }

  /// " (root = 2)", empty without scalars.
  std::string scalarsText() const {
    std::string text;
    for (std::size_t i = 0; i < manifest.scalars.size(); ++i) {
      const bool real = isFloatName(manifest.scalars[i].type);
      text += (i ? ", " : " (") + manifest.scalars[i].name + " = " +
              (real ? std::to_string(launch.scalars[i].real) : std::to_string(launch.scalars[i].integer));
    }
    return text.empty() ? text : text + ")";
  }

  void checkGuards(int rank, std::size_t argument, const std::vector<std::byte> &memory) {
    if (shared(rank, argument)) return;
    const std::uint64_t begin = launch.offsets[rank][argument], end = begin + launch.bytes[argument];
    const auto touched = [](std::byte b) { return b != RunLayout::kFill; };
    const auto at = memory.begin();
    if (std::none_of(at + begin - kGuardChecked, at + begin, touched) &&
        std::none_of(at + end, at + end + kGuardChecked, touched))
      return;
    if (reports[rank].wrong++ == 0)
      reports[rank].firstWrong =
          "launch " + std::to_string(launch.number) + " wrote outside `" + manifest.arguments[argument].name + "`";
  }

  std::vector<std::vector<std::vector<std::byte>>> inputs; ///< [rank][argument]
  std::map<std::size_t, std::vector<std::byte>> outputs;
};

} // namespace

void verifyLaunches(const Manifest &manifest, const Reference &reference, const RunLayout &layout,
                    std::span<const PlannedLaunch> launches, std::span<const std::vector<std::byte>> memory,
                    std::vector<RankReport> &reports) {
  std::vector<std::vector<RankReport>> found(launches.size());
  const auto check = [&](std::size_t i) {
    LaunchCheck check(manifest, reference, layout, launches[i]);
    for (int rank = 0; rank < manifest.ranks; ++rank) check.check(rank, memory[rank]);
    found[i] = std::move(check.reports);
  };
  constexpr std::size_t kMostAtATime = 16; // each has copies of its launch's memory
  onAllCores(launches.size(), check, kMostAtATime);

  for (const std::vector<RankReport> &ofLaunch : found)
    for (std::size_t rank = 0; rank < ofLaunch.size(); ++rank) {
      reports[rank].checked += ofLaunch[rank].checked;
      if (reports[rank].wrong == 0) reports[rank].firstWrong = ofLaunch[rank].firstWrong;
      reports[rank].wrong += ofLaunch[rank].wrong;
    }
}

} // namespace coll
