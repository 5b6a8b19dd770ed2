#include "OrderClass.h"

#include "context/Reference.h"
#include "context/Values.h"

#include <cmath>

namespace coll::test {
namespace {

/// Numbers whose sums depend on the order, and on every rounding.
std::vector<std::byte> roughNumbers(DType type, std::uint64_t elements, std::uint64_t key) {
  std::vector<std::byte> bytes(elements * sizeOf(type));
  for (std::uint64_t i = 0; i < elements; ++i) {
    const std::uint64_t random = mix(key, i);
    const float value = std::ldexp(1 + float(random >> 40) * 0x1p-24f, int(random % 13) - 6);
    writeElement(type, bytes.data() + i * sizeOf(type), narrow(type, random >> 20 & 1 ? -value : value));
  }
  return bytes;
}

/// What a sum may be off by if each of its additions rounds to the type.
float bound(DType type, std::uint64_t sumOfSizes, int ranks) {
  const float unit = type == DType::F32 ? 0x1p-24f : 0x1p-8f;
  return 2 * float(ranks) * unit * widen(type, sumOfSizes);
}

std::vector<std::byte> sizesOf(DType type, std::vector<std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeOf(type))
    writeElement(type, bytes.data() + at, narrow(type, std::fabs(widen(type, readElement(type, bytes.data() + at)))));
  return bytes;
}

} // namespace

std::string whereSumsDiffer(Context &context, const Kernel &kernel, const Shape &one, const Shape &other) {
  const Manifest &m = kernel.manifest;
  if (!m.op || m.extents.size() != 1) return {};
  constexpr std::uint64_t kCount = 4099;
  const Extents extents = {{m.extents.front(), kCount}};
  const auto collective = context.load(kernel);
  if (!collective) return collective.error().text;
  const std::size_t arguments = m.arguments.size();
  std::vector<std::vector<std::vector<std::byte>>> inputs(m.ranks, std::vector<std::vector<std::byte>>(arguments));
  std::vector<std::vector<std::vector<std::byte>>> outputs[2];

  const LaunchSizes sizes{extents, {}};
  LaunchSizes withScalars = sizes;
  std::vector<Scalar> scalars;
  for (const Manifest::Scalar &scalar : m.scalars) scalars.push_back(Scalar(1)), withScalars.scalars.emplace(scalar.name, Scalar(1));
  for (int shape = 0; shape < 2; ++shape) {
    std::vector<std::vector<void *>> buffers(m.ranks, std::vector<void *>(arguments));
    for (std::size_t a = 0; a < arguments; ++a) {
      const std::uint64_t elements = m.elements(m.arguments[a], extents), bytes = elements * sizeOf(m.arguments[a].dtype);
      const auto symmetric = context.allocateSymmetric(bytes);
      if (!symmetric) return symmetric.error().text;
      for (int rank = 0; rank < m.ranks; ++rank) {
        buffers[rank][a] = symmetric->address(rank);
        if (m.arguments[a].direction == Direction::Out) continue;
        inputs[rank][a] = roughNumbers(m.arguments[a].dtype, elements, mix(mix(7, rank), a));
        if (auto done = context.upload(rank, buffers[rank][a], inputs[rank][a].data(), bytes); !done) return done.error().text;
      }
    }
    const std::uint64_t counts[] = {kCount};
    for (int rank = 0; rank < m.ranks; ++rank) {
      const auto launched = collective->launch(rank, buffers[rank], counts, scalars, nullptr, shape ? other : one);
      if (!launched) return launched.error().text;
    }
    const auto done = context.synchronize();
    if (!done) return done.error().text;
    outputs[shape].assign(m.ranks, std::vector<std::vector<std::byte>>(arguments));
    for (int rank = 0; rank < m.ranks; ++rank)
      for (std::size_t a = 0; a < arguments; ++a)
        if (m.arguments[a].direction != Direction::In) {
          outputs[shape][rank][a].resize(m.elements(m.arguments[a], extents) * sizeOf(m.arguments[a].dtype));
          if (auto got = context.download(rank, outputs[shape][rank][a].data(), buffers[rank][a], outputs[shape][rank][a].size()); !got)
            return got.error().text;
        }
  }

  const Reference reference(m);
  const Inputs given = [&](int rank, std::size_t a) -> const std::vector<std::byte> & { return inputs[rank][a]; };
  auto absolute = inputs;
  for (auto &ofRank : absolute)
    for (std::size_t a = 0; a < arguments; ++a) ofRank[a] = sizesOf(m.arguments[a].dtype, ofRank[a]);
  const Inputs positive = [&](int rank, std::size_t a) -> const std::vector<std::byte> & { return absolute[rank][a]; };
  for (int rank = 0; rank < m.ranks; ++rank)
    for (std::size_t a = 0; a < arguments; ++a) {
      if (m.arguments[a].direction == Direction::In) continue;
      const DType type = m.arguments[a].dtype;
      const auto should = reference.expected(rank, a, withScalars, given), size = reference.expected(rank, a, withScalars, positive);
      if (should.empty()) continue; // nothing is promised of this rank
      const auto &is = outputs[0][rank][a];
      const std::string who = "rank " + std::to_string(rank);
      if (m.order == "ascending" && is != should) return who + " has other bits than the reference";
      if (m.order != "any" && is != outputs[1][rank][a]) return who + " has other bits with another grid";
      if (reference.sameOnAllRanks())
        for (const auto &run : outputs)
          if (run[rank][a] != run[0][a]) return who + " has other bits than rank 0";
      for (std::size_t at = 0; at < is.size(); at += sizeOf(type)) {
        const float got = widen(type, readElement(type, is.data() + at)), wanted = widen(type, readElement(type, should.data() + at));
        if (!(std::fabs(got - wanted) <= bound(type, readElement(type, size.data() + at), m.ranks)))
          return who + ", byte " + std::to_string(at) + ": " + std::to_string(got) + " is too far from " + std::to_string(wanted);
      }
    }
  return {};
}

} // namespace coll::test
