// Conversions and arithmetic of the emulated device, bit by bit, against independent ones.
#include "emulator_fixture.h"

#include <bit>
#include <cmath>

using namespace coll::emu;
using namespace coll::emu::test;

namespace {

using Bits = std::uint32_t;
using Pairs = std::vector<std::pair<Bits, Bits>>;

std::vector<Bits> device(int function, const Pairs &inputs) {
  coll::Manifest manifest;
  manifest.ranks = 1;
  manifest.regionBytes = 1152;
  const auto module = kernel("numbers.cu", {"FUNCTION " + std::to_string(function)}, {"numbers"});
  Machine machine(manifest, Policy::fair());
  const Buffer x = machine.allocate(0, "x", inputs.size() * 8), y = machine.allocate(0, "y", inputs.size() * 4);
  machine.write(x, std::as_bytes(std::span(inputs)));
  std::string error;
  EXPECT_TRUE(machine.launch(0, {module, "numbers", 1, 1, {{x}, {y}}, {inputs.size()}, {}}, error)) << error;
  const Result result = machine.run();
  EXPECT_EQ(result.status, Result::Ok) << result.report;
  std::vector<Bits> outputs(inputs.size());
  machine.read(y, std::as_writable_bytes(std::span(outputs)));
  return outputs;
}

float asFloat(Bits bits) {
  return std::bit_cast<float>(bits);
}
Bits asBits(float v) {
  return v == v ? std::bit_cast<Bits>(v) : 0x7fffffff;
}

/// To a format of `fraction` bits whose smallest normal number is 2^lowest and whose largest exponent is `highest`.
Bits narrow(float v, int fraction, int lowest, int highest, int signBit) {
  if (v != v) return 0x7fff;
  const Bits sign = std::signbit(v) ? 1u << signBit : 0;
  const double a = std::fabs(double(v));
  if (a == 0) return sign;
  if (std::isinf(a)) return sign | Bits(highest - lowest + 2) << fraction;
  const int exponent = std::max(std::ilogb(a), lowest);
  double units = std::nearbyint(std::ldexp(a, fraction - exponent)); // ties to even
  // Units past the fraction carry into the exponent by themselves.
  const Bits bits = Bits(units) + (Bits(exponent - lowest) << fraction);
  return sign | std::min(bits, Bits(highest - lowest + 2) << fraction);
}
Bits half(float v) {
  return narrow(v, 10, -14, 15, 15);
}
Bits bfloat(float v) {
  return narrow(v, 7, -126, 127, 15);
}

Bits e5m2(float v) {
  return v != v ? (std::signbit(v) ? 0xff : 0x7f) : narrow(v, 2, -14, 15, 7);
}
/// No infinity: its largest exponent holds numbers too, all but the last of which are.
Bits e4m3(float v) {
  const Bits sign = std::signbit(v) ? 0x80 : 0;
  if (v != v) return sign | 0x7f;
  return std::fabs(v) >= 448 ? sign | 0x7e : narrow(v, 3, -6, 8, 7);
}

/// All exponents and signs, with fractions at and around every kind of tie, and the special values.
Pairs manyFloats() {
  Pairs inputs;
  for (Bits top = 0; top < 512; ++top)
    for (const Bits fraction : {0x0u,      0x1u,      0xfffu,    0x1000u,   0x1001u,   0x2fffu,   0x3000u,
                                0x3001u,   0x7fffu,   0x8000u,   0x8001u,   0x17fffu,  0x18000u,  0x18001u,
                                0x3ff000u, 0x400000u, 0x7fefffu, 0x7ff000u, 0x7f7fffu, 0x7f8000u, 0x7fffffu})
      inputs.push_back({top << 23 | fraction, 0});
  return inputs;
}

/// Pairs whose sums and products round, cancel, overflow, are subnormal or not numbers.
Pairs manyPairs() {
  Pairs inputs;
  const Bits values[] = {0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000, 0x3f800000,
                         0xbf800000, 0x3f800001, 0x33800000, 0x33800001, 0x3f7fffff, 0x7f7fffff, 0xff7fffff,
                         0x7f800000, 0xff800000, 0x7fc00000, 0x7fa00001, 0xffc12345, 0x1e3ce508, 0x20000000};
  for (const Bits a : values)
    for (const Bits b : values) inputs.push_back({a, b});
  std::uint32_t state = 12345;
  for (int i = 0; i < 20000; ++i) {
    const Bits a = state = state * 1664525 + 1013904223, b = state = state * 1664525 + 1013904223;
    inputs.push_back({a, b});
  }
  return inputs;
}

void compare(int function, const Pairs &inputs, Bits (*expected)(Bits, Bits)) {
  const std::vector<Bits> outputs = device(function, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    ASSERT_EQ(outputs[i], expected(inputs[i].first, inputs[i].second))
        << std::hex << inputs[i].first << " " << inputs[i].second;
}

} // namespace

TEST(EmulatorNumbers, HalfToFloatAndBack) {
  Pairs all;
  for (Bits bits = 0; bits < 0x10000; ++bits) all.push_back({bits, 0});
  const std::vector<Bits> wide = device(0, all);
  for (const auto &[bits, unused] : all) {
    const bool isNan = (bits & 0x7c00) == 0x7c00 && (bits & 0x3ff);
    ASSERT_EQ(half(asFloat(wide[bits])), isNan ? 0x7fff : bits) << std::hex << bits;
  }
}

TEST(EmulatorNumbers, FloatToHalf) {
  compare(1, manyFloats(), [](Bits a, Bits) { return half(asFloat(a)); });
}

TEST(EmulatorNumbers, FloatToBfloat) {
  compare(2, manyFloats(), [](Bits a, Bits) { return bfloat(asFloat(a)); });
}

TEST(EmulatorNumbers, Float8ToFloatAndBack) {
  Pairs all;
  for (Bits bits = 0; bits < 0x100; ++bits) all.push_back({bits, 0});
  const std::vector<Bits> fromE4m3 = device(6, all), fromE5m2 = device(8, all);
  EXPECT_EQ(asFloat(fromE4m3[0x7e]), 448);
  EXPECT_EQ(asFloat(fromE5m2[0x7b]), 57344);
  for (const auto &[bits, unused] : all) {
    const float a = asFloat(fromE4m3[bits]), b = asFloat(fromE5m2[bits]);
    ASSERT_EQ(a != a, (bits & 0x7f) == 0x7f) << std::hex << bits;
    ASSERT_EQ(b != b, (bits & 0x7f) > 0x7c) << std::hex << bits;
    if (a == a) {
      ASSERT_EQ(e4m3(a), bits) << std::hex << bits;
    }
    if (b == b) {
      ASSERT_EQ(e5m2(b), bits) << std::hex << bits;
    }
  }
}

TEST(EmulatorNumbers, FloatToFloat8) {
  Pairs inputs = manyFloats();
  // Around every tie of both formats.
  for (Bits top = 0; top < 512; ++top)
    for (Bits fraction = 0; fraction < 0x800000; fraction += 0x80000)
      for (const int off : {-1, 0, 1}) inputs.push_back({(top << 23 | fraction) + Bits(off), 0});
  compare(7, inputs, [](Bits a, Bits) { return e4m3(asFloat(a)); });
  compare(9, inputs, [](Bits a, Bits) { return e5m2(asFloat(a)); });
}

// The reference is the host's own arithmetic, rounded at each step.
TEST(EmulatorNumbers, Add) {
  compare(3, manyPairs(), [](Bits a, Bits b) {
    volatile float sum = asFloat(a) + asFloat(b);
    return asBits(sum);
  });
}

TEST(EmulatorNumbers, Multiply) {
  compare(4, manyPairs(), [](Bits a, Bits b) {
    volatile float product = asFloat(a) * asFloat(b);
    return asBits(product);
  });
}

TEST(EmulatorNumbers, NothingIsContracted) {
  compare(5, manyPairs(), [](Bits a, Bits b) {
    volatile float product = asFloat(a) * asFloat(b);
    volatile float sum = product + asFloat(a);
    return asBits(sum);
  });
}

TEST(EmulatorNumbers, FloatToInt8) {
  compare(10, manyFloats(), [](Bits a, Bits) {
    const double v = asFloat(a);
    return v != v ? 0 : Bits(int(std::nearbyint(std::min(std::max(v, -128.0), 127.0)))) & 0xff;
  });
}

TEST(EmulatorNumbers, ExponentialIsWithinThreeUnits) {
  Pairs inputs = manyFloats();
  for (int i = -10600; i < 9000; ++i) inputs.push_back({std::bit_cast<Bits>(float(i) * 0.01f), 0});
  const std::vector<Bits> outputs = device(11, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const double x = asFloat(inputs[i].first), exact = std::exp(x), is = asFloat(outputs[i]);
    if (x != x) ASSERT_NE(is, is);
    else if (exact > 3.4028235e38) ASSERT_GT(is, 3.4e38);
    else ASSERT_LE(std::fabs(is - exact), 3 * std::ldexp(1.0, std::max(std::ilogb(exact), -126) - 23)) << x;
  }
}
