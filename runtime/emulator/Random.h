// The one source of chance in a run: small, fast, the same on every machine.
#pragma once

#include <cstdint>

namespace coll::emu {

class Random {
public:
  explicit Random(std::uint64_t seed) : state(seed * 0x9e3779b97f4a7c15 ^ 0xd1b54a32d192ed03) {
    if (state == 0) state = 1;
    for (int i = 0; i < 4; ++i) next();
  }

  std::uint32_t next() {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return std::uint32_t(state >> 16);
  }
  /// Uniform in 0 .. bound-1; bound is not 0.
  std::uint32_t below(std::uint32_t bound) { return std::uint32_t(std::uint64_t(next()) * bound >> 32); }
  bool chance(double probability) { return next() < odds(probability); }
  /// What `next` is below of so often.
  static std::uint64_t odds(double probability) { return std::uint64_t(probability * 4294967296.0); }

private:
  std::uint64_t state;
};

} // namespace coll::emu
