#include "context/Formula.h"

#include "context/Values.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace coll {
namespace {

using Step = Manifest::Promise::Step;

/// A step's values: one for each element, for each of one row, for each row, group of a row, or all.
struct Vector {
  enum class Kind { Element, Row, PerRow, PerGroup, All } kind = Kind::Element;
  std::uint64_t group = 0;
  std::vector<float> values = {};
};

float leastOf(float a, float b) {
  if (a != a || b != b) return std::numeric_limits<float>::quiet_NaN();
  return a < b || (a == b && std::signbit(a)) ? a : b;
}
float largestOf(float a, float b) {
  if (a != a || b != b) return std::numeric_limits<float>::quiet_NaN();
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

float apply(const std::string &function, float a, float b) {
  if (function == "neg") return -a;
  if (function == "abs") return std::fabs(a);
  if (function == "exp") return exponential(a);
  if (function == "rsqrt") return float(1 / std::sqrt(double(a)));
  if (function == "inverse") return a < std::numeric_limits<float>::min() ? 0.0f : 1.0f / a;
  if (function == "add") return a + b;
  if (function == "sub") return a - b;
  if (function == "mul") return a * b;
  if (function == "div") return a / b;
  if (function == "min") return leastOf(a, b);
  return largestOf(a, b);
}

float reduced(ReduceOp op, float a, float b) {
  switch (op) {
  case ReduceOp::Prod: return a * b;
  case ReduceOp::Min: return leastOf(a, b);
  case ReduceOp::Max: return largestOf(a, b);
  default: return a + b;
  }
}

/// A balanced binary tree, padded with what changes nothing.
float tree(const float *values, std::uint64_t count, bool largest) {
  std::vector<float> level(values, values + count);
  const float nothing = largest ? -std::numeric_limits<float>::infinity() : 0.0f;
  while (level.size() > 1) {
    if (level.size() % 2) level.push_back(nothing);
    for (std::size_t i = 0; i < level.size() / 2; ++i)
      level[i] = largest ? largestOf(level[2 * i], level[2 * i + 1]) : level[2 * i] + level[2 * i + 1];
    level.resize(level.size() / 2);
  }
  return level.empty() ? nothing : largest ? level[0] : level[0] + 0.0f;
}

class Evaluation {
public:
  Evaluation(const Manifest::Promise &p, std::uint64_t length, const LaunchSizes &s, const ReadPart &r)
      : promise(p), length(length), sizes(s), read(r) {}

  std::vector<float> run() {
    for (const Step &step : promise.steps) vectors.push_back(source(step));
    bool noRows = false;
    for (const Vector &v : vectors) elements = std::max<std::uint64_t>(elements, v.values.size());
    for (std::size_t i = 0; i < vectors.size(); ++i) noRows |= isArgument(promise.steps[i]) && vectors[i].values.empty();
    if (noRows) elements = 0;
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      if (isArgument(promise.steps[i]) && !vectors[i].values.empty() && (noRows || vectors[i].values.size() < elements))
        vectors[i].kind = Vector::Kind::Row;
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
        const std::vector<float> next = read(step.sources[r], false);
        if (r == 0) v.values = next;
        for (std::size_t i = 0; r != 0 && i < next.size(); ++i) v.values[i] = reduced(step.op, v.values[i], next[i]);
      }
      break;
    case Step::Kind::Constant: v = {Vector::Kind::All, 0, {float(step.value)}}; break;
    case Step::Kind::Scalar: v = {Vector::Kind::All, 0, {float(sizes.scalars.at(step.scalar).real)}}; break;
    case Step::Kind::Map:
    case Step::Kind::RowReduce: break;
    }
    return v;
  }

  std::uint64_t rows() const { return length == 0 ? 0 : elements / length; }
  std::uint64_t groupsOfRow(std::uint64_t group) const { return (length + group - 1) / group; }

  float at(const Vector &v, std::uint64_t i) const {
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
    out.kind = finer.kind, out.group = finer.group;
    out.values.resize(countOf(out));
    for (std::uint64_t i = 0; i < out.values.size(); ++i) {
      const std::uint64_t e = elementOf(out, i);
      out.values[i] = step.function == "convert" ? rounded(step.dtype, at(a, e)) : apply(step.function, at(a, e), at(b, e));
    }
  }

  static float rounded(DType type, float value) {
    const std::uint64_t bits = roundTo(type, value);
    return type == DType::I8 ? float(std::int8_t(bits)) : widen(type, bits);
  }

  void reduceRows(const Step &step, Vector &out) {
    const Vector &of = vectors[std::size_t(step.a)];
    const std::uint64_t unit = step.group ? step.group : length;
    out.kind = step.group ? Vector::Kind::PerGroup : Vector::Kind::PerRow, out.group = step.group;
    for (std::uint64_t row = 0; row < rows(); ++row)
      for (std::uint64_t begin = 0; begin < length; begin += unit) {
        const std::uint64_t count = std::min(unit, length - begin);
        const float v = tree(of.values.data() + row * length + begin, count, step.function == "rowmax");
        out.values.push_back(step.function == "rowmean" ? v * (1.0f / float(length)) : v);
      }
  }
};

} // namespace

std::uint64_t roundTo(DType type, float value) {
  if (type != DType::I8) return narrow(type, value);
  if (value != value) return 0;
  return std::uint64_t(int(std::nearbyint(std::clamp(value, -128.0f, 127.0f)))) & 0xff;
}

std::vector<float> evaluate(const Manifest::Promise &promise, std::uint64_t rowLength, const LaunchSizes &sizes,
                            const ReadPart &read) {
  return Evaluation(promise, rowLength, sizes, read).run();
}

} // namespace coll
