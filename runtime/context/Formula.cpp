#include "context/Formula.h"

#include "context/Values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace coll {
namespace {

using Step = Manifest::Promise::Step;

/// An element of a type as what it is computed with in: the bits of an f32 for narrow floats.
using Bits = std::uint64_t;

/// A step's values: one for each element, for each of one row, for each row, group of a row, or all.
struct Vector {
  enum class Kind { Element, Row, PerRow, PerGroup, All } kind = Kind::Element;
  std::uint64_t group = 0;
  std::vector<Bits> values = {};
};

bool isSigned(DType type) { return type == DType::I8 || type == DType::I32 || type == DType::I64; }
bool isNarrow(DType type) { return isFloat(type) && sizeOf(type) < 4; }

template <class W>
W leastOf(W a, W b) {
  if (a != a || b != b) return std::numeric_limits<W>::quiet_NaN();
  return a < b || (a == b && std::signbit(a)) ? a : b;
}
template <class W>
W largestOf(W a, W b) {
  if (a != a || b != b) return std::numeric_limits<W>::quiet_NaN();
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}

/// The same operations as in coll/arithmetic.h.
float exponential(float x) {
  if (x != x) return x;
  x = x < -105.0f ? -105.0f : x > 89.0f ? 89.0f : x;
  const volatile float shifted = std::fma(x, 0x1.715476p+0f, 0x1.8p+23f);
  const float n = shifted - 0x1.8p+23f;
  const float r = std::fma(n, -0x1.7f7d1cp-20f, std::fma(n, -0x1.62e400p-1f, x));
  float p = std::fma(r, 0x1.6c16c2p-10f, 0x1.111112p-7f);
  for (float term : {0x1.555556p-5f, 0x1.555556p-3f, 0.5f, 1.0f, 1.0f}) p = std::fma(p, r, term);
  return std::ldexp(p, int(n));
}
double exponential(double x) {
  if (x != x) return x;
  x = x < -750.0 ? -750.0 : x > 710.0 ? 710.0 : x;
  const volatile double shifted = std::fma(x, 0x1.71547652b82fep+0, 0x1.8p+52);
  const double n = shifted - 0x1.8p+52;
  const double r = std::fma(n, -0x1.abc9e3b39803fp-56, std::fma(n, -0x1.62e42fefa39efp-1, x));
  double p = 1.0 / 6227020800;
  for (double factorial : {479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0})
    p = std::fma(p, r, 1.0 / factorial);
  return std::ldexp(p, int(n));
}

template <class W>
W apply(const std::string &function, W a, W b) {
  if (function == "neg") return -a;
  if (function == "abs") return std::fabs(a);
  if (function == "exp") return exponential(a);
  if (function == "rsqrt") return sizeof(W) == 4 ? W(1 / std::sqrt(double(a))) : W(1) / std::sqrt(a);
  if (function == "inverse") return a < std::numeric_limits<W>::min() ? W(0) : W(1) / a;
  if (function == "add") return a + b;
  if (function == "sub") return a - b;
  if (function == "mul") return a * b;
  if (function == "div") return a / b;
  if (function == "min") return leastOf(a, b);
  return largestOf(a, b);
}

/// The bits of an integer type, of a number with more.
Bits cut(DType type, std::uint64_t value) {
  const unsigned unused = 64 - 8 * sizeOf(type);
  return value << unused >> unused;
}
std::int64_t number(DType type, Bits bits) {
  const unsigned unused = 64 - 8 * sizeOf(type);
  return isSigned(type) ? std::int64_t(bits << unused) >> unused : std::int64_t(bits);
}

/// Integers wrap; what is divided by 0 is 0.
Bits applyToIntegers(const std::string &function, DType type, Bits a, Bits b) {
  const std::int64_t x = number(type, a), y = number(type, b);
  const bool less = isSigned(type) ? x < y : a < b;
  const auto wrapped = [&](std::uint64_t v) { return cut(type, v); };
  if (function == "neg" || (function == "abs" && isSigned(type) && x < 0)) return wrapped(0 - a);
  if (function == "abs") return a;
  if (function == "add") return wrapped(a + b);
  if (function == "sub") return wrapped(a - b);
  if (function == "mul") return wrapped(a * b);
  if (function == "min") return less ? a : b;
  if (function == "max") return less ? b : a;
  if (b == 0) return 0;
  if (!isSigned(type)) return a / b;
  return y == -1 ? wrapped(0 - a) : wrapped(std::uint64_t(x / y));
}

Bits apply(const std::string &function, DType type, Bits a, Bits b) {
  if (!isFloat(type)) return applyToIntegers(function, type, a, b);
  if (type == DType::F64)
    return std::bit_cast<Bits>(apply(function, std::bit_cast<double>(a), std::bit_cast<double>(b)));
  return std::bit_cast<std::uint32_t>(
      apply(function, std::bit_cast<float>(std::uint32_t(a)), std::bit_cast<float>(std::uint32_t(b))));
}

Bits ofFloat(float value) { return std::bit_cast<std::uint32_t>(value); }
float asFloat(Bits bits) { return std::bit_cast<float>(std::uint32_t(bits)); }

double real(DType type, Bits bits) {
  if (type == DType::F64) return std::bit_cast<double>(bits);
  if (isFloat(type)) return asFloat(bits);
  return isSigned(type) ? double(number(type, bits)) : double(bits);
}

/// As quant has it: to nearest even and bounded, NaN being 0.
Bits nearest8(float value) {
  if (value != value) return 0;
  return std::uint64_t(int(std::nearbyint(std::clamp(value, -128.0f, 127.0f)))) & 0xff;
}

/// Towards zero and bounded, NaN being 0.
Bits truncated(DType type, double value) {
  const unsigned bits = 8 * sizeOf(type) - (isSigned(type) ? 1 : 0);
  if (value != value || (!isSigned(type) && value < 0)) return 0;
  if (value >= std::ldexp(1.0, int(bits))) return cut(type, bits == 64 ? ~0ull : (1ull << bits) - 1);
  if (value < -std::ldexp(1.0, int(bits))) return cut(type, 1ull << bits);
  return cut(type, value < 0 ? std::uint64_t(std::int64_t(value)) : std::uint64_t(value));
}

Bits converted(DType from, DType to, Bits bits) {
  const bool isF32 = isFloat(from) && from != DType::F64;
  if (to == DType::F64) return std::bit_cast<Bits>(real(from, bits));
  if (!isFloat(to)) return isF32 ? nearest8(asFloat(bits)) : cut(to, std::uint64_t(number(from, bits)));
  if (isF32) return isNarrow(to) ? ofFloat(widen(to, narrow(to, asFloat(bits)))) : bits;
  if (from == DType::U64) return ofFloat(float(bits)); // not by way of a double
  return ofFloat(isFloat(from) ? float(real(from, bits)) : float(number(from, bits)));
}

std::string nameOf(ReduceOp op) {
  switch (op) {
  case ReduceOp::Prod: return "mul";
  case ReduceOp::Min: return "min";
  case ReduceOp::Max: return "max";
  default: return "add";
  }
}

/// What changes nothing in a row's sum or maximum.
Bits nothingOf(DType type, bool largest) {
  if (!largest) return 0;
  if (type == DType::F64) return std::bit_cast<Bits>(-std::numeric_limits<double>::infinity());
  if (isFloat(type)) return ofFloat(-std::numeric_limits<float>::infinity());
  return isSigned(type) ? cut(type, 1ull << (8 * sizeOf(type) - 1)) : 0;
}

/// A balanced binary tree, padded with what changes nothing.
Bits tree(DType type, std::vector<Bits> level, bool largest) {
  const std::string function = largest ? "max" : "add";
  const Bits nothing = nothingOf(type, largest);
  while (level.size() > 1) {
    if (level.size() % 2) level.push_back(nothing);
    for (std::size_t i = 0; i < level.size() / 2; ++i) level[i] = apply(function, type, level[2 * i], level[2 * i + 1]);
    level.resize(level.size() / 2);
  }
  return level.empty() ? nothing : largest ? level[0] : apply(function, type, level[0], 0);
}

class Evaluation {
public:
  Evaluation(const Manifest::Promise &p, std::uint64_t length, const LaunchSizes &s, const ReadPart &r)
      : promise(p), length(length), sizes(s), read(r) {}

  std::vector<std::uint64_t> run() {
    for (const Step &step : promise.steps) vectors.push_back(source(step));
    bool noRows = false;
    for (std::size_t i = 0; i < vectors.size(); ++i)
      elements = std::max<std::uint64_t>(elements, vectors[i].values.size() * (promise.steps[i].perRow ? length : 1));
    for (std::size_t i = 0; i < vectors.size(); ++i) noRows |= isArgument(promise.steps[i]) && vectors[i].values.empty();
    if (noRows) elements = 0;
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      if (isArgument(promise.steps[i]) && !vectors[i].values.empty() && (noRows || vectors[i].values.size() < elements))
        vectors[i].kind = Vector::Kind::Row;
      if (promise.steps[i].perRow) vectors[i].kind = Vector::Kind::PerRow;
      compute(promise.steps[i], vectors[i]);
    }
    return std::move(vectors.back().values);
  }

private:
  const Manifest::Promise &promise;
  const std::uint64_t length;
  const LaunchSizes &sizes;
  const ReadPart &read;
  std::vector<Vector> vectors;
  std::uint64_t elements = 0;

  static bool isArgument(const Step &step) {
    return step.kind == Step::Kind::Input || step.kind == Step::Kind::Exit || step.kind == Step::Kind::Reduction;
  }

  Vector source(const Step &step) {
    Vector v;
    switch (step.kind) {
    case Step::Kind::Input: v.values = read(step.sources.front(), false); break;
    case Step::Kind::Exit: v.values = read(step.sources.front(), true); break;
    case Step::Kind::Reduction:
      for (std::size_t r = 0; r < step.sources.size(); ++r) {
        const std::vector<Bits> next = read(step.sources[r], false);
        if (r == 0) v.values = next;
        for (std::size_t i = 0; r != 0 && i < next.size(); ++i)
          v.values[i] = apply(nameOf(step.op), step.dtype, v.values[i], next[i]);
      }
      if (step.op == ReduceOp::Avg)
        for (Bits &value : v.values) value = apply("mul", step.dtype, value, share(step.dtype, step.sources.size()));
      break;
    case Step::Kind::Constant: v = {Vector::Kind::All, 0, {constant(step)}}; break;
    case Step::Kind::Scalar: v = {Vector::Kind::All, 0, {scalar(step)}}; break;
    case Step::Kind::Map:
    case Step::Kind::RowReduce: break;
    }
    return v;
  }

  static Bits constant(const Step &step) {
    if (!isFloat(step.dtype)) return cut(step.dtype, std::uint64_t(step.whole.value_or(0)));
    const double value = step.whole ? double(*step.whole) : step.value;
    return step.dtype == DType::F64 ? std::bit_cast<Bits>(value) : ofFloat(float(value));
  }

  Bits scalar(const Step &step) const {
    const Scalar &given = sizes.scalars.at(step.scalar);
    if (!isFloat(step.dtype)) return cut(step.dtype, std::uint64_t(given.integer));
    if (step.dtype == DType::F64) return std::bit_cast<Bits>(given.real);
    return ofFloat(widen(step.dtype, narrow(step.dtype, float(given.real))));
  }

  /// 1/count, rounded.
  static Bits share(DType type, std::size_t count) {
    return type == DType::F64 ? std::bit_cast<Bits>(1.0 / double(count)) : ofFloat(1.0f / float(count));
  }

  std::uint64_t rows() const { return length == 0 ? 0 : elements / length; }
  std::uint64_t groupsOfRow(std::uint64_t group) const { return (length + group - 1) / group; }

  Bits at(const Vector &v, std::uint64_t i) const {
    switch (v.kind) {
    case Vector::Kind::Element: return v.values[i];
    case Vector::Kind::Row: return v.values[i % length];
    case Vector::Kind::PerRow: return v.values[i / length];
    case Vector::Kind::PerGroup: return v.values[i / length * groupsOfRow(v.group) + i % length / v.group];
    case Vector::Kind::All: return v.values[0];
    }
    return 0;
  }

  std::uint64_t countOf(const Vector &v) const {
    switch (v.kind) {
    case Vector::Kind::Element: return elements;
    case Vector::Kind::Row: return length;
    case Vector::Kind::PerRow: return rows();
    case Vector::Kind::PerGroup: return rows() * groupsOfRow(v.group);
    case Vector::Kind::All: return 1;
    }
    return 0;
  }

  /// The first of a vector's elements that its value number i is for.
  std::uint64_t elementOf(const Vector &v, std::uint64_t i) const {
    if (v.kind == Vector::Kind::PerRow) return i * length;
    if (v.kind == Vector::Kind::PerGroup) return i / groupsOfRow(v.group) * length + i % groupsOfRow(v.group) * v.group;
    return i;
  }

  void compute(const Step &step, Vector &out) {
    if (step.kind == Step::Kind::RowReduce) return reduceRows(step, out);
    if (step.kind != Step::Kind::Map) return;
    const Vector &a = vectors[std::size_t(step.a)], &b = step.b < 0 ? a : vectors[std::size_t(step.b)];
    const Vector &finer = a.kind <= b.kind ? a : b;
    const auto isOneRow = [&](const Vector &v) { return v.kind == Vector::Kind::Row; };
    const auto isOfRows = [&](const Vector &v) { return v.kind == Vector::Kind::PerRow || v.kind == Vector::Kind::PerGroup; };
    out.kind = finer.kind, out.group = finer.group;
    if ((isOneRow(a) && isOfRows(b)) || (isOneRow(b) && isOfRows(a))) out.kind = Vector::Kind::Element;
    out.values.resize(countOf(out));
    for (std::uint64_t i = 0; i < out.values.size(); ++i) {
      const std::uint64_t e = elementOf(out, i);
      const DType from = promise.steps[std::size_t(step.a)].dtype;
      out.values[i] = step.function == "convert"    ? converted(from, step.dtype, at(a, e))
                      : step.function == "truncate" ? truncated(step.dtype, real(from, at(a, e)))
                                                    : apply(step.function, step.dtype, at(a, e), at(b, e));
    }
  }

  void reduceRows(const Step &step, Vector &out) {
    const Vector &of = vectors[std::size_t(step.a)];
    const std::uint64_t unit = step.group ? step.group : length;
    out.kind = step.group ? Vector::Kind::PerGroup : Vector::Kind::PerRow, out.group = step.group;
    for (std::uint64_t row = 0; row < rows(); ++row)
      for (std::uint64_t begin = 0; begin < length; begin += unit) {
        std::vector<Bits> part;
        for (std::uint64_t i = begin; i < std::min(begin + unit, length); ++i) part.push_back(at(of, row * length + i));
        const Bits v = tree(step.dtype, std::move(part), step.function == "rowmax");
        out.values.push_back(step.function == "rowmean" ? apply("mul", step.dtype, v, share(step.dtype, length)) : v);
      }
  }
};

} // namespace

std::vector<std::uint64_t> evaluate(const Manifest::Promise &promise, std::uint64_t rowLength, const LaunchSizes &sizes,
                                    const ReadPart &read) {
  return Evaluation(promise, rowLength, sizes, read).run();
}

std::uint64_t computedWith(DType type, std::uint64_t bits) { return isNarrow(type) ? ofFloat(widen(type, bits)) : bits; }
std::uint64_t stored(DType type, std::uint64_t bits) { return isNarrow(type) ? narrow(type, asFloat(bits)) : bits; }

} // namespace coll
