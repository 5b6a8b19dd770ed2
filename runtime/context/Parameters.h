// The kernel's one parameter: Team<N>, pointers, extents, scalars, onePacket, each field 8 bytes
// (Manifest::parameterBytes).
#pragma once

#include "coll/coll.h"
#include "context/Values.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <span>

namespace coll {

/// The bytes of one launch's parameter, on the stack of the launch.
struct ParameterBlock {
  static constexpr std::size_t kMaxWords = 512; ///< 4 KiB, the most that every driver takes
  std::array<std::uint64_t, kMaxWords> words;
  std::size_t used = 0;

  void append(std::uint64_t value) { words[used++] = value; }
  void append(std::span<const std::uint64_t> values) {
    for (std::uint64_t value : values) append(value);
  }
  void append(std::span<void *const> pointers) {
    for (void *pointer : pointers) append(reinterpret_cast<std::uintptr_t>(pointer));
  }
};

/// Whether a scalar's type is a float's.
inline bool isFloatName(const std::string &type) {
  const auto dtype = parseDType(type);
  return dtype && isFloat(*dtype);
}

/// The bits of a scalar as its declared type wants them. Types of the language that are no numbers are ranks.
inline std::uint64_t scalarBits(const Scalar &value, const std::string &type) {
  if (type == "f32") return std::bit_cast<std::uint32_t>(float(value.real));
  if (type == "f64") return std::bit_cast<std::uint64_t>(value.real);
  if (isFloatName(type)) return narrow(*parseDType(type), float(value.real));
  return std::uint64_t(value.integer);
}

/// Whether a text is a number of a scalar's type: no f32 is as large as 1e60, no rank is half, no u8 is 300.
bool isScalar(const std::string &text, const std::string &type);
/// A scalar as a person writes it: "2", "1e-6". Of a text that is one.
Scalar parseScalar(const std::string &text, const std::string &type);

/// Says why no launch may pass this value.
std::string scalarBeyond(const Manifest &manifest, const Manifest::Scalar &declared, const Scalar &value);

/// Whether a launch may.
inline bool isAllowed(const Manifest::Scalar &declared, const Scalar &value) {
  return value.integer >= declared.least && value.integer <= declared.greatest;
}

/// The fields of Team<N> for rank `me`: regions[h] is that of rank (me + h) mod N as `me` addresses it.
inline std::vector<std::uint64_t> teamWords(std::span<const std::uint64_t> regions, std::uint64_t status,
                                            std::uint64_t timeoutNanoseconds, int me, std::uint64_t clearBytes) {
  std::vector<std::uint64_t> words(regions.begin(), regions.end());
  for (std::uint64_t word : {status, timeoutNanoseconds, std::uint64_t(me), clearBytes}) words.push_back(word);
  return words;
}

} // namespace coll
