#include "context/Values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

namespace coll {
namespace {

/// A float format narrower than f32: sign, exponent, mantissa from the high end.
struct Format {
  int exponentBits, mantissaBits;
  bool infinity = true; ///< false: the highest exponent holds numbers, all ones is NaN (fp8e4m3)

  int bias() const { return (1 << (exponentBits - 1)) - 1; }
  std::uint64_t maxExponent() const { return (1u << exponentBits) - 1; }
  std::uint64_t mantissaMask() const { return (1u << mantissaBits) - 1; }
  std::uint64_t nan() const { return maxExponent() << mantissaBits | mantissaMask(); }
  std::uint64_t largest() const { return infinity ? (maxExponent() << mantissaBits) - 1 : nan() - 1; }
};

Format formatOf(DType type) {
  switch (type) {
  case DType::F16: return {5, 10};
  case DType::BF16: return {8, 7};
  case DType::F8E4M3: return {4, 3, false};
  case DType::F8E5M2: return {5, 2};
  default: return {8, 23};
  }
}

std::uint64_t bitsOf(DType type, double value) {
  return type == DType::F64 ? std::bit_cast<std::uint64_t>(value) : narrow(type, float(value));
}

bool isNan(DType type, std::uint64_t bits) {
  if (type == DType::F64) return std::isnan(std::bit_cast<double>(bits));
  return isFloat(type) && std::isnan(widen(type, bits));
}

} // namespace

float widen(DType type, std::uint64_t bits) {
  if (type == DType::F32) return std::bit_cast<float>(std::uint32_t(bits));
  const Format f = formatOf(type);
  const std::uint32_t sign = std::uint32_t(bits >> (f.exponentBits + f.mantissaBits) & 1) << 31;
  const std::uint64_t exponent = bits >> f.mantissaBits & f.maxExponent(), mantissa = bits & f.mantissaMask();
  if (f.infinity ? exponent == f.maxExponent() : (bits & f.nan()) == f.nan())
    return std::bit_cast<float>(sign | 0x7f800000u | (mantissa ? 0x400000u : 0u));
  if (exponent == 0) {
    const float value = std::ldexp(float(mantissa), 1 - f.bias() - f.mantissaBits);
    return sign ? -value : value;
  }
  return std::bit_cast<float>(sign | std::uint32_t(exponent + 127 - f.bias()) << 23 |
                              std::uint32_t(mantissa << (23 - f.mantissaBits)));
}

std::uint64_t narrow(DType type, float value) {
  const std::uint32_t wide = std::bit_cast<std::uint32_t>(value);
  if (type == DType::F32) return wide;
  const Format f = formatOf(type);
  const std::uint64_t sign = std::uint64_t(wide >> 31) << (f.exponentBits + f.mantissaBits);
  const std::uint64_t tooLarge = f.infinity ? f.largest() + 1 : f.largest();
  const std::uint32_t magnitude = wide & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | f.nan();
  if (magnitude == 0x7f800000u) return sign | tooLarge;
  const int exponent = int(magnitude >> 23) - 127 + f.bias();
  if (exponent <= 0) {
    // Units in the last place of the subnormals; a carry makes the smallest normal number, as it should.
    return sign | std::uint64_t(std::nearbyint(std::ldexp(double(std::fabs(value)), f.mantissaBits - 1 + f.bias())));
  }
  // Half a unit in the last place, less one where that is even; a carry runs on into the exponent.
  const int dropped = 23 - f.mantissaBits;
  const std::uint64_t whole = std::uint64_t(exponent) << 23 | (magnitude & 0x7fffffu);
  const std::uint64_t rounded = whole + ((1u << (dropped - 1)) - 1) + (whole >> dropped & 1);
  return sign | std::min(rounded >> dropped, tooLarge);
}

std::uint64_t readElement(DType type, const std::byte *from) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, from, sizeOf(type)); // little-endian, as the GPU
  return bits;
}

void writeElement(DType type, std::byte *to, std::uint64_t bits) {
  std::memcpy(to, &bits, sizeOf(type));
}

bool sameElement(DType type, std::uint64_t a, std::uint64_t b, bool zeroSign) {
  if (a == b || (isNan(type, a) && isNan(type, b))) return true;
  const std::uint64_t sign = std::uint64_t(1) << (8 * sizeOf(type) - 1);
  return !zeroSign && isFloat(type) && (a | b) == sign && (a & b) == 0;
}

std::string elementText(DType type, std::uint64_t bits) {
  char text[64];
  if (type == DType::F64)
    std::snprintf(text, sizeof text, "%.17g", std::bit_cast<double>(bits));
  else if (isFloat(type))
    std::snprintf(text, sizeof text, "%.9g", double(widen(type, bits)));
  else if (type == DType::U8 || type == DType::U32 || type == DType::U64)
    std::snprintf(text, sizeof text, "%llu", (unsigned long long)bits);
  else {
    const unsigned unused = 64 - 8 * sizeOf(type);
    std::snprintf(text, sizeof text, "%lld", (long long)(std::int64_t(bits << unused) >> unused));
  }
  return text;
}

std::uint64_t exactElement(DType type, std::optional<ReduceOp> op, bool edges, std::uint64_t key) {
  const std::uint64_t random = mix(key, 0);
  // Floats of 8 bits hold few whole numbers in a row: their sums stay small.
  const int small = sizeOf(type) == 1 ? int(random % 3) - 1 : int(random & 3) - 1;
  const int value = op == ReduceOp::Prod ? (random & 1 ? 1 : -1) : small;
  const std::uint64_t edge = isFloat(type) && edges ? random >> 32 & 1023 : 1023;
  if (edge == 0) return bitsOf(type, std::numeric_limits<double>::quiet_NaN());
  if (edge <= 32) return bitsOf(type, -0.0);
  if (!isFloat(type)) {
    const std::uint64_t mask = sizeOf(type) == 8 ? ~0ull : (1ull << 8 * sizeOf(type)) - 1;
    return std::uint64_t(std::int64_t(value)) & mask;
  }
  return bitsOf(type, double(value));
}

std::uint64_t testElement(DType type, std::uint64_t key) {
  const std::uint64_t random = mix(key, 0);
  const std::uint64_t mask = sizeOf(type) == 8 ? ~0ull : (1ull << 8 * sizeOf(type)) - 1;
  if (!isFloat(type)) return (random & 1 ? random >> 1 : random >> 1 & 15) & mask;
  const unsigned kind = random & 127;
  const double small = double(int(random >> 8 & 15)) - 8;
  const double ordinary = (double(random >> 11) * 0x1p-53 - 0.5) * 8;
  double value = kind < 76 ? small : ordinary;
  if (kind == 127) {
    const Format f = formatOf(type);
    const double edges[] = {-0.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                            -std::numeric_limits<double>::infinity()};
    const unsigned edge = random >> 8 & 7;
    if (edge < 4)
      value = edges[edge];
    else if (type != DType::F64)
      return edge == 4 ? 1 : edge == 5 ? f.mantissaMask() : f.largest() | (random >> 20 & 1) << (8 * sizeOf(type) - 1);
  }
  return bitsOf(type, value);
}

} // namespace coll
