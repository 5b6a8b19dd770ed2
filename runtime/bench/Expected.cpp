#include "bench/Expected.h"

#include "context/Parallel.h"
#include "context/Values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <thread>

namespace coll::bench {
namespace {

/// How far apart sums of N test values may be: they are below 8, and each order rounds N - 1 times.
double allowance(DType type, int ranks) {
  const double unit = type == DType::F64    ? std::numeric_limits<double>::epsilon()
                      : type == DType::F32  ? double(std::numeric_limits<float>::epsilon())
                      : type == DType::F16  ? 0x1p-10
                      : type == DType::BF16 ? 0x1p-7
                                            : 0.25;
  return unit * 8 * ranks * ranks;
}

double valueOf(DType type, std::uint64_t bits) {
  return type == DType::F64 ? std::bit_cast<double>(bits) : double(widen(type, bits));
}

} // namespace

Result<std::unique_ptr<Expected>> Expected::create(const Manifest &manifest, const RunRequest &request,
                                                   unsigned operations) {
  std::unique_ptr<Expected> expected(new Expected(manifest, request));
  const Reference reference(expected->manifest);
  auto layout = RunLayout::create(expected->manifest, expected->request, 0);
  if (!layout) return layout.error();
  expected->layout.emplace(std::move(*layout));
  for (unsigned i = 0; i < operations; ++i) expected->planned.push_back(expected->layout->next(i));
  expected->referenceText = reference.describe();
  expected->compute(reference);
  return expected;
}

void Expected::compute(const Reference &reference) {
  const auto ranks = std::size_t(manifest.ranks), arguments = manifest.arguments.size();
  contents.assign(ranks, std::vector<std::byte>(bytes()));
  promised.assign(ranks, std::vector(planned.size(), std::vector<bool>(arguments)));
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([this, rank] { layout->fill(planned, int(rank), contents[rank]); });
  for (std::thread &thread : threads) thread.join();
  wanted = contents;
  for (std::size_t number = 0; number < planned.size(); ++number) {
    const PlannedLaunch &launch = planned[number];
    std::vector<std::vector<std::vector<std::byte>>> inputs(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank)
      for (std::size_t i = 0; i < arguments; ++i) {
        const auto from = contents[rank].begin() + std::ptrdiff_t(launch.offsets[rank][i]);
        inputs[rank].emplace_back(from, from + std::ptrdiff_t(launch.bytes[i]));
      }
    for (std::size_t i = 0; i < arguments; ++i) {
      if (manifest.arguments[i].direction == Direction::In) continue;
      std::vector<std::byte> output;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        // Where all ranks' outputs are equal they are computed once.
        if (rank == 0 || !reference.sameOnAllRanks())
          output = reference.expected(
              int(rank), i, launch.sizes,
              [&](int r, std::size_t a) -> const std::vector<std::byte> & { return inputs[std::size_t(r)][a]; });
        promised[rank][number][i] = !output.empty();
        std::copy(output.begin(), output.end(), wanted[rank].begin() + std::ptrdiff_t(launch.offsets[rank][i]));
      }
    }
  }
}

bool Expected::same(DType type, std::uint64_t is, std::uint64_t should, bool rounded) const {
  // Not every rival keeps the sign of a zero.
  if (sameElement(type, is, should, false)) return true;
  if (!rounded || !isFloat(type)) return false;
  const double a = valueOf(type, is), b = valueOf(type, should);
  if (!std::isfinite(b)) return !std::isfinite(a);
  // Next to the largest value another order may overflow.
  return std::fabs(a - b) <= allowance(type, manifest.ranks) || std::fabs(b) > 1e3;
}

/// How many of the elements first .. last differ, and the first that does.
std::pair<std::uint64_t, std::uint64_t> Expected::differing(DType type, const std::byte *is, const std::byte *should,
                                                            std::uint64_t first, std::uint64_t last, bool rounded) const {
  std::uint64_t wrong = 0, at = ~std::uint64_t(0);
  for (std::uint64_t i = first, size = sizeOf(type); i < last; ++i) {
    if (same(type, readElement(type, is + i * size), readElement(type, should + i * size), rounded)) continue;
    if (wrong++ == 0) at = i;
  }
  return {wrong, at};
}

Expected::Difference Expected::compare(int rank, const std::vector<std::byte> &memory, bool rounded) const {
  Difference found;
  const std::vector<std::byte> &should = wanted[std::size_t(rank)];
  if (std::memcmp(memory.data(), should.data(), should.size()) == 0) return found;
  const auto report = [&](const std::string &text) {
    if (found.wrong++ == 0) found.first = "rank " + std::to_string(rank) + ", operation " + text;
  };
  // What is compared element by element is taken out of the rest, which must not have changed at all.
  std::vector<std::byte> rest = memory;
  for (std::size_t number = 0; number < planned.size(); ++number)
    for (std::size_t i = 0; i < manifest.arguments.size(); ++i) {
      const Manifest::Argument &argument = manifest.arguments[i];
      if (argument.direction == Direction::In) continue;
      const std::uint64_t begin = planned[number].offsets[std::size_t(rank)][i], bytes = planned[number].bytes[i];
      std::copy_n(should.begin() + std::ptrdiff_t(begin), bytes, rest.begin() + std::ptrdiff_t(begin));
      if (!promised[std::size_t(rank)][number][i]) continue;
      std::mutex guard;
      std::uint64_t wrong = 0, firstWrong = ~std::uint64_t(0);
      forRanges(bytes / sizeOf(argument.dtype), [&](std::uint64_t first, std::uint64_t last) {
        const auto [many, at] = differing(argument.dtype, memory.data() + begin, should.data() + begin, first, last, rounded);
        const std::lock_guard lock(guard);
        wrong += many, firstWrong = std::min(firstWrong, at);
      });
      if (wrong == 0) continue;
      const std::uint64_t at = begin + firstWrong * sizeOf(argument.dtype);
      report(std::to_string(number) + ", `" + argument.name + "`[" + std::to_string(firstWrong) + "]: is " +
             elementText(argument.dtype, readElement(argument.dtype, memory.data() + at)) + ", should be " +
             elementText(argument.dtype, readElement(argument.dtype, should.data() + at)));
      found.wrong += wrong - 1;
    }
  if (rest != should) report("any: wrote outside its outputs");
  return found;
}

} // namespace coll::bench
