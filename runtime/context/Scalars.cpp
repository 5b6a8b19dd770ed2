#include "context/Parameters.h"

#include <cerrno>
#include <limits>

namespace coll {
namespace {

bool isUnsigned(const std::string &type) { return type[0] == 'u'; }

/// Empty if the text is none, or one that 64 bits do not hold.
std::optional<std::int64_t> integerOf(const std::string &text, const std::string &type) {
  char *end = nullptr;
  errno = 0;
  const std::int64_t number = isUnsigned(type) ? std::int64_t(std::strtoull(text.c_str(), &end, 0)) : std::strtoll(text.c_str(), &end, 0);
  const bool negative = isUnsigned(type) && text.find('-') != std::string::npos; // which strtoull would wrap
  if (errno || negative || end == text.c_str() || *end) return std::nullopt;
  return number;
}

bool fits(std::int64_t number, const std::string &type) {
  const auto dtype = parseDType(type);
  if (!dtype || sizeOf(*dtype) == 8) return true;
  const int bits = int(8 * sizeOf(*dtype)) - !isUnsigned(type);
  const std::int64_t greatest = (std::int64_t(1) << bits) - 1;
  return number <= greatest && number >= (isUnsigned(type) ? 0 : -greatest - 1);
}

/// As its caller wrote it.
std::string textOf(const Manifest::Scalar &declared, const Scalar &value) {
  if (isUnsigned(declared.type) && value.real >= 0) return std::to_string(std::uint64_t(value.integer));
  return std::to_string(value.integer);
}

} // namespace

bool isScalar(const std::string &text, const std::string &type) {
  if (!isFloatName(type)) {
    const auto number = integerOf(text, type);
    return number && fits(*number, type);
  }
  char *end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end != text.c_str() && !*end && (type == "f64" || !std::isfinite(value) || std::isfinite(float(value)));
}

Scalar parseScalar(const std::string &text, const std::string &type) {
  if (isFloatName(type)) return Scalar(std::strtod(text.c_str(), nullptr));
  const std::int64_t number = integerOf(text, type).value_or(0);
  return isUnsigned(type) ? Scalar(std::uint64_t(number)) : Scalar(number);
}

std::string scalarBeyond(const Manifest &manifest, const Manifest::Scalar &declared, const Scalar &value) {
  const std::string is = "`" + declared.name + "` is " + textOf(declared, value);
  if (declared.type == "rank") return is + ", and there are ranks 0 to " + std::to_string(manifest.ranks - 1);
  return is + ", and launches take " + std::to_string(declared.least) + " to " + std::to_string(declared.greatest) + " (" +
         (declared.type.ends_with("64") ? "2^48" : declared.type) + "): what is done depends on it";
}

} // namespace coll
