#include "bench/Chain.h"

#include "context/Values.h"

#include <bit>
#include <cmath>

namespace coll::bench {
namespace {

constexpr std::uint64_t kAlignment = 256;

/// Powers of two that a type holds with room to spare.
int mostExponent(DType type) {
  switch (type) {
  case DType::F64: return 1000;
  case DType::F32:
  case DType::BF16: return 120;
  case DType::F16:
  case DType::F8E5M2: return 12;
  default: return 5;
  }
}

} // namespace

Chain::Chain(const Manifest &manifest, const std::vector<std::uint64_t> &bytes, bool inplace)
    : inplace(inplace && !manifest.inplace.empty()), fixed(bytes.size()) {
  choosePair(manifest, bytes);
  if (chained()) {
    const std::uint64_t larger = std::max(bytes[in], bytes[out]);
    first = place(larger);
    second = this->inplace ? first : place(larger);
    filled.push_back({first, larger});
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (chained() && (i == in || i == out)) continue;
    fixed[i] = place(bytes[i]);
    if (manifest.arguments[i].direction != Direction::Out && manifest.arguments[i].bound.empty()) filled.push_back({fixed[i], bytes[i]});
  }
}

void Chain::choosePair(const Manifest &manifest, const std::vector<std::uint64_t> &bytes) {
  const auto ranks = std::uint64_t(manifest.ranks);
  for (const Kind wanted : {Kind::Whole, Kind::Part})
    for (std::size_t o = 0; o < bytes.size(); ++o)
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (!manifest.arguments[i].bound.empty() || manifest.arguments[i].direction != Direction::In || manifest.arguments[o].direction != Direction::Out ||
            manifest.arguments[i].dtype != manifest.arguments[o].dtype || bytes[i] == 0 || bytes[o] == 0)
          continue;
        const std::uint64_t less = std::min(bytes[i], bytes[o]), more = std::max(bytes[i], bytes[o]);
        if (wanted == Kind::Whole ? less != more : less * ranks != more) continue;
        kind = wanted, in = i, out = o;
        return;
      }
}

std::uint64_t Chain::place(std::uint64_t bytes) {
  const std::uint64_t at = end;
  end = (end + bytes + kAlignment - 1) / kAlignment * kAlignment;
  return at;
}

std::vector<std::uint64_t> Chain::offsets(unsigned operation) const {
  std::vector<std::uint64_t> result = fixed;
  if (!chained()) return result;
  result[in] = operation % 2 ? second : first;
  result[out] = operation % 2 ? first : second;
  return result;
}

ChainValues::ChainValues(const Manifest &manifest, unsigned operations)
    : type(manifest.dtype), op(manifest.op.value_or(ReduceOp::Max)), ranks(manifest.ranks), operations(operations) {
  const bool powerOfTwo = std::has_single_bit(unsigned(ranks));
  if (!isFloat(type)) {
    known = op != ReduceOp::Avg;
    return;
  }
  known = powerOfTwo || op == ReduceOp::Min || op == ReduceOp::Max || op == ReduceOp::Prod;
  if (op != ReduceOp::Sum) return;
  growth = int(operations) * int(std::ceil(std::log2(double(ranks))));
  exponent = -(growth + 1) / 2;
  // So many operations would leave the type's range: zeros stay zero.
  if (growth / 2 + 2 > mostExponent(type)) zero = known = true;
}

std::uint64_t ChainValues::atStart(std::uint64_t i) const {
  if (!isFloat(type)) return op == ReduceOp::Prod ? 1 : i % 8 + 1;
  const double value = zero ? 0 : op == ReduceOp::Prod ? 1 : std::ldexp(1 + double(i % 4) / 4, exponent);
  return type == DType::F64 ? std::bit_cast<std::uint64_t>(value) : narrow(type, float(value));
}

std::uint64_t ChainValues::atEnd(std::uint64_t i) const {
  if (op != ReduceOp::Sum || zero) return atStart(i);
  if (isFloat(type)) {
    const double value = std::ldexp(1 + double(i % 4) / 4, exponent + growth);
    return type == DType::F64 ? std::bit_cast<std::uint64_t>(value) : narrow(type, float(value));
  }
  std::uint64_t value = atStart(i);
  for (unsigned k = 0; k < operations; ++k) value *= std::uint64_t(ranks);
  return sizeOf(type) == 8 ? value : value & ((1ull << 8 * sizeOf(type)) - 1);
}

} // namespace coll::bench
