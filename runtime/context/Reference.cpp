#include "context/Reference.h"

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
    if (op == ReduceOp::Avg) value = value / Wide(ranks);
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

Result<Reference> Reference::of(const Manifest &manifest) {
  static const std::map<std::string, std::pair<Kind, bool>> kinds = {
      {"allreduce", {Kind::AllReduce, true}},          {"reduce", {Kind::Reduce, false}},
      {"reducescatter", {Kind::ReduceScatter, false}}, {"reduce_scatter", {Kind::ReduceScatter, false}},
      {"allgather", {Kind::AllGather, true}},          {"all_gather", {Kind::AllGather, true}},
      {"alltoall", {Kind::AllToAll, false}},           {"all_to_all", {Kind::AllToAll, false}},
      {"broadcast", {Kind::Broadcast, true}}};
  const auto found = kinds.find(manifest.collective);
  // The library's contracts: one input x, one output y of the same type.
  const bool usual = manifest.arguments.size() == 2 && manifest.arguments[0].direction == Direction::In &&
                     manifest.arguments[1].direction == Direction::Out &&
                     manifest.arguments[0].dtype == manifest.arguments[1].dtype;
  if (found == kinds.end() || !usual)
    return Error{Error::Code::BadInput, "there is no host reference for the contract of `" + manifest.collective +
                                            "` yet, so a run of it cannot be verified"};
  return Reference(manifest, found->second.first, found->second.second);
}

std::vector<std::byte> Reference::expected(int rank, std::size_t argument, const LaunchSizes &sizes,
                                           const Inputs &inputs) const {
  const DType type = manifest.dtype;
  const unsigned bytes = sizeOf(type);
  const int ranks = manifest.ranks;
  const std::uint64_t elements = manifest.elements(manifest.arguments[argument], sizes.extents);
  const auto rootAt = sizes.scalars.find("root");
  const int root = rootAt == sizes.scalars.end() ? 0 : int(rootAt->second);
  if (kind == Kind::Reduce && rank != root) return {};

  std::vector<std::byte> output(elements * bytes);
  const auto input = [&](int of, std::uint64_t i) { return readElement(type, inputs(of, 0).data() + i * bytes); };
  const std::uint64_t piece = elements / ranks; // of an output with a row for each rank
  for (std::uint64_t i = 0; i < elements; ++i) {
    std::uint64_t bits = 0;
    switch (kind) {
    case Kind::AllReduce:
    case Kind::Reduce: bits = reduceElement(type, *manifest.op, ranks, [&](int r) { return input(r, i); }); break;
    case Kind::ReduceScatter:
      bits = reduceElement(type, *manifest.op, ranks, [&](int r) { return input(r, rank * elements + i); });
      break;
    case Kind::AllGather: bits = input(int(i / piece), i % piece); break;
    case Kind::AllToAll: bits = input(int(i / piece), rank * piece + i % piece); break;
    case Kind::Broadcast: bits = input(root, i); break;
    }
    writeElement(type, output.data() + i * bytes, bits);
  }
  return output;
}

std::string Reference::describe() const {
  const std::string op = manifest.op ? std::string(keyword(*manifest.op)) : "";
  const bool narrowFloat = isFloat(manifest.dtype) && sizeOf(manifest.dtype) < 4;
  const std::string order = std::string(", in ascending order") + (narrowFloat ? ", accumulated in f32" : "");
  switch (kind) {
  case Kind::AllReduce: return "y == reduce(" + op + ", r in ranks: r.x)" + order;
  case Kind::Reduce: return "y == reduce(" + op + ", r in ranks: r.x) on the root" + order;
  case Kind::ReduceScatter: return "y == reduce(" + op + ", r in ranks: r.x[me])" + order;
  case Kind::AllGather: return "y[r] == r.x";
  case Kind::AllToAll: return "y[r] == r.x[me]";
  case Kind::Broadcast: return "y == root.x";
  }
  return "";
}

} // namespace coll
