#include "context/Reference.h"

#include "context/Formula.h"
#include "context/Parallel.h"
#include "context/Values.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace coll {
namespace {

template <class Wide>
Wide combine(ReduceOp op, Wide a, Wide b) {
  if constexpr (std::is_floating_point_v<Wide>) {
    // min and max give NaN if either side is one, and order -0 below +0.
    const bool aFirst = a != a || (b == b && (a < b || (a == b && std::signbit(a))));
    switch (op) {
    case ReduceOp::Sum:
    case ReduceOp::Avg: return a + b;
    case ReduceOp::Prod: return a * b;
    case ReduceOp::Min: return a != a ? a : b != b ? b : aFirst ? a : b;
    case ReduceOp::Max: return a != a ? a : b != b ? b : aFirst ? b : a;
    }
  }
  switch (op) {
  case ReduceOp::Sum:
  case ReduceOp::Avg: return Wide(a + b);
  case ReduceOp::Prod: return Wide(a * b);
  case ReduceOp::Min: return std::min(a, b);
  case ReduceOp::Max: return std::max(a, b);
  }
  return a;
}

/// reduce(op, r in 0 .. ranks-1: bitsOf(r)) in this order.
template <class Wide, class Widen, class Narrow, class BitsOf>
std::uint64_t reduceAs(ReduceOp op, int ranks, Widen widen, Narrow narrow, BitsOf bitsOf) {
  Wide value = widen(bitsOf(0));
  for (int rank = 1; rank < ranks; ++rank) value = combine<Wide>(op, value, widen(bitsOf(rank)));
  if constexpr (std::is_floating_point_v<Wide>)
    if (op == ReduceOp::Avg) value = value * (Wide(1) / Wide(ranks)); // as the kernels do, which do not divide
  return narrow(value);
}

template <class BitsOf>
std::uint64_t reduceElement(DType type, ReduceOp op, int ranks, BitsOf bitsOf) {
  if (type == DType::F64)
    return reduceAs<double>(
        op, ranks, [](auto bits) { return std::bit_cast<double>(bits); },
        [](double v) { return std::bit_cast<std::uint64_t>(v); }, bitsOf);
  if (isFloat(type))
    return reduceAs<float>(
        op, ranks, [=](auto bits) { return widen(type, bits); }, [=](float v) { return narrow(type, v); }, bitsOf);
  // Integers wrap, so unsigned arithmetic does for both; only the order of signed ones needs their sign.
  const unsigned unused = 64 - 8 * sizeOf(type);
  const auto cut = [=](std::uint64_t v) { return v << unused >> unused; };
  const bool ordered = op == ReduceOp::Min || op == ReduceOp::Max;
  if (ordered && (type == DType::I8 || type == DType::I32 || type == DType::I64))
    return reduceAs<std::int64_t>(
        op, ranks, [=](auto bits) { return std::int64_t(bits << unused) >> unused; },
        [=](std::int64_t v) { return cut(std::uint64_t(v)); }, bitsOf);
  return reduceAs<std::uint64_t>(
      op, ranks, [](auto bits) { return bits; }, cut, bitsOf);
}

} // namespace

float combineFloats(ReduceOp op, float a, float b) { return combine<float>(op, a, b); }

std::uint64_t combineElements(DType type, ReduceOp op, std::uint64_t a, std::uint64_t b) {
  return reduceElement(type, op, 2, [&](int i) { return i ? b : a; });
}

std::vector<Manifest::Promise> Reference::promises(const std::map<std::string, Scalar> &scalars) const {
  if (!manifest.promisesWith) return manifest.promises;
  std::map<std::string, std::int64_t> numbers;
  for (const Manifest::Scalar &scalar : manifest.scalars) {
    const auto given = scalars.find(scalar.name);
    numbers[scalar.name] = given == scalars.end() ? 0 : given->second.integer;
  }
  return manifest.promisesWith(numbers);
}

std::vector<std::byte> Reference::expected(int rank, std::size_t argument, const LaunchSizes &sizes,
                                           const Inputs &inputs) const {
  std::vector<std::byte> output;
  for (const Manifest::Promise &promise : promises(sizes.scalars)) {
    if (promise.output.rank != unsigned(rank) || promise.output.argument != argument) continue;
    if (isOfEmptyRows(manifest.arguments[argument], sizes)) continue;
    output.resize(manifest.elements(manifest.arguments[argument], sizes.extents) * sizeOf(manifest.arguments[argument].dtype),
                  kUntouched);
    if (promise.steps.empty()) fill(promise, sizes, inputs, output);
    else compute(promise, sizes, inputs, output);
  }
  return output;
}

/// Of rows without elements nothing is promised, nor of the numbers that an output has for them.
bool Reference::isOfEmptyRows(const Manifest::Argument &output, const LaunchSizes &sizes) const {
  const auto rowsOf = [](const Manifest::Argument &a) { return a.extents.size() > 1 ? a.extents[a.extents.size() - 2] : std::string(); };
  if (rowsOf(output).empty() || output.extents.back() != "1") return false;
  return std::any_of(manifest.arguments.begin(), manifest.arguments.end(), [&](const Manifest::Argument &a) {
    const Manifest::Argument row{"", Direction::In, a.dtype, {a.extents.empty() ? "1" : a.extents.back()}};
    return rowsOf(a) == rowsOf(output) && a.extents.back() != "1" && manifest.elements(row, sizes.extents) == 0;
  });
}

/// Where the elements of a part begin within its argument, and how many there are.
std::pair<std::uint64_t, std::uint64_t> Reference::placeOf(const Manifest::Promise::Part &part,
                                                           const LaunchSizes &sizes) const {
  Manifest::Argument shape = manifest.arguments[part.argument];
  if (part.row != Manifest::kWhole) shape.extents.erase(shape.extents.begin(), shape.extents.begin() + part.depth);
  const std::uint64_t count = manifest.elements(shape, sizes.extents);
  return {part.row == Manifest::kWhole ? 0 : std::uint64_t(part.row) * count, count};
}

void Reference::compute(const Manifest::Promise &promise, const LaunchSizes &sizes, const Inputs &inputs,
                        std::vector<std::byte> &output) const {
  const auto read = [&](const Manifest::Promise::Part &part, bool atExit) {
    const DType type = manifest.arguments[part.argument].dtype;
    const std::vector<std::byte> held =
        atExit ? expected(int(part.rank), part.argument, sizes, inputs) : inputs(int(part.rank), part.argument);
    const auto [begin, count] = placeOf(part, sizes);
    std::vector<std::uint64_t> values(count);
    if (held.empty()) return values; // nothing is promised of it
    for (std::uint64_t i = 0; i < count; ++i)
      values[i] = computedWith(type, readElement(type, held.data() + (begin + i) * sizeOf(type)));
    return values;
  };
  Manifest::Argument row{"", Direction::In, manifest.dtype, promise.rowExtents};
  const std::vector<std::uint64_t> values = evaluate(promise, manifest.elements(row, sizes.extents), sizes, read);
  const DType type = manifest.arguments[promise.output.argument].dtype;
  const std::uint64_t begin = placeOf(promise.output, sizes).first, count = promised(promise, sizes, inputs);
  for (std::uint64_t i = 0; i < count && i < values.size(); ++i)
    writeElement(type, output.data() + (begin + i) * sizeOf(type), stored(type, values[i]));
}

/// Of how many elements of the output something is promised: of all, or as a number of an input says.
std::uint64_t Reference::promised(const Manifest::Promise &promise, const LaunchSizes &sizes, const Inputs &inputs) const {
  const std::uint64_t all = placeOf(promise.output, sizes).second;
  if (!promise.count) return all;
  const Manifest::Argument &output = manifest.arguments[promise.output.argument];
  const Manifest::Argument row{"", Direction::In, output.dtype, {output.extents.back()}};
  const DType type = manifest.arguments[promise.count->argument].dtype;
  const std::byte *at = inputs(int(promise.count->rank), promise.count->argument).data();
  const std::uint64_t count = readElement(type, at + placeOf(*promise.count, sizes).first * sizeOf(type));
  return std::min(all, promise.countsRows ? count * manifest.elements(row, sizes.extents) : count);
}

void Reference::fill(const Manifest::Promise &promise, const LaunchSizes &sizes, const Inputs &inputs,
                     std::vector<std::byte> &output) const {
  using Part = Manifest::Promise::Part;
  const DType type = promise.reduces ? manifest.dtype : manifest.arguments[promise.output.argument].dtype;
  const unsigned bytes = sizeOf(type);
  std::vector<const std::byte *> from; // where each source begins
  for (const Part &part : promise.sources)
    from.push_back(inputs(int(part.rank), part.argument).data() + placeOf(part, sizes).first * bytes);
  const auto element = [&](std::size_t source, std::uint64_t i) { return readElement(type, from[source] + i * bytes); };
  const std::uint64_t first = placeOf(promise.output, sizes).first, elements = promised(promise, sizes, inputs);
  std::byte *to = output.data() + first * bytes;
  forRanges(elements, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      const std::uint64_t bits =
          promise.reduces ? reduceElement(type, *manifest.op, int(promise.sources.size()),
                                          [&](int r) { return element(std::size_t(r), i); })
                          : element(0, i);
      writeElement(type, to + i * bytes, bits);
    }
  });
}

bool Reference::sameOnAllRanks() const {
  if (manifest.promisesWith) return false;
  // A promise to rank r is that to rank 0 where it takes the same parts of the same ranks.
  const auto same = [](const Manifest::Promise::Part &a, const Manifest::Promise::Part &b) {
    return a.rank == b.rank && a.argument == b.argument && a.row == b.row && a.depth == b.depth;
  };
  std::vector<const Manifest::Promise *> firstRank;
  for (const Manifest::Promise &promise : manifest.promises)
    if (promise.output.rank == 0) firstRank.push_back(&promise);
  std::vector<std::size_t> seen(std::size_t(manifest.ranks));
  for (const Manifest::Promise &promise : manifest.promises) {
    const std::size_t number = seen[promise.output.rank]++;
    if (number >= firstRank.size()) return false;
    const Manifest::Promise &other = *firstRank[number];
    if (promise.output.argument != other.output.argument || promise.output.row != other.output.row ||
        promise.output.depth != other.output.depth ||
        !promise.steps.empty() || promise.sources.size() != other.sources.size() ||
        !std::equal(promise.sources.begin(), promise.sources.end(), other.sources.begin(), same))
      return false;
  }
  return std::all_of(seen.begin(), seen.end(), [&](std::size_t n) { return n == firstRank.size(); });
}

std::string Reference::describe() const {
  std::string text;
  bool reduces = false;
  for (const std::string &clause : manifest.ensures) text += (text.empty() ? "" : " and ") + clause;
  for (const Manifest::Promise &promise : promises({})) reduces |= promise.reduces;
  if (text.empty()) return "a contract that promises no values";
  if (!reduces) return text;
  if (manifest.order != "ascending") return text + ", on values that no order rounds";
  return text + ", in ascending order" +
         (isFloat(manifest.dtype) && sizeOf(manifest.dtype) < 4 ? ", accumulated in f32" : "");
}

} // namespace coll
